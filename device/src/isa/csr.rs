//! Control and status registers by name, as the assembler and the traces show them.

use std::sync::LazyLock;

use super::Context;

/// Which instructions reach a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bank {
    /// `get` / `put`, numbers 0 to 255.
    Lower,
    /// `uget` / `uput` of a worker, numbers 256 to 511 with 256 subtracted.
    Upper,
}

/// One register name.
#[derive(Clone, Copy, Debug)]
pub struct Csr {
    /// Name with its `$`.
    pub name: &'static str,
    /// Number as it stands in the instruction field.
    pub number: u8,
    /// Bank.
    pub bank: Bank,
    /// Known to the supervisor.
    pub supervisor: bool,
    /// Known to workers.
    pub worker: bool,
}

static CSRS: LazyLock<Vec<Csr>> = LazyLock::new(|| {
    include_str!("csr.tsv")
        .lines()
        .skip(1)
        .filter_map(|line| {
            let column: Vec<&'static str> = line.split('\t').collect();
            let [name, number, context, note] = column[..] else { panic!("row of the register table: {line}") };
            // The coefficient registers are another space that no instruction names; constants are not registers.
            if context == "constant" || name.starts_with("$CWEI") {
                return None;
            }
            Some(Csr {
                name,
                number: number.parse().unwrap_or_else(|_| panic!("number of {name}")),
                bank: if note.contains("bank: upper") { Bank::Upper } else { Bank::Lower },
                supervisor: context != "worker",
                worker: context != "supervisor",
            })
        })
        .collect()
});

/// The register of a name (with its `$`), whoever knows it.
pub fn csr_by_name(name: &str) -> Option<Csr> {
    CSRS.iter().copied().find(|c| c.name == name)
}

/// The register of a number in a bank, as `context` knows it.
pub fn csr_by_number(number: u8, bank: Bank, context: Context) -> Option<Csr> {
    CSRS.iter().copied().find(|c| {
        c.number == number && c.bank == bank && if context == Context::Worker { c.worker } else { c.supervisor }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(csr_by_name("$INCOMING_MUX").map(|c| c.number), Some(0xa0));
        assert_eq!(csr_by_number(1, Bank::Lower, Context::Worker).map(|c| c.name), Some("$WSR"));
        assert_eq!(csr_by_number(1, Bank::Lower, Context::Supervisor).map(|c| c.name), Some("$SSR"));
        assert_eq!(csr_by_number(1, Bank::Upper, Context::Worker).map(|c| c.name), Some("$FP_CLR"));
    }
}
