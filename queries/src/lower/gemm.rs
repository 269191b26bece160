//! A planned GEMM to its work: buffers, input phases, kernel calls, reduction.
//!
//! In: shape, plan, and the layout of a computed left operand. Out: an [`OpWork`].
//!
//! Each operand has a *complete* buffer on a tile, which holds the tile's whole K range, or, with several steps and an
//! operand that moves, a *staging* buffer for one chunk. What is loaded to one place only lies in equal parts on the
//! tiles that need it: inside the complete buffer itself, at its final offset, or in a *home* buffer beside the staging.
//! So no tile copies what it was loaded with, except from home to staging.
//!
//! Chunks of a complete buffer are contiguous, so that a call sees a plain operand: left is panel-major anyway, right is
//! stored chunk by chunk, inside a chunk column group by column group.

use std::collections::BTreeMap;

use ipuc_device::memory::TileId;

use super::ir::{Argument, Buffer, BufferRef, Call, KernelInstance, Load, MemoryClass, OpWork, Step, TileCalls};
use crate::digest::Keyed;
use crate::exchange::problem::{Destination, Place, Problem, Transfer};
use crate::plan::cost;
use crate::plan::gemm::{Cell, GemmPlan, GemmShape, OperandKind};
use crate::plan::layout::{ATOM_BYTES, AtomSpace, Layout, Order, Span};
use crate::plan::partition::balanced;

/// Atoms of a 16 x 16 block of the right operand.
const BLOCK_ATOMS: u32 = 16;
/// 32-bit words of an atom.
const ATOM_WORDS: u32 = ATOM_BYTES / 4;

/// How one operand is held on the tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holding {
    /// Every tile's block is loaded into its complete buffer.
    Resident { complete: u32 },
    /// Parts are loaded into the complete buffers and multicast from there (one step).
    Shared { complete: u32 },
    /// Parts are loaded into home buffers and multicast to staging buffers.
    Streamed { home: u32, staging: u32 },
    /// Another operator's result is multicast to staging buffers.
    Computed { staging: u32 },
}

impl Holding {
    /// The buffer that kernel calls read.
    fn operand(self) -> u32 {
        match self {
            Self::Resident { complete } | Self::Shared { complete } => complete,
            Self::Streamed { staging, .. } | Self::Computed { staging } => staging,
        }
    }
}

/// When a buffer is live, before steps are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Life {
    /// From the start of the program, since the loader writes it, to the last kernel call.
    Loaded,
    /// From the input phases to the kernel calls.
    Staged,
    /// From the kernel calls to the reduction.
    Partial,
    /// In the reduction.
    Received,
    /// From the operator's end (`reduced`: its reduction, else its kernel calls) to the last consumer.
    Result {
        /// The reduction writes it.
        reduced: bool,
    },
}

/// The buffers of a planned GEMM, in the order in which its work numbers them, and what each is for.
struct Buffers {
    list: Vec<Buffer>,
    left: Holding,
    right: Holding,
    out: u32,
    reduction: Option<(u32, u32)>,
    lives: Vec<Life>,
}

/// Largest extents of a tile's block.
struct Extents {
    rows: u32,
    n_groups: u32,
    k_groups: u32,
    chunk: u32,
}

fn extents(shape: &GemmShape, plan: &GemmPlan) -> Extents {
    let k_groups = plan.k_groups(shape, 0).1;
    Extents {
        rows: plan.rows(shape, 0).1,
        n_groups: plan.n_groups(shape, 0).1,
        k_groups,
        chunk: balanced(k_groups, plan.steps, 0).1,
    }
}

/// Atoms of the largest home of a streamed operand: the sum over chunks of the largest part of each.
fn home_atoms(chunks: u32, k_groups: u32, atoms_per_group: u32, sharers: u32) -> u32 {
    (0..chunks).map(|j| (balanced(k_groups, chunks, j).1 * atoms_per_group).div_ceil(sharers)).sum()
}

