//! A plain interpreter of works on exact integers: the witness that lowering moves and multiplies the right elements.
//!
//! It knows what the kernels are contracted to do, atom by atom, and nothing of how a plan came about. Reading what
//! nobody wrote is an error.

use std::collections::BTreeMap;

use ipuc_device::memory::TileId;

use super::ir::{Argument, BufferRef, Call, Step};
use super::program::{OperandSource, Program};
use crate::exchange::problem::Place;
use crate::plan::layout::{ATOM_BYTES, AtomSpace, Layout, Order};

type Atom = [i64; 16];

/// Memory: atoms by tile, program buffer and byte offset.
#[derive(Default)]
struct Memory(BTreeMap<(TileId, u32, u32), Atom>);

impl Memory {
    fn read(&self, tile: TileId, buffer: u32, offset: u32) -> Result<Atom, String> {
        self.0
            .get(&(tile, buffer, offset))
            .copied()
            .ok_or_else(|| format!("tile {tile} reads buffer {buffer} at {offset}, which nobody wrote"))
    }
}

/// A row-major matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matrix {
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) elements: Vec<i64>,
}

impl Matrix {
    fn at(&self, r: u32, c: u32) -> i64 {
        if r < self.rows && c < self.columns { self.elements[(r * self.columns + c) as usize] } else { 0 }
    }

    pub(super) fn product(&self, right: &Self) -> Self {
        let mut elements = Vec::new();
        for r in 0..self.rows {
            for c in 0..right.columns {
                elements.push((0..self.columns).map(|k| self.at(r, k) * right.at(k, c)).sum());
            }
        }
        Self { rows: self.rows, columns: right.columns, elements }
    }
}

/// (row, column) of element `i` of an atom.
fn element(space: AtomSpace, atom: u32, i: u32) -> (u32, u32) {
    match space.order {
        Order::Left => (atom % space.rows, atom / space.rows * 16 + i),
        Order::Right => {
            let k_groups = space.rows.div_ceil(16);
            let (block, column) = (atom / 16, atom % 16);
            (block % k_groups * 16 + i, block / k_groups * 16 + column)
        }
    }
}

fn store(memory: &mut Memory, layout: &Layout, base: u32, matrix: &Matrix) {
    for span in &layout.spans {
        for j in 0..span.atoms {
            let atom = std::array::from_fn(|i| {
                let (r, c) = element(layout.space, span.first_atom + j, i as u32);
                matrix.at(r, c)
            });
            memory.0.insert((span.tile, base + span.buffer, span.offset + j * ATOM_BYTES), atom);
        }
    }
}

/// Runs a program on the tensors of its graph; the results of all operators that are outputs.
pub(super) fn run(program: &Program, tensors: &[Matrix]) -> Result<Vec<Matrix>, String> {
    let mut memory = Memory::default();
    for (o, operator) in (0u32..).zip(&program.operators) {
        for load in &operator.work.loads {
            let OperandSource::Tensor(tensor) = operator.operands[load.operand as usize] else {
                return Err(format!("operator {o} loads a computed operand"));
            };
            let base = program.resolve(o, BufferRef::Own(0));
            store(&mut memory, &load.layout, base, &tensors[tensor as usize]);
        }
    }
    for position in 0..program.steps.len() {
        let (operator, step) = program.step(position);
        match step {
            Step::Exchange(problem) => {
                let mut written = BTreeMap::new();
                for t in &problem.transfers {
                    let place = |p: Place| (program.resolve(operator, p.buffer), p.offset);
                    for j in (0..t.words * 4).step_by(ATOM_BYTES as usize) {
                        let (buffer, offset) = place(t.at);
                        let atom = memory.read(t.source, buffer, offset + j)?;
                        for d in &t.destinations {
                            let (buffer, offset) = place(d.at);
                            if d.tile == t.source || written.insert((d.tile, buffer, offset + j), atom).is_some() {
                                return Err(format!("tile {} receives buffer {buffer} at {offset} twice", d.tile));
                            }
                        }
                    }
                }
                memory.0.extend(written);
            }
            Step::Compute(groups) => {
                for group in groups {
                    for &tile in &group.tiles {
                        for call in &group.calls {
                            execute(program, operator, tile, call, &mut memory)?;
                        }
                    }
                }
            }
        }
    }
    let mut results = Vec::new();
    for (o, operator) in (0u32..).zip(&program.operators).filter(|(_, op)| op.output) {
        let Layout { space, spans } = &operator.work.result;
        let mut matrix = Matrix {
            rows: space.rows,
            columns: space.columns,
            elements: vec![i64::MIN; (space.rows * space.columns) as usize],
        };
        for span in spans {
            let buffer = program.resolve(o, BufferRef::Own(span.buffer));
            for j in 0..span.atoms {
                let atom = memory.read(span.tile, buffer, span.offset + j * ATOM_BYTES)?;
                for (i, &value) in atom.iter().enumerate() {
                    let (r, c) = element(*space, span.first_atom + j, i as u32);
                    if c < space.columns {
                        let slot = &mut matrix.elements[(r * space.columns + c) as usize];
                        if *slot != i64::MIN {
                            return Err(format!("element ({r}, {c}) of the result lies on two tiles"));
                        }
                        *slot = value;
                    } else if value != 0 {
                        return Err(format!("padding at ({r}, {c}) is not zero"));
                    }
                }
            }
        }
        results.push(matrix);
    }
    Ok(results)
}

