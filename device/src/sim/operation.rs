//! From words to something that can be executed: the decoded instruction or bundle, and the cache of them.
//!
//! In: words at an address. Out: a [`WorkerEntry`] or [`SupervisorEntry`] with the handlers of its halves.
//!
//! 1. The handler of a form is found by the form's name, once per form; a form without one is refused by name.
//! 2. A cached entry is used only while the words in memory equal those it was made from, so tiles with different code
//!    share one cache per thread, and changed code is seen at once.
//! 3. Rules that need no machine state are checked here: registers that don't exist, equal destinations, bundle lanes.

use std::sync::LazyLock;

use super::access::{AccessFn, TransferFn, access, transfer};
use super::accumulator::accumulator;
use super::amp::amp;
use super::elementwise::elementwise;
use super::fault::{FaultKind, Outcome, trouble};
use super::integer::{IntegerFn, integer};
use super::worker::{AuxFn, upper_register};
use crate::isa::{Class, Context, Form, Instruction, Lane, Role, decode, forms, print, print_bundle};
use crate::memory::{BASE, INTERLEAVED_BASE};

/// Operand values in source order.
pub(super) type Operands = [i32; 6];

/// What a control transfer tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Branch {
    Register,
    Always,
    Zero,
    NotZero,
    Negative,
    Positive,
    Decrement,
    Call,
}

/// An instruction of the exchange rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Row {
    Delay,
    DelayPointer,
    DelayMux,
    Send,
    SendOn,
    SendControl,
    SendPair,
}

/// What a form does.
#[derive(Clone, Copy)]
pub(super) enum Behaviour {
    Integer(IntegerFn),
    Transfer(TransferFn),
    Access(AccessFn),
    /// Operation and the issues that it takes.
    Aux(AuxFn, u8),
    Branch(Branch),
    RepeatRegister,
    RepeatImmediate,
    Exit(fn(u32) -> bool),
    Get,
    Put,
    Trap,
    /// Bytes of one coefficient load.
    Coefficients(u32),
    Run,
    RunAll,
    Sync,
    Abstain,
    Row(Row),
}

static BEHAVIOURS: LazyLock<Vec<Option<Behaviour>>> =
    LazyLock::new(|| forms().iter().map(|form| behaviour(form.name)).collect());

/// Issues of the long operations (`semantics.md` 7); everything else takes one.
fn issues(name: &str) -> u8 {
    match name {
        "f32div_aaan" | "f32sqrt_aaan" => 4,
        _ => 1,
    }
}

fn behaviour(name: &str) -> Option<Behaviour> {
    let aux = elementwise(name).or_else(|| accumulator(name)).or_else(|| amp(name)).or_else(|| upper_register(name));
    if let Some(f) = aux {
        return Some(Behaviour::Aux(f, issues(name)));
    }
    if let Some(f) = integer(name) {
        return Some(Behaviour::Integer(f));
    }
    if let Some(f) = transfer(name) {
        return Some(Behaviour::Transfer(f));
    }
    if let Some(f) = access(name) {
        return Some(Behaviour::Access(f));
    }
    Some(match name {
        "br_mmmn" => Behaviour::Branch(Branch::Register),
        "bri_mmmn_zi" => Behaviour::Branch(Branch::Always),
        "brz_mmmn_zi" => Behaviour::Branch(Branch::Zero),
        "brnz_mmmn_zi" => Behaviour::Branch(Branch::NotZero),
        "brneg_mmmn_zi" => Behaviour::Branch(Branch::Negative),
        "brpos_mmmn_zi" => Behaviour::Branch(Branch::Positive),
        "brnzdec_mmmn_zi" => Behaviour::Branch(Branch::Decrement),
        "call_mmmn_zi" => Behaviour::Branch(Branch::Call),
        "rpt_mmmn_zi" => Behaviour::RepeatRegister,
        "rpt_mmmn_zi_zi" => Behaviour::RepeatImmediate,
        "exitz_mmmn" => Behaviour::Exit(|m| m == 0),
        "exitnz_mmmn" => Behaviour::Exit(|m| m != 0),
        "exitpos_mmmn" => Behaviour::Exit(|m| m as i32 >= 0),
        "exitneg_mmmn" => Behaviour::Exit(|m| (m as i32) < 0),
        "get_mmmn_zi" => Behaviour::Get,
        "put_mmmn_zi" => Behaviour::Put,
        "trap_mmmn_zi" => Behaviour::Trap,
        "ld64putcs_mmmn_zi" => Behaviour::Coefficients(8),
        "ld128putcs_mmmn_zi" => Behaviour::Coefficients(16),
        "run_mmmn_zi" => Behaviour::Run,
        "runall_mmmn_zi" => Behaviour::RunAll,
        "sync_mmmn_zi" => Behaviour::Sync,
        "sans_mmmn_zi" => Behaviour::Abstain,
        "delay_mmmn_zi" => Behaviour::Row(Row::Delay),
        "delaypic_exch" => Behaviour::Row(Row::DelayPointer),
        "delayxpic_exch" => Behaviour::Row(Row::DelayMux),
        "send_mmmn_zi" => Behaviour::Row(Row::Send),
        "sendoff_exch" => Behaviour::Row(Row::SendOn),
        "sendpic_exch" => Behaviour::Row(Row::SendControl),
        "sendpicp_exch" => Behaviour::Row(Row::SendPair),
        _ => return None,
    })
}

