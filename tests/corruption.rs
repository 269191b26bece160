//! The check can fail: damage to data, instructions or exchange rows of a right package never goes unnoticed.
//!
//! Every damage is to the image as the loader writes it, so the checksum of the package is right. What must come of it is FAIL
//! or a fault with its code. Sampled damage may hit a word that nobody needs (a stack adjustment, a register that holds the same
//! value already): there PASS is allowed with the very bits of the undamaged run, and nothing else.

mod workplace;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use half::f16;
use ipuc::compile::{self, Request};
use ipuc::reference::{self, Expected};
use ipuc::tensors::{self, HostTensor};
use ipuc::verdict::Verdict;
use ipuc_device::host::{self, Device, DeviceOptions};
use ipuc_device::isa::{self, Context, Instruction};
use ipuc_device::memory::TileId;
use ipuc_device::package::Package;
use ipuc_device::sim::{ContextId, TraceLine, TraceSink};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use workplace::{ipuc, product, stderr, stdout, told};

/// `nop`, in every context.
const NOP: u32 = 0x19e0_0000;

/// The tile whose program is damaged; it computes, sends and receives.
const TILE: TileId = TileId(5);

/// A right program, its data, and what it computes.
struct Right {
    package: Package,
    data: BTreeMap<String, HostTensor>,
    expected: Expected,
    found: Vec<f16>,
    /// Instructions that [`TILE`] issues: address, whether by a worker, text.
    issued: BTreeSet<(u32, bool, String)>,
}

/// `gemm-64` in small: both exchange phases and a reduction of four parts, normal data.
fn model() -> String {
    let text =
        product(256, 256, 128, 64, &json!({ "normal": 1.0, "seed": 1 }), &json!({ "normal": 0.0625, "seed": 2 }));
    let mut model: Value = serde_json::from_str(&text).unwrap();
    model["ops"][0]["plan"] = json!({ "grid": [4, 4, 4] });
    model.to_string()
}

fn right() -> &'static Right {
    static RIGHT: OnceLock<Right> = OnceLock::new();
    RIGHT.get_or_init(|| {
        let text = model();
        let path = Path::new("m.json");
        let request = Request { path, text: &text, target: &[], color: false, exchange: false, dump: false };
        let package = compile::build(&request).unwrap().package;
        assert_eq!(package.manifest.phases.len(), 2);
        let graph = &package.manifest.graph;
        let data = tensors::load(graph, Path::new("."), &BTreeMap::new()).unwrap();
        let expected = reference::evaluate(graph, &data).unwrap().remove("y").unwrap();
        let issued: Arc<Mutex<BTreeSet<_>>> = Arc::default();
        let into = issued.clone();
        let sink: TraceSink = Arc::new(Mutex::new(move |line: TraceLine| {
            let worker = matches!(line.context, ContextId::Worker(_));
            into.lock().unwrap().insert((line.address, worker, line.text));
        }));
        let options = DeviceOptions { trace: Some((TILE, sink)), ..DeviceOptions::default() };
        let found = run(&package, &data, &options).unwrap();
        assert!(Verdict::new([("y", &found[..], &expected)]).passed());
        let issued = issued.lock().unwrap().clone();
        Right { package, data, expected, found, issued }
    })
}

/// The result; or the fault, which must have its code.
fn run(package: &Package, data: &BTreeMap<String, HostTensor>, options: &DeviceOptions) -> Result<Vec<f16>, String> {
    // Through the file, as a user would meet it.
    let package = Package::from_bytes(&package.to_bytes().unwrap()).unwrap();
    let mut device = host::open("sim", options).unwrap();
    device.load(Arc::new(package)).unwrap();
    write(device.as_mut(), data);
    match device.run() {
        Ok(_) => Ok(device.read("y").unwrap()),
        Err(fault) => {
            assert_eq!(fault.code(), Some("E6001"), "{fault}");
            Err(fault.to_string())
        }
    }
}

