//! From a mnemonic and its operands to a form of the instruction table.
//!
//! In: mnemonic, [`Argument`]s, who executes, which permissions are on. Out: a [`Selected`] form with operand values,
//! one of them perhaps an expression to be known later. Rules of `assembler.md` 5 (operand classes, choice among
//! forms, short memory operands).
//!
//! Properties:
//! 1. Candidates come from the table alone; a signed immediate is preferred to an unsigned one, that to upper bits.
//! 2. With the operand permission off, every accepted operand is inside the range of its class.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::diagnostic::{Outcome, Problem};
use super::expression::Expression;
use super::operands::{Argument, File, Register, Shape, Value};
use super::text::Position;
use crate::isa::{Class, Context, Form, Operand, Role, Suffix, forms};

/// What the mode and permission directives say at this line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) context: Context,
    pub(super) invalid_operands: bool,
    pub(super) invalid_mode: bool,
    pub(super) invalid_bundles_warn: bool,
    pub(super) invalid_repeat: bool,
    pub(super) optimizations: bool,
}

impl Rules {
    pub(super) fn new(context: Context) -> Self {
        Self {
            context,
            invalid_operands: false,
            invalid_mode: false,
            invalid_bundles_warn: false,
            invalid_repeat: false,
            optimizations: false,
        }
    }

    pub(super) fn allows(self, form: &Form) -> bool {
        self.invalid_mode || form.contexts.allow(self.context)
    }
}

/// A form with its operands.
#[derive(Clone, Debug)]
pub(super) struct Selected {
    pub(super) form: &'static Form,
    pub(super) values: Vec<i64>,
    /// Operand whose value is known at the end.
    pub(super) deferred: Option<(usize, Expression)>,
    pub(super) at: Position,
}

/// Which immediate class an alias asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Immediate {
    Any,
    Signed,
    Unsigned,
}

static MNEMONICS: LazyLock<BTreeMap<&'static str, Vec<&'static Form>>> = LazyLock::new(|| {
    let mut map: BTreeMap<&'static str, Vec<&'static Form>> = BTreeMap::new();
    for form in forms() {
        map.entry(form.mnemonic).or_default().push(form);
    }
    for list in map.values_mut() {
        list.sort_by_key(|f| (immediate_rank(f), f.id));
    }
    map
});

fn immediate_rank(form: &Form) -> u8 {
    form.operands
        .iter()
        .map(|o| match o.class {
            Class::Signed => 1,
            Class::UpperBits => 3,
            class if class.is_register() => 0,
            _ => 2,
        })
        .max()
        .unwrap_or(0)
}

pub(super) fn is_mnemonic(name: &str) -> bool {
    MNEMONICS.contains_key(name)
}

/// Why a form does not fit, and how far the operands did.
struct Mismatch {
    progress: usize,
    problem: Problem,
}

/// The form for a mnemonic and operands.
pub(super) fn select(
    mnemonic: &str,
    arguments: &[Argument],
    immediate: Immediate,
    rules: Rules,
    at: Position,
) -> Outcome<Selected> {
    let Some(candidates) = MNEMONICS.get(mnemonic) else {
        return Err(Problem::new(at, format!("unknown mnemonic `{mnemonic}`")));
    };
    let attempt = |lenient: bool, allowed: &dyn Fn(&Form) -> bool| {
        let mut best: Option<Mismatch> = None;
        for form in candidates.iter().filter(|f| allowed(f) && fits_immediate(f, immediate)) {
            match fit(form, arguments, lenient, at) {
                Ok(selected) => return Ok(selected),
                Err(m) if best.as_ref().is_none_or(|b| m.progress > b.progress) => best = Some(m),
                Err(_) => {}
            }
        }
        Err(best)
    };
    let allowed = |f: &Form| rules.allows(f);
    let mut result = attempt(false, &allowed);
    if result.is_err() && rules.invalid_operands {
        result = attempt(true, &allowed);
    }
    let mismatch = match result {
        Ok(selected) => return Ok(selected),
        Err(mismatch) => mismatch,
    };
    // A form of the other mode would fit: that is the better reason.
    if let Ok(other) = attempt(rules.invalid_operands, &|f| !rules.allows(f)) {
        let who = if other.form.contexts.allow(Context::Worker) { "workers" } else { "the supervisor" };
        return Err(Problem::new(at, format!("`{mnemonic}` with these operands is for {who} only")));
    }
    if let Some(m) = mismatch {
        Err(m.problem)
    } else {
        let who = if rules.context == Context::Worker { "supervisor" } else { "worker" };
        Err(Problem::new(at, format!("`{mnemonic}` is an instruction of the {who} only")))
    }
}

fn fits_immediate(form: &Form, immediate: Immediate) -> bool {
    let has = |class| form.operands.iter().any(|o| o.class == class);
    match immediate {
        Immediate::Any => true,
        Immediate::Signed => has(Class::Signed),
        Immediate::Unsigned => has(Class::Unsigned),
    }
}

/// Loads and stores in offset form: value, base, delta, offset, none with a suffix.
fn is_offset_access(form: &Form) -> bool {
    let [value, base, delta, offset] = &form.operands[..] else { return false };
    let plain_main = |o: &Operand| o.class == Class::M && o.suffix == Suffix::None && o.role == Role::In;
    let memory = form.mnemonic.starts_with("ld") || form.mnemonic.starts_with("st");
    memory
        && value.class != Class::MPair
        && plain_main(base)
        && plain_main(delta)
        && (plain_main(offset) || offset.class == Class::Unsigned)
}

