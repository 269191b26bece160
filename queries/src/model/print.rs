//! The graph and the limits as text: one entity a line, in a fixed order, without numbers of the database.

use std::fmt;

use super::graph::{DataSource, Distribution, Graph, OpKind, Operand, Profiling, Role};
use super::limits::Limits;

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Graph { content, names, data } = self;
        writeln!(f, "model {}", names.model)?;
        let Profiling::None = content.target.profiling;
        writeln!(f, "target tiles={} effort={} profiling=none", content.target.tiles, content.target.effort.name())?;
        for ((tensor, name), data) in content.tensors.iter().zip(&names.tensors).zip(data) {
            let role = match tensor.role {
                Role::Input => "input",
                Role::Weight => "weight",
            };
            writeln!(f, "{role} {name}: {} {data}", tensor.kind)?;
        }
        for (op, name) in content.ops.iter().zip(&names.ops) {
            let operands: Vec<&str> = op
                .operands
                .iter()
                .map(|operand| match operand {
                    Operand::Tensor(tensor) => names.tensors[tensor.index()].as_str(),
                    Operand::Result(op) => names.ops[op.index()].as_str(),
                })
                .collect();
            let OpKind::Gemm { precision } = op.signature.kind;
            let (kind, result) = (op.signature.kind.name(), &op.signature.result);
            write!(f, "op {name} = {kind}({}) precision={precision}", operands.join(", "))?;
            if let Some(grid) = op.pins.grid {
                write!(f, " grid={grid:?}")?;
            }
            if let Some(steps) = op.pins.steps {
                write!(f, " steps={steps}")?;
            }
            writeln!(f, ": {result}")?;
        }
        for output in &content.outputs {
            writeln!(f, "output {}", names.ops[output.index()])?;
        }
        Ok(())
    }
}

impl fmt::Display for DataSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => write!(f, "given at the call"),
            Self::File(file) => write!(f, "file {file:?}"),
            Self::Random { distribution, seed } => match distribution {
                Distribution::Normal(deviation) => write!(f, "normal({deviation}) seed {seed}"),
                Distribution::Integers(low, high) => write!(f, "integers({low}, {high}) seed {seed}"),
            },
        }
    }
}

impl Limits {
    /// The limits as text; operators are named as in `graph`.
    pub fn print(&self, graph: &Graph) -> String {
        let mut text = format!(
            "limit tile_memory_bytes={} exchange_table_bytes={}\n",
            self.tile_memory_bytes, self.exchange_table_bytes
        );
        for (op, bytes) in &self.operator_tile_bytes {
            text.extend(["limit op ", &graph.names.ops[op.index()], " tile_bytes=", &bytes.to_string(), "\n"]);
        }
        text
    }
}
