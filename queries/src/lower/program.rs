//! The works of all operators, joined into one program: buffers numbered through, steps in execution order, lifetimes.
//!
//! In: each operator's [`OpWork`] and where its operands come from. Out: a [`Program`], still without addresses.
//!
//! Properties:
//! 1. Buffers are numbered operator by operator, so an edit of a later operator does not renumber the earlier ones.
//! 2. A buffer is live from the step that first writes it (0 for what the loader writes) to the step that last reads
//!    it (the last step for what holds an output); both ends included.

use std::collections::BTreeSet;

use super::ir::{Argument, Buffer, BufferRef, OpWork, Step};
use crate::digest::Keyed;

/// Where an operand of an operator comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperandSource {
    /// Tensor `i` of the graph, written by the loader.
    Tensor(u32),
    /// The result of operator `i`.
    Result(u32),
    /// An input that the loader writes for operator `i`: every byte goes to one tile, so others fetch it from there.
    Loaded(u32),
}

/// One operator of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operator {
    /// What it does.
    pub work: Keyed<OpWork>,
    /// Where its operands come from.
    pub operands: Vec<OperandSource>,
    /// Its result is an output of the model.
    pub output: bool,
}

/// A buffer of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramBuffer {
    /// Operator that owns it.
    pub operator: u32,
    /// What the operator says of it, `apart_from` renumbered to program buffers.
    pub buffer: Buffer,
    /// First and last step in which it is live.
    pub live: (u32, u32),
}

/// All operators in execution order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// The operators.
    pub operators: Vec<Operator>,
    /// All buffers.
    pub buffers: Vec<ProgramBuffer>,
    /// Operator and index of its step, in execution order.
    pub steps: Vec<(u32, u32)>,
    /// First buffer of each operator.
    first_buffer: Vec<u32>,
}

impl Program {
    /// Joins the operators.
    pub fn new(operators: Vec<Operator>) -> Self {
        let mut first_buffer = Vec::with_capacity(operators.len());
        let mut buffers = Vec::new();
        for (index, operator) in operators.iter().enumerate() {
            let first = buffers.len() as u32;
            first_buffer.push(first);
            buffers.extend(operator.work.buffers.iter().map(|buffer| {
                let mut buffer = buffer.clone();
                buffer.apart_from.iter_mut().for_each(|b| *b += first);
                ProgramBuffer { operator: index as u32, buffer, live: (u32::MAX, 0) }
            }));
        }
        let steps: Vec<(u32, u32)> = (0u32..)
            .zip(&operators)
            .flat_map(|(o, operator)| (0..operator.work.steps.len() as u32).map(move |s| (o, s)))
            .collect();
        let mut program = Self { operators, buffers, steps, first_buffer };
        program.find_lifetimes();
        program
    }

    /// The program number of a buffer as operator `operator` names it.
    pub fn resolve(&self, operator: u32, buffer: BufferRef) -> u32 {
        match buffer {
            BufferRef::Own(i) => self.first_buffer[operator as usize] + i,
            BufferRef::Operand { operand, buffer } => {
                match self.operators[operator as usize].operands[operand as usize] {
                    OperandSource::Result(owner) | OperandSource::Loaded(owner) => {
                        self.first_buffer[owner as usize] + buffer
                    }
                    // The loader writes into the operator's own buffers, so nothing names a tensor's.
                    OperandSource::Tensor(_) => unreachable!("operand {operand} is loaded, it has no producer"),
                }
            }
        }
    }

    /// The step of a position in the program.
    pub fn step(&self, position: usize) -> (u32, &Step) {
        let (operator, step) = self.steps[position];
        (operator, &self.operators[operator as usize].work.steps[step as usize])
    }

    /// Positions of the exchange phases, in execution order.
    pub fn phases(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.steps.len()).filter(|&p| matches!(self.step(p).1, Step::Exchange(_)))
    }

    fn find_lifetimes(&mut self) {
        let mut touched: Vec<(u32, u32)> = Vec::new();
        for position in 0..self.steps.len() {
            let (operator, step) = self.step(position);
            touched.extend(buffers_of(step).into_iter().map(|b| (self.resolve(operator, b), position as u32)));
        }
        let last = self.steps.len().saturating_sub(1) as u32;
        for (index, operator) in (0u32..).zip(&self.operators) {
            for span in operator.work.loads.iter().flat_map(|load| &load.layout.spans) {
                touched.push((self.first_buffer[index as usize] + span.buffer, 0));
            }
            if operator.output {
                for span in &operator.work.result.spans {
                    touched.push((self.first_buffer[index as usize] + span.buffer, last));
                }
            }
        }
        for (buffer, position) in touched {
            let live = &mut self.buffers[buffer as usize].live;
            *live = (live.0.min(position), live.1.max(position));
        }
    }
}

/// Every buffer that a step reads or writes.
fn buffers_of(step: &Step) -> BTreeSet<BufferRef> {
    match step {
        Step::Exchange(problem) => problem
            .transfers
            .iter()
            .flat_map(|t| std::iter::once(t.at.buffer).chain(t.destinations.iter().map(|d| d.at.buffer)))
            .collect(),
        Step::Compute(groups) => groups
            .iter()
            .flat_map(|g| &g.calls)
            .flat_map(|c| {
                let arguments = c.arguments.iter().filter_map(|a| match a {
                    Argument::Address(buffer, _) => Some(*buffer),
                    Argument::Value(_) => None,
                });
                arguments.chain(c.reads.iter().copied()).chain(c.writes.iter().copied())
            })
            .collect(),
    }
}
