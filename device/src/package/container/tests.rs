//! Round trip, determinism, and refusal of everything damaged.

use proptest::prelude::*;

use super::*;
use crate::memory::TileId;
use crate::package::{
    Binding, Data, DebugRegion, Distribution, Dtype, Graph, Operation, OperationKind, Order, PhaseRecord, Role, Span,
    Symbol, Tensor,
};

fn tensor(name: &str, shape: [u64; 2]) -> Tensor {
    let data = Data::Random { distribution: Distribution::Normal(0.5), seed: 7 };
    Tensor { name: name.into(), shape: shape.into(), dtype: Dtype::F16, data }
}

fn binding(name: &str, role: Role, order: Order, shape: [u64; 2], address: u32) -> Binding {
    let [rows, columns] = shape.map(|extent| extent as u32);
    let mut binding = Binding {
        name: name.into(),
        role,
        shape: shape.into(),
        dtype: Dtype::F16,
        order,
        rows,
        columns,
        spans: vec![],
    };
    let atoms = binding.atoms() as u32;
    binding.spans.push(Span { tile: TileId(3), address, first_atom: 0, atoms });
    binding
}

/// A small valid package: a GEMM on tile 3, all tiles with the same program, tile 3 with rows of its own.
fn sample() -> Package {
    let program: Arc<[u8]> = (0..200u8).collect();
    let rows: Arc<[u8]> = [0xab; 64].into();
    let common = ImageSegment { address: LOAD_BASE, bytes: program };
    let image = Arc::new(TileImage { segments: vec![common.clone()] });
    let mut tiles = vec![image; TILES as usize];
    let own = ImageSegment { address: 0x5c000, bytes: rows };
    tiles[3] = Arc::new(TileImage { segments: vec![common, own] });
    let graph = Graph {
        inputs: vec![tensor("x", [4, 32])],
        weights: vec![tensor("w", [32, 16])],
        operations: vec![Operation {
            name: "y".into(),
            kind: OperationKind::Gemm { k_parts: 2 },
            operands: vec!["x".into(), "w".into()],
            shape: vec![4, 16],
            dtype: Dtype::F16,
        }],
        outputs: vec!["y".into()],
    };
    let manifest = Manifest {
        name: "sample".into(),
        compiler: "test".into(),
        source_digest: blake3::hash(b"model").to_hex().to_string(),
        tiles_used: 4,
        entry: LOAD_BASE,
        symbols: vec![Symbol { address: LOAD_BASE, name: "_start".into() }],
        debug_regions: vec![DebugRegion { name: "exchange rows".into(), start: 0x5c000, end: 0x60000 }],
        bindings: vec![
            binding("x", Role::Input, Order::Left, [4, 32], 0x60000),
            binding("w", Role::Weight, Order::Right, [32, 16], 0x80000),
            binding("y", Role::Output, Order::Left, [4, 16], 0x60000),
        ],
        graph,
        phases: vec![PhaseRecord { operation: "y".into(), words: 5, ..PhaseRecord::default() }],
        ..Manifest::default()
    };
    Package { manifest, tiles }
}

#[test]
fn round_trip_and_equal_bytes() {
    let package = sample();
    let bytes = package.to_bytes().unwrap();
    let again = Package::from_bytes(&bytes).unwrap();
    assert_eq!(again, package);
    assert_eq!(again.to_bytes().unwrap(), bytes);
    // The same content in other allocations, none of them shared.
    let mut unshared = package.clone();
    for tile in &mut unshared.tiles {
        let copy = |s: &ImageSegment| ImageSegment { address: s.address, bytes: s.bytes.to_vec().into() };
        *tile = Arc::new(TileImage { segments: tile.segments.iter().map(copy).collect() });
    }
    assert_eq!(unshared.to_bytes().unwrap(), bytes);
    // 1472 programs of 200 bytes are stored once.
    assert!(bytes.len() < 4000, "{}", bytes.len());
}

#[test]
fn every_truncation_and_extension_is_refused() {
    let bytes = sample().to_bytes().unwrap();
    for end in 0..bytes.len() {
        let error = Package::from_bytes(&bytes[..end]).unwrap_err();
        assert_eq!(error.code(), Some("E5001"), "{end}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(matches!(Package::from_bytes(&longer), Err(PackageError::Checksum { .. })));
}

#[test]
fn every_flipped_bit_is_refused() {
    let mut bytes = sample().to_bytes().unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            let error = Package::from_bytes(&bytes).unwrap_err();
            match at {
                0..8 => assert!(matches!(error, PackageError::Foreign)),
                8..12 => assert!(matches!(error, PackageError::Version { .. })),
                _ => assert!(matches!(error, PackageError::Checksum { .. })),
            }
            bytes[at] ^= 1 << bit;
        }
    }
}