/// Names of all forms that the simulator executes, sorted.
pub fn supported_forms() -> Vec<&'static str> {
    let mut names: Vec<_> =
        forms().iter().zip(BEHAVIOURS.iter()).filter(|(_, b)| b.is_some()).map(|(f, _)| f.name).collect();
    names.sort_unstable();
    names
}

/// The text of the instruction or bundle in two words, or of the word that is none.
pub(super) fn text(words: u64, context: Context) -> String {
    let (first, second) = (words as u32, (words >> 32) as u32);
    match decode(first, context) {
        Some(main) if main.bundled => match decode(second, context) {
            Some(aux) if aux.bundled => print_bundle(&main, &aux),
            _ => format!(".word {first:#010x}, {second:#010x}"),
        },
        Some(instruction) => print(&instruction),
        None => format!(".word {first:#010x}"),
    }
}

fn decoded(word: u32, context: Context) -> Outcome<(Instruction, Behaviour)> {
    let Some(instruction) = decode(word, context) else {
        return trouble(FaultKind::UndefinedInstruction, format!("word {word:#010x} is no instruction"));
    };
    let form = instruction.form();
    let Some(behaviour) = BEHAVIOURS[form.id.0 as usize] else {
        return trouble(FaultKind::Refused, format!("{} (form {}) is not simulated", form.mnemonic, form.name));
    };
    check_registers(form, &instruction.operands)?;
    Ok((instruction, behaviour))
}

/// Arithmetic registers 8 .. 11 don't exist; two destinations of one instruction differ (`semantics.md` 2.1, 1.7, 3.4).
fn check_registers(form: &Form, o: &Operands) -> Outcome {
    let mut written: [Option<(bool, i32)>; 6] = [None; 6];
    for (i, (operand, &value)) in form.operands.iter().zip(o).enumerate() {
        if operand.class.is_arithmetic_register() && (8..12).contains(&value) {
            return trouble(FaultKind::InvalidOperand, format!("$a{value} is no register of a worker"));
        }
        if operand.role == Role::In || !operand.class.is_register() {
            continue;
        }
        let me = Some((operand.class.is_main_register(), value));
        if written[..i].contains(&me) {
            return trouble(
                FaultKind::InvalidOperand,
                format!("{} names register {value} as destination twice", form.mnemonic),
            );
        }
        written[i] = me;
    }
    Ok(())
}