fn write(device: &mut dyn Device, data: &BTreeMap<String, HostTensor>) {
    for (name, tensor) in data {
        let HostTensor::F16 { elements, .. } = tensor else { panic!("all data is f16") };
        device.write(name, elements).unwrap();
    }
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Fault(String),
    Fail,
    /// PASS, bit for bit the undamaged result.
    Same,
}

/// What comes of a damaged package. A PASS with other bits than the right ones is the one thing that must not be.
fn outcome(package: &Package, what: &str) -> Outcome {
    let right = right();
    match run(package, &right.data, &DeviceOptions::default()) {
        Err(fault) => Outcome::Fault(fault),
        Ok(found) => {
            let verdict = Verdict::new([("y", &found[..], &right.expected)]);
            let same = found.iter().zip(&right.found).all(|(a, b)| a.to_bits() == b.to_bits());
            assert_eq!(verdict.passed(), same, "{what}: {verdict:?}");
            if same { Outcome::Same } else { Outcome::Fail }
        }
    }
}

fn word(package: &Package, tile: TileId, address: u32) -> u32 {
    u32::from_le_bytes(package.image(tile, address, 4).unwrap().try_into().unwrap())
}

fn damaged(tile: TileId, address: u32, word: u32) -> Package {
    let mut package = right().package.clone();
    package.patch(tile, address, &word.to_le_bytes()).unwrap();
    package
}

/// Damages that must be noticed, each with a name.
fn assert_noticed(tile: TileId, address: u32, to: u32, what: &str) {
    let outcome = outcome(&damaged(tile, address, to), what);
    assert_ne!(outcome, Outcome::Same, "{what} on tile {tile} at {address:#x}");
}

#[test]
fn the_sign_of_the_largest_weight_matters() {
    let right = right();
    let mut data = right.data.clone();
    let Some(HostTensor::F16 { elements, .. }) = data.get_mut("w") else { panic!("w is f16") };
    let largest =
        (0..elements.len()).max_by(|&a, &b| elements[a].to_f64().abs().total_cmp(&elements[b].to_f64().abs()));
    let largest = &mut elements[largest.unwrap()];
    *largest = f16::from_bits(largest.to_bits() ^ 0x8000);
    let found = run(&right.package, &data, &DeviceOptions::default()).unwrap();
    let verdict = Verdict::new([("y", &found[..], &right.expected)]);
    assert!(!verdict.passed() && verdict.misses > 10, "{verdict:?}");
}

/// A word with one of its operands changed.
fn with_operand(word: u32, operand: usize, change: impl Fn(i32) -> i32) -> u32 {
    let mut instruction: Instruction = isa::decode(word, Context::Supervisor).unwrap();
    instruction.operands[operand] = change(instruction.operands[operand]);
    isa::encode(&instruction).unwrap()
}

#[test]
fn instructions_whose_results_are_used_matter() {
    let right = right();
    // Arguments, calls and coefficient loads become `nop`.
    let used =
        ["ld128putcs", "call $m10", "setzi $m2,", "setzi $m3,", "setzi $m4,", "setzi $m5,", "setzi $m6,", "setzi $m7,"];
    let mut seen = BTreeMap::new();
    let regions = &right.package.manifest.debug_regions;
    let start = regions.iter().find(|region| region.name == "generated tile program").unwrap().start;
    for (address, worker, text) in &right.issued {
        let program = *address >= start;
        let Some(&kind) = used.iter().find(|kind| text.starts_with(**kind)) else { continue };
        if *worker || (kind != "ld128putcs" && !program) {
            continue;
        }
        *seen.entry(kind).or_insert(0) += 1;
        // All 32 coefficient loads alike would take long: every fifth will do.
        if kind == "ld128putcs" && seen[kind] % 5 != 1 {
            continue;
        }
        assert_noticed(TILE, *address, NOP, text);
    }
    assert_eq!(seen.len(), used.len(), "{seen:?}");
    // Matrix steps of the workers: the AMP half of a bundle reads another register pair, or is no matrix step.
    let steps: Vec<_> = right.issued.iter().filter(|(_, worker, text)| *worker && text.contains("amp")).collect();
    assert!(steps.len() > 4, "{steps:?}");
    for (address, _, text) in steps.into_iter().step_by(3) {
        let second = word(&right.package, TILE, address + 4);
        assert_noticed(TILE, address + 4, second ^ 1 << 12, text);
    }
}

