//! `explain` and `schema`: what the tool knows about itself.

use ipuc_queries::diagnostics::codes;
use ipuc_queries::model::json_schema;
use serde_json::json;

use super::arguments::Explain;
use super::console::Console;
use super::exit::{Exit, Refused};

/// `ipuc explain`.
pub(super) fn explain(console: &Console, arguments: &Explain) -> anyhow::Result<Exit> {
    let Some(explanation) = codes::explain(&arguments.code) else {
        let known: Vec<&str> = codes::ALL.iter().map(|explanation| explanation.code.name()).collect();
        return Err(Refused(format!("there is no code {}; the codes are {}", arguments.code, known.join(", "))).into());
    };
    let (code, title, text) = (explanation.code.name(), explanation.title, explanation.text.trim());
    console.line(&format!("{code}: {title}\n\n{text}"))?;
    console.object("explanation", json!({ "code": code, "title": title, "text": text }))?;
    Ok(Exit::Success)
}

/// `ipuc schema`.
pub(super) fn schema(console: &Console) -> anyhow::Result<Exit> {
    let schema = json_schema();
    console.line(&format!("{schema:#}"))?;
    console.object("schema", json!({ "schema": schema }))?;
    Ok(Exit::Success)
}
