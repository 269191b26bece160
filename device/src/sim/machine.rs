//! All tiles of a run: loading, epochs between barriers, the report.
//!
//! An epoch: every tile runs by itself until it waits for a barrier or has ended; the barrier releases all on one clock;
//! every tile runs its row; the words of the rows are delivered (`exchange`); the next epoch begins.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::exchange::{Clash, Piece, Record, check_banks, collect, deliver, deliver_in_order, forwards, receive};
use super::fault::{ContextId, FAULT_CODE, Fault, FaultKind};
use super::memory::Memory;
use super::supervisor::{LATENCY, State};
use super::tile::{Surroundings, Tile, TraceSink};
use crate::isa::AmpFlags;
use crate::memory::{BASE, LOAD_BASE, SUPERVISOR_STACK, TILES, TileId, WORKER_BASE, WORKER_SCRATCH};

/// Clocks from the last arrival at a chip-wide barrier to the first instruction after it, the same for all tiles. No source
/// gives it (FIDELITY.md).
pub const BARRIER_LATENCY: u64 = 100;

/// Name of the region whose first fetch starts the cycle count.
const PROGRAM_REGION: &str = "generated tile program";
/// Name of the symbol (or region) whose jump ends it.
const COMPLETE: &str = "complete";

/// A named range of addresses, the same on all tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Name.
    pub name: String,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// How to run.
#[derive(Clone)]
pub struct MachineConfig {
    /// Meaning of the AMP flag values.
    pub flags: AmpFlags,
    /// Worker threads of the simulator; the number of processors if not given.
    pub threads: Option<usize>,
    /// Clocks after which a run is stopped with a fault.
    pub cycle_limit: u64,
    /// A tile whose instructions go to a sink.
    pub trace: Option<(TileId, TraceSink)>,
    /// Whether a read of memory that nobody wrote is a fault.
    pub check_unwritten: bool,
    /// Debug regions. "generated tile program" and "complete" mark what the cycle count spans.
    pub regions: Vec<Region>,
    /// Symbols by name, for messages, and "complete".
    pub symbols: Vec<(String, u32)>,
}

impl Default for MachineConfig {
    fn default() -> Self {
        Self {
            flags: AmpFlags::default(),
            threads: None,
            cycle_limit: 100_000_000,
            trace: None,
            check_unwritten: true,
            regions: Vec::new(),
            symbols: Vec::new(),
        }
    }
}

impl MachineConfig {
    fn surroundings(&self) -> Surroundings {
        let mut symbols: Vec<(u32, String)> = self.symbols.iter().map(|(n, a)| (*a, n.clone())).collect();
        symbols.extend(self.regions.iter().map(|r| (r.start, r.name.clone())));
        // At one address the first symbol by name wins; regions only help where no symbol is.
        symbols.sort();
        symbols.dedup_by_key(|s| s.0);
        let region = |name: &str| self.regions.iter().find(|r| r.name == name);
        let symbol = self.symbols.iter().find(|(n, _)| n == COMPLETE).map(|s| s.1);
        Surroundings {
            symbols,
            program: region(PROGRAM_REGION).map_or(0..0, |r| r.start..r.end),
            complete: symbol.or_else(|| region(COMPLETE).map(|r| r.start)),
            cycle_limit: self.cycle_limit,
            first_fault: AtomicU64::new(u64::MAX),
        }
    }
}

/// What one tile did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileReport {
    /// Which.
    pub tile: TileId,
    /// Clock of the first fetch inside the generated tile program.
    pub program_start: Option<u64>,
    /// Clock of the jump to completion.
    pub completion: Option<u64>,
    /// Clock at which the supervisor branched to address 0.
    pub end: u64,
    /// Instructions of all contexts; a bundle counts as two.
    pub instructions: u64,
}

/// One chip-wide barrier and the row that followed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierReport {
    /// Zone of the `sync` (3 internal); `None` if every tile abstained.
    pub zone: Option<u8>,
    /// Clock at which the last tile arrived.
    pub last_arrival: u64,
    /// Clock of the first instruction after it.
    pub release: u64,
    /// Clock after the last row instruction of the last tile; `None` if no tile ran a row.
    pub last_row_end: Option<u64>,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// Every tile, by number.
    pub tiles: Vec<TileReport>,
    /// Barriers in order.
    pub barriers: Vec<BarrierReport>,
    /// Instructions of all tiles; a bundle counts as two.
    pub instructions: u64,
    /// Multiply-adds of the matrix units in f16. Steps whose input is a zero register don't count.
    pub amp_macs_f16: u64,
}

