//! Declarations to the graph: names, execution order, shapes.
//!
//! In: a tree and edits on it. Out: [`Resolved`]. An operator that has a problem is left out of the graph together with
//! those that depend on it, which give no follow-up problems. Warnings are given only for models without errors (of
//! syntax too), since every unknown operand would make some tensor look unused.

use std::collections::{BTreeMap, VecDeque};

use crate::diagnostics::codes::{
    DUPLICATE_NAME, INVALID_VALUE, MISMATCH, NOT_SUPPORTED, NOT_YET_DEFINED, TOO_LARGE, UNKNOWN_NAME, UNUSED,
};
use crate::diagnostics::problem::Place;
use crate::diagnostics::spelling::{did_you_mean, shown};
use crate::diagnostics::{Level, Part, Problem};

use super::ast::{Ast, apply, item_path};
use super::check::check;
use super::declaration::{Declarations, OpDeclaration, TensorDeclaration, read};
use super::graph::{
    Content, Graph, Names, Op, OpId, OpKind, OpSig, Operand, OperandSig, Origin, Role, Tensor, TensorId, TensorType,
};
use super::json::Node;
use super::limits::Limits;
use super::shapes::{infer, operands};
use super::value::{Edit, Value};

/// What a model says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The graph; where there are errors, what could be resolved.
    pub graph: Graph,
    /// The limits.
    pub limits: Limits,
    /// Everything that is wrong, apart from syntax.
    pub problems: Vec<Problem>,
}

impl Resolved {
    /// Whether a problem is an error.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.level() == Level::Error)
    }
}

/// Bytes of the greatest tensor, padded to blocks of 16 x 16: atoms and offsets count in 32 bits.
pub const GREATEST_TENSOR: u64 = u32::MAX as u64;
/// Problems of one sort after which no more are reported, so that a broken file of any size stays cheap.
const MOST_PROBLEMS: usize = 30;

/// Resolves a model after `edits`.
pub fn resolve(ast: &Ast, edits: &[Edit]) -> Resolved {
    let mut problems = Vec::new();
    let edited;
    let root: &Node = if edits.is_empty() {
        &ast.root
    } else {
        let mut root = ast.root.clone();
        for edit in edits {
            problems.extend(apply(&mut root, edit).err().map(|problem| *problem));
        }
        edited = root;
        &edited
    };
    problems.extend(check(root));
    let declarations = read(root);
    let mut resolver = Resolver::new(&declarations, problems);
    resolver.operators();
    resolver.outputs();
    if ast.sound && resolver.problems.iter().all(|problem| problem.level() != Level::Error) {
        resolver.unused();
    }
    let mut resolved = resolver.finish();
    for problem in &mut resolved.problems {
        for edit in edits {
            if !concerns(problem, &edit.path) {
                continue;
            }
            problem.notes.push(match edit.value {
                Value::Null => format!("`{}` is removed by an edit from outside the file", edit.path),
                _ => format!("`{}` is set to {} from outside the file", edit.path, edit.value),
            });
        }
    }
    resolved
}

/// Whether a label of the problem points at `path` or below.
fn concerns(problem: &Problem, path: &str) -> bool {
    problem.labels.iter().any(|label| match &label.place {
        Place::Path { path: at, .. } => {
            at.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        }
        Place::Bytes(_) => false,
    })
}

/// What a name means: an index into the declarations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Tensor(usize),
    Op(usize),
}

struct Resolver<'a> {
    declarations: &'a Declarations,
    names: BTreeMap<&'a str, Named>,
    /// Shapes and dtypes of the tensors; none where there is a problem.
    kinds: Vec<Option<&'a TensorType>>,
    /// Numbers of tensors in the graph, given at first use.
    tensor_ids: Vec<Option<TensorId>>,
    /// Tensors by number.
    tensors: Vec<usize>,
    /// Numbers of operators in the graph; none where there is a problem.
    op_ids: Vec<Option<OpId>>,
    ops: Vec<Op>,
    op_names: Vec<String>,
    outputs: Vec<OpId>,
    limits: Limits,
    problems: Vec<Problem>,
    unknown: usize,
    early: usize,
}

