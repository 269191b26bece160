//! The storage map against a naive index map that walks elements, not atoms.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn binding(role: Role, order: Order, rows: u32, columns: u32) -> Binding {
    let shape = vec![u64::from(rows), u64::from(columns)];
    Binding { name: "t".into(), role, shape, dtype: Dtype::F16, order, rows, columns, spans: Vec::new() }
}

/// Byte offset of element (r, c) when the atoms lie one after another: the closed formula of `planning.md` 2.2, with
/// K and N padded to 16.
fn naive_offset(order: Order, rows: u64, r: u64, c: u64) -> u64 {
    2 * match order {
        Order::Left => (c / 16) * rows * 16 + r * 16 + c % 16,
        Order::Right => ((c / 16) * rows.div_ceil(16) + r / 16) * 256 + (c % 16) * 16 + r % 16,
    }
}

#[test]
fn worked_numbers() {
    // `planning.md` 2.2, worked numbers.
    let left = [((0, 15), 15), ((1, 0), 16), ((2, 15), 47), ((0, 16), 48), ((1, 17), 65), ((2, 31), 95)];
    let right = [((1, 0), 1), ((0, 1), 16), ((16, 0), 256), ((0, 16), 512), ((17, 18), 801)];
    for (order, rows, cases) in [(Order::Left, 3, &left[..]), (Order::Right, 32, &right[..])] {
        let mut binding = binding(Role::Input, order, rows, 32);
        let atoms = binding.atoms() as u32;
        binding.spans.push(Span { tile: TileId(7), address: 0x60000, first_atom: 0, atoms });
        let values: Vec<f16> = (0..rows * 32).map(|i| f16::from_f32(i as f32)).collect();
        let writes = binding.scatter(&values).unwrap();
        for &((r, c), element) in cases {
            let at = 2 * element;
            let stored = f16::from_le_bytes([writes[0].bytes[at], writes[0].bytes[at + 1]]);
            assert_eq!(stored, values[r * 32 + c], "{order:?} ({r},{c})");
        }
    }
}

/// Cuts `atoms` into spans over tiles, in a scrambled order of places.
fn cut(atoms: u32, cuts: &[u32], replicas: u32) -> Vec<Span> {
    let mut edges: Vec<u32> = cuts.iter().map(|cut| cut % (atoms + 1)).chain([0, atoms]).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut spans = Vec::new();
    for replica in 0..replicas {
        for (index, edge) in edges.windows(2).enumerate() {
            let tile = TileId(((index as u32 * 37 + replica * 401) % TILES) as u16);
            let address = 0x60000 + 32 * (index as u32 * 512 % 0x3000);
            spans.push(Span { tile, address, first_atom: edge[0], atoms: edge[1] - edge[0] });
        }
    }
    spans.reverse();
    spans
}

