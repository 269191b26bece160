//! The linker: every relocation type with its range and alignment, collection of sections, placement, errors.

use std::collections::BTreeMap;

use ipuc_device::asm::{self, Options};
use ipuc_device::link::{self, Error, Image, Relocation};

/// Memory base of `R_COLOSSUS_RUN` and `R_COLOSSUS_RELATIVE_16_S2` (`assembler.md` 10).
const BASE: u32 = 0x4c000;

fn object(source: &str) -> Vec<u8> {
    asm::assemble("test.s", source, &Options::default())
        .unwrap_or_else(|e| panic!("{}", e.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
        .bytes
}

fn options(regions: &[(u32, u32)]) -> link::Options {
    link::Options { regions: regions.to_vec(), entry: "_start".into(), ..link::Options::default() }
}

fn link_with(sources: &[(&str, &str)], options: &link::Options) -> Result<Image, Error> {
    let objects: Vec<(&str, Vec<u8>)> = sources.iter().map(|(name, s)| (*name, object(s))).collect();
    let list: Vec<(&str, &[u8])> = objects.iter().map(|(n, b)| (*n, b.as_slice())).collect();
    link::link(&list, options)
}

/// The bytes `30 .. 38` of the image when a relocation of `value` is put over eight bytes of `0xff`.
fn relocated(relocation: Relocation, value: u32) -> Result<Vec<u8>, Error> {
    let source = format!(
        ".globl _start\n.data\n_start: .space 0x30, 0\n.fill 8, 1, 0xff\n.reloc 0x30, {}, value\n",
        relocation.name()
    );
    let mut options = options(&[(BASE, BASE + 0x1000)]);
    options.externals.insert("value".into(), value);
    link_with(&[("a.o", &source)], &options).map(|image| image.segments[0].bytes[0x30..0x38].to_vec())
}

#[test]
fn every_relocation_writes_its_field_only() {
    // Value, bytes afterwards: by hand from the table of assembler.md 10.
    let cases = [
        (Relocation::None, 0x1234, "ffffffffffffffff"),
        (Relocation::Abs8, 0xab, "abffffffffffffff"),
        (Relocation::Abs16, 0x1234, "3412ffffffffffff"),
        (Relocation::Abs20, 0x4c123, "23c1f4ffffffffff"),
        (Relocation::Abs32, 0x8000_0001, "01000080ffffffff"),
        (Relocation::Abs64, 0x8000_0001, "0100008000000000"),
        (Relocation::Relative16S2, BASE + 0x48d0, "3412ffffffffffff"),
        (Relocation::Abs18S2, 0x4c010, "0430fdffffffffff"),
        (Relocation::Abs19S2, 0x4c010, "0430f9ffffffffff"),
        (Relocation::Run, BASE + 0x48d0, "34f2f1ffffffffff"),
        (Relocation::Abs16S3, 0x4c010, "0298ffffffffffff"),
        (Relocation::Abs16S4, 0x4c010, "014cffffffffffff"),
        (Relocation::Abs16S5, 0x4c020, "0126ffffffffffff"),
        (Relocation::Abs21, 0x12_3456, "5634f2ffffffffff"),
    ];
    assert_eq!(cases.len(), Relocation::all().count());
    for (relocation, value, expected) in cases {
        let bytes = relocated(relocation, value).unwrap_or_else(|e| panic!("{e}"));
        let bytes: [u8; 8] = bytes.try_into().expect("eight bytes");
        assert_eq!(format!("{:016x}", u64::from_be_bytes(bytes)), expected, "{relocation:?}");
    }
}

#[test]
fn values_outside_a_field_are_refused_with_type_and_value() {
    let last_and_first_bad = [
        (Relocation::Abs8, 0xff, 0x100),
        (Relocation::Abs16, 0xffff, 0x1_0000),
        (Relocation::Abs20, 0xf_ffff, 0x10_0000),
        (Relocation::Relative16S2, BASE + 0x3_fffc, BASE + 0x4_0000),
        (Relocation::Abs18S2, 0xf_fffc, 0x10_0000),
        (Relocation::Abs19S2, 0x1f_fffc, 0x20_0000),
        (Relocation::Run, BASE + 0x3_fffc, BASE + 0x4_0000),
        (Relocation::Abs16S3, 0x7_fff8, 0x8_0000),
        (Relocation::Abs16S4, 0xf_fff0, 0x10_0000),
        (Relocation::Abs16S5, 0x1f_ffe0, 0x20_0000),
        (Relocation::Abs21, 0x1f_ffff, 0x20_0000),
    ];
    for (relocation, last, bad) in last_and_first_bad {
        relocated(relocation, last).unwrap_or_else(|e| panic!("{relocation:?}: {e}"));
        let error = relocated(relocation, bad).expect_err("out of range").to_string();
        assert!(error.contains(relocation.name()) && error.contains(&format!("{bad:#x}")), "{error}");
        assert!(error.contains("does not fit"), "{error}");
    }
    let misaligned = [
        (Relocation::Relative16S2, BASE + 2),
        (Relocation::Abs18S2, 2),
        (Relocation::Abs19S2, 6),
        (Relocation::Run, BASE + 1),
        (Relocation::Abs16S3, 4),
        (Relocation::Abs16S4, 8),
        (Relocation::Abs16S5, 16),
    ];
    for (relocation, bad) in misaligned {
        let error = relocated(relocation, bad).expect_err("misaligned").to_string();
        assert!(error.contains("is no multiple of"), "{error}");
    }
    for relocation in [Relocation::Run, Relocation::Relative16S2] {
        let error = relocated(relocation, BASE - 4).expect_err("below the base").to_string();
        assert!(error.contains("does not fit"), "{error}");
    }
}

#[test]
fn instructions_get_their_addresses() {
    let source = "
        .supervisor
        .section .text.start, \"ax\"
        .globl _start
        _start:
            setzi $m0, table + 4
            call $m10, helper
            run $m0, $m1, worker
            bri _start
        .worker
        .section .text.worker, \"ax\"
        .align 8
        worker:
            { setzi $m0, table ; setzi $a0, table }
        .data
        table: .long _start, helper
    ";
    let helper = ".supervisor\n.section .text.helper, \"ax\"\n.globl helper\n nop\nhelper: br $m10\n";
    let image = link_with(&[("main.o", source), ("helper.o", helper)], &options(&[(0x4c018, 0x50000)])).expect("links");
    // start 0x4c018..0x4c028, table 0x4c028..0x4c030, worker 0x4c030..0x4c038, helper 0x4c038 (+4).
    assert_eq!(image.entry, 0x4c018);
    assert_eq!(image.symbols["helper"], 0x4c03c);
    assert_eq!(image.segments.len(), 1);
    let words: Vec<u32> =
        image.segments[0].bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().expect("words"))).collect();
    let table = image.sections.iter().find(|s| s.section == ".data").expect("placed").address;
    let worker = image.sections.iter().find(|s| s.section == ".text.worker").expect("placed").address;
    assert_eq!((worker % 8, table % 4), (0, 0));
    assert_eq!(words[0], 0x1900_0000 | (table + 4));
    assert_eq!(words[1], 0x18a0_0000 | (0x4c03c / 4));
    let offset = (worker - 0x4c000) / 4;
    assert_eq!(words[2], 0x1400_1000 | offset & 0xfff | offset >> 12 << 16);
    assert_eq!(words[3], 0x4080_0000 | (0x4c018 / 4));
    let at = ((worker - 0x4c018) / 4) as usize;
    assert_eq!(words[at..at + 2], [0x9900_0000 | table, 0x9a00_0000 | table]);
    let at = ((table - 0x4c018) / 4) as usize;
    assert_eq!(words[at..at + 2], [0x4c018, 0x4c03c]);
    assert!(image.map().to_string().contains("section 0x4c018     16 bytes, alignment  4  .text.start of main.o"));
}

