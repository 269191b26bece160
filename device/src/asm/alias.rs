//! Aliases and the one macro instruction of `assembler.md` 6, rewritten to instructions of the table.
//!
//! In: mnemonic and operands as written. Out: the instruction(s) that they mean. The list here holds spellings only:
//! every encoding comes from the instruction table.

use super::diagnostic::{Outcome, Problem};
use super::operands::{Argument, File, Shape, Value};
use super::select::{Immediate, Rules, Selected, is_mnemonic, select};
use super::text::Position;
use crate::isa::{Bank, Class, Context};

/// What was selected, and what is odd about it.
pub(super) struct Meaning {
    /// One instruction, or two for a wide `ldconst`.
    pub(super) instructions: Vec<Selected>,
    /// `ldconst` cannot stand in a bundle, even when it is one word.
    pub(super) is_macro: bool,
    pub(super) warning: Option<Problem>,
}

/// The instructions that a statement means.
pub(super) fn meaning(mnemonic: &str, arguments: &[Argument], rules: Rules, at: Position) -> Outcome<Meaning> {
    let one = |mnemonic: &str, arguments: &[Argument], immediate: Immediate| {
        select(mnemonic, arguments, immediate, rules, at).map(|s| Meaning {
            instructions: vec![s],
            is_macro: false,
            warning: None,
        })
    };
    let count = |n: usize| {
        if arguments.len() == n {
            Ok(())
        } else {
            Err(Problem::new(at, format!("`{mnemonic}` takes {n} operands, found {}", arguments.len())))
        }
    };
    let main = |n: u8| Argument::register(File::Main, n, Shape::Single, at);
    let arithmetic = |n: u8| Argument::register(File::Arithmetic, n, Shape::Single, at);
    let zeros = || Argument::register(File::Arithmetic, 14, Shape::Group(2), at);
    let number = |n: i64| Argument::number(n, at);
    match mnemonic {
        "nop" => {
            count(0)?;
            one("setzi", &[main(14), number(0)], Immediate::Any)
        }
        "fnop" => {
            count(0)?;
            one("setzi", &[arithmetic(13), number(0)], Immediate::Any)
        }
        "strap" => {
            count(0)?;
            one("put", &[number(255), main(15)], Immediate::Any)
        }
        "zero" => {
            count(1)?;
            let d = &arguments[0];
            match d.plain_register().map(|r| (r.file, r.shape)) {
                Some((File::Main, Shape::Single)) => one("or", &[d.clone(), main(15), main(15)], Immediate::Any),
                Some((File::Arithmetic, Shape::Single)) => {
                    one("or", &[d.clone(), arithmetic(15), arithmetic(15)], Immediate::Any)
                }
                Some((File::Arithmetic, Shape::Group(2))) => {
                    one("or64", &[d.clone(), zeros(), zeros()], Immediate::Any)
                }
                _ => Err(Problem::new(d.at, "`zero` takes a main register, an arithmetic register or pair")),
            }
        }
        "mov" => {
            count(2)?;
            let [d, s] = arguments else { unreachable!("two operands were counted") };
            let shape = |a: &Argument| a.plain_register().map(|r| (r.file, r.shape));
            match (shape(d), shape(s)) {
                (Some((File::Main, Shape::Single)), Some((File::Main, Shape::Single)))
                | (Some((File::Arithmetic, Shape::Single)), Some((File::Arithmetic, Shape::Single))) => {
                    one("or", &[d.clone(), s.clone(), number(0)], Immediate::Unsigned)
                }
                (Some((File::Main, Shape::Single)), Some((File::Arithmetic, Shape::Single))) => {
                    one("atom", &[d.clone(), s.clone()], Immediate::Any)
                }
                (Some((File::Arithmetic, Shape::Group(2))), Some((File::Arithmetic, Shape::Group(2)))) => {
                    one("or64", &[d.clone(), s.clone(), zeros()], Immediate::Any)
                }
                (Some((File::Arithmetic, _)), Some((File::Main, _))) => {
                    Err(Problem::new(at, "no move from a main to an arithmetic register: go through memory"))
                }
                _ => Err(Problem::new(at, "`mov` takes two registers or two arithmetic pairs")),
            }
        }
        "swap16" => {
            count(2)?;
            let [d, s] = arguments else { unreachable!("two operands were counted") };
            one("roll16", &[d.clone(), s.clone(), s.clone()], Immediate::Any)
        }
        "f16v4sisov2amp" => one("f16v4sisoamp", arguments, Immediate::Any),
        "f16v4sisov2slic" => one("f16v4sisoslic", arguments, Immediate::Any),
        "adds" | "cmpeqs" | "maxs" | "mins" | "subs" => {
            one(&mnemonic[..mnemonic.len() - 1], arguments, Immediate::Signed)
        }
        "addz" | "cmpeqz" | "maxz" | "minz" | "subz" => {
            one(&mnemonic[..mnemonic.len() - 1], arguments, Immediate::Unsigned)
        }
        "sub" => match subtracted_constant(arguments) {
            Some((n, place)) => {
                let Some(negated) = n.checked_neg().filter(|n| (-0x7fff..=0x7fff).contains(n)) else {
                    return Err(Problem::new(place, format!("immediate {n} out of range -32767 .. 32767")));
                };
                let mut list = arguments.to_vec();
                list[2] = Argument::number(negated, place);
                one("add", &list, Immediate::Signed)
            }
            None => one("sub", arguments, Immediate::Any),
        },
        "get" | "put" | "uget" | "uput" => control_register(mnemonic, arguments, rules, at),
        "ldconst" => ldconst(arguments, rules, at),
        _ => one(mnemonic, arguments, Immediate::Any),
    }
}

