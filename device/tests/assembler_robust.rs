//! No source makes the assembler panic or hang, equal sources give equal bytes, and objects read back.

use ipuc_device::asm::{self, Options};
use proptest::prelude::*;

/// Pieces of sources, so that random text gets far into the assembler.
const PIECES: &[&str] = &[
    " ",
    "\n",
    ";",
    "\t",
    ",",
    ":",
    "{",
    "}",
    "(",
    ")",
    "#",
    "\\",
    "\"",
    "'",
    "@",
    "$",
    "=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "++",
    "+=",
    "!",
    "~",
    "0",
    "1",
    "7",
    "0x1f",
    "0b1",
    "1f",
    "1b",
    "2:",
    "1:",
    "1.0h",
    "infh",
    "65536",
    "18446744073709551615",
    "99999999999999999999",
    "$m0",
    "$m1",
    "$m0:1",
    "$a0",
    "$a0:1",
    "$a0:3",
    "$a2:B",
    "$mzero",
    "$azeros",
    "$PC",
    "$FP_CTL",
    "x",
    "y",
    ".L1",
    "foo",
    "nop",
    "fnop",
    "add",
    "ld32",
    "ld64step",
    "rpt",
    "bri",
    "call",
    "setzi",
    "run",
    "ldconst",
    "sub",
    "mov",
    "zero",
    "sendpicp",
    "f16v4hihov4amp",
    ".macro m a, b=1\n",
    ".endm\n",
    "m ",
    "\\a",
    "\\@",
    "\\()",
    ".if ",
    ".ifdef ",
    ".else\n",
    ".elseif ",
    ".endif\n",
    ".rept ",
    ".irp x, ",
    ".irpc x, ",
    ".endr\n",
    ".set ",
    ".equ ",
    ".globl ",
    ".section ",
    "\"ax\"",
    ".text\n",
    ".data\n",
    ".bss\n",
    ".align ",
    ".p2align ",
    ".byte ",
    ".half ",
    ".long ",
    ".quad ",
    ".ascii ",
    ".space ",
    ".fill ",
    ".org ",
    ".reloc ",
    "R_COLOSSUS_20",
    ".size ",
    ".type ",
    ".worker\n",
    ".supervisor\n",
    ".allow_invalid_operands\n",
    ".allow_optimizations\n",
    ".warn_on_invalid_bundles\n",
    ".allow_invalid_execution_mode\n",
    "\n#define D ",
    "\n#define F(p, q) ",
    "##",
    "D ",
    "F(",
    "p",
    "\n#if ",
    "defined",
    "\n#else\n",
    "\n#endif\n",
    "\n#undef D\n",
    "\n#include \"self\"\n",
    ".include \"self\"\n",
    "/*",
    "*/",
    "//",
    ".exitm\n",
    ".purgem m\n",
    ".previous\n",
    ".pushsection .x\n",
    ".popsection\n",
    "é",
    "\0",
];

fn source() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(PIECES);
    proptest::collection::vec(piece, 0..60).prop_map(|list| list.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_sources_end_with_an_object_or_errors(text in source()) {
        let inner = text.clone();
        let includes = move |name: &str, _: &str| (name == "self").then(|| ("self".to_owned(), inner.clone()));
        let options = Options { includes: &includes, ..Options::default() };
        match asm::assemble("random.s", &text, &options) {
            Ok(object) => {
                let again = asm::assemble("random.s", &text, &options).expect("the same source");
                prop_assert_eq!(&object.bytes, &again.bytes);
                asm::disassemble_object(&object.bytes, None).expect("our own object reads back");
            }
            Err(list) => {
                prop_assert!(!list.is_empty());
                for d in list {
                    prop_assert!(d.line >= 1 && d.column >= 1, "{}", d);
                }
            }
        }
    }

    #[test]
    fn random_bytes_never_panic(text in "\\PC{0,200}") {
        let _ = asm::assemble("random.s", &text, &Options::default());
        let _ = asm::hex("random.s", &text, &Options::default());
    }
}

#[test]
fn deep_and_long_sources_end() {
    for text in [
        format!(".long {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!(".long {}1", "-".repeat(100_000)),
        format!(".long 1{}", "+x".repeat(100_000)),
        format!(".long 1{}", "*(1".repeat(100_000)),
        format!("#define a(x) x\n.long {}1{}", "a(".repeat(20_000), ")".repeat(20_000)),
        "#if 1\n".repeat(50_000),
        ".if 1\n".repeat(50_000),
        format!(".set a, x\n{}.long a", ".set a, a + a\n".repeat(200)),
        "{".repeat(100_000),
        "1: ".repeat(100_000),
    ] {
        let _ = asm::assemble("long.s", &text, &Options::default());
    }
}

#[test]
fn many_includes_end() {
    let includes = |name: &str, _: &str| Some((name.to_owned(), "#include \"self\"\n#include \"self\"\n".to_owned()));
    let options = Options { includes: &includes, ..Options::default() };
    let errors = asm::assemble("a.s", "#include \"self\"\n", &options).expect_err("endless");
    assert!(errors.iter().any(|d| d.message.contains("include")), "{}", errors[0]);
}