/// The buffers that a plan needs and when: all that is known of its memory without lowering it.
pub fn buffers_of(shape: &GemmShape, plan: &GemmPlan) -> Vec<(Buffer, Life)> {
    let Buffers { list, lives, .. } = buffers(shape, plan);
    list.into_iter().zip(lives).collect()
}

fn buffers(shape: &GemmShape, plan: &GemmPlan) -> Buffers {
    let Extents { rows, n_groups, k_groups, chunk } = extents(shape, plan);
    let mut list: Vec<Buffer> = Vec::new();
    let mut add = |role: &'static str, atoms: u32, class: MemoryClass, apart_from: &[u32]| {
        list.push(Buffer { role, bytes: atoms * ATOM_BYTES, class, apart_from: apart_from.to_vec() });
        list.len() as u32 - 1
    };
    let role = if plan.grid[2] > 1 { "partial" } else { "result" };
    // Read and written in one bundle, hence interleaved.
    let out = add(role, rows * n_groups, MemoryClass::Interleaved, &[]);
    let left = if shape.left == OperandKind::Result {
        Holding::Computed { staging: add("left", rows * chunk, MemoryClass::Standard, &[out]) }
    } else if !plan.left_moves(shape) {
        Holding::Resident { complete: add("left", rows * k_groups, MemoryClass::Standard, &[out]) }
    } else if plan.steps == 1 {
        Holding::Shared { complete: add("left", rows * k_groups, MemoryClass::Standard, &[out]) }
    } else {
        let staging = add("left", rows * chunk, MemoryClass::Standard, &[out]);
        let atoms = home_atoms(plan.steps, k_groups, rows, plan.grid[1]);
        Holding::Streamed { home: add("left home", atoms, MemoryClass::Standard, &[staging]), staging }
    };
    let block = n_groups * BLOCK_ATOMS;
    let right = if !plan.right_moves(shape) {
        Holding::Resident { complete: add("right", block * k_groups, MemoryClass::Interleaved, &[]) }
    } else if plan.steps == 1 {
        Holding::Shared { complete: add("right", block * k_groups, MemoryClass::Interleaved, &[]) }
    } else {
        let staging = add("right", block * chunk, MemoryClass::Interleaved, &[]);
        let atoms = home_atoms(plan.steps, k_groups, block, plan.grid[0]);
        Holding::Streamed { home: add("right home", atoms, MemoryClass::Standard, &[staging]), staging }
    };
    let parts = plan.grid[2];
    let reduction = (parts > 1).then(|| {
        let slice = (rows * n_groups).div_ceil(parts);
        let received = add("received partials", slice * (parts - 1), MemoryClass::Standard, &[out]);
        (received, add("result", slice, MemoryClass::Standard, &[]))
    });
    let mut lives = vec![Life::Staged; list.len()];
    for holding in [left, right] {
        match holding {
            Holding::Resident { complete } | Holding::Shared { complete } => lives[complete as usize] = Life::Loaded,
            Holding::Streamed { home, .. } => lives[home as usize] = Life::Loaded,
            Holding::Computed { .. } => {}
        }
    }
    lives[out as usize] = if parts > 1 { Life::Partial } else { Life::Result { reduced: false } };
    if let Some((received, result)) = reduction {
        lives[received as usize] = Life::Received;
        lives[result as usize] = Life::Result { reduced: true };
    }
    Buffers { list, left, right, out, reduction, lives }
}

/// One operand's geometry: everything that differs between left and right.
struct Operand<'a> {
    shape: &'a GemmShape,
    plan: &'a GemmPlan,
    right: bool,
}

