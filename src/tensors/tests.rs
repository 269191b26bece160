//! Files that are refused and why; data that must not change.

use super::*;

fn tensor(dtype: Dtype, shape: &[u64]) -> Tensor {
    Tensor { name: "t".into(), shape: shape.into(), dtype, data: Data::Unstated }
}

/// A `.npy` file by hand.
fn npy(kind: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let padded = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((padded.len() as u16).to_le_bytes());
    bytes.extend(padded.as_bytes());
    bytes.extend(data);
    bytes
}

fn read(bytes: &[u8], tensor: &Tensor) -> anyhow::Result<HostTensor> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.npy");
    std::fs::write(&path, bytes).unwrap();
    read_npy(&path, tensor)
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn floats_are_rounded_to_nearest_even() {
    // Half-way cases of binary16 around 1 and 2048.
    let values = [1.0 + 1.0 / 2048.0, 1.0 + 3.0 / 2048.0, 2049.0, 2051.0, -0.0, 65519.0];
    let bytes = npy("<f4", "False", "(2, 3)", &floats(&values));
    let read = read(&bytes, &tensor(Dtype::F16, &[2, 3])).unwrap();
    let expected = [1.0, 1.0 + 2.0 / 1024.0, 2048.0, 2052.0, -0.0, 65504.0].map(f16::from_f32);
    let HostTensor::F16 { shape, elements } = read else { panic!("f16") };
    assert_eq!(shape, [2, 3]);
    assert_eq!(elements.iter().map(|e| e.to_bits()).collect::<Vec<_>>(), expected.map(f16::to_bits));
}

#[test]
fn what_is_not_the_declared_tensor_is_refused() {
    let four = floats(&[1.0, 2.0, 3.0, 4.0]);
    let cases: &[(Vec<u8>, Dtype, &str)] = &[
        (npy("<f4", "True", "(2, 2)", &four), Dtype::F16, "Fortran order"),
        (npy("<f4", "False", "(4,)", &four), Dtype::F16, "shape [4], tensor t has [2, 2]"),
        (npy("<f4", "False", "(2, 3)", &four), Dtype::F16, "shape [2, 3]"),
        (npy("<f8", "False", "(2, 2)", &[0; 32]), Dtype::F16, "arrays of '<f8'"),
        (npy(">f4", "False", "(2, 2)", &four), Dtype::F16, "arrays of '>f4'"),
        (npy("|u1", "False", "(2, 2)", &[0; 4]), Dtype::F16, "arrays of '|u1'"),
        (npy("<i4", "False", "(2, 2)", &four), Dtype::F16, "integers ('<i4') for tensor t, which is f16"),
        (npy("<f4", "False", "(2, 2)", &four), Dtype::I32, "floating data for an i32 tensor"),
        (npy("<f4", "False", "(2, 2)", &four), Dtype::F8e4m3fnuz, "f8e4m3fnuz data is not supported yet"),
        (npy("<f4", "False", "(2, 2)", &four[1..]), Dtype::F16, "15 bytes of data, the shape needs 16"),
        (npy("<f4", "False", "(2, 2)", &[four.clone(), vec![0]].concat()), Dtype::F16, "17 bytes of data"),
        (npy("<f4", "False", "(2, 2)", &floats(&[0.0, 1e6, 0.0, 0.0])), Dtype::F16, "element [0, 1] is 1000000"),
        (npy("<f4", "False", "(2, 2)", &floats(&[0.0, 0.0, f32::NAN, 0.0])), Dtype::F32, "element [1, 0] is NaN"),
        (npy("<f4", "False", "(((((2, 2)))))", &four), Dtype::F16, "not one dictionary"),
        (npy("[('a', '<f4')]", "False", "(2, 2)", &four), Dtype::F16, "records are not supported"),
        (npy("<f4", "False", "(99999999999999999999, 2)", &four), Dtype::F16, "t.npy"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), Dtype::F16, "cut short"),
        (b"\x93NUM".to_vec(), Dtype::F16, "not a .npy file"),
        (Vec::new(), Dtype::F16, "not a .npy file"),
    ];
    for (bytes, dtype, expected) in cases {
        let text = format!("{:#}", read(bytes, &tensor(*dtype, &[2, 2])).unwrap_err());
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let missing = read_npy(Path::new("/nonexistent/t.npy"), &tensor(Dtype::F16, &[2, 2])).unwrap_err();
    assert!(format!("{missing:#}").contains("cannot read /nonexistent/t.npy"));
}

#[test]
fn every_damaged_header_is_an_error_or_the_array() {
    let whole = npy("<f4", "False", "(2, 2)", &floats(&[1.0, 2.0, 3.0, 4.0]));
    for at in 0..whole.len() {
        for value in [0, b'(', b'\'', 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = value;
            // An error or data of the declared shape: anything but a panic.
            if let Ok(read) = read(&damaged, &tensor(Dtype::F32, &[2, 2])) {
                assert_eq!(read.shape(), [2, 2]);
            }
        }
    }
}