/// Recomputes the digest, as a careful forger would.
fn reseal(bytes: &mut [u8]) {
    let digest = blake3::hash(&bytes[BODY_AT..]);
    bytes[DIGEST_AT..BODY_AT].copy_from_slice(digest.as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    /// With a right checksum over wrong content the reader neither panics nor eats memory: it says what is wrong, or the
    /// content is a valid package.
    #[test]
    fn resealed_damage_is_handled(at in any::<prop::sample::Index>(), value in any::<u8>(), cut in any::<prop::sample::Index>(), shorten in any::<bool>()) {
        let mut bytes = sample().to_bytes().unwrap();
        let body = bytes.len() - BODY_AT;
        bytes[BODY_AT + at.index(body)] = value;
        if shorten {
            bytes.truncate(MANIFEST_AT + cut.index(body - 8));
        }
        reseal(&mut bytes);
        if let Ok(package) = Package::from_bytes(&bytes) {
            prop_assert!(package.verify().is_ok());
        }
    }
}

#[test]
fn huge_lengths_are_refused_without_being_believed() {
    let mut bytes = sample().to_bytes().unwrap();
    bytes[BODY_AT..MANIFEST_AT].copy_from_slice(&u64::MAX.to_le_bytes());
    reseal(&mut bytes);
    assert!(matches!(Package::from_bytes(&bytes), Err(PackageError::Length(_))));
    // A manifest that claims an array of 2^32 - 1 and a string of 2^32 - 1 bytes.
    for start in [&[0xdd, 0xff, 0xff, 0xff, 0xff][..], &[0xdb, 0xff, 0xff, 0xff, 0xff][..], &[0xc1][..]] {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend([0; 32]);
        bytes.extend((start.len() as u64).to_le_bytes());
        bytes.extend(start);
        reseal(&mut bytes);
        assert!(matches!(Package::from_bytes(&bytes), Err(PackageError::Manifest(_))));
    }
}

#[test]
fn foreign_and_newer_files_are_named() {
    assert!(matches!(Package::from_bytes(b""), Err(PackageError::Foreign)));
    assert!(matches!(Package::from_bytes(b"\x7fELF"), Err(PackageError::Foreign)));
    let mut bytes = sample().to_bytes().unwrap();
    bytes[8..12].copy_from_slice(&2u32.to_le_bytes());
    let text = Package::from_bytes(&bytes).unwrap_err().to_string();
    assert_eq!(text, "package format 2; this version of ipuc reads format 1: build the package again");
}

#[test]
fn a_patch_changes_one_tile() {
    let package = sample();
    let mut patched = package.clone();
    patched.patch(TileId(5), LOAD_BASE + 8, &[1, 2, 3, 4]).unwrap();
    let again = Package::from_bytes(&patched.to_bytes().unwrap()).unwrap();
    assert_eq!(again.image(TileId(5), LOAD_BASE + 8, 4), Some(&[1, 2, 3, 4][..]));
    assert_eq!(again.image(TileId(4), LOAD_BASE + 8, 4), Some(&[8, 9, 10, 11][..]));
    assert!(patched.patch(TileId(5), LOAD_BASE + 198, &[0; 4]).is_err());
    assert!(patched.patch(TileId(5), 0x5c000, &[0; 4]).is_err());
    assert!(patched.patch(TileId(1472), LOAD_BASE, &[0; 4]).is_err());
}

#[test]
fn broken_invariants_are_refused() {
    type Breakage = fn(&mut Package);
    let cases: &[(&str, Breakage)] = &[
        ("made for", |p| p.manifest.target.chip = "ipu99".into()),
        ("the plan uses 0 tiles", |p| p.manifest.tiles_used = 0),
        ("images of 1471 tiles", |p| p.tiles.truncate(1471)),
        ("no instruction at the entry", |p| p.manifest.entry = 0x60000),
        ("overlaps the one before", |p| {
            let image = Arc::make_mut(&mut p.tiles[9]);
            let again = image.segments[0].clone();
            image.segments.push(again);
        }),
        ("two bindings are called x", |p| {
            let again = p.manifest.bindings[0].clone();
            p.manifest.bindings.push(again);
        }),
        ("lies on no tile", |p| p.manifest.bindings[0].spans.clear()),
        ("x and w overlap", |p| p.manifest.bindings[1].spans[0].address = 0x60020),
        ("overlaps a segment of the program", |p| p.manifest.bindings[1].spans[0].address = 0x5c020),
        ("input x has no binding", |p| drop(p.manifest.bindings.remove(0))),
        ("the graph has no such weight", |p| p.manifest.bindings[0].role = Role::Weight),
        ("in the graph", |p| p.manifest.bindings[1].shape = vec![4, 8, 16]),
        ("operand z is not known", |p| p.manifest.graph.operations[0].operands[0] = "z".into()),
        ("does not give", |p| p.manifest.graph.operations[0].shape = vec![16, 4]),
        ("two tensors are called x", |p| p.manifest.graph.weights[0].name = "x".into()),
        ("a tensor called \"../y\"", |p| p.manifest.graph.operations[0].name = "../y".into()),
        ("output x is no operation", |p| p.manifest.graph.outputs = vec!["x".into()]),
        ("debug region", |p| p.manifest.debug_regions[0].end = 0),
        ("symbol without a name", |p| p.manifest.symbols[0].name.clear()),
    ];
    for (expected, breakage) in cases {
        let mut package = sample();
        breakage(&mut package);
        let error = package.to_bytes().unwrap_err();
        assert!(matches!(error, PackageError::Invalid(_)), "{expected}: {error}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
}

#[test]
fn files_appear_whole_and_missing_ones_are_no_damage() {
    let directory = std::env::temp_dir().join(format!("ipuc-package-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("sample.ipuexe");
    let package = sample();
    package.write(&path).unwrap();
    assert_eq!(Package::read(&path).unwrap(), package);
    package.write(&path).unwrap();
    let names: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["sample.ipuexe"]);
    let error = Package::read(&directory.join("none.ipuexe")).unwrap_err();
    assert_eq!(error.code(), None);
    assert!(package.write(&directory.join("no/such/directory.ipuexe")).is_err());
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
#[cfg(unix)]
fn what_is_no_plain_file_stays_what_it_is() {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixListener;
    // A socket stands for devices, which a test must not risk: it can't be opened for writing, and is not replaced.
    let directory = std::env::temp_dir().join(format!("ipuc-socket-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("socket");
    let _socket = UnixListener::bind(&path).unwrap();
    assert!(write_whole(&path, b"text").is_err());
    assert!(std::fs::metadata(&path).unwrap().file_type().is_socket());
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
    std::fs::remove_dir_all(&directory).unwrap();
}
