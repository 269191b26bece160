//! `ipuc schedule`: one exchange phase by itself.

use std::time::Instant;

use anyhow::Context;
use ipuc_device::fabric::encode::encode_row;
use ipuc_device::fabric::rows::build_rows;
use ipuc_queries::exchange::Effort;
use ipuc_queries::exchange::absolute::{AbsoluteProblem, schedule_absolute};
use ipuc_queries::exchange::timing::Schedule as Placed;
use serde_json::json;

use super::arguments::{EffortName, Schedule};
use super::console::Console;
use super::exit::Exit;
use super::paths::write_text;

/// `ipuc schedule PROBLEM.json`.
pub(super) fn schedule(console: &Console, arguments: &Schedule) -> anyhow::Result<Exit> {
    let path = &arguments.problem;
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let problem =
        AbsoluteProblem::parse(&text).with_context(|| format!("{} is no exchange problem", path.display()))?;
    let effort = match arguments.effort {
        EffortName::Fast => Effort::FAST,
        EffortName::Normal => Effort::NORMAL,
        EffortName::Max => Effort::MAX,
    };
    let started = Instant::now();
    let result = match schedule_absolute(&problem, effort) {
        Ok(result) => result,
        Err(refusal) => {
            console.error(&anyhow::anyhow!("{}: {refusal}", path.display()))?;
            return Ok(Exit::Failure);
        }
    };
    let elapsed_ms = started.elapsed().as_secs_f64() * 1000.0;
    let placed = &result.schedule;
    let report = json!({
        "horizon": placed.horizon,
        "endpoint_lower_bound": placed.bounds.endpoint,
        "fill_drain_lower_bound": placed.bounds.fill_drain,
        "exchange_table_bytes": table_bytes(&problem, placed)?,
        "transfers": result.transfers,
        "pieces": placed.pieces.len(),
        "kind": "ordinary",
        "elapsed_ms": elapsed_ms,
        "valid": result.valid,
    });
    if let Some(path) = &arguments.report {
        write_text(path, &format!("{report:#}\n"))?;
    }
    if let Some(path) = &arguments.pieces {
        let pieces: Vec<_> = placed
            .pieces
            .iter()
            .map(|p| {
                json!({ "transfer": p.transfer, "first_word": p.first_word, "words": p.words, "start_slot": p.slot })
            })
            .collect();
        write_text(path, &format!("{}\n", json!({ "pieces": pieces })))?;
    }
    console.object("schedule-finished", report.clone())?;
    console.line(&format!(
        "horizon={} endpoint_lower_bound={} fill_drain_lower_bound={} exchange_table_bytes={} valid={}",
        placed.horizon, placed.bounds.endpoint, placed.bounds.fill_drain, report["exchange_table_bytes"], result.valid
    ))?;
    Ok(if result.valid { Exit::Success } else { Exit::Bug })
}

/// Bytes of the encoded row of the worst tile.
fn table_bytes(problem: &AbsoluteProblem, placed: &Placed) -> anyhow::Result<u64> {
    let mut worst = 0;
    for (tile, row) in build_rows(&problem.messages(placed))? {
        let words = encode_row(&row).with_context(|| format!("the row of tile {tile}"))?;
        worst = worst.max((4 * words.len() as u64).next_multiple_of(8));
    }
    Ok(worst)
}