impl RunReport {
    /// Cycles of the slowest tile from the first fetch inside the generated tile program to the jump to completion.
    pub fn simulated_cycles(&self) -> Option<u64> {
        self.tiles.iter().filter_map(|t| Some(t.completion?.saturating_sub(t.program_start?))).max()
    }

    /// Sum over the barriers with a row of the time from the last arrival to the last row end.
    pub fn exchange_cycles(&self) -> u64 {
        self.barriers.iter().filter_map(|b| Some(b.last_row_end?.saturating_sub(b.last_arrival))).sum()
    }
}

/// A set of tiles that run together.
pub struct Machine {
    config: MachineConfig,
    tiles: BTreeMap<TileId, Tile>,
}

/// The lowest fault of several.
fn first(faults: impl IntoIterator<Item = Fault>) -> Option<Fault> {
    faults.into_iter().min_by_key(Fault::order)
}

impl Machine {
    /// A machine without tiles.
    pub fn new(config: MachineConfig) -> Self {
        Self { config, tiles: BTreeMap::new() }
    }

    /// Writes bytes into the memory of a tile, which becomes part of the machine.
    ///
    /// Panics when the tile does not exist or the bytes don't fit its memory; packages are checked before.
    pub fn load(&mut self, tile: TileId, address: u32, bytes: &[u8]) {
        assert!(u32::from(tile.0) < TILES, "the chip has no tile {tile}");
        assert!(
            u32::try_from(bytes.len()).is_ok_and(|n| Memory::contains(address, n)),
            "{} bytes at {address:#x} don't fit a tile",
            bytes.len()
        );
        self.tile(tile).memory.load(address, bytes);
    }

    fn tile(&mut self, id: TileId) -> &mut Tile {
        let config = &self.config;
        self.tiles.entry(id).or_insert_with(|| {
            let mut tile = Tile::new(id, &config.flags, config.check_unwritten);
            tile.trace = config.trace.as_ref().filter(|(traced, _)| *traced == id).map(|(_, sink)| sink.clone());
            tile
        })
    }

    /// Memory of a tile; `None` when the tile is not part of the machine or the range is outside memory.
    pub fn read(&self, tile: TileId, address: u32, bytes: u32) -> Option<&[u8]> {
        let tile = self.tiles.get(&tile)?;
        Memory::contains(address, bytes).then(|| tile.memory.slice(address, bytes))
    }

    /// Starts every tile at the entry address at clock 0 and runs until all programs have ended.
    pub fn run(&mut self) -> Result<RunReport, Fault> {
        for tile in self.tiles.values_mut() {
            tile.supervisor.pc = LOAD_BASE;
        }
        self.run_on()
    }

    fn run_on(&mut self) -> Result<RunReport, Fault> {
        match self.config.threads {
            None => self.run_here(),
            Some(threads) => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.expect("threads can be started").install(|| self.run_here())
            }
        }
    }

    fn run_here(&mut self) -> Result<RunReport, Fault> {
        let surroundings = self.config.surroundings();
        let mut barriers = Vec::new();
        let mut tiles: Vec<&mut Tile> = self.tiles.values_mut().collect();
        loop {
            let noted = |fault: Fault| {
                surroundings.first_fault.fetch_min(fault.clock, Ordering::Relaxed);
                fault
            };
            let faults: Vec<Fault> =
                tiles.par_iter_mut().filter_map(|tile| tile.run(&surroundings).err().map(noted)).collect();
            if let Some(fault) = first(faults) {
                return Err(fault);
            }
            if tiles.iter().all(|t| t.supervisor.state == State::Ended) {
                break;
            }
            let mut barrier = release(&mut tiles, &surroundings)?;
            barrier.last_row_end = exchange(&mut tiles, &surroundings, barrier.release)?;
            barriers.push(barrier);
        }
        let mut report = RunReport { tiles: Vec::new(), barriers, instructions: 0, amp_macs_f16: 0 };
        for tile in tiles {
            let (instructions, multiply_adds) = tile.counts();
            report.instructions += instructions;
            report.amp_macs_f16 += multiply_adds;
            report.tiles.push(TileReport {
                tile: tile.id,
                program_start: tile.program_start,
                completion: tile.completion,
                end: tile.ended.expect("all tiles have ended"),
                instructions,
            });
        }
        Ok(report)
    }
}

/// External zones have a slave and a master form.
fn zone_group(zone: u8) -> u8 {
    zone & 7
}