impl Operand<'_> {
    /// Atoms per K group of a block (`block` is the row block of left, the column block of right).
    fn atoms_per_group(&self, block: u32) -> u32 {
        if self.right {
            self.plan.n_groups(self.shape, block).1 * BLOCK_ATOMS
        } else {
            self.plan.rows(self.shape, block).1
        }
    }

    fn blocks(&self) -> u32 {
        self.plan.grid[usize::from(self.right)]
    }

    /// The tiles that need block (`block`, `k`), in tile order.
    fn sharers(&self, block: u32, k: u32) -> Vec<TileId> {
        let others = self.plan.grid[usize::from(!self.right)];
        let cell = |other| if self.right { Cell { m: other, n: block, k } } else { Cell { m: block, n: other, k } };
        (0..others).map(|o| self.plan.tile(cell(o))).collect()
    }

    /// Atoms `range` of chunk `step` of block (`block`, `k`), in the order of a call's operand, as runs of
    /// (first atom of the whole matrix, number, first atom of the chunk).
    fn runs(&self, block: u32, k: u32, step: u32, range: (u32, u32)) -> Vec<(u32, u32, u32)> {
        let (first_group, groups) = self.plan.chunk(self.shape, k, step);
        let (run, base): (u32, Box<dyn Fn(u32) -> u32>) = if self.right {
            let first_column = self.plan.n_groups(self.shape, block).0;
            let all = self.shape.k_groups();
            (groups * BLOCK_ATOMS, Box::new(move |i| ((first_column + i) * all + first_group) * BLOCK_ATOMS))
        } else {
            let (first_row, rows) = self.plan.rows(self.shape, block);
            let all = self.shape.m;
            (rows, Box::new(move |i| (first_group + i) * all + first_row))
        };
        let (mut at, end) = (range.0, range.0 + range.1);
        let mut runs: Vec<(u32, u32, u32)> = Vec::new();
        while at < end {
            let (index, inside) = (at / run, at % run);
            let length = (run - inside).min(end - at);
            let first = base(index) + inside;
            match runs.last_mut() {
                Some(last) if last.0 + last.1 == first => last.1 += length,
                _ => runs.push((first, length, at)),
            }
            at += length;
        }
        runs
    }

    fn space(&self) -> AtomSpace {
        let GemmShape { m, k, n, .. } = *self.shape;
        if self.right {
            AtomSpace { order: Order::Right, rows: k, columns: n }
        } else {
            AtomSpace { order: Order::Left, rows: m, columns: k }
        }
    }

    /// Byte offset of chunk `step` in a complete buffer of block (`block`, `k`).
    fn chunk_offset(&self, block: u32, k: u32, step: u32) -> u32 {
        let start = self.plan.k_groups(self.shape, k).0;
        (self.plan.chunk(self.shape, k, step).0 - start) * self.atoms_per_group(block) * ATOM_BYTES
    }

    /// Atoms of chunk `step` of block (`block`, `k`).
    fn chunk_atoms(&self, block: u32, k: u32, step: u32) -> u32 {
        self.plan.chunk(self.shape, k, step).1 * self.atoms_per_group(block)
    }

    /// Byte offset in sharer `i`'s home of its part of chunk `step`.
    fn home_offset(&self, block: u32, k: u32, step: u32, sharers: u32, i: u32) -> u32 {
        (0..step).map(|j| balanced(self.chunk_atoms(block, k, j), sharers, i).1 * ATOM_BYTES).sum()
    }

    /// Where the loader writes the operand.
    fn load(&self, holding: Holding) -> Option<Layout> {
        let mut spans = Vec::new();
        for block in 0..self.blocks() {
            for k in 0..self.plan.grid[2] {
                let tiles = self.sharers(block, k);
                let count = tiles.len() as u32;
                for step in 0..self.plan.steps {
                    let atoms = self.chunk_atoms(block, k, step);
                    for (i, &tile) in (0u32..).zip(&tiles) {
                        let part = balanced(atoms, count, i);
                        let (buffer, range, offset) = match holding {
                            Holding::Resident { complete } => (complete, (0, atoms), self.chunk_offset(block, k, step)),
                            Holding::Shared { complete } => (complete, part, part.0 * ATOM_BYTES),
                            Holding::Streamed { home, .. } => (home, part, self.home_offset(block, k, step, count, i)),
                            Holding::Computed { .. } => return None,
                        };
                        for (first_atom, atoms, local) in self.runs(block, k, step, range) {
                            let offset = offset + (local - range.0) * ATOM_BYTES;
                            spans.push(Span { first_atom, atoms, tile, buffer, offset });
                        }
                    }
                }
            }
        }
        spans.sort_unstable();
        Some(Layout { space: self.space(), spans })
    }

    /// Transfers of the input phase of `step`, and the copies that a tile makes of its own part before it.
    fn input(&self, holding: Holding, step: u32, transfers: &mut Vec<Transfer>, copies: &mut Copies) {
        let (source, target) = match holding {
            Holding::Shared { complete } => (complete, complete),
            Holding::Streamed { home, staging } => (home, staging),
            Holding::Resident { .. } | Holding::Computed { .. } => return,
        };
        for block in 0..self.blocks() {
            for k in 0..self.plan.grid[2] {
                let tiles = self.sharers(block, k);
                let count = tiles.len() as u32;
                let atoms = self.chunk_atoms(block, k, step);
                for (i, &tile) in (0u32..).zip(&tiles) {
                    let (first, length) = balanced(atoms, count, i);
                    if length == 0 {
                        continue;
                    }
                    let to = Place { buffer: BufferRef::Own(target), offset: first * ATOM_BYTES };
                    let from = if source == target {
                        to
                    } else {
                        let offset = self.home_offset(block, k, step, count, i);
                        let from = Place { buffer: BufferRef::Own(source), offset };
                        copies.add(tile, from, to, length);
                        from
                    };
                    transfers.push(multicast(tile, from, length, &tiles, to));
                }
            }
        }
    }
}

