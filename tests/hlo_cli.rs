//! Tests `crossprof hlo`, which prints, draws and exports compiled programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use crossprof::graph::{
    Choices, Grouping, Measured, Numbers, Source, Tree, Users, Visible, critical_path, draw, neighbourhood, whole,
};
use crossprof::hlo::{self, Module};
use rustc_hash::FxHashSet;

/// CPU capture with three programs, of which only one ran in the window.
const TRAIN: &str = "tests/data/jax-cpu-train";

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossprof"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR"))).args(arguments);
    command.output().expect("the program starts")
}

fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("text")
}

fn of_step(more: &[&str]) -> String {
    printed(&[&["hlo", TRAIN, "--program", "jit_train_step"], more].concat())
}

#[test]
fn several_programs_are_listed_with_their_times() {
    let message = refused(&["hlo", "tests/data/jax-h100/zoo.xplane.pb.gz"]);
    assert!(message.contains(" programs match; name one with --program:\n  jit_op_svd("), "{message}");
    assert!(message.contains(" instructions\n") && message.contains("  and "), "{message}");
    // Only one of these programs was measured.
    assert_eq!(printed(&["hlo", TRAIN]), of_step(&[]));
    let message = refused(&["hlo", TRAIN, "--program", "jit_train_stp(4)"]);
    assert!(message.contains("Did you mean jit_train_step(4)?"), "{message}");
}

#[test]
fn a_program_has_its_name_number_and_fingerprint() {
    let by_name = of_step(&[]);
    assert_eq!(printed(&["hlo", TRAIN, "--program", "4"]), by_name);
    assert_eq!(printed(&["hlo", TRAIN, "--program", "jit_train_step(4)"]), by_name);
    let profile = printed(&["analyze", TRAIN, "--format", "json"]);
    let profile: serde_json::Value = serde_json::from_str(&profile).expect("JSON");
    let fingerprint = profile["programs"][0]["fingerprint"].as_str().expect("a fingerprint").to_owned();
    assert_eq!(printed(&["hlo", TRAIN, "--program", &fingerprint]), by_name);
    // An op alone is enough to find its program.
    assert_eq!(printed(&["hlo", TRAIN, "--op", "dot_general.1"]).lines().count(), {
        of_step(&["--op", "dot_general.1"]).lines().count()
    });
}

/// The times in front of the text, summed by instruction, equal the times in the ops table.
#[test]
fn times_equal_the_table_of_ops() {
    let table = printed(&["table", "ops", TRAIN, "--format", "json", "--filter", "hlo_module:jit_train_step"]);
    let table: serde_json::Value = serde_json::from_str(&table).expect("JSON");
    let rows = table["rows"].as_array().or(table.as_array()).expect("rows");
    let mut expected: BTreeMap<String, f64> = BTreeMap::new();
    for row in rows {
        *expected.entry(row["hlo_op_name"].as_str().expect("a name").to_owned()).or_default() +=
            row["total_self_time_us"].as_f64().expect("a time");
    }
    let data = printed(&["hlo", TRAIN, "--program", "jit_train_step", "--format", "node-data"]);
    let data: serde_json::Value = serde_json::from_str(&data).expect("JSON");
    let mut compared = 0;
    for graph in data.as_object().expect("graphs").values() {
        for (name, result) in graph["results"].as_object().expect("results") {
            let time = result["value"].as_f64().expect("a time");
            assert!((time - expected[name]).abs() < 1e-6 * time.max(1.0), "{name}: {time} {}", expected[name]);
            compared += 1;
        }
    }
    assert_eq!(compared, expected.len());
    assert!(compared > 5, "{compared}");
}

#[test]
fn the_neighbourhood_marks_its_op() {
    let text = of_step(&["--op", "dot_general.1", "--radius", "1"]);
    let marked: Vec<&str> = text.lines().filter(|line| line.starts_with('>')).collect();
    assert!(marked.len() == 1 && marked[0].contains("%dot_general.1 = "), "{text}");
    assert!(text.lines().count() < of_step(&[]).lines().count());
    let message = refused(&["hlo", TRAIN, "--program", "jit_train_step", "--op", "dot_genral.6"]);
    assert!(message.contains("Did you mean dot_general."), "{message}");
    let message = refused(&["hlo", TRAIN, "--program", "jit_train_step", "--computation", "mian.1"]);
    assert!(message.contains("has no computation mian.1"), "{message}");
}

