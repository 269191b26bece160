//! The flag values of the AMP's 6-bit immediate.
//!
//! Graphcore's header names them (`TAMP_F16V4_E4_P0` and so on) but no public source gives their bits, so this project
//! has defaults of its own: bits 2:0 the phase, bits 4:3 the engine code (0 = E4, 1 = E2, 2 = E1); `semantics.md` 5.6
//! marks that a guess. Assembler and simulator must agree, so the table in use travels in each package's manifest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Flag names and their values, as the assembler predefines them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AmpFlags {
    values: BTreeMap<String, u8>,
}

/// What a flag value selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AmpStep {
    /// Active engines per set: 4, 2 or 1.
    pub engines: u8,
    /// Phase of the step.
    pub phase: u8,
}

impl Default for AmpFlags {
    fn default() -> Self {
        let mut values = BTreeMap::new();
        for (engines, code) in [(4u8, 0u8), (2, 1), (1, 2)] {
            // The F8V8 names are used with equal values (PopLibs takes the F16V4 names for FP8).
            for (family, phases) in [("F16V4", engines), ("F8V8", engines), ("F32", 2 * engines)] {
                for phase in 0..phases {
                    values.insert(format!("TAMP_{family}_E{engines}_P{phase}"), code << 3 | phase);
                }
            }
        }
        Self { values }
    }
}

impl AmpFlags {
    /// Name and value of every flag, in name order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u8)> {
        self.values.iter().map(|(name, &value)| (name.as_str(), value))
    }

    /// The value of a name.
    pub fn value(&self, name: &str) -> Option<u8> {
        self.values.get(name).copied()
    }

    /// What `value` means to the instructions of a family (`F16V4`, `F8V8` or `F32`); `None` if no name has it.
    pub fn step(&self, family: &str, value: u8) -> Option<AmpStep> {
        self.values.iter().filter(|&(_, &v)| v == value).find_map(|(name, _)| {
            let rest = name.strip_prefix("TAMP_")?.strip_prefix(family)?.strip_prefix("_E")?;
            let (engines, phase) = rest.split_once("_P")?;
            Some(AmpStep { engines: engines.parse().ok()?, phase: phase.parse().ok()? })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_their_meaning_agree() {
        let flags = AmpFlags::default();
        assert_eq!(flags.value("TAMP_F16V4_E4_P3"), Some(3));
        assert_eq!(flags.value("TAMP_F16V4_E2_P1"), Some(9));
        assert_eq!(flags.step("F16V4", 3), Some(AmpStep { engines: 4, phase: 3 }));
        assert_eq!(flags.step("F32", 7), Some(AmpStep { engines: 4, phase: 7 }));
        assert_eq!(flags.step("F16V4", 7), None);
    }
}
