//! The tree as typed declarations, before names mean anything. Places that the checker refused are `None`.

use super::ast::{item_path, member_path, operator_paths};
use super::graph::{DType, DataSource, Distribution, Effort, Pins, Profiling, Role, Shape, Target, TensorType};
use super::json::{Kind, Node};
use super::limits::Limits;
use super::schema::OPERATORS;
use super::value::Real;

/// A whole model.
#[derive(Debug)]
pub struct Declarations {
    /// Its name, empty if it has none.
    pub name: String,
    /// Fields that may change a plan.
    pub target: Target,
    /// Limits of the target; those of operators stand with them.
    pub limits: Limits,
    /// Inputs, then weights, in the order of the text.
    pub tensors: Vec<TensorDeclaration>,
    /// Operators in the order of the text.
    pub ops: Vec<OpDeclaration>,
    /// Names of outputs with their paths.
    pub outputs: Vec<(String, String)>,
}

/// An input or a weight.
#[derive(Debug)]
pub struct TensorDeclaration {
    /// Its path.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Input or weight.
    pub role: Role,
    /// Shape and element type.
    pub kind: Option<TensorType>,
    /// What it holds.
    pub data: DataSource,
}

/// An operator.
#[derive(Debug)]
pub struct OpDeclaration {
    /// Its path.
    pub path: String,
    /// Its name.
    pub name: Option<String>,
    /// The kind, if it is an accepted one.
    pub kind: Option<&'static str>,
    /// In what it multiplies.
    pub precision: Option<DType>,
    /// The names of its operands; `None` if `inputs` is no array.
    pub inputs: Option<Vec<Option<String>>>,
    /// Pinned choices.
    pub pins: Pins,
    /// `budget.tile_bytes`.
    pub tile_bytes: Option<u32>,
}

/// Reads a tree. Never fails: what the schema refuses is left out.
pub fn read(root: &Node) -> Declarations {
    let target = root.get("target");
    let field = |name: &str| target.and_then(|target| target.get(name));
    let number = |name: &str| field(name).and_then(unsigned);
    let defaults = Limits::default();
    let outputs = root.get("outputs").map_or(&[][..], Node::items);
    Declarations {
        name: root.get("name").and_then(Node::text).unwrap_or_default().to_owned(),
        target: Target {
            tiles: number("tiles")
                .filter(|tiles| (1..=ipuc_device::memory::TILES).contains(tiles))
                .unwrap_or(ipuc_device::memory::TILES) as u16,
            profiling: Profiling::None,
            effort: match field("effort").and_then(Node::text) {
                Some("fast") => Effort::Fast,
                Some("max") => Effort::Max,
                _ => Effort::Normal,
            },
        },
        limits: Limits {
            tile_memory_bytes: number("tile_memory_bytes").unwrap_or(defaults.tile_memory_bytes),
            exchange_table_bytes: number("exchange_table_bytes").unwrap_or(defaults.exchange_table_bytes),
            ..defaults
        },
        tensors: [("inputs", Role::Input), ("weights", Role::Weight)]
            .into_iter()
            .flat_map(|(section, role)| {
                let members = root.get(section).map_or(&[][..], Node::members);
                members.iter().map(move |member| TensorDeclaration {
                    path: member_path(section, &member.key),
                    name: member.key.clone(),
                    role,
                    kind: tensor_type(&member.value),
                    data: data(&member.value),
                })
            })
            .collect(),
        ops: root.get("ops").map_or_else(Vec::new, |ops| {
            ops.items().iter().zip(operator_paths(ops)).map(|(op, path)| operator(op, path)).collect()
        }),
        outputs: outputs
            .iter()
            .enumerate()
            .filter_map(|(index, output)| Some((output.text()?.to_owned(), item_path("outputs", index))))
            .collect(),
    }
}

fn unsigned(node: &Node) -> Option<u32> {
    node.integer().and_then(|value| u32::try_from(value).ok())
}

fn tensor_type(node: &Node) -> Option<TensorType> {
    let Kind::Array(items) = &node.get("shape")?.kind else { return None };
    let shape: Vec<u32> =
        items.iter().map(|item| unsigned(item).filter(|&extent| extent > 0)).collect::<Option<_>>()?;
    // Other dtypes are refused by the checker; operators on them have no result.
    let dtype = DType::from_name(node.get("dtype")?.text()?).filter(|dtype| *dtype == DType::F16)?;
    (!shape.is_empty()).then_some(TensorType { shape: Shape(shape), dtype })
}

fn data(node: &Node) -> DataSource {
    if let Some(file) = node.get("file").and_then(Node::text) {
        return DataSource::File(file.to_owned());
    }
    let Some(random) = node.get("random") else { return DataSource::Absent };
    let seed = random.get("seed").and_then(Node::integer).and_then(|seed| u64::try_from(seed).ok()).unwrap_or(0);
    let distribution = if let Some(deviation) = random.get("normal").and_then(Node::number) {
        Distribution::Normal(Real::new(deviation))
    } else if let Some([low, high]) = random.get("integers").map(Node::items) {
        match (low.integer(), high.integer()) {
            (Some(low), Some(high)) => Distribution::Integers(low, high),
            _ => return DataSource::Absent,
        }
    } else {
        return DataSource::Absent;
    };
    DataSource::Random { distribution, seed }
}

fn operator(op: &Node, path: String) -> OpDeclaration {
    let text = |key: &str| op.get(key).and_then(Node::text);
    let plan = op.get("plan");
    let grid = plan.and_then(|plan| plan.get("grid")).map(Node::items).and_then(|grid| match grid {
        [m, n, k] => Some([unsigned(m)?, unsigned(n)?, unsigned(k)?]),
        _ => None,
    });
    OpDeclaration {
        path,
        name: text("name").filter(|name| !name.is_empty()).map(str::to_owned),
        kind: text("op").and_then(|kind| OPERATORS.iter().copied().find(|known| *known == kind)),
        precision: match op.get("precision") {
            None => Some(DType::F16),
            Some(precision) => precision.text().and_then(DType::from_name).filter(|dtype| *dtype == DType::F16),
        },
        inputs: match op.get("inputs").map(|inputs| &inputs.kind) {
            Some(Kind::Array(items)) => Some(items.iter().map(|item| item.text().map(str::to_owned)).collect()),
            _ => None,
        },
        pins: Pins { grid, steps: plan.and_then(|plan| plan.get("steps")).and_then(unsigned) },
        tile_bytes: op.get("budget").and_then(|budget| budget.get("tile_bytes")).and_then(unsigned),
    }
}