#[test]
fn pictures_and_exports_have_their_format() {
    let svg = of_step(&["--format", "svg", "--open", "forward"]);
    assert!(svg.starts_with("<svg ") && svg.contains("forward") && svg.ends_with("</svg>\n"), "{svg}");
    let dot = of_step(&["--format", "dot", "--open", "all"]);
    assert!(dot.starts_with("digraph ") && dot.contains("subgraph cluster_"), "{dot}");
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    let message = refused(&["hlo", TRAIN, "--program", "jit_train_step", "--format", "svg", "--open", "forwrad"]);
    assert!(message.contains("Did you mean forward?"), "{message}");
    let json: serde_json::Value = serde_json::from_str(&of_step(&["--format", "json"])).expect("JSON");
    let graphs = json["graphs"].as_array().expect("graphs");
    let ids: BTreeSet<&str> = graphs.iter().map(|graph| graph["id"].as_str().expect("an id")).collect();
    for node in graphs.iter().flat_map(|graph| graph["nodes"].as_array().expect("nodes")) {
        for called in node["subgraphIds"].as_array().into_iter().flatten() {
            assert!(ids.contains(called.as_str().expect("a name")), "{node}");
        }
    }
    let critical = of_step(&["--critical-path"]);
    assert!(critical.starts_with("Critical path of jit_train_step(4): "), "{critical}");
}

/// The test python/tests/test_reproduce.py runs such scripts.
#[test]
fn a_script_has_the_op_and_its_numbers_in_the_trace() {
    let script = of_step(&["--op", "dot.1", "--format", "jax"]);
    for expected in [
        "# Op:         %dot.1 = f32[",
        "# JAX name:   jit(train_step)/",
        "# Program:    jit_train_step(4)\n",
        "# Time:       ",
        " ms per call (mean of ",
        "\n    return lax.dot_general(",
        "\nif __name__ == \"__main__\":\n",
    ] {
        assert!(script.contains(expected), "{expected}\n{script}");
    }
    // The time per call equals that in the ops table.
    let table = printed(&["table", "ops", TRAIN, "--format", "json", "--filter", "hlo_op_name:dot.1"]);
    let table: serde_json::Value = serde_json::from_str(&table).expect("JSON");
    let rows = table["rows"].as_array().or(table.as_array()).expect("rows");
    let row = rows.iter().find(|row| row["hlo_op_name"] == "dot.1").expect("the op");
    let number = |name: &str| row[name].as_f64().expect("a number");
    let time = base::format::time_us(number("total_time_us") / number("occurrences"));
    assert!(script.contains(&format!("# Time:       {time} per call")), "{time}\n{script}");
    let message = refused(&["hlo", TRAIN, "--program", "jit_train_step", "--format", "jax"]);
    assert!(message.contains("--format jax: name the instruction with --op"), "{message}");
    let message = refused(&["hlo", TRAIN, "--program", "jit_train_step", "--op", "dot.111", "--format", "jax"]);
    assert!(message.contains("has no instruction dot.111. Did you mean dot.1"), "{message}");
}

fn module(name: &str) -> Module {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo").join(name);
    hlo::read_module(&std::fs::read(path).expect("a sample"))
}

/// Returns a module with an instruction, its users, and a chain of `count` layers that differ only by their number.
fn layers(count: i64) -> Module {
    use wire_writer::message;
    let shape = || message().int(2, 11).int(3, 8);
    let mut computation = message().bytes(1, "main");
    let first = message().bytes(1, "x").bytes(2, "parameter").message(3, shape()).int(35, 1);
    computation = computation.message(2, first);
    for layer in 0..count {
        for (part, opcode) in ["multiply", "add"].iter().enumerate() {
            let id = 2 + 2 * layer + part as i64;
            let path = format!("jit(f)/layer_{layer}/attn/{opcode}");
            let instruction = message()
                .bytes(1, format!("{opcode}.{layer}"))
                .bytes(2, opcode)
                .message(3, shape())
                .message(7, message().bytes(2, path))
                .int(35, id)
                .int(36, id - 1)
                .int(36, 1);
            computation = computation.message(2, instruction);
        }
    }
    let computation = computation.int(5, 1).int(6, 1 + 2 * count);
    hlo::read_module(&message().bytes(1, "jit_f").message(3, computation).int(6, 1).0)
}

