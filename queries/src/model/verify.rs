//! The properties of a graph, tested. A violation is a bug of the compiler, never the user's fault.

use super::graph::{Graph, Operand, Origin, Role};
use super::resolve::GREATEST_TENSOR;
use super::shapes::{infer, operands};

/// Every broken property of `graph`, in words.
pub fn verify(graph: &Graph) -> Vec<String> {
    let mut violations = Vec::new();
    let mut claim = |holds: bool, text: String| {
        if !holds {
            violations.push(text);
        }
    };
    let content = &graph.content;
    let tensors = content.tensors.len();
    claim((1..=ipuc_device::memory::TILES).contains(&content.target.tiles.into()), "tiles out of range".to_owned());
    claim(
        graph.names.tensors.len() == tensors && graph.data.len() == tensors,
        "names or data miss a tensor".to_owned(),
    );
    claim(graph.names.ops.len() == content.ops.len(), "names miss an operator".to_owned());
    for (index, tensor) in content.tensors.iter().enumerate() {
        let sound = !tensor.kind.shape.0.is_empty() && !tensor.kind.shape.0.contains(&0);
        claim(sound && tensor.kind.padded_bytes() <= GREATEST_TENSOR, format!("tensor {index} has no sound shape"));
    }
    // P3: the next tensor that is used for the first time bears the next number.
    let mut used = 0;
    for (index, op) in content.ops.iter().enumerate() {
        let signature = &op.signature;
        let mut kinds = Vec::new();
        for (operand, seen) in op.operands.iter().zip(&signature.operands) {
            let origin = match *operand {
                Operand::Tensor(tensor) if tensor.index() < tensors => {
                    claim(tensor.index() <= used, format!("operator {index}: tensor {} out of order", tensor.0));
                    used = used.max(tensor.index() + 1);
                    match content.tensors[tensor.index()].role {
                        Role::Input => Origin::Input,
                        Role::Weight => Origin::Weight,
                    }
                }
                // P1
                Operand::Result(earlier) if earlier.index() < index => Origin::Result,
                _ => {
                    claim(false, format!("operator {index} reads {operand:?}"));
                    continue;
                }
            };
            // P2
            let agrees = seen.origin == origin && seen.kind == *content.kind(*operand);
            claim(agrees, format!("operator {index}: the signature disagrees with its operand"));
            kinds.push(&seen.kind);
        }
        if kinds.len() == operands(&signature.kind) && op.operands.len() == signature.operands.len() {
            let inferred = infer(&signature.kind, &kinds);
            claim(inferred.as_ref() == Ok(&signature.result), format!("operator {index} has a wrong result"));
        } else {
            claim(false, format!("operator {index} has a wrong number of operands"));
        }
        claim(signature.result.padded_bytes() <= GREATEST_TENSOR, format!("operator {index} has too large a result"));
    }
    for output in &content.outputs {
        claim(output.index() < content.ops.len(), format!("output {} does not exist", output.0));
    }
    violations
}