/// Releases the barrier that all tiles wait for, or says why it never will be.
fn release(tiles: &mut [&mut Tile], surroundings: &Surroundings) -> Result<BarrierReport, Fault> {
    let mut last_arrival = 0;
    let mut zone: Option<(u8, TileId)> = None;
    let mut problem: Option<(usize, String)> = None;
    let waiting = tiles.iter().find(|t| t.supervisor.state != State::Ended).map(|t| (t.id, t.supervisor.state));
    let missing: Vec<TileId> = tiles
        .iter()
        .filter(|t| t.supervisor.state == State::Ended && t.supervisor.promised == 0)
        .map(|t| t.id)
        .collect();
    for (i, tile) in tiles.iter().enumerate() {
        let s = &tile.supervisor;
        last_arrival = last_arrival.max(if s.promised > 0 { s.promised_at } else { s.last_issue });
        if let State::Barrier(z) = s.state {
            match zone {
                None => zone = Some((z, tile.id)),
                Some((other, first)) if zone_group(other) != zone_group(z) && problem.is_none() => {
                    problem = Some((i, format!("it waits in zone {z}, and tile {first} in zone {other}")));
                }
                Some(_) => {}
            }
        }
    }
    if let Some(&first_missing) = missing.first() {
        let (id, state) = waiting.expect("some tile waits");
        let what = match state {
            State::Barrier(z) => format!("the barrier of sync {z}"),
            _ => "the barrier that it promised".to_owned(),
        };
        let index = tiles.iter().position(|t| t.id == id).expect("it is one of them");
        let others = if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
        problem = Some((index, format!("it waits for {what}; tile {first_missing}{others} ended without it")));
    }
    if let Some((index, message)) = problem {
        let tile = &tiles[index];
        let trouble = super::fault::Trouble { kind: FaultKind::Deadlock, message };
        let mut fault = tile.fault(trouble, ContextId::Supervisor, surroundings);
        // The program counter already stands behind the `sync`.
        fault.address = fault.address.wrapping_sub(4);
        fault.symbol = surroundings.symbol(fault.address);
        fault.instruction =
            tile.memory.fetch(fault.address).ok().map(|w| super::operation::text(w, crate::isa::Context::Supervisor));
        return Err(fault);
    }
    let release = last_arrival + BARRIER_LATENCY;
    let consensus = tiles.iter().all(|t| t.supervisor.local_consensus);
    for tile in tiles {
        let s = &mut tile.supervisor;
        s.global_consensus = consensus;
        if s.promised > 0 {
            s.promised -= 1;
            s.promised_at = release;
            if s.promised == 0 && s.state == State::Answered {
                s.state = State::Running;
                s.wake = release.max(s.last_issue + LATENCY);
            }
        } else {
            s.state = State::Running;
            s.wake = release;
        }
    }
    Ok(BarrierReport { zone: zone.map(|z| z.0), last_arrival, release, last_row_end: None })
}

/// What a tile takes, what it sends (unless it forwards), and whether it forwards.
type Resolved = (Vec<Piece>, Vec<u8>, bool);