/// Set of main registers that an instruction reads and writes.
fn main_sets(form: &Form, o: &Operands) -> (u16, u16) {
    let (mut reads, mut writes) = (0u16, 0u16);
    for (operand, &value) in form.operands.iter().zip(o) {
        let bits = match operand.class {
            Class::M => 1u16 << value,
            Class::MPair => 3u16 << value,
            _ => continue,
        };
        if operand.role != Role::Out {
            reads |= bits;
        }
        if operand.role != Role::In {
            writes |= bits;
        }
    }
    (reads, writes)
}

/// Set of arithmetic registers that an instruction writes.
fn arithmetic_writes(form: &Form, o: &Operands) -> u16 {
    form.operands
        .iter()
        .zip(o)
        .filter(|(operand, _)| operand.class.is_arithmetic_register() && operand.role != Role::In)
        .fold(0, |set, (operand, &value)| set | (((1u32 << operand.class.span()) - 1) << value) as u16)
}

/// Main registers 12 to 15 keep their values whatever is written to them.
const FIXED: u16 = 0xf000;

/// A decoded instruction or bundle of a worker.
#[derive(Clone, Copy)]
pub(super) struct WorkerEntry {
    words: u64,
    mask: u64,
    /// 4 or 8.
    pub(super) length: u32,
    pub(super) main: Option<Behaviour>,
    pub(super) main_operands: Operands,
    pub(super) aux: Option<AuxFn>,
    pub(super) aux_operands: Operands,
    /// First register of the aux result, and how many it has (0 to 2).
    pub(super) destination: u8,
    pub(super) span: u8,
    /// Issues that it takes.
    pub(super) issues: u8,
    /// Main half names a register whose value is fixed as destination.
    pub(super) keep_fixed: bool,
    /// May stand in a repeat body.
    pub(super) repeatable: bool,
}

impl WorkerEntry {
    fn new(pc: u32, words: u64) -> Outcome<Self> {
        let (first, second) = (words as u32, (words >> 32) as u32);
        let (main, behaviour) = decoded(first, Context::Worker)?;
        let mut entry = Self {
            words: u64::from(first),
            mask: u64::from(u32::MAX),
            length: 4,
            main: None,
            main_operands: [0; 6],
            aux: None,
            aux_operands: [0; 6],
            destination: 0,
            span: 0,
            issues: 1,
            keep_fixed: false,
            repeatable: false,
        };
        if main.form().lane == Lane::Aux {
            if main.bundled {
                return trouble(FaultKind::UndefinedInstruction, "a bundle begins with an aux instruction");
            }
            entry.set_aux(&main, behaviour);
            return Ok(entry);
        }
        entry.main = Some(behaviour);
        entry.main_operands = main.operands;
        entry.keep_fixed = main_sets(main.form(), &main.operands).1 & FIXED != 0;
        if main.bundled {
            if pc + 4 >= INTERLEAVED_BASE {
                return trouble(FaultKind::InvalidPc, "the second word of a bundle is not executable");
            }
            let (aux, behaviour) = decoded(second, Context::Worker)?;
            if aux.form().lane != Lane::Aux || !aux.bundled {
                return trouble(FaultKind::UndefinedInstruction, "the second word of a bundle is no aux instruction");
            }
            let clash = arithmetic_writes(main.form(), &main.operands) & arithmetic_writes(aux.form(), &aux.operands);
            if clash != 0 {
                return trouble(
                    FaultKind::InvalidOperand,
                    format!("both halves of the bundle write $a{}", clash.trailing_zeros()),
                );
            }
            entry.words = words;
            entry.mask = u64::MAX;
            entry.length = 8;
            let plain = |form: &Form| !form.control && !form.system;
            entry.repeatable = plain(main.form()) && plain(aux.form());
            entry.set_aux(&aux, behaviour);
        }
        Ok(entry)
    }

    fn set_aux(&mut self, aux: &Instruction, behaviour: Behaviour) {
        let Behaviour::Aux(f, issues) = behaviour else { unreachable!("aux forms have aux behaviours") };
        self.aux = Some(f);
        self.aux_operands = aux.operands;
        self.issues = issues;
        if let Some(first) = aux.form().operands.first()
            && first.role != Role::In
            && first.class.is_arithmetic_register()
        {
            self.destination = aux.operands[0] as u8;
            self.span = first.class.span() as u8;
        }
    }
}