/// A transfer to all of `tiles` but the sender.
fn multicast(source: TileId, at: Place, atoms: u32, tiles: &[TileId], to: Place) -> Transfer {
    let destinations = tiles.iter().filter(|&&t| t != source).map(|&tile| Destination { tile, at: to }).collect();
    Transfer { source, at, words: atoms * ATOM_WORDS, destinations }
}

/// Copies inside tiles, by tile.
#[derive(Default)]
struct Copies(BTreeMap<TileId, Vec<Call>>);

impl Copies {
    fn add(&mut self, tile: TileId, from: Place, to: Place, atoms: u32) {
        let words = atoms * ATOM_BYTES / 8;
        self.0.entry(tile).or_default().push(Call {
            kernel: kernel("copy.S", "copy_64"),
            arguments: vec![
                Argument::Address(to.buffer, to.offset),
                Argument::Address(from.buffer, from.offset),
                Argument::Value(words),
            ],
            cycles: cost::copy_cycles(words),
            reads: vec![from.buffer],
            writes: vec![to.buffer],
        });
    }
}

fn kernel(source: &'static str, entry: &'static str) -> KernelInstance {
    KernelInstance { source, defines: Vec::new(), entry }
}

/// Tiles with equal calls, by their first tile.
fn grouped(calls: BTreeMap<TileId, Vec<Call>>) -> Vec<TileCalls> {
    let mut groups: Vec<TileCalls> = Vec::new();
    let mut known: rustc_hash::FxHashMap<Vec<Call>, usize> = rustc_hash::FxHashMap::default();
    for (tile, calls) in calls {
        let index = *known.entry(calls).or_insert_with_key(|calls| {
            groups.push(TileCalls { tiles: Vec::new(), calls: calls.clone() });
            groups.len() - 1
        });
        groups[index].tiles.push(tile);
    }
    groups
}