/// Runs the rows after a release and delivers their words; the clock after the last row.
fn exchange(tiles: &mut [&mut Tile], surroundings: &Surroundings, release: u64) -> Result<Option<u64>, Fault> {
    let in_rows: Vec<Fault> = tiles
        .par_iter_mut()
        .filter_map(|tile| {
            let ahead = tile.catch_up(surroundings, release);
            ahead.and_then(|()| tile.run_row(surroundings)).err()
        })
        .collect();
    // What a row that stopped would have sent is missing elsewhere, at clocks that may be lower: don't look there.
    if let Some(fault) = first(in_rows) {
        return Err(fault);
    }
    let place = |id: TileId, clash: Clash| Fault {
        code: FAULT_CODE,
        tile: id,
        context: ContextId::Exchange,
        clock: clash.clock,
        address: clash.address,
        symbol: surroundings.symbol(clash.address),
        instruction: None,
        kind: clash.kind,
        message: clash.message,
    };
    let mut records: Vec<Option<&Record>> = vec![None; TILES as usize];
    for tile in tiles.iter() {
        records[tile.id.index()] = tile.record.as_deref();
    }
    let row_end = records.iter().filter_map(|r| r.as_ref()?.row_end).max();
    if row_end.is_none() && records.iter().flatten().all(|r| r.is_quiet()) {
        for tile in tiles {
            tile.record = None;
        }
        return Ok(None);
    }
    // Arrivals, checks and words sent are functions of the records and of the memories before the epoch.
    let resolved: Vec<Result<Resolved, Fault>> = tiles
        .par_iter()
        .map(|tile| {
            let Some(record) = tile.record.as_deref() else { return Ok(Default::default()) };
            let pieces = receive(tile.id, tile.physical, &records);
            let pieces = pieces.map_err(|c| place(tile.id, c))?;
            check_banks(record, &pieces).map_err(|c| place(tile.id, c))?;
            let forwards = forwards(record, &pieces);
            let words =
                if forwards { Vec::new() } else { collect(record, &tile.memory).map_err(|c| place(tile.id, c))? };
            Ok((pieces, words, forwards))
        })
        .collect();
    drop(records);
    let mut sent = vec![Vec::new(); TILES as usize];
    let mut pieces = Vec::with_capacity(tiles.len());
    let mut in_order = false;
    let mut faults: Vec<Fault> = Vec::new();
    for (tile, result) in tiles.iter().zip(resolved) {
        match result {
            Ok((mine, words, forwards)) => {
                sent[tile.id.index()] = words;
                in_order |= forwards;
                pieces.push(mine);
            }
            Err(fault) => faults.push(fault),
        }
    }
    if let Some(fault) = first(faults) {
        return Err(fault);
    }
    if in_order {
        sent.iter_mut().for_each(Vec::clear);
        let ids: Vec<TileId> = tiles.iter().map(|t| t.id).collect();
        let mut parts: Vec<(&mut Memory, &Record, &[Piece])> = tiles
            .iter_mut()
            .zip(&pieces)
            .map(|(tile, pieces)| {
                let Tile { memory, record, .. } = &mut **tile;
                (memory, &**record.as_ref().expect("rows were run"), pieces.as_slice())
            })
            .collect();
        deliver_in_order(&mut parts, &ids, &mut sent).map_err(|(id, c)| place(id, c))?;
    } else {
        tiles.par_iter_mut().zip(&pieces).for_each(|(tile, pieces)| deliver(pieces, &sent, &mut tile.memory));
    }
    for tile in tiles {
        tile.record = None;
    }
    Ok(row_end)
}

/// The address that stands for the caller of a function under test; nothing can be fetched for it.
const CALLER: u32 = BASE;

/// A finished call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Clocks from the issue of the call to the first issue after the return.
    pub cycles: u64,
    /// Instructions of all contexts; a bundle counts as two.
    pub instructions: u64,
    /// Multiply-adds of the matrix unit.
    pub amp_macs_f16: u64,
}

/// One tile by itself, for tests of kernels: memory, and calls of supervisor functions.
pub struct TileMachine {
    machine: Machine,
    clock: u64,
}

const ONLY: TileId = TileId(0);

impl TileMachine {
    /// A tile with empty memory, worker bases and stack pointer set as the runtime sets them.
    pub fn new(config: MachineConfig) -> Self {
        let mut machine = Machine::new(config);
        let s = &mut machine.tile(ONLY).supervisor;
        s.worker_base = std::array::from_fn(|i| WORKER_BASE + WORKER_SCRATCH * i as u32);
        s.m[11] = SUPERVISOR_STACK;
        s.mux = super::supervisor::NEUTRAL;
        Self { machine, clock: 0 }
    }

    /// Writes memory.
    pub fn load(&mut self, address: u32, bytes: &[u8]) {
        self.machine.load(ONLY, address, bytes);
    }

    /// Reads memory.
    ///
    /// Panics when the range is outside.
    pub fn read(&self, address: u32, bytes: u32) -> &[u8] {
        self.machine.read(ONLY, address, bytes).expect("the range lies in tile memory")
    }

    /// Sets `$m0` .. `$m11` of the supervisor.
    pub fn set_register(&mut self, register: usize, value: u32) {
        assert!(register < 12, "$m{register} is fixed");
        self.machine.tile(ONLY).supervisor.m[register] = value;
    }

    /// `$m0` .. `$m15` of the supervisor.
    pub fn register(&mut self, register: usize) -> u32 {
        self.machine.tile(ONLY).supervisor.m[register]
    }

    /// Calls the supervisor function at an address, which returns by `br $m10`.
    pub fn call(&mut self, address: u32) -> Result<Call, Fault> {
        let start = self.clock;
        let tile = self.machine.tile(ONLY);
        let before = tile.counts();
        tile.stop_address = CALLER;
        tile.clock = start;
        let s = &mut tile.supervisor;
        s.state = State::Running;
        s.pc = address;
        s.m[10] = CALLER;
        s.wake = start + LATENCY;
        self.machine.run_on()?;
        let tile = self.machine.tile(ONLY);
        self.clock = tile.supervisor.wake.max(tile.clock);
        let after = tile.counts();
        Ok(Call { cycles: self.clock - start, instructions: after.0 - before.0, amp_macs_f16: after.1 - before.1 })
    }
}