proptest! {
    #[test]
    fn scatter_and_gather_agree_with_the_naive_map(
        rows in 1u32..70,
        columns in 1u32..70,
        right in any::<bool>(),
        role in prop::sample::select(vec![Role::Input, Role::Weight, Role::Output]),
        cuts in prop::collection::vec(any::<u32>(), 0..12),
        replicas in 1u32..3,
    ) {
        let order = if right { Order::Right } else { Order::Left };
        let mut binding = binding(role, order, rows, columns);
        binding.spans = cut(binding.atoms() as u32, &cuts, if role == Role::Weight { replicas } else { 1 });
        let values: Vec<f16> = (0..rows * columns).map(|i| f16::from_bits((i % 0x7000 + 1) as u16)).collect();
        let mut memory: BTreeMap<(TileId, u32), u8> = BTreeMap::new();
        for write in binding.scatter(&values).unwrap() {
            for (address, byte) in (write.address..).zip(write.bytes) {
                prop_assert!(memory.insert((write.tile, address), byte).is_none(), "written twice");
            }
        }
        // Every span holds what the naive map says, and zero elsewhere.
        let mut expected = vec![0u8; binding.atoms() as usize * 32];
        for r in 0..u64::from(rows) {
            for c in 0..u64::from(columns) {
                let at = naive_offset(order, u64::from(rows), r, c) as usize;
                let value = values[(r * u64::from(columns) + c) as usize];
                expected[at..at + 2].copy_from_slice(&value.to_le_bytes());
            }
        }
        for span in &binding.spans {
            for i in 0..span.atoms * 32 {
                let byte = memory[&(span.tile, span.address + i)];
                prop_assert_eq!(byte, expected[(span.first_atom * 32 + i) as usize]);
            }
        }
        let read = |tile: TileId, address: u32, bytes: &mut [u8]| {
            for (byte, address) in bytes.iter_mut().zip(address..) {
                *byte = memory[&(tile, address)];
            }
            Ok::<(), StorageError>(())
        };
        prop_assert_eq!(binding.gather(read).unwrap(), values);
    }

    #[test]
    fn a_hole_or_a_repeated_atom_is_refused(
        rows in 1u32..40,
        columns in 17u32..70,
        cuts in prop::collection::vec(any::<u32>(), 3..12),
        pick in any::<prop::sample::Index>(),
    ) {
        let mut whole = binding(Role::Output, Order::Left, rows, columns);
        whole.spans = cut(whole.atoms() as u32, &cuts, 1);
        prop_assert_eq!(whole.check(), Ok(()));
        let index = pick.index(whole.spans.len());
        let mut hole = whole.clone();
        let span = hole.spans.remove(index);
        prop_assert_eq!(hole.check(), Err(StorageError::Missing { name: "t".into(), atom: u64::from(span.first_atom) }));
        let mut twice = whole.clone();
        twice.spans.push(Span { tile: TileId(1400), ..span });
        let refused = matches!(twice.check(), Err(StorageError::Span { .. }));
        prop_assert!(refused);
        twice.role = Role::Weight;
        prop_assert_eq!(twice.check(), Ok(()));
    }
}

#[test]
fn misplaced_spans_are_refused() {
    let good = Span { tile: TileId(0), address: 0x60000, first_atom: 0, atoms: 4 };
    let cases = [
        (Span { tile: TileId(1472), ..good }, "1472 tiles"),
        (Span { address: 0x60004, ..good }, "multiple of 8"),
        (Span { address: 0x4c000, ..good }, "outside"),
        (Span { address: 0xe7bb0 - 64, ..good }, "outside"),
        (Span { address: u32::MAX - 7, ..good }, "outside"),
        (Span { atoms: 5, ..good }, "4 atoms"),
        (Span { atoms: 0, ..good }, "4 atoms"),
        (Span { first_atom: u32::MAX, ..good }, "4 atoms"),
    ];
    for (span, reason) in cases {
        let mut binding = binding(Role::Input, Order::Left, 4, 16);
        binding.spans.push(span);
        let text = binding.check().unwrap_err().to_string();
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn wrong_types_shapes_and_sizes_are_refused() {
    let span = Span { tile: TileId(0), address: 0x60000, first_atom: 0, atoms: 4 };
    let mut right = binding(Role::Input, Order::Left, 4, 16);
    right.spans.push(span);
    assert_eq!(right.check(), Ok(()));
    let text = right.scatter(&[f16::ONE; 63]).unwrap_err().to_string();
    assert_eq!(text, "tensor t: 63 elements given, shape [4, 16] has 64");
    let mut deep = right.clone();
    deep.shape = vec![2, 2, 16];
    assert_eq!(deep.check(), Ok(()));
    deep.shape = vec![2, 3, 16];
    assert!(matches!(deep.check(), Err(StorageError::Shape { .. })));
    deep.shape = vec![];
    assert!(matches!(deep.check(), Err(StorageError::Shape { .. })));
    right.dtype = Dtype::F8e4m3fnuz;
    let text = right.check().unwrap_err().to_string();
    assert_eq!(text, "binding t: storage of f8e4m3fnuz tensors is not supported yet");
}