impl<'a> Resolver<'a> {
    fn new(declarations: &'a Declarations, problems: Vec<Problem>) -> Self {
        let mut resolver = Self {
            declarations,
            names: BTreeMap::new(),
            kinds: Vec::new(),
            tensor_ids: vec![None; declarations.tensors.len()],
            tensors: Vec::new(),
            op_ids: vec![None; declarations.ops.len()],
            ops: Vec::new(),
            op_names: Vec::new(),
            outputs: Vec::new(),
            limits: declarations.limits.clone(),
            problems,
            unknown: 0,
            early: 0,
        };
        for (index, tensor) in declarations.tensors.iter().enumerate() {
            resolver.define(&tensor.name, &tensor.path, Named::Tensor(index));
            let kind = tensor.kind.as_ref().filter(|kind| {
                let fits = kind.padded_bytes() <= GREATEST_TENSOR;
                if !fits {
                    resolver.problems.push(too_large(&format!("`{}`", shown(&tensor.name)), kind).at(
                        format!("{}.shape", tensor.path),
                        Part::Value,
                        "too large",
                    ));
                }
                fits
            });
            resolver.kinds.push(kind);
        }
        for (index, op) in declarations.ops.iter().enumerate() {
            if let Some(name) = &op.name {
                resolver.define(name, &op.path, Named::Op(index));
            }
        }
        resolver
    }