#[test]
fn sections_that_nothing_reaches_are_dropped() {
    let source = "
        .section .text.a, \"ax\"
        .globl _start
        _start: bri used
        .section .text.b, \"ax\"
        .globl used
        used: nop
        .section .text.c, \"ax\"
        .globl unused
        unused: bri nowhere
        .section .text.d, \"ax\"
        .globl kept
        kept: nop
        .bss
        .globl room
        room: .space 16
        .section .rodata.e, \"a\"
        .globl other
        other: .long room
    ";
    let mut options = options(&[(0x4c018, 0x50000)]);
    options.retain = vec!["kept".into(), "other".into()];
    let image = link_with(&[("a.o", source)], &options).expect("links");
    let names: Vec<&str> = image.sections.iter().map(|s| s.section.as_str()).collect();
    assert_eq!(names, [".text.a", ".text.b", ".text.d", ".bss", ".rodata.e"]);
    assert!(!image.symbols.contains_key("unused"));
    assert_eq!(image.bytes(), 12 + 16 + 4);
}

#[test]
fn regions_are_filled_in_order_and_never_reopened() {
    let source = "
        .section .text.a, \"ax\"\n.globl _start\n_start: .long b, c, d\n
        .section .text.b, \"ax\"\nb: .space 0x20\n
        .section .text.c, \"ax\"\n.align 16\nc: .space 0x10\n
        .section .text.d, \"ax\"\nd: .space 4\n
    ";
    let image = link_with(&[("a.o", source)], &options(&[(0x4c018, 0x4c030), (0x5c004, 0x5c100)])).expect("links");
    let placed: BTreeMap<&str, u32> = image.sections.iter().map(|s| (s.section.as_str(), s.address)).collect();
    assert_eq!(placed[".text.a"], 0x4c018);
    assert_eq!(placed[".text.b"], 0x5c004);
    assert_eq!(placed[".text.c"], 0x5c030);
    // It would fit behind .text.a, but that region is closed.
    assert_eq!(placed[".text.d"], 0x5c040);
    let segments: Vec<(u32, usize)> = image.segments.iter().map(|s| (s.address, s.bytes.len())).collect();
    assert_eq!(segments, [(0x4c018, 12), (0x5c004, 0x40)]);

    let error = link_with(&[("a.o", source)], &options(&[(0x4c018, 0x4c030)])).expect_err("too small");
    assert_eq!(
        error.to_string(),
        "section .text.b of a.o (32 bytes, alignment 1) fits no region of 0x4c018..0x4c030; 64 bytes to place, 12 bytes \
         placed already"
    );
    let error =
        link_with(&[("a.o", source)], &options(&[(0x4c018, 0x4c030), (0x4c020, 0x4c040)])).expect_err("overlap");
    assert!(error.to_string().contains("overlap"), "{error}");
}