/// The work of a GEMM. `left` is the layout of a computed left operand, in the producer's buffers.
pub fn lower(shape: &GemmShape, plan: &GemmPlan, left: Option<&Layout>) -> OpWork {
    let all = buffers(shape, plan);
    let left_operand = Operand { shape, plan, right: false };
    let right_operand = Operand { shape, plan, right: true };
    let mut loads = Vec::new();
    loads.extend(left_operand.load(all.left).map(|layout| Load { operand: 0, layout }));
    loads.extend(right_operand.load(all.right).map(|layout| Load { operand: 1, layout }));

    let mut steps = Vec::new();
    let mut calls: BTreeMap<TileId, Vec<Call>> = BTreeMap::new();
    for step in 0..plan.steps {
        let (mut transfers, mut copies) = (Vec::new(), Copies::default());
        left_operand.input(all.left, step, &mut transfers, &mut copies);
        right_operand.input(all.right, step, &mut transfers, &mut copies);
        if let (Holding::Computed { staging }, Some(layout)) = (all.left, left) {
            retile(&left_operand, layout, staging, step, &mut transfers, &mut copies);
        }
        // A tile copies its own part after its last call, before the phase that brings the others'.
        for (tile, more) in copies.0 {
            calls.entry(tile).or_default().extend(more);
        }
        transfers.retain(|t| !t.destinations.is_empty());
        if !calls.is_empty() {
            steps.push(Step::Compute(grouped(std::mem::take(&mut calls))));
        }
        if !transfers.is_empty() {
            transfers
                .sort_unstable_by(|a, b| (a.source, a.at, &a.destinations).cmp(&(b.source, b.at, &b.destinations)));
            steps.push(Step::Exchange(Keyed::new(Problem { transfers })));
        }
        for cell in plan.cells() {
            calls.insert(plan.tile(cell), vec![gemm_call(shape, plan, &all, cell, step)]);
        }
    }
    steps.push(Step::Compute(grouped(calls)));
    let result = match all.reduction {
        None => result_layout(shape, plan, all.out, |_, atoms| (0, atoms)),
        Some((received, result)) => {
            reduce(shape, plan, &all, received, result, &mut steps);
            result_layout(shape, plan, result, |cell, atoms| balanced(atoms, plan.grid[2], cell.k))
        }
    };
    OpWork { buffers: all.list, loads, steps, result }
}

fn gemm_call(shape: &GemmShape, plan: &GemmPlan, all: &Buffers, cell: Cell, step: u32) -> Call {
    let rows = plan.rows(shape, cell.m).1;
    let n_groups = plan.n_groups(shape, cell.n).1;
    let k_groups = plan.chunk(shape, cell.k, step).1;
    let offset = |right: bool, holding: Holding| match holding {
        Holding::Resident { .. } => {
            Operand { shape, plan, right }.chunk_offset(if right { cell.n } else { cell.m }, cell.k, step)
        }
        _ => 0,
    };
    let (out, left, right) =
        (BufferRef::Own(all.out), BufferRef::Own(all.left.operand()), BufferRef::Own(all.right.operand()));
    let mut reads = vec![left, right];
    let entry = if step == 0 {
        "gemm_f16_initialise"
    } else {
        reads.push(out);
        "gemm_f16_accumulate"
    };
    Call {
        kernel: kernel("gemm_f16.S", entry),
        arguments: vec![
            Argument::Address(out, 0),
            Argument::Address(left, offset(false, all.left)),
            Argument::Address(right, offset(true, all.right)),
            Argument::Value(rows),
            Argument::Value(k_groups),
            Argument::Value(n_groups),
        ],
        cycles: cost::gemm_cycles(rows, k_groups, n_groups, step > 0),
        reads,
        writes: vec![out],
    }
}

/// Brings chunk `step` of a computed left operand from its producer's layout to every tile that needs it.
fn retile(
    left: &Operand,
    layout: &Layout,
    staging: u32,
    step: u32,
    transfers: &mut Vec<Transfer>,
    copies: &mut Copies,
) {
    let spans = &layout.spans;
    for block in 0..left.blocks() {
        for k in 0..left.plan.grid[2] {
            let tiles = left.sharers(block, k);
            let atoms = left.chunk_atoms(block, k, step);
            // (source tile, source place, first staged atom, atoms)
            let mut pieces: Vec<(TileId, Place, u32, u32)> = Vec::new();
            for (first, length, local) in left.runs(block, k, step, (0, atoms)) {
                let mut at = first;
                let mut index = spans.partition_point(|s| s.first_atom + s.atoms <= first);
                while at < first + length {
                    let span = spans[index];
                    let take = (span.first_atom + span.atoms).min(first + length) - at;
                    let buffer = BufferRef::Operand { operand: 0, buffer: span.buffer };
                    let place = Place { buffer, offset: span.offset + (at - span.first_atom) * ATOM_BYTES };
                    let staged = local + (at - first);
                    match pieces.last_mut() {
                        Some((tile, from, to, count))
                            if *tile == span.tile
                                && from.buffer == buffer
                                && from.offset + *count * ATOM_BYTES == place.offset
                                && *to + *count == staged =>
                        {
                            *count += take;
                        }
                        _ => pieces.push((span.tile, place, staged, take)),
                    }
                    at += take;
                    index += 1;
                }
            }
            for (source, from, staged, count) in pieces {
                let to = Place { buffer: BufferRef::Own(staging), offset: staged * ATOM_BYTES };
                if tiles.contains(&source) {
                    copies.add(source, from, to, count);
                }
                transfers.push(multicast(source, from, count, &tiles, to));
            }
        }
    }
}