/// Whether `name` begins an instruction statement.
pub(super) fn is_instruction(name: &str) -> bool {
    const ALIASES: [&str; 18] = [
        "nop",
        "fnop",
        "strap",
        "zero",
        "mov",
        "swap16",
        "f16v4sisov2amp",
        "f16v4sisov2slic",
        "adds",
        "cmpeqs",
        "maxs",
        "mins",
        "subs",
        "addz",
        "cmpeqz",
        "maxz",
        "minz",
        "subz",
    ];
    is_mnemonic(name) || name == "ldconst" || ALIASES.contains(&name)
}

/// The constant of `sub register, register, constant`.
fn subtracted_constant(arguments: &[Argument]) -> Option<(i64, Position)> {
    let [_, x, y] = arguments else { return None };
    x.plain_register()?;
    match &y.value {
        Value::Expression { expression, .. } => Some((expression.number()?, y.at)),
        Value::Register(_) => None,
    }
}

/// `get` and `put` with an arithmetic register mean `uget` and `uput`. A register of the other bank is odd, since its
/// number then reaches another register.
fn control_register(mnemonic: &str, arguments: &[Argument], rules: Rules, at: Position) -> Outcome<Meaning> {
    let arithmetic = arguments.iter().any(|a| a.plain_register().is_some_and(|r| r.file == File::Arithmetic));
    let actual = match mnemonic {
        "get" if arithmetic => "uget",
        "put" if arithmetic => "uput",
        other => other,
    };
    let selected = select(actual, arguments, Immediate::Any, rules, at)?;
    let bank = if actual.starts_with('u') { Bank::Upper } else { Bank::Lower };
    let warning = arguments.iter().find_map(|a| match &a.value {
        Value::Expression { csr: Some(csr), .. } if csr.bank != bank => {
            let files = if bank == Bank::Upper { "main" } else { "arithmetic" };
            Some(Problem::new(a.at, format!("{} is reached through {files} registers only", csr.name)))
        }
        _ => None,
    });
    Ok(Meaning { instructions: vec![selected], is_macro: false, warning })
}

fn ldconst(arguments: &[Argument], rules: Rules, at: Position) -> Outcome<Meaning> {
    let [register, constant] = arguments else {
        return Err(Problem::new(at, format!("`ldconst` takes 2 operands, found {}", arguments.len())));
    };
    let Some(r) = register.plain_register().filter(|r| r.shape == Shape::Single) else {
        return Err(Problem::new(register.at, "register expected"));
    };
    if r.file == File::Arithmetic && rules.context == Context::Supervisor && !rules.invalid_mode {
        return Err(Problem::new(register.at, "the supervisor has no arithmetic registers"));
    }
    let Value::Expression { expression, .. } = &constant.value else {
        return Err(Problem::new(constant.at, "number expected, found a register"));
    };
    let Some(n) = expression.number() else {
        return Err(Problem::new(constant.at, "`ldconst` needs a value known at this line"));
    };
    if !(-(1i64 << 31)..1i64 << 32).contains(&n) {
        return Err(Problem::new(constant.at, format!("immediate {n} is wider than 32 bits")));
    }
    let (low, high) = (n & 0xf_ffff, n & 0xfff0_0000);
    let low = Argument::number(low, constant.at);
    let mut instructions = vec![select("setzi", &[register.clone(), low], Immediate::Any, rules, at)?];
    if high != 0 {
        let list = [register.clone(), register.clone(), Argument::number(high, constant.at)];
        let upper = select("or", &list, Immediate::Any, rules, at)?;
        debug_assert!(upper.form.operands[2].class == Class::UpperBits, "the low 20 bits are 0");
        instructions.push(upper);
    }
    Ok(Meaning { instructions, is_macro: true, warning: None })
}
