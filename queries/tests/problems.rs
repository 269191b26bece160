//! Which problems a model has, beyond those of its text: limits, plans and kernels.

use std::sync::Arc;
use std::time::Duration;

use ipuc_queries::database::Compiler;
use ipuc_queries::diagnostics::codes::{self, Code};
use ipuc_queries::keys::{LimitsKey, PlanSetKey, Scenario};
use ipuc_queries::model::Edit;
use ipuc_queries::stages;
use ipuc_queries::trace::Clock;

const UNUSED: &str = include_str!("models/w0001-unused.json");

struct Frozen;

impl Clock for Frozen {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

/// Codes of the problems of a model with edits on it, after `prepare` had the database.
fn codes_of(text: &str, edits: &[Edit], prepare: impl FnOnce(&mut Compiler)) -> Vec<Code> {
    let mut db = Compiler::new(Arc::new(Frozen));
    prepare(&mut db);
    let source = db.set_source("model.json", text);
    let scenario = Scenario::new(&db, source, edits.to_vec());
    let limits = LimitsKey::new(&db, stages::limits(&db, scenario).clone());
    let mut found: Vec<Code> = stages::problems(&db, scenario, limits).iter().map(|problem| problem.code).collect();
    found.dedup();
    let set = PlanSetKey::new(&db, stages::choice(&db, scenario, limits).clone());
    if found.iter().all(|&code| code == codes::UNUSED) {
        assert!(stages::package(&db, scenario, set).is_ok(), "a model without errors has a package");
    }
    found
}

#[test]
fn warnings_hide_no_error() {
    let tiles = Edit::set("target.tiles", 16u32);
    let memory = [tiles.clone(), Edit::set("target.tile_memory_bytes", 4096u32)];
    let tables = [tiles.clone(), Edit::set("target.exchange_table_bytes", 8u32)];
    assert_eq!(codes_of(UNUSED, std::slice::from_ref(&tiles), |_| {}), [codes::UNUSED]);
    assert_eq!(codes_of(UNUSED, &memory, |_| {}), [codes::UNUSED, codes::TILE_MEMORY]);
    assert_eq!(codes_of(UNUSED, &tables, |_| {}), [codes::UNUSED, codes::EXCHANGE_TABLES]);
    let broken = codes_of(UNUSED, &[tiles], |db| {
        assert!(db.set_kernel("gemm_f16.S", "    no_such_instruction $m0\n"));
    });
    assert_eq!(broken, [codes::UNUSED, codes::ASSEMBLY]);
}
