//! `inspect`: what is in a package.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ipuc_device::memory::LOAD_BASE;
use ipuc_device::package::{Binding, Data, Distribution, Package};
use serde_json::json;

use super::arguments::Inspect;
use super::console::Console;
use super::exit::Exit;
use crate::report::Report;

/// `ipuc inspect`.
pub(super) fn inspect(console: &Console, arguments: &Inspect) -> anyhow::Result<Exit> {
    let package = Package::read(&arguments.package)
        .map_err(|error| anyhow::Error::new(error).context(arguments.package.display().to_string()))?;
    if console.is_json() {
        let manifest = &package.manifest;
        let object = json!({ "name": manifest.name, "compiler": manifest.compiler, "tiles_used": manifest.tiles_used,
            "source_digest": manifest.source_digest, "graph": manifest.graph, "symbols": manifest.symbols,
            "debug_regions": manifest.debug_regions, "report": Report::of_package(manifest) });
        console.object("inspect", object)?;
    } else {
        Console::text(&summary(&package))?;
    }
    Ok(Exit::Success)
}

/// The summary for people.
fn summary(package: &Package) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = write_summary(&mut text, package);
    text
}

fn write_summary(text: &mut String, package: &Package) -> std::fmt::Result {
    let manifest = &package.manifest;
    writeln!(text, "package {} for {}", manifest.name, manifest.target.chip)?;
    writeln!(text, "  compiler        {}", manifest.compiler)?;
    writeln!(text, "  source digest   {}", manifest.source_digest)?;
    writeln!(text, "  tiles           {} used, {} loaded", manifest.tiles_used, package.tiles.len())?;
    let images: BTreeSet<Vec<(u32, *const u8)>> = package
        .tiles
        .iter()
        .map(|tile| tile.segments.iter().map(|segment| (segment.address, segment.bytes.as_ptr())).collect())
        .collect();
    let blobs: BTreeMap<*const u8, usize> =
        package.tiles.iter().flat_map(|tile| &tile.segments).map(|s| (s.bytes.as_ptr(), s.bytes.len())).collect();
    let end = |tile: &ipuc_device::package::TileImage| {
        tile.segments.last().map_or(LOAD_BASE, |segment| segment.address + segment.bytes.len() as u32)
    };
    let highest = package.tiles.iter().map(|tile| end(tile)).max().unwrap_or(LOAD_BASE);
    writeln!(text, "  images          {} different, program ends at {highest:#x}", images.len())?;
    writeln!(text, "  segments        {} different, {} bytes", blobs.len(), blobs.values().sum::<usize>())?;
    writeln!(text, "  entry           {:#x}", manifest.entry)?;

    writeln!(text, "regions")?;
    for region in &manifest.debug_regions {
        writeln!(
            text,
            "  {:#07x}..{:#07x}  {} ({} bytes)",
            region.start,
            region.end,
            region.name,
            region.end - region.start
        )?;
    }
    writeln!(text, "tensors")?;
    for binding in &manifest.bindings {
        let source = manifest.graph.tensors().find(|tensor| tensor.name == binding.name);
        writeln!(text, "  {}{}", tensor(binding), source.map_or(String::new(), |tensor| data(&tensor.data)))?;
    }
    writeln!(text, "operators")?;
    for operator in &manifest.operators {
        writeln!(
            text,
            "  {} {}: plan {}, {} cycles ({} exchange), {} bytes a tile",
            operator.op, operator.name, operator.plan, operator.cycles, operator.exchange_cycles, operator.tile_bytes
        )?;
    }
    writeln!(text, "exchange phases")?;
    for phase in &manifest.phases {
        writeln!(
            text,
            "  {} {} ({}): {} transfers, {} words, horizon {} (bounds {}, {}), longest row {} words",
            phase.phase,
            phase.operation,
            phase.kind,
            phase.transfers,
            phase.words,
            phase.horizon,
            phase.endpoint_lower_bound,
            phase.fill_drain_lower_bound,
            phase.max_row_words
        )?;
    }
    let totals = &manifest.totals;
    writeln!(text, "totals")?;
    writeln!(
        text,
        "  cycles          {} estimated, {} in exchange",
        totals.estimated_cycles, totals.estimated_exchange_cycles
    )?;
    writeln!(text, "  exchange tables {} bytes on the worst tile", totals.exchange_table_bytes)?;
    writeln!(text, "  tile memory     {} bytes on the worst tile", totals.tile_memory_bytes)
}

/// One line about a tensor.
fn tensor(binding: &Binding) -> String {
    let tiles: BTreeSet<_> = binding.spans.iter().map(|span| span.tile).collect();
    let atoms: u64 = binding.spans.iter().map(|span| u64::from(span.atoms)).sum();
    let copies = atoms as f64 / binding.atoms() as f64;
    format!(
        "{} {} {} {:?}: {} spans on {} tiles, {copies:.2} copies",
        binding.role,
        binding.name,
        binding.dtype,
        binding.shape,
        binding.spans.len(),
        tiles.len()
    )
}

/// Where the data comes from.
fn data(data: &Data) -> String {
    match data {
        Data::Unstated => String::new(),
        Data::File { path, .. } => format!(", from {path}"),
        Data::Random { distribution: Distribution::Normal(deviation), seed } => {
            format!(", normal({deviation}) with seed {seed}")
        }
        Data::Random { distribution: Distribution::Integers(low, high), seed } => {
            format!(", integers {low} to {high} with seed {seed}")
        }
    }
}