    fn path(&self, named: Named) -> &'a str {
        match named {
            Named::Tensor(index) => &self.declarations.tensors[index].path,
            Named::Op(index) => &self.declarations.ops[index].path,
        }
    }

    fn define(&mut self, name: &'a str, path: &'a str, named: Named) {
        if let Some(&first) = self.names.get(name) {
            let what = |named: Named| match named {
                Named::Tensor(index) => match self.declarations.tensors[index].role {
                    Role::Input => "an input",
                    Role::Weight => "a weight",
                },
                Named::Op(_) => "an operator",
            };
            let problem = Problem::new(DUPLICATE_NAME, format!("the name `{}` is taken", shown(name)))
                .entity(path, format!("{} of the same name", what(named)))
                .context(self.path(first), Part::Head, format!("{} has it already", what(first)))
                .note("inputs, weights and operators share one space of names")
                .datum("name", name);
            self.problems.push(problem);
        } else {
            self.names.insert(name, named);
        }
    }

    fn operators(&mut self) {
        for index in 0..self.declarations.ops.len() {
            self.op_ids[index] = self.operator(index);
        }
    }

    /// Puts an operator into the graph, if it and all before it are sound.
    fn operator(&mut self, index: usize) -> Option<OpId> {
        let declaration = &self.declarations.ops[index];
        let inputs = declaration.inputs.as_ref()?;
        let found: Vec<Option<Named>> = inputs
            .iter()
            .enumerate()
            .map(|(position, input)| self.operand(index, position, input.as_deref()?))
            .collect();
        let kind = match declaration.kind? {
            "gemm" => OpKind::Gemm { precision: declaration.precision? },
            _ => unreachable!("accepted kinds are handled above"),
        };
        if !self.right_count(declaration, &kind, found.len()) {
            return None;
        }
        let found: Vec<Named> = found.into_iter().collect::<Option<_>>()?;
        let OpKind::Gemm { .. } = kind;
        if let Named::Op(_) = found[1] {
            let name = inputs[1].as_deref().unwrap_or_default();
            let message = format!("a right operand that is computed, `{name}`, is not supported yet");
            self.problems.push(
                Problem::new(NOT_SUPPORTED, message)
                    .at(format!("{}.inputs[1]", declaration.path), Part::Value, "the result of an operator")
                    .note("supported: an input or a weight as right operand of a gemm"),
            );
            return None;
        }
        let kinds: Vec<TensorType> = found
            .iter()
            .map(|&named| match named {
                Named::Tensor(tensor) => self.kinds[tensor].cloned(),
                Named::Op(op) => self.op_ids[op].map(|id| self.ops[id.index()].signature.result.clone()),
            })
            .collect::<Option<_>>()?;
        let result = match infer(&kind, &kinds.iter().collect::<Vec<_>>()) {
            Ok(result) => result,
            Err(mismatch) => {
                let name = declaration.name.as_deref().map_or(String::new(), |name| format!("`{}`: ", shown(name)));
                let code = if mismatch.later { NOT_SUPPORTED } else { MISMATCH };
                let mut problem = Problem::new(code, format!("{name}{}", mismatch.message)).at(
                    format!("{}.inputs", declaration.path),
                    Part::Value,
                    mismatch.label,
                );
                for (&named, text) in found.iter().zip(&mismatch.operands) {
                    problem = match named {
                        Named::Tensor(tensor) => {
                            let path = format!("{}.shape", self.declarations.tensors[tensor].path);
                            problem.context(path, Part::Value, text)
                        }
                        Named::Op(_) => problem.context(self.path(named), Part::Head, text),
                    };
                }
                for (name, kind) in ["left", "right"].into_iter().zip(&kinds) {
                    problem = problem.datum(name, kind.shape.0.iter().copied().collect::<Value>());
                }
                problem.notes.extend(mismatch.notes);
                self.problems.push(problem);
                return None;
            }
        };
        if result.padded_bytes() > GREATEST_TENSOR {
            let name = shown(declaration.name.as_deref().unwrap_or_default());
            let problem = too_large(&format!("the result of `{name}`"), &result);
            self.problems.push(problem.entity(&declaration.path, "too large a result"));
            return None;
        }
        // Without a sound name the operator can't be in the graph; the checker told.
        let name = declaration.name.as_ref().filter(|name| self.names.get(name.as_str()) == Some(&Named::Op(index)))?;
        let operands: Vec<Operand> = found
            .iter()
            .map(|&named| match named {
                Named::Tensor(tensor) => Operand::Tensor(self.number(tensor)),
                Named::Op(op) => Operand::Result(self.op_ids[op].expect("its type was found")),
            })
            .collect();
        let origins = found.iter().map(|&named| match named {
            Named::Tensor(tensor) => match self.declarations.tensors[tensor].role {
                Role::Input => Origin::Input,
                Role::Weight => Origin::Weight,
            },
            Named::Op(_) => Origin::Result,
        });
        let signature = OpSig {
            kind,
            operands: origins.zip(kinds).map(|(origin, kind)| OperandSig { origin, kind }).collect(),
            result,
        };
        let id = OpId(self.ops.len() as u32);
        self.ops.push(Op { operands, signature, pins: declaration.pins });
        self.op_names.push(name.clone());
        if let Some(bytes) = declaration.tile_bytes {
            self.limits.operator_tile_bytes.insert(id, bytes);
        }
        Some(id)
    }

    fn number(&mut self, tensor: usize) -> TensorId {
        *self.tensor_ids[tensor].get_or_insert_with(|| {
            self.tensors.push(tensor);
            TensorId(self.tensors.len() as u32 - 1)
        })
    }

    fn right_count(&mut self, declaration: &OpDeclaration, kind: &OpKind, found: usize) -> bool {
        let needed = operands(kind);
        if found == needed || found == 0 {
            return found == needed;
        }
        let problem = if found == 3 {
            Problem::new(NOT_SUPPORTED, "the third operand of a gemm, the bias, is not supported yet").at(
                format!("{}.inputs[2]", declaration.path),
                Part::Value,
                "not supported yet",
            )
        } else {
            let message = format!("{} takes {needed} operands, found {found}", kind.name());
            Problem::new(INVALID_VALUE, message).at(
                format!("{}.inputs", declaration.path),
                Part::Value,
                format!("expected {needed} names"),
            )
        };
        self.problems.push(problem.note("supported: gemm with `inputs` [left, right]"));
        false
    }

    /// Which thing an operand names, if an operator may use it there.
    fn operand(&mut self, op: usize, position: usize, name: &str) -> Option<Named> {
        let declaration = &self.declarations.ops[op];
        let path = item_path(&format!("{}.inputs", declaration.path), position);
        match self.names.get(name) {
            Some(&Named::Op(used)) if used >= op => {
                self.not_yet(op, used, path);
                None
            }
            Some(&named) => Some(named),
            None => {
                let what = format!("no input, weight or operator is called `{}`", shown(name));
                self.unknown_name(&what, path, name, |_| true);
                None
            }
        }
    }

    fn unknown_name(&mut self, message: &str, path: String, name: &str, fits: impl Fn(Named) -> bool) {
        self.unknown += 1;
        if self.unknown > MOST_PROBLEMS {
            return;
        }
        let known = self.names.iter().filter(|(_, named)| fits(**named)).map(|(name, _)| *name);
        let mut problem = Problem::new(UNKNOWN_NAME, message).datum("name", name);
        if let Some(meant) = did_you_mean(name, known) {
            problem = problem
                .at(path.clone(), Part::Value, format!("did you mean `{meant}`?"))
                .suggest(format!("write `{meant}`"), vec![Edit::set(path, meant)]);
        } else {
            problem = problem.at(path, Part::Value, "unknown name");
        }
        self.problems.push(problem);
    }

    /// Operator `op` reads the result of `used`, which is itself or stands later.
    fn not_yet(&mut self, op: usize, used: usize, path: String) {
        self.early += 1;
        if self.early > MOST_PROBLEMS {
            return;
        }
        let name = |index: usize| shown(self.declarations.ops[index].name.as_deref().unwrap_or_default());
        let problem = if op == used {
            Problem::new(NOT_YET_DEFINED, format!("`{}` reads its own result", name(op))).at(
                path,
                Part::Value,
                "itself",
            )
        } else if let Some(cycle) = self.chain(used, op) {
            let names: Vec<String> =
                std::iter::once(op).chain(cycle).map(|index| format!("`{}`", name(index))).collect();
            let message = format!("operators need each other's results: {}", names.join(" <- "));
            Problem::new(NOT_YET_DEFINED, message).at(path, Part::Value, "this closes the cycle").context(
                self.path(Named::Op(used)),
                Part::Head,
                "stands later and depends on it",
            )
        } else {
            let message = format!("`{}` is used before it is defined", name(used));
            Problem::new(NOT_YET_DEFINED, message)
                .at(path, Part::Value, "used here")
                .context(self.path(Named::Op(used)), Part::Head, "defined here")
                .note("`ops` is in execution order")
        };
        self.problems.push(problem);
    }

    /// The operators from `from` along its operands to `to`, both included.
    fn chain(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let ops = &self.declarations.ops;
        let mut reached_from = vec![None; ops.len()];
        reached_from[from] = Some(from);
        let mut queue = VecDeque::from([from]);
        while let Some(op) = queue.pop_front() {
            if op == to {
                let mut chain = vec![to];
                let mut at = to;
                while at != from {
                    at = reached_from[at].expect("reached");
                    chain.push(at);
                }
                chain.reverse();
                return Some(chain);
            }
            for input in ops[op].inputs.iter().flatten().flatten() {
                if let Some(&Named::Op(next)) = self.names.get(input.as_str())
                    && reached_from[next].is_none()
                {
                    reached_from[next] = Some(op);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    fn outputs(&mut self) {
        let mut seen: BTreeMap<usize, &'a str> = BTreeMap::new();
        let declarations = self.declarations;
        for (name, path) in &declarations.outputs {
            match self.names.get(name.as_str()) {
                Some(&Named::Op(op)) => {
                    if let Some(first) = seen.get(&op) {
                        self.problems.push(
                            Problem::new(DUPLICATE_NAME, format!("the output `{}` is listed twice", shown(name)))
                                .at(path, Part::Value, "again here")
                                .context(*first, Part::Value, "first here"),
                        );
                    } else {
                        seen.insert(op, path);
                        self.outputs.extend(self.op_ids[op]);
                    }
                }
                Some(&named @ Named::Tensor(_)) => self.problems.push(
                    Problem::new(INVALID_VALUE, format!("the output `{}` is no operator's result", shown(name)))
                        .at(path, Part::Value, "outputs name operators")
                        .context(self.path(named), Part::Head, "a tensor that is given"),
                ),
                None => {
                    let message = format!("no operator is called `{}`", shown(name));
                    self.unknown_name(&message, path.clone(), name, |named| matches!(named, Named::Op(_)));
                }
            }
        }
    }

    fn finish(mut self) -> Resolved {
        let declarations = self.declarations;
        // Unused tensors follow by name (P3 of the graph).
        for &named in self.names.clone().values() {
            if let Named::Tensor(tensor) = named
                && self.kinds[tensor].is_some()
            {
                self.number(tensor);
            }
        }
        let tensors: Vec<&TensorDeclaration> =
            self.tensors.iter().map(|&tensor| &declarations.tensors[tensor]).collect();
        let graph = Graph {
            content: Content {
                target: declarations.target,
                tensors: tensors
                    .iter()
                    .map(|tensor| Tensor {
                        role: tensor.role,
                        kind: tensor.kind.clone().expect("numbered if it has one"),
                    })
                    .collect(),
                ops: self.ops,
                outputs: self.outputs,
            },
            names: Names {
                model: declarations.name.clone(),
                tensors: tensors.iter().map(|tensor| tensor.name.clone()).collect(),
                ops: self.op_names,
            },
            data: tensors.iter().map(|tensor| tensor.data.clone()).collect(),
        };
        Resolved { graph, limits: self.limits, problems: self.problems }
    }

    fn unused(&mut self) {
        let mut read = vec![false; self.ops.len()];
        for operand in self.ops.iter().flat_map(|op| &op.operands) {
            if let Operand::Result(op) = operand {
                read[op.index()] = true;
            }
        }
        for output in &self.outputs {
            read[output.index()] = true;
        }
        for (index, declaration) in self.declarations.ops.iter().enumerate() {
            if self.op_ids[index].is_some_and(|id| !read[id.index()]) {
                let name = declaration.name.as_deref().unwrap_or_default();
                let problem = Problem::new(UNUSED, format!("the result of `{name}` is never used"));
                self.problems.push(problem.entity(&declaration.path, "neither an operand nor an output"));
            }
        }
        for (index, declaration) in self.declarations.tensors.iter().enumerate() {
            if self.tensor_ids[index].is_none() {
                let what = match declaration.role {
                    Role::Input => "input",
                    Role::Weight => "weight",
                };
                let problem = Problem::new(UNUSED, format!("the {what} `{}` is never used", declaration.name));
                self.problems.push(problem.entity(&declaration.path, "no operator reads it"));
            }
        }
    }
}

fn too_large(what: &str, kind: &TensorType) -> Problem {
    Problem::new(TOO_LARGE, format!("{what} is too large: {kind}"))
        .note(format!("padded to blocks of 16 x 16 elements a tensor may have {GREATEST_TENSOR} bytes at most"))
        .datum("padded_bytes", kind.padded_bytes())
        .datum("limit", GREATEST_TENSOR)
}