/// Row words of every tile that takes part, with their addresses.
fn row_words() -> Vec<(TileId, u32, u32, Instruction)> {
    let package = &right().package;
    let region = package.manifest.debug_regions.iter().find(|region| region.name == "exchange rows").unwrap();
    let mut words = Vec::new();
    for tile in 0..64 {
        let tile = TileId(tile);
        for segment in &package.tiles[tile.index()].segments {
            if segment.address < region.start || segment.address >= region.end {
                continue;
            }
            let end = segment.address + segment.bytes.len() as u32;
            for address in (segment.address..end).step_by(4) {
                let word = word(package, tile, address);
                // Padding between the rows of two phases is nothing that runs.
                if let Some(instruction) = isa::decode(word, Context::Supervisor)
                    && word != 0
                {
                    words.push((tile, address, word, instruction));
                }
            }
        }
    }
    words
}

#[test]
fn sends_and_receive_controls_matter() {
    const NEUTRAL: i32 = 1600;
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for (tile, address, word, instruction) in row_words() {
        let value = instruction.operands[2];
        let kind = match instruction.form().name {
            "send_mmmn_zi" => "send",
            "delayxpic_exch" if value != NEUTRAL => "xpic",
            "delayxpic_exch" => "end of listening",
            "delaypic_exch" => "pic",
            _ => continue,
        };
        let count = seen.entry(kind).or_default();
        *count += 1;
        // Words all over the rows, three kinds of damage in turn.
        if *count % 37 != 1 {
            continue;
        }
        let damaged = match kind {
            // Another address; no destination; another length, and everything after it off by a clock.
            "send" => match (*count / 37) % 3 {
                0 => with_operand(word, 1, |address| address ^ 8),
                1 => with_operand(word, 2, |_| 0),
                _ => with_operand(word, 0, |n| n ^ 1),
            },
            // Another source, which may be silent; a clock earlier or later.
            "xpic" => match (*count / 37) % 2 {
                0 => with_operand(word, 2, |source| source ^ 1),
                _ => with_operand(word, 0, |n| n ^ 1),
            },
            "pic" => match (*count / 37) % 2 {
                0 => with_operand(word, 2, |pointer| pointer ^ 1),
                _ => with_operand(word, 2, |pointer| pointer - 64),
            },
            // It never stops listening.
            _ => with_operand(word, 2, |_| 0),
        };
        assert_noticed(tile, address, damaged, &format!("{kind} {}", isa::print(&instruction)));
    }
    assert!(["send", "xpic", "pic"].iter().all(|kind| seen.get(kind).is_some_and(|&count| count > 37)), "{seen:?}");
}

/// Sampled words of each kind.
const SAMPLE: usize = if cfg!(feature = "slow") { 300 } else { 30 };

/// Flips one bit of each of the words and wants at least `noticed` per cent of them noticed.
#[expect(clippy::print_stdout, reason = "what the sample met")]
fn sample(words: &[(TileId, u32)], noticed: usize, generator: &mut ChaCha8Rng) {
    let mut unnoticed = Vec::new();
    for _ in 0..SAMPLE {
        let (tile, address) = words[generator.random_range(0..words.len())];
        let word = word(&right().package, tile, address);
        let flipped = word ^ 1 << (generator.next_u32() % 32);
        let what = format!("tile {tile} at {address:#x}: {word:#010x} becomes {flipped:#010x}");
        let outcome = outcome(&damaged(tile, address, flipped), &what);
        println!("{what}: {outcome:?}");
        if outcome == Outcome::Same {
            unnoticed.push(what);
        }
    }
    assert!(100 * (SAMPLE - unnoticed.len()) >= noticed * SAMPLE, "{}", unnoticed.join("\n"));
}