/// A decoded instruction of a supervisor.
#[derive(Clone, Copy)]
pub(super) struct SupervisorEntry {
    words: u64,
    mask: u64,
    /// 4, or 8 with a payload word.
    pub(super) length: u32,
    pub(super) behaviour: Behaviour,
    pub(super) operands: Operands,
    /// Main registers that it reads.
    pub(super) reads: u16,
    /// Main registers that it writes.
    pub(super) writes: u16,
    pub(super) keep_fixed: bool,
    /// The second word, for forms that have one.
    pub(super) payload: u32,
    /// Touches neither memory data nor workers nor barriers, so it may run ahead of arriving words.
    pub(super) row_safe: bool,
}

impl SupervisorEntry {
    fn new(words: u64) -> Outcome<Self> {
        let (first, second) = (words as u32, (words >> 32) as u32);
        let (instruction, behaviour) = decoded(first, Context::Supervisor)?;
        if instruction.bundled {
            return trouble(FaultKind::UndefinedInstruction, "a supervisor knows no bundles");
        }
        let form = instruction.form();
        let (reads, writes) = main_sets(form, &instruction.operands);
        let row_safe = matches!(
            behaviour,
            Behaviour::Integer(_) | Behaviour::Branch(_) | Behaviour::Get | Behaviour::Put | Behaviour::Row(_)
        );
        Ok(Self {
            words: if form.payload { words } else { u64::from(first) },
            mask: if form.payload { u64::MAX } else { u64::from(u32::MAX) },
            length: if form.payload { 8 } else { 4 },
            behaviour,
            operands: instruction.operands,
            reads,
            writes,
            keep_fixed: writes & FIXED != 0,
            payload: second,
            row_safe,
        })
    }
}

/// Decoded code by address, for one thread.
pub(super) struct CodeCache {
    workers: Slots<WorkerEntry>,
    supervisors: Slots<SupervisorEntry>,
}

/// Entries in order of first use, and where the entry of each address is (plus 1).
struct Slots<T> {
    index: Vec<u32>,
    entries: Vec<T>,
}

impl<T> Slots<T> {
    fn new() -> Self {
        Self { index: vec![0; ((INTERLEAVED_BASE - BASE) / 4) as usize], entries: Vec::new() }
    }

    fn insert(&mut self, pc: u32, entry: T) -> &T {
        let slot = &mut self.index[((pc - BASE) / 4) as usize];
        if *slot == 0 {
            self.entries.push(entry);
            *slot = self.entries.len() as u32;
        } else {
            self.entries[*slot as usize - 1] = entry;
        }
        &self.entries[*slot as usize - 1]
    }

    #[inline]
    fn at(&self, pc: u32) -> Option<&T> {
        let slot = self.index[((pc - BASE) / 4) as usize];
        self.entries.get((slot as usize).wrapping_sub(1))
    }
}

impl CodeCache {
    pub(super) fn new() -> Self {
        Self { workers: Slots::new(), supervisors: Slots::new() }
    }

    /// The bundle at a worker's `pc`, which is in the executable region and holds `words`.
    #[inline]
    pub(super) fn worker(&mut self, pc: u32, words: u64) -> Outcome<&WorkerEntry> {
        let hit = self.workers.at(pc).is_some_and(|e| words & e.mask == e.words);
        if hit {
            return Ok(self.workers.at(pc).expect("was there"));
        }
        Ok(self.workers.insert(pc, WorkerEntry::new(pc, words)?))
    }

    /// The instruction at a supervisor's `pc`.
    #[inline]
    pub(super) fn supervisor(&mut self, pc: u32, words: u64) -> Outcome<&SupervisorEntry> {
        let hit = self.supervisors.at(pc).is_some_and(|e| words & e.mask == e.words);
        if hit {
            return Ok(self.supervisors.at(pc).expect("was there"));
        }
        Ok(self.supervisors.insert(pc, SupervisorEntry::new(words)?))
    }
}