fn fit(form: &'static Form, arguments: &[Argument], lenient: bool, at: Position) -> Result<Selected, Mismatch> {
    let operands = &form.operands;
    let memory = is_offset_access(form);
    let mut full = arguments.to_vec();
    if memory && arguments.len() == 3 {
        full.insert(2, Argument::register(File::Main, 15, Shape::Single, arguments[2].at));
    }
    if full.len() != operands.len() {
        let expected = if memory { "3 or 4".to_owned() } else { operands.len().to_string() };
        let message = format!("`{}` takes {expected} operands, found {}", form.mnemonic, arguments.len());
        return Err(Mismatch { progress: 0, problem: Problem::new(at, message) });
    }
    let mut selected = Selected { form, values: Vec::new(), deferred: None, at };
    for (i, (operand, argument)) in operands.iter().zip(&full).enumerate() {
        let offset = memory && i == 3;
        match value(operand, argument, lenient, offset) {
            Ok(Known::Now(v)) => selected.values.push(v),
            Ok(Known::Later(expression)) => {
                selected.values.push(0);
                selected.deferred = Some((i, expression));
            }
            // A register where an immediate belongs says less than a wrong value.
            Err((message, near)) => {
                let progress = 2 * (i + 1) + usize::from(near);
                return Err(Mismatch { progress, problem: Problem::new(argument.at, message) });
            }
        }
    }
    Ok(selected)
}

enum Known {
    Now(i64),
    Later(Expression),
}

/// The value of an argument as an operand; else the reason, and whether at least the kind was right.
fn value(operand: &Operand, argument: &Argument, lenient: bool, offset: bool) -> Result<Known, (String, bool)> {
    match (&argument.value, operand.class.is_register()) {
        (Value::Register(register), true) => register_value(operand, *register, lenient).map(Known::Now),
        (Value::Register(_), false) => {
            let what = match operand.class {
                Class::Rel19S2 => "address expected, found a register",
                _ => "number expected, found a register",
            };
            Err((what.into(), false))
        }
        (Value::Expression { .. }, true) => Err(("register expected".into(), false)),
        (Value::Expression { expression, .. }, false) => match expression.number() {
            Some(n) => immediate_value(operand, n, lenient).map(Known::Now).map_err(|m| (m, true)),
            None => match operand.class {
                Class::Rel8 | Class::Rel16 | Class::Rel20 | Class::Rel19S2 | Class::Run => {
                    Ok(Known::Later(expression.clone()))
                }
                _ if offset => Err(("symbol not allowed as memory offset".into(), true)),
                _ => Err(("number expected, found an expression with a symbol".into(), true)),
            },
        },
    }
}

fn register_value(operand: &Operand, register: Register, lenient: bool) -> Result<i64, (String, bool)> {
    let main = operand.class.is_main_register();
    if main != (register.file == File::Main) {
        let wanted = if main { "main" } else { "arithmetic" };
        return Err((format!("register of the {wanted} file expected"), false));
    }
    let shape = match operand.class {
        Class::Broadcast => Shape::Broadcast,
        Class::BroadcastLower => Shape::BroadcastLower,
        Class::BroadcastUpper => Shape::BroadcastUpper,
        class if class.span() > 1 => Shape::Group(class.span() as u8),
        _ => Shape::Single,
    };
    if register.shape != shape {
        let wanted = match shape {
            Shape::Single => "single register",
            Shape::Group(2) => "register pair",
            Shape::Group(_) => "register quad",
            Shape::Broadcast => "register with :B",
            Shape::BroadcastLower => "register with :BL",
            Shape::BroadcastUpper => "register with :BU",
        };
        return Err((format!("{wanted} expected"), false));
    }
    let span = operand.class.span().max(1) as u8;
    let off = register.low % span;
    if off != 0 && !lenient {
        let what = if span == 2 { "pair" } else { "quad" };
        return Err((format!("misaligned register {what}: {} is no multiple of {span}", register.low), true));
    }
    if register.suffix != operand.suffix {
        let message = match (operand.suffix, register.suffix) {
            (Suffix::None, given) => format!("suffix `{}` is not allowed here", given.text()),
            (wanted, Suffix::None) => format!("suffix `{}` is missing", wanted.text()),
            (wanted, given) => format!("suffix `{}` expected, found `{}`", wanted.text(), given.text()),
        };
        return Err((message, true));
    }
    Ok(i64::from(register.low - off))
}

fn immediate_value(operand: &Operand, n: i64, lenient: bool) -> Result<i64, String> {
    if operand.class == Class::UpperBits {
        if lenient {
            return Ok(n & 0xfff0_0000);
        }
        return if !(-(1i64 << 31)..1i64 << 32).contains(&n) {
            Err(format!("immediate {n} out of range"))
        } else if n & 0xf_ffff != 0 {
            Err(format!("immediate {n} out of range (or its low 20 bits must be 0)"))
        } else {
            Ok(n)
        };
    }
    let bits = u32::from(operand.bits);
    let (low, high) = match operand.class {
        Class::Signed => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
        _ => (0, (1i64 << bits) - 1),
    };
    if (low..=high).contains(&n) {
        return Ok(n);
    }
    if lenient {
        let shift = 64 - bits;
        let kept = (n << shift) as u64 >> shift;
        return Ok(if operand.class == Class::Signed { n << shift >> shift } else { kept as i64 });
    }
    Err(format!("immediate {n} out of range {low} .. {high}"))
}