fn execute(program: &Program, operator: u32, tile: TileId, call: &Call, memory: &mut Memory) -> Result<(), String> {
    let address = |i: usize| match call.arguments[i] {
        Argument::Address(buffer, offset) => (program.resolve(operator, buffer), offset),
        Argument::Value(_) => panic!("argument {i} of {} is an address", call.kernel.entry),
    };
    let value = |i: usize| match call.arguments[i] {
        Argument::Value(value) => value,
        Argument::Address(..) => panic!("argument {i} of {} is a value", call.kernel.entry),
    };
    match call.kernel.entry {
        "gemm_f16_initialise" | "gemm_f16_accumulate" => {
            let (out, left, right) = (address(0), address(1), address(2));
            let (rows, k_groups, n_groups) = (value(3), value(4), value(5));
            for n in 0..n_groups {
                for r in 0..rows {
                    let at = out.1 + (n * rows + r) * ATOM_BYTES;
                    let mut sum = if call.kernel.entry == "gemm_f16_accumulate" {
                        memory.read(tile, out.0, at)?
                    } else {
                        [0; 16]
                    };
                    for k in 0..k_groups {
                        let x = memory.read(tile, left.0, left.1 + (k * rows + r) * ATOM_BYTES)?;
                        for (c, s) in (0u32..).zip(&mut sum) {
                            let w = memory.read(tile, right.0, right.1 + ((n * k_groups + k) * 16 + c) * ATOM_BYTES)?;
                            *s += x.iter().zip(&w).map(|(a, b)| a * b).sum::<i64>();
                        }
                    }
                    memory.0.insert((tile, out.0, at), sum);
                }
            }
        }
        "reduce_add_f16" => {
            let (out, own, received) = (address(0), address(1), address(2));
            let (stride, chunks, count) = (value(3), value(4), value(5));
            for j in 0..chunks / 2 {
                let mut sum = memory.read(tile, own.0, own.1 + j * ATOM_BYTES)?;
                for p in 0..count {
                    let more = memory.read(tile, received.0, received.1 + p * stride + j * ATOM_BYTES)?;
                    sum.iter_mut().zip(&more).for_each(|(s, m)| *s += m);
                }
                memory.0.insert((tile, out.0, out.1 + j * ATOM_BYTES), sum);
            }
        }
        "copy_64" => {
            let (to, from) = (address(0), address(1));
            for j in (0..value(2) * 8).step_by(ATOM_BYTES as usize) {
                let atom = memory.read(tile, from.0, from.1 + j)?;
                memory.0.insert((tile, to.0, to.1 + j), atom);
            }
        }
        other => return Err(format!("the interpreter knows no kernel {other}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::gemm::lower;
    use super::super::program::Operator;
    use super::*;
    use crate::digest::Keyed;
    use crate::plan::candidates::{Pins, candidates};
    use crate::plan::gemm::{GemmPlan, GemmShape, OperandKind};

    fn matrix(rows: u32, columns: u32, seed: u64) -> Matrix {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let elements = (0..rows * columns)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state % 9) as i64 - 4
            })
            .collect();
        Matrix { rows, columns, elements }
    }

    fn check(shape: GemmShape, plan: GemmPlan) {
        let work = lower(&shape, &plan, None);
        let operands = vec![OperandSource::Tensor(0), OperandSource::Tensor(1)];
        let program = Program::new(vec![Operator { work: Keyed::new(work), operands, output: true }]);
        let (x, w) = (matrix(shape.m, shape.k, 1), matrix(shape.k, shape.n, 2));
        let results = run(&program, &[x.clone(), w.clone()]).unwrap_or_else(|e| panic!("{shape:?} {plan}: {e}"));
        assert_eq!(results, [x.product(&w)], "{shape:?} {plan}");
    }

    #[test]
    fn every_kind_of_plan_multiplies() {
        let kinds = [OperandKind::Input, OperandKind::Weight];
        let mut seen = 0;
        for (m, k, n) in [(1, 1, 1), (5, 33, 17), (13, 70, 40), (7, 128, 64), (24, 16, 100)] {
            for grid in [[1, 1, 1], [2, 1, 1], [1, 2, 1], [3, 2, 1], [1, 1, 3], [2, 2, 2], [5, 3, 4]] {
                for steps in [1, 2, 3] {
                    for (left, right) in kinds.into_iter().flat_map(|l| kinds.map(|r| (l, r))) {
                        for (left_resident, right_resident) in [(false, false), (true, true)] {
                            let shape = GemmShape { m, k, n, left, right };
                            let plan = GemmPlan { grid, steps, left_resident, right_resident };
                            if plan.objection(&shape, 64).is_none() {
                                check(shape, plan);
                                seen += 1;
                            }
                        }
                    }
                }
            }
        }
        assert!(seen > 150, "{seen}");
    }

    #[test]
    fn candidates_multiply() {
        for (m, k, n, tiles) in [(37, 90, 50, 7), (64, 64, 64, 16), (3, 200, 9, 11), (50, 17, 130, 23)] {
            let shape = GemmShape { m, k, n, left: OperandKind::Input, right: OperandKind::Weight };
            for c in candidates(&shape, tiles, &Pins::default()).expect("no pins") {
                check(shape, c.plan);
            }
        }
    }

    #[test]
    fn chains_retile() {
        let first = GemmShape { m: 22, k: 40, n: 70, left: OperandKind::Input, right: OperandKind::Weight };
        let second = GemmShape { m: 22, k: 70, n: 33, left: OperandKind::Result, right: OperandKind::Weight };
        let plan = |grid, steps| GemmPlan { grid, steps, left_resident: false, right_resident: true };
        for a in [plan([3, 2, 1], 1), plan([2, 2, 3], 1), plan([4, 5, 1], 2), plan([1, 1, 1], 1)] {
            for b in [plan([1, 1, 1], 1), plan([2, 3, 2], 1), plan([5, 1, 2], 2), plan([7, 3, 1], 5)] {
                let one = lower(&first, &a, None);
                let two = lower(&second, &b, Some(&one.result));
                let program = Program::new(vec![
                    Operator {
                        work: Keyed::new(one),
                        operands: vec![OperandSource::Tensor(0), OperandSource::Tensor(1)],
                        output: true,
                    },
                    Operator {
                        work: Keyed::new(two),
                        operands: vec![OperandSource::Result(0), OperandSource::Tensor(2)],
                        output: true,
                    },
                ]);
                let (x, u, v) = (matrix(22, 40, 3), matrix(40, 70, 4), matrix(70, 33, 5));
                let results = run(&program, &[x.clone(), u.clone(), v.clone()]).expect("runs");
                let middle = x.product(&u);
                assert_eq!(results, [middle.clone(), middle.product(&v)], "{a} then {b}");
            }
        }
    }
}
