//! Compares our HLO analysis with the analyses of XLA and XProf, for every op of the fixtures. `make.py` in
//! tests/data/hlo wrote the fixtures.

use std::path::PathBuf;

use crossprof::hlo::{self, Conventions, CostSource, Instruction, Module};
use serde_json::Value;

/// Tolerated relative error, because XLA computes in single precision.
const TOLERANCE: f64 = 1e-6;

/// Instructions whose GPU numbers intentionally differ from XProf's: module, instruction, reason. docs/metrics.md
/// explains each difference.
const ON_PURPOSE: &[(&str, &str, &str)] = &[
    ("asyncs", "update", "waits only; its bytes are those of its start"),
    ("asyncs", "done", "waits only; its bytes are those of its start"),
    ("collectives", "ard", "waits only; its bytes are those of its start"),
    ("collectives", "agd", "waits only; its bytes are those of its start"),
    ("collectives", "cpd", "waits only; its bytes are those of its start"),
    ("moves", "done", "waits only; its bytes are those of its start"),
    ("feeds", "sent", "waits only; its bytes are those of its start"),
    ("feeds", "got", "waits only; its bytes are those of its start"),
    ("collectives", "ars", "XLA leaves out the result of an asynchronous all-reduce"),
    ("collectives", "cps", "XLA counts the operand's entry in the result of the start"),
    ("moves", "start", "XLA counts the operand's entry in the result of the start"),
    ("ffts", "two", "the logarithms of a transform over two dimensions add up, XLA multiplies them"),
    ("library_calls", "dfilter", "XLA takes the kernel's gradient for the output"),
    ("library_calls", "gemm", "XLA does not look into it: from shapes"),
    ("library_calls", "topk", "XLA does not look into it: from shapes"),
    ("library_attention", "full", "XLA does not look into it: from shapes"),
    ("library_attention", "causal", "XLA does not look into it: from shapes"),
    ("library_attention", "back", "XLA does not look into it: from shapes"),
    ("library_attention", "te", "XLA does not look into it: from shapes"),
    ("library_attention", "lu", "XLA does not look into it: from shapes"),
    ("library_attention", "qr", "XLA does not look into it: from shapes"),
    ("library_attention", "scaled", "XLA does not look into it: from shapes"),
    ("loops", "known", "runs ten times; XLA counts one"),
    ("ragged", "r", "XLA leaves out the dimension summed over"),
];

/// Opcodes whose expressions end after the operands.
const SETTINGS_NOT_KEPT: &[&str] = &[
    "batch-norm-grad",
    "batch-norm-inference",
    "batch-norm-training",
    "cholesky",
    "outfeed",
    "reduce-precision",
    "rng",
    "rng-bit-generator",
    "rng-get-and-update-state",
    "topk",
    "triangular-solve",
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo")
}

fn expected() -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join("expected.json")).unwrap()).unwrap()
}

fn module(name: &str) -> Module {
    hlo::read_module(&std::fs::read(folder().join(format!("{name}.pb"))).unwrap())
}

fn entry(module: &Module) -> Vec<&Instruction> {
    module.instructions_of(module.entry().unwrap()).iter().collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
}

#[test]
fn instruction_costs_match_xprof() {
    let (mut rows, mut on_purpose, mut wrong) = (0, 0, Vec::new());
    for (name, truth) in expected().as_object().unwrap() {
        let module = module(name);
        for (instruction, row) in truth["gpu"].as_object().unwrap() {
            let found = module.instruction(instruction).unwrap_or_else(|| panic!("{name}: {instruction}"));
            let (flops, bytes) = (row["flops"].as_f64().unwrap(), row["bytes"].as_f64().unwrap());
            let cost = hlo::cost(&module, found);
            let ours = cost.map_or((0.0, 0.0), |cost| (cost.flops, cost.bytes_accessed));
            let equal = close(ours.0, flops) && close(ours.1, bytes);
            let reason = ON_PURPOSE.iter().find(|row| row.0 == name && row.1 == instruction);
            match (equal, reason) {
                (true, None) => rows += 1,
                (false, Some((_, _, reason))) => {
                    on_purpose += 1;
                    println!("{name} {instruction}: ours {ours:?}, XProf {:?}: {reason}", (flops, bytes));
                }
                _ => wrong.push(format!("{name} {instruction}: ours {ours:?}, XProf {:?}", (flops, bytes))),
            }
        }
    }
    println!("{rows} instructions equal, {on_purpose} differ on purpose");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(rows > 200, "{rows}");
}

