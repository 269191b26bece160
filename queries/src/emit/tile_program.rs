//! The supervisor code of a tile: the steps of the program with every address filled in.
//!
//! In: a [`TileProgram`], which is all that distinguishes one tile's code from another's; tiles with equal programs
//! share one (a tile class). Out: words, assembled through the instruction table.
//!
//! Code of a step (`runtime.md` 2.5, `exchange.md` 2.5):
//! - exchange, taking part: incoming count 1, `sync 3`, `call` the row, which returns through `$m10`;
//! - exchange, not taking part: `sans 0`, `sync 1`;
//! - call: arguments into `$m2` upward, `call` the kernel;
//! - end: jump to the runtime's `complete`.
//!
//! All tiles that take part in a phase run the same instructions between the release of the barrier and the first row
//! instruction, so that their row clocks coincide.
//!
//! The receive and send bases are set to 0 once, at the start: rows carry absolute addresses.

use ipuc_device::isa::{Instruction, encode};

/// CSR numbers (`exchange.md` 2.3).
const INCOMING_BASE: i32 = 0xa4;
const INCOMING_DCOUNT: i32 = 0xa6;
const OUTGOING_BASE: i32 = 0xa7;
/// First argument register of a kernel.
const FIRST_ARGUMENT: i32 = 2;
/// Scratch register for CSR writes.
const SCRATCH: i32 = 8;
const LINK: i32 = 10;
const ZERO: i32 = 15;
/// Barrier of all tiles of the chip.
const SYNC_INTERNAL: i32 = 3;
/// Completes an abstention.
const SYNC_ABSTAIN: i32 = 1;

/// What a tile does in one step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Takes part in a phase with the row at this byte address.
    Exchange(u32),
    /// Lets a phase pass.
    Abstain,
    /// Calls a kernel.
    Call {
        /// Byte address of the entry point.
        target: u32,
        /// `$m2`, `$m3`, ...: values below 2^20.
        arguments: Vec<u32>,
    },
}

/// The program of a tile class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileProgram {
    /// The steps.
    pub actions: Vec<Action>,
    /// Byte address of the runtime's `complete`.
    pub complete: u32,
}

/// Words before and after the actions.
pub const FRAME_WORDS: u32 = 3;

impl TileProgram {
    /// The code.
    pub fn words(&self) -> Vec<u32> {
        let mut words = Vec::new();
        let mut emit = |form: &str, operands: &[i32]| {
            words.push(encode(&Instruction::new(form, operands)).expect("placed addresses fit their fields"));
        };
        let word_address = |bytes: u32| (bytes / 4) as i32;
        emit("put_mmmn_zi", &[INCOMING_BASE, ZERO]);
        emit("put_mmmn_zi", &[OUTGOING_BASE, ZERO]);
        for action in &self.actions {
            match action {
                Action::Exchange(row) => {
                    emit("setzi_mmmn_zi", &[SCRATCH, 1]);
                    emit("put_mmmn_zi", &[INCOMING_DCOUNT, SCRATCH]);
                    emit("sync_mmmn_zi", &[SYNC_INTERNAL]);
                    emit("call_mmmn_zi", &[LINK, word_address(*row)]);
                }
                Action::Abstain => {
                    emit("sans_mmmn_zi", &[0]);
                    emit("sync_mmmn_zi", &[SYNC_ABSTAIN]);
                }
                Action::Call { target, arguments } => {
                    for (register, &value) in (FIRST_ARGUMENT..).zip(arguments) {
                        emit("setzi_mmmn_zi", &[register, value as i32]);
                    }
                    emit("call_mmmn_zi", &[LINK, word_address(*target)]);
                }
            }
        }
        emit("bri_mmmn_zi", &[word_address(self.complete)]);
        words
    }
}

#[cfg(test)]
mod tests {
    use ipuc_device::isa::{Context, decode, print};

    use super::*;

    #[test]
    fn code_of_every_action() {
        let program = TileProgram {
            actions: vec![
                Action::Exchange(0x5c000),
                Action::Abstain,
                Action::Call { target: 0x4c100, arguments: vec![0x80000, 7] },
            ],
            complete: 0x4c080,
        };
        let words = program.words();
        assert_eq!(words.len() as u32, FRAME_WORDS + 4 + 2 + 3);
        let text: Vec<String> =
            words.iter().map(|&w| print(&decode(w, Context::Supervisor).expect("decodes"))).collect();
        let expected = [
            "put 164, $m15",
            "put 167, $m15",
            "setzi $m8, 1",
            "put 166, $m8",
            "sync 3",
            "call $m10, 0x5c000",
            "sans 0",
            "sync 1",
            "setzi $m2, 524288",
            "setzi $m3, 7",
            "call $m10, 0x4c100",
            "bri 0x4c080",
        ];
        assert_eq!(text, expected);
    }
}