/// Reduce-scatter: each of the `Kp` tiles of a block sums an equal part of it.
fn reduce(shape: &GemmShape, plan: &GemmPlan, all: &Buffers, received: u32, result: u32, steps: &mut Vec<Step>) {
    let parts = plan.grid[2];
    let stride = all.list[result as usize].bytes;
    let mut transfers = Vec::new();
    let mut calls = BTreeMap::new();
    for owner in plan.cells() {
        let atoms = plan.rows(shape, owner.m).1 * plan.n_groups(shape, owner.n).1;
        let (first, length) = balanced(atoms, parts, owner.k);
        if length == 0 {
            continue;
        }
        let tile = plan.tile(owner);
        let own = Place { buffer: BufferRef::Own(all.out), offset: first * ATOM_BYTES };
        for (slot, k) in (0u32..).zip((0..parts).filter(|&k| k != owner.k)) {
            let to = Place { buffer: BufferRef::Own(received), offset: slot * stride };
            transfers.push(multicast(plan.tile(Cell { k, ..owner }), own, length, &[tile], to));
        }
        let chunks = length * (ATOM_BYTES / 16);
        calls.insert(
            tile,
            vec![Call {
                kernel: kernel("reduce_add_f16.S", "reduce_add_f16"),
                arguments: vec![
                    Argument::Address(BufferRef::Own(result), 0),
                    Argument::Address(own.buffer, own.offset),
                    Argument::Address(BufferRef::Own(received), 0),
                    Argument::Value(stride),
                    Argument::Value(chunks),
                    Argument::Value(parts - 1),
                ],
                cycles: cost::reduce_cycles(chunks, parts - 1),
                reads: vec![own.buffer, BufferRef::Own(received)],
                writes: vec![BufferRef::Own(result)],
            }],
        );
    }
    transfers.sort_unstable_by(|a, b| (a.source, a.at, &a.destinations).cmp(&(b.source, b.at, &b.destinations)));
    steps.push(Step::Exchange(Keyed::new(Problem { transfers })));
    steps.push(Step::Compute(grouped(calls)));
}

/// Where the result lies: `part` picks the atoms of a cell's block that stay on its tile, at offset 0 of `buffer`.
fn result_layout(shape: &GemmShape, plan: &GemmPlan, buffer: u32, part: impl Fn(Cell, u32) -> (u32, u32)) -> Layout {
    let mut spans = Vec::new();
    for cell in plan.cells() {
        let (first_row, rows) = plan.rows(shape, cell.m);
        let (first_panel, panels) = plan.n_groups(shape, cell.n);
        let (start, length) = part(cell, rows * panels);
        let mut at = start;
        while at < start + length {
            let (panel, row) = (at / rows, at % rows);
            let atoms = (rows - row).min(start + length - at);
            spans.push(Span {
                first_atom: (first_panel + panel) * shape.m + first_row + row,
                atoms,
                tile: plan.tile(cell),
                buffer,
                offset: (at - start) * ATOM_BYTES,
            });
            at += atoms;
        }
    }
    spans.sort_unstable();
    Layout { space: AtomSpace { order: Order::Left, rows: shape.m, columns: shape.n }, spans }
}
