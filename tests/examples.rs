//! Data of the examples: finite results of a sensible size, and integer variants that leave no room for rounding.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ipuc::reference;
use ipuc::tensors::{self, HostTensor};
use ipuc_device::package::{Data, Distribution, Dtype, Graph, Operation, OperationKind, Tensor};
use serde_json::Value;

fn examples() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The graph of an example, read without the compiler.
fn graph(model: &Value) -> Graph {
    let shape = |value: &Value| value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect::<Vec<_>>();
    let tensors = |key: &str| -> Vec<Tensor> {
        let tensors = model[key].as_object().unwrap().iter();
        tensors
            .map(|(name, tensor)| {
                let random = &tensor["random"];
                let distribution = match random["integers"].as_array() {
                    Some(ends) => Distribution::Integers(ends[0].as_i64().unwrap(), ends[1].as_i64().unwrap()),
                    None => Distribution::Normal(random["normal"].as_f64().unwrap()),
                };
                let data = Data::Random { distribution, seed: random["seed"].as_u64().unwrap() };
                Tensor { name: name.clone(), shape: shape(&tensor["shape"]), dtype: Dtype::F16, data }
            })
            .collect()
    };
    let mut graph =
        Graph { inputs: tensors("inputs"), weights: tensors("weights"), operations: Vec::new(), outputs: Vec::new() };
    let mut shapes: BTreeMap<String, Vec<u64>> = graph.tensors().map(|t| (t.name.clone(), t.shape.clone())).collect();
    for operation in model["ops"].as_array().unwrap() {
        assert_eq!(operation["op"], "gemm");
        let operands: Vec<String> =
            operation["inputs"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        let shape = vec![shapes[&operands[0]][0], shapes[&operands[1]][1]];
        let name = operation["name"].as_str().unwrap().to_owned();
        shapes.insert(name.clone(), shape.clone());
        let kind = OperationKind::Gemm { k_parts: 1 };
        graph.operations.push(Operation { name, kind, operands, shape, dtype: Dtype::F16 });
    }
    graph.outputs = model["outputs"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    graph
}

fn largest(data: &BTreeMap<String, HostTensor>, name: &str) -> f64 {
    let HostTensor::F16 { elements, .. } = &data[name] else { panic!("f16") };
    elements.iter().map(|element| element.to_f64().abs()).fold(0.0, f64::max)
}

fn integers(data: &BTreeMap<String, HostTensor>, name: &str) -> bool {
    let HostTensor::F16 { elements, .. } = &data[name] else { panic!("f16") };
    elements.iter().all(|element| element.to_f64().fract() == 0.0)
}

#[test]
fn integer_variants_are_exact_and_normal_ones_are_of_unit_size() {
    let paths = examples();
    assert_eq!(paths.len(), 8);
    for path in paths {
        let model: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let name = model["name"].as_str().unwrap();
        assert_eq!(Some(name), path.file_stem().and_then(|stem| stem.to_str()));
        let graph = graph(&model);
        let data = tensors::load(&graph, Path::new("."), &BTreeMap::new()).unwrap();
        let work: u64 = graph.operations.iter().map(|o| o.shape[0] * o.shape[1] * 512).sum();
        if work > 1 << 30 {
            // Too long for a test: the bound on any partial sum will do.
            let [x, w] = [&graph.inputs[0], &graph.weights[0]];
            let bound = largest(&data, &x.name) * largest(&data, &w.name) * x.shape[1] as f64;
            let whole = integers(&data, &x.name) && integers(&data, &w.name);
            assert_eq!(whole && bound <= 2048.0, name.ends_with("-int"), "{name}: {bound}");
            continue;
        }
        let values = reference::evaluate(&graph, &data).unwrap();
        for output in &graph.outputs {
            let expected = &values[output];
            let exact = expected.tolerance.iter().all(|&tolerance| tolerance == 0.0);
            assert_eq!(exact, name.ends_with("-int"), "{name}");
            let squares: f64 = expected.values.iter().map(|value| value * value).sum();
            let size = (squares / expected.values.len() as f64).sqrt();
            assert!(exact || (0.9..1.1).contains(&size), "{name}: {size}");
            assert!(expected.tolerance.iter().all(|&tolerance| tolerance < 0.2), "{name}");
        }
    }
}