fn visible(module: &Module, measured: &Measured, grouping: Grouping, opened: &[&str]) -> Visible {
    let source = Source { module, measured, choices: Choices::default(), grouping };
    let selection = whole(module, 0, source.choices);
    let opened: FxHashSet<String> = opened.iter().map(|&id| id.to_owned()).collect();
    Visible::new(source, &selection, &Tree::new(source, &selection, &opened))
}

#[test]
fn equal_layers_are_drawn_once_with_their_count_and_sum() {
    let module = layers(24);
    let time = |ps| Numbers { time: Some(crossprof::Ps::new(ps)), ..Numbers::default() };
    let names: Vec<String> = (0..24).flat_map(|at| [format!("multiply.{at}"), format!("add.{at}")]).collect();
    let measured = Measured::new(&module, names.iter().map(|name| (name.as_str(), time(10))));
    let closed = visible(&module, &measured, Grouping::Layers, &[]);
    let [_, group] = closed.nodes.as_slice() else { panic!("{closed:?}") };
    assert_eq!((group.label.as_str(), group.copies, group.instructions), ("layer_*", 24, 48));
    assert_eq!(group.numbers.time, Some(crossprof::Ps::new(480)));
    assert_eq!(closed.edges.len(), 1);
    // Every layer uses the parameter. The first layer uses it three times in two instructions.
    assert_eq!(closed.edges[0].count, 49);
    let open = visible(&module, &measured, Grouping::Layers, &["layer_*", "layer_*/attn"]);
    let units: Vec<(&str, u32)> =
        open.nodes.iter().filter(|node| !node.is_open).map(|node| (node.label.as_str(), node.copies)).collect();
    assert_eq!(units, [("x", 1), ("multiply.0", 24), ("add.0", 24)]);
    assert_eq!(open.nodes.iter().map(|node| node.carried).sum::<u32>(), 23, "edges from layer to layer");
    assert_eq!(visible(&module, &measured, Grouping::Scopes, &[]).nodes.len(), 25);
    let path = critical_path(&module, &measured, 0).expect("a path");
    assert_eq!((path.instructions.len(), path.time.as_ps(), path.total.as_ps()), (48, 480, 480));
}

#[test]
fn instructions_with_many_users_are_not_followed() {
    let module = layers(24);
    let users = Users::new(&module);
    let near = |choices| neighbourhood(&module, &users, 3, 2, choices);
    let usual = near(Choices::default());
    // The parameter has 48 users.
    assert!(usual.instructions.contains(&0) && usual.instructions.len() == 6, "{usual:?}");
    assert!(usual.omitted[&0].users > 40);
    assert_eq!(near(Choices::all()).instructions.len(), module.instructions().len());
}

/// For any contents of a file, each step of the drawing ends, and each frame contains its nodes.
#[test]
fn any_program_is_drawn() {
    let mut drawn = 0;
    for name in ["jit_attention.pb", "jit_scan.pb", "jit_cond.pb", "collectives.pb", "loops.pb", "random_fusions.pb"] {
        let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo").join(name)).unwrap();
        for cut in (0..12).map(|part| bytes.len() - part * bytes.len() / 13) {
            let mut changed = bytes[..cut].to_vec();
            // Damages ids, so that operands and calls form cycles.
            (7..changed.len()).step_by(97).filter(|_| cut % 2 == 1).for_each(|at| changed[at] ^= 1);
            let module = hlo::read_module(&changed);
            let measured = Measured::default();
            for grouping in [Grouping::Layers, Grouping::Computations] {
                let all: Vec<String> =
                    visible(&module, &measured, grouping, &[]).nodes.into_iter().map(|it| it.id).collect();
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                let visible = visible(&module, &measured, grouping, &all);
                let drawing = draw(&module, &visible);
                for (node, place) in visible.nodes.iter().zip(&drawing.nodes) {
                    let Some(frame) = node.parent.map(|parent| &drawing.nodes[parent as usize]) else { continue };
                    assert!(
                        place.x >= frame.x
                            && place.y >= frame.y
                            && place.x + place.width <= frame.x + frame.width + 0.1
                    );
                    drawn += 1;
                }
                for (edge, route) in visible.edges.iter().zip(&drawing.routes) {
                    assert!(!route.is_empty(), "{name} {edge:?}");
                }
            }
            critical_path(&module, &measured, 0);
            let _ = hlo::print(&module);
        }
    }
    assert!(drawn > 20, "{drawn}");
    assert!(!module("jit_scan.pb").instructions().is_empty());
}