#[test]
fn all_undefined_symbols_are_listed() {
    let source = ".globl _start\n_start: bri one\n setzi $m0, two\n .weak three\n .long three\n";
    let mut with_retained = options(&[(0x4c018, 0x50000)]);
    with_retained.retain = vec!["four".into()];
    let error = link_with(&[("a.o", source)], &with_retained).expect_err("undefined").to_string();
    assert_eq!(
        error,
        "undefined symbols: `four` (needed by the link options), `one` (needed by a.o), `two` (needed by a.o)"
    );
    let error = link_with(&[("a.o", "nop\n")], &options(&[(0x4c018, 0x50000)])).expect_err("no entry");
    assert_eq!(error.to_string(), "undefined symbols: `_start` (needed by the link options)");
}

#[test]
fn duplicates_and_weak_definitions() {
    let start = ".globl _start\n_start: .long f\n";
    let strong = ".data\n.globl f\nf: .long 1\n";
    let weak = ".data\n.weak f\nf: .long 2\n";
    let o = options(&[(0x4c018, 0x50000)]);
    let error = link_with(&[("a", start), ("b", strong), ("c", strong)], &o).expect_err("twice");
    assert_eq!(error.to_string(), "symbol `f` is defined in b and in c");
    for order in [[("a", start), ("b", strong), ("c", weak)], [("a", start), ("c", weak), ("b", strong)]] {
        let image = link_with(&order, &o).expect("links");
        assert_eq!(image.sections[1].object, "b");
    }
}

#[test]
fn externals_and_absolute_symbols() {
    let source = ".globl _start, size\n.set size, 0x1234\n_start: bri tile_program\n .long size\n";
    let mut o = options(&[(0x4c018, 0x50000)]);
    o.externals.insert("tile_program".into(), 0x4e000);
    let image = link_with(&[("a", source)], &o).expect("links");
    assert_eq!(image.segments[0].bytes[..4], (0x4080_0000u32 | (0x4e000 / 4)).to_le_bytes());
    assert_eq!((image.symbols["size"], image.symbols["tile_program"]), (0x1234, 0x4e000));
    o.externals.insert("tile_program".into(), 0x20_0000);
    let error = link_with(&[("a", source)], &o).expect_err("out of range").to_string();
    assert_eq!(
        error,
        "a: section .text offset 0x0: R_COLOSSUS_19_S2 of `tile_program`: value 0x200000 does not fit 19 bits of 4-byte \
         units"
    );
}

#[test]
fn damaged_objects_are_errors() {
    let bytes = object(".globl _start\n_start: bri out\n.data\n .long _start\n");
    let o = options(&[(0x4c018, 0x50000)]);
    for length in 0..bytes.len() {
        assert!(link::link(&[("cut", &bytes[..length])], &o).is_err(), "{length}");
    }
    // Any byte may be damaged: an error or another image, but no panic.
    for i in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[i] ^= flip;
            let _ = link::link(&[("damaged", &damaged)], &o);
            let _ = asm::disassemble_object(&damaged, None);
        }
    }
}