#[test]
fn categories_and_expressions_match_xprof() {
    let (mut rows, mut wrong) = (0, Vec::new());
    for (name, truth) in expected().as_object().unwrap() {
        let module = module(name);
        for (instruction, row) in truth["gpu"].as_object().unwrap() {
            let found = module.instruction(instruction).unwrap();
            let (category, expression) = (hlo::category(&module, found), hlo::expression(&module, found));
            rows += 1;
            if category != row["category"] {
                wrong.push(format!("{name} {instruction}: ours {category}, XProf {}", row["category"]));
            }
            let theirs = row["expression"].as_str().unwrap();
            // For these opcodes, only the operands are compared. No kernel is named after such ops, so their settings are
            // not stored.
            let settings = SETTINGS_NOT_KEPT.contains(&found.opcode.as_str());
            if expression != theirs && !(settings && theirs.starts_with(&expression)) {
                wrong.push(format!("{name}: ours\n{expression}\nXProf\n{theirs}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{rows} rows equal");
}

/// Under the general conventions, whole modules cost the same as in XLA. Two ops are excluded: XLA counts custom calls
/// as -1, and ignores the summed dimension of the ragged dot.
#[test]
fn module_costs_match_xla() {
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (name, truth) in expected().as_object().unwrap() {
        if matches!(name.as_str(), "library_calls" | "library_attention" | "ragged") {
            continue;
        }
        let module = module(name);
        let costs =
            entry(&module).into_iter().map(|instruction| hlo::cost_by(&module, instruction, Conventions::General));
        let (mut flops, mut transcendentals, mut bytes) = (0.0, 0.0, 0.0);
        for cost in costs {
            let cost = cost.unwrap_or_else(|| panic!("{name} has an instruction of unknown cost"));
            flops += cost.flops;
            transcendentals += cost.transcendentals;
            bytes += cost.bytes_accessed;
        }
        for (what, ours) in [("flops", flops), ("transcendentals", transcendentals), ("bytes", bytes)] {
            compared += 1;
            let theirs = truth["general"][what].as_f64().unwrap();
            if !close(ours, theirs) {
                wrong.push(format!("{name}: {what} ours {ours}, XLA {theirs}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    println!("{compared} sums equal");
}

#[test]
fn collectives_have_their_replica_groups() {
    let module = module("collectives");
    let of = |name: &str| hlo::collective(&module, module.instruction(name).unwrap()).unwrap();
    let ar = of("ar");
    assert_eq!((ar.kind, ar.group_size, ar.operand_bytes, ar.result_bytes), ("all-reduce", Some(2), 4096, 4096));
    assert_eq!(ar.replica_groups, Some(vec![vec![0, 1], vec![2, 3]]));
    assert_eq!(of("two").replica_groups, Some(vec![vec![0, 1], vec![2, 3]]));
    assert_eq!(of("a2a").replica_groups, Some(vec![vec![0, 2], vec![1, 3]]));
    assert_eq!((of("ag").operand_bytes, of("ag").result_bytes), (4096, 16384));
    assert_eq!((of("agd").kind, of("agd").result_bytes, of("agd").group_size), ("all-gather", 8192, Some(2)));
    assert_eq!(of("cpd").pairs, [(0, 1), (1, 0)]);
    assert_eq!((of("cp").group_size, of("cp").pairs.len()), (None, 4));
    assert_eq!(of("rs").result_bytes, 1024);
    let meshes = self::module("meshes");
    let of_mesh = |name: &str| hlo::collective(&meshes, meshes.instruction(name).unwrap()).unwrap();
    assert_eq!(of_mesh("along").replica_groups, Some(vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]]));
    assert_eq!((of_mesh("both").group_size, of_mesh("half").group_size), (Some(8), Some(2)));
    assert_eq!(of_mesh("listed").replica_groups, Some(vec![vec![1, 0, 2, 3], vec![4, 5, 6, 7]]));
    let asyncs = self::module("asyncs");
    let done = hlo::collective(&asyncs, asyncs.instruction("done").unwrap()).unwrap();
    assert_eq!((done.kind, done.group_size, done.result_bytes), ("reduce-scatter", Some(2), 2048));
    let feeds = self::module("feeds");
    let got = hlo::collective(&feeds, feeds.instruction("got").unwrap()).unwrap();
    assert_eq!((got.kind, got.pairs), ("recv", vec![(0, 1), (1, 0)]));
}

#[test]
fn the_type_is_that_of_the_main_arithmetic() {
    let of = |module: &Module, name: &str| {
        let cost = hlo::cost(module, module.instruction(name).unwrap());
        cost.and_then(|cost| cost.data_type).map(hlo::DataType::name)
    };
    let fusions = module("fusions");
    assert_eq!(of(&fusions, "fgemm"), Some("bf16"), "of the dot inside, not of the weights that are converted");
    assert_eq!(of(&fusions, "fmixed"), Some("f32"));
    assert_eq!(of(&fusions, "fnarrow"), Some("s8"));
    assert_eq!(of(&fusions, "fgathered"), Some("f32"));
    assert_eq!(of(&fusions, "fcustomgather"), None);
    let dots = module("dots");
    assert_eq!((of(&dots, "int"), of(&dots, "fp8")), (Some("s8"), Some("f8e4m3fn")));
    let library = module("library_calls");
    assert_eq!((of(&library, "fp8"), of(&library, "unsaid")), (Some("f8e4m3fn"), None));
}

/// XLA has no costs for these library calls, so the expected numbers are computed by hand.
#[test]
fn library_calls_have_the_costs_of_their_shapes() {
    let module = module("library_attention");
    let of = |name: &str| hlo::cost(&module, module.instruction(name).unwrap());
    let flops = |name: &str| of(name).map(|cost| (cost.flops, cost.source));
    // Batch 2, 8 heads, 64 queries, 96 keys: 98,304 pairs with widths 32 (keys) and 16 (values).
    let pairs = 2.0 * 8.0 * 64.0 * 96.0;
    assert_eq!(flops("full"), Some((2.0 * pairs * (32.0 + 16.0), CostSource::Shapes)));
    assert_eq!(flops("causal"), Some((pairs * (32.0 + 16.0), CostSource::Shapes)));
    assert_eq!(flops("window"), None, "which pairs the window leaves is not known");
    assert_eq!(flops("back"), Some((2.0 * pairs * (3.0 * 32.0 + 2.0 * 16.0), CostSource::Shapes)));
    assert_eq!(flops("te"), Some((4.0 * 2.0 * 8.0 * 64.0 * 64.0 * 32.0, CostSource::Shapes)));
    // LAPACK's counts: m n^2 - n^3 / 3 with m = 40 and n = 20, for three matrices.
    assert_eq!(flops("lu"), Some((3.0 * (16_000.0 - 8000.0 / 3.0), CostSource::Shapes)));
    assert_eq!(flops("qr"), Some((6.0 * (16_000.0 - 8000.0 / 3.0), CostSource::Shapes)));
    assert_eq!(flops("scaled"), Some((2.0 * 2.0 * 64.0 * 48.0 * 128.0, CostSource::Shapes)));
    assert_eq!(flops("triton"), None);
    // Reads queries, keys and values. Writes the result and its statistics, but not the scratch row.
    let full = of("full").unwrap();
    let (q, k, v) = (2.0 * 64.0 * 8.0 * 32.0 * 2.0, 2.0 * 96.0 * 2.0 * 32.0 * 2.0, 2.0 * 96.0 * 2.0 * 16.0 * 2.0);
    assert_eq!((full.bytes_read, full.bytes_written), (q + k + v, q / 2.0 + 2.0 * 8.0 * 64.0 * 4.0));
}