#[test]
fn flipped_bits_of_issued_instructions_fail_or_change_nothing() {
    let words: Vec<(TileId, u32)> = right()
        .issued
        .iter()
        .flat_map(|(address, _, text)| {
            let second = text.starts_with('{').then_some((TILE, address + 4));
            [Some((TILE, *address)), second]
        })
        .flatten()
        .collect();
    sample(&words, 65, &mut ChaCha8Rng::seed_from_u64(1));
}

#[test]
fn flipped_bits_of_exchange_rows_fail_or_change_nothing() {
    let words: Vec<(TileId, u32)> = row_words().iter().map(|(tile, address, ..)| (*tile, *address)).collect();
    sample(&words, 80, &mut ChaCha8Rng::seed_from_u64(2));
}

#[test]
fn a_program_that_never_ends_is_stopped_soon() {
    let right = right();
    let jump = right.issued.iter().filter(|(_, worker, text)| !worker && text.starts_with("bri ")).map(|(at, ..)| *at);
    let regions = &right.package.manifest.debug_regions;
    let program = regions.iter().find(|region| region.name == "generated tile program").unwrap();
    let last = jump.filter(|at| (program.start..program.end).contains(at)).max().unwrap();
    let here = with_operand(word(&right.package, TILE, last), 0, |_| last as i32 / 4);
    let Outcome::Fault(fault) = outcome(&damaged(TILE, last, here), "a loop") else { panic!("it ended") };
    let limit = right.package.manifest.totals.estimated_cycles * 8 + 1_000_000;
    assert!(fault.contains(&format!("the program still runs after {limit} cycles")), "{fault}");
    assert!(fault.starts_with("tile 5 "), "{fault}");
}

#[test]
fn the_binary_fails_damaged_programs() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let (tile, address, word, _) =
        *row_words().iter().find(|(.., instruction)| instruction.form().name == "send_mmmn_zi").unwrap();
    let silent = damaged(tile, address, with_operand(word, 2, |_| 0));
    let elsewhere = damaged(tile, address, with_operand(word, 1, |address| address ^ 8));
    for (name, package) in [("silent", silent), ("elsewhere", elsewhere)] {
        let file = format!("{name}.ipuexe");
        package.write(&here.join(&file)).unwrap();
        let output = ipuc(here, &["run", &file]);
        assert_eq!(output.status.code(), Some(1), "{}", told(&output));
        assert!(stdout(&output).contains(" numericalTest=FAIL\n"), "{}", told(&output));
        let fault = stderr(&output).starts_with("error[E6001]: ");
        let test = if fault { "FAIL" } else { "PASS" };
        let last = format!("package={file} tiles=1472 deviceTest={test} device=sim\n");
        assert!(stdout(&output).ends_with(&last), "{}", told(&output));
    }
}

#[test]
fn damaged_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let bytes = right().package.to_bytes().unwrap();
    let mut generator = ChaCha8Rng::seed_from_u64(3);
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("a model".into(), model().into_bytes()),
        ("nothing".into(), Vec::new()),
        ("the magic alone".into(), bytes[..8].to_vec()),
        ("another format".into(), [&bytes[..8], &2u32.to_le_bytes(), &bytes[12..]].concat()),
        ("a byte too many".into(), [&bytes[..], b"\0"].concat()),
    ];
    for _ in 0..8 {
        let end = generator.random_range(1..bytes.len());
        files.push((format!("cut at {end}"), bytes[..end].to_vec()));
        let bit = generator.random_range(0..8 * bytes.len());
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        files.push((format!("bit {bit} flipped"), flipped));
    }
    for (what, content) in files {
        std::fs::write(here.join("p.ipuexe"), content).unwrap();
        for command in ["run", "inspect"] {
            let output = ipuc(here, &[command, "p.ipuexe"]);
            assert_eq!(output.status.code(), Some(2), "{what}: {}", told(&output));
            assert!(stderr(&output).starts_with("error[E5001]: "), "{what}: {}", told(&output));
            assert_eq!(stdout(&output), "", "{what}");
        }
    }
}