#[test]
fn arrays_come_back_as_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.npy");
    let shape = vec![2, 3];
    let tensors = [
        HostTensor::F16 { shape: shape.clone(), elements: (0..6).map(|i| f16::from_f32(i as f32 / 3.0)).collect() },
        HostTensor::F32 { shape: shape.clone(), elements: (0..6).map(|i| i as f32 / 3.0).collect() },
        HostTensor::I32 { shape: shape.clone(), elements: vec![1, -2, 3, i32::MIN, i32::MAX, 0] },
    ];
    for written in tensors {
        write_npy(&path, &written).unwrap();
        assert_eq!(read_npy(&path, &tensor(written.dtype(), &shape)).unwrap(), written);
    }
}

#[test]
fn random_data_never_changes() {
    let normal = draw(&tensor(Dtype::F32, &[4]), Distribution::Normal(1.0), 7).unwrap();
    let integers = draw(&tensor(Dtype::F16, &[8]), Distribution::Integers(-3, 3), 7).unwrap();
    expect_test::expect![[r"
        F32 { shape: [4], elements: [1.7911413, 0.19172691, -1.1336511, -0.75371575] }
        F16 { shape: [8], elements: [3.0, 0.0, -2.0, -1.0, 1.0, 2.0, -3.0, -3.0] }
    "]]
    .assert_eq(&format!("{normal:?}\n{integers:?}\n"));
    // Another name or another seed is other data; the same is the same.
    let mut other = tensor(Dtype::F32, &[4]);
    assert_eq!(draw(&other, Distribution::Normal(1.0), 7).unwrap(), normal);
    assert_ne!(draw(&other, Distribution::Normal(1.0), 8).unwrap(), normal);
    other.name = "u".into();
    assert_ne!(draw(&other, Distribution::Normal(1.0), 7).unwrap(), normal);
}

#[test]
fn random_data_is_what_it_is_called() {
    let many = tensor(Dtype::F32, &[100, 200]);
    let HostTensor::F32 { elements, .. } = draw(&many, Distribution::Normal(0.5), 3).unwrap() else { panic!("f32") };
    let mean = elements.iter().map(|&e| f64::from(e)).sum::<f64>() / 20000.0;
    let variance = elements.iter().map(|&e| f64::from(e).powi(2)).sum::<f64>() / 20000.0;
    assert!(mean.abs() < 0.02 && (variance - 0.25).abs() < 0.01, "{mean} {variance}");
    let integers = tensor(Dtype::I32, &[1000]);
    let HostTensor::I32 { elements, .. } = draw(&integers, Distribution::Integers(-2, 3), 3).unwrap() else {
        panic!("i32")
    };
    for value in -2..=3 {
        assert!(elements.contains(&value));
    }
    assert!(elements.iter().all(|value| (-2..=3).contains(value)));
    for (distribution, expected) in [
        (Distribution::Normal(-1.0), "deviation -1"),
        (Distribution::Normal(f64::NAN), "deviation NaN"),
        (Distribution::Normal(1e9), "can't hold"),
        (Distribution::Integers(3, 2), "integers from 3 to 2"),
    ] {
        let text = draw(&tensor(Dtype::F16, &[64]), distribution, 0).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn given_files_win_and_unknown_names_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.npy");
    let data = HostTensor::F16 { shape: vec![2, 2], elements: [1.0, 2.0, 3.0, 4.0].map(f16::from_f32).into() };
    write_npy(&path, &data).unwrap();
    let mut graph = Graph { inputs: vec![tensor(Dtype::F16, &[2, 2])], ..Graph::default() };
    let given = BTreeMap::from([("t".to_owned(), path.clone())]);
    assert_eq!(load(&graph, Path::new("."), &given).unwrap()["t"], data);
    let drawn = draw(&graph.inputs[0], Distribution::Normal(1.0), DEFAULT_SEED).unwrap();
    assert_eq!(load(&graph, Path::new("."), &BTreeMap::new()).unwrap()["t"], drawn);
    graph.inputs[0].data = Data::File { path: "x.npy".into(), tensor: None };
    assert_eq!(load(&graph, directory.path(), &BTreeMap::new()).unwrap()["t"], data);
    let unknown = load(&graph, directory.path(), &BTreeMap::from([("u".to_owned(), path)])).unwrap_err();
    assert_eq!(unknown.to_string(), "--input u: the model has no such input; its inputs are t");
    graph.inputs[0].data = Data::File { path: "x.safetensors".into(), tensor: Some("a".into()) };
    let text = load(&graph, directory.path(), &BTreeMap::new()).unwrap_err().to_string();
    assert!(text.contains("only .npy files are supported yet"), "{text}");
}

#[test]
fn coordinates_are_row_major() {
    assert_eq!(coordinates(&[2, 3, 4], 23), [1, 2, 3]);
    assert_eq!(coordinates(&[2, 3, 4], 5), [0, 1, 1]);
}
