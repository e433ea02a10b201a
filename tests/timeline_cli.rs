//! Tests `crossprof timeline`, which draws steps and ranges of one or several runs.

use std::path::Path;
use std::process::{Command, Output};

const GPU: &str = "www/assets/examples/gpu-training.trace.json.gz";
const TPU: &str = "www/assets/examples/tpu-training.trace.json.gz";

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossprof"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR"))).arg("timeline").args(arguments);
    command.output().expect("the program starts")
}

fn svg(arguments: &[&str]) -> String {
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

/// A capture of eight devices of XLA's CPU backend, which share the threads of the host.
const MESH: &str = "tests/data/jax-cpu-mesh";

#[test]
fn a_device_is_chosen_by_the_name_that_reports_show() {
    let lines = |svg: &str| svg.matches("tf_XLA").count();
    let of_device = svg(&[MESH, "--step", "1", "--line", "CPU:2"]);
    assert!(lines(&of_device) > 0 && !of_device.contains(">python<"), "{} tracks", lines(&of_device));
    let unknown = refused(&[MESH, "--line", "CPU:9"]);
    assert!(unknown.contains(" Its devices: CPU:0, CPU:1, ") && unknown.contains("Did you mean CPU:"), "{unknown}");
}

#[test]
fn a_step_is_drawn_with_the_tracks_of_its_devices() {
    let svg = svg(&[GPU, "--step", "1"]);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for name in ["Steps", "Busy and idle by cause", "Exposed communication", "Stream", "step 1", "GPU:0"] {
        assert!(svg.contains(name), "{name}");
    }
    // The step begins at the left edge, where the axis is 0.
    assert!(svg.contains(">0 "), "the axis begins at the step");
    assert!(!svg.contains(">step 2<"));
}

#[test]
fn steps_of_two_runs_stand_below_each_other() {
    let svg = svg(&[GPU, TPU, "--step", "1", "--width", "800"]);
    let (gpu, tpu) = (svg.find("GPU:0").expect("the first run"), svg.find("TPU:0").expect("the second run"));
    assert!(gpu < tpu && svg.contains("width=\"800\""));
}

#[test]
fn two_runs_that_compare_are_coloured_by_change() {
    let legend = "slower below";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("timeline_colours");
    std::fs::create_dir_all(&folder).expect("a folder for the tests");
    let copies = ["a", "b"].map(|name| folder.join(format!("{name}.trace.json.gz")));
    for copy in &copies {
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(GPU), copy).expect("the folder is writable");
    }
    let [a, b] = copies.each_ref().map(|copy| copy.to_str().expect("a plain path"));
    let by_change = svg(&[a, b, "--step", "1"]);
    assert_eq!(by_change.matches(legend).count(), 1);
    assert_eq!(by_change, svg(&[a, b, "--step", "1", "--colours", "change"]));
    // If a run is compared with itself, its ops are unchanged and have the colour for unchanged ops.
    let own = svg(&[a, b, "--step", "1", "--colours", "own"]);
    assert!(!own.contains(legend) && own != by_change);
    // Ops are coloured by class if there is one run, if there are three runs, or if ops have no partners.
    for files in [&[a][..], &[a, b, GPU], &[a, TPU]] {
        assert!(!svg(&[files, &["--step", "1"]].concat()).contains(legend), "{files:?}");
    }
    assert!(refused(&[GPU, "--colours", "change"]).contains("two runs"));
    assert!(refused(&[GPU, TPU, "--colours", "change"]).contains("no match"));
}

#[test]
fn lines_are_chosen_by_their_names() {
    let svg = svg(&[GPU, "--from", "20ms", "--to", "25ms", "--line", "GPU:0/Stream*"]);
    assert!(svg.contains("Stream") && !svg.contains("Busy and idle by cause") && !svg.contains("GPU:1"));
}

#[test]
fn odd_captures_are_drawn() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("timeline");
    std::fs::create_dir_all(&folder).expect("a folder for the tests");
    let event = |thread: usize, start: f64, duration: f64| {
        format!("{{\"ph\":\"X\",\"pid\":1,\"tid\":{thread},\"ts\":{start},\"dur\":{duration},\"name\":\"f\"}}")
    };
    let odd: [(&str, Vec<String>); 4] = [
        ("instant", vec![event(1, 5.0, 0.0); 10_000]),
        ("nested", (0..2_000).map(|at| event(1, f64::from(at), f64::from(30_000 - 2 * at))).collect()),
        ("threads", (0..5_000).map(|thread| event(thread, 0.0, 1.0)).collect()),
        ("years", vec![event(1, 0.0, 3.1e12), event(2, 10.0, 1e-6)]),
    ];
    for (name, events) in odd {
        let path = folder.join(format!("{name}.json"));
        std::fs::write(&path, format!("{{\"traceEvents\":[{}]}}", events.join(","))).expect("the folder is writable");
        let drawn = svg(&[path.to_str().expect("a plain path")]);
        assert!(drawn.contains("<path"), "{name}");
    }
}

#[test]
fn impossible_drawings_are_reported() {
    assert!(refused(&[GPU, "--step", "900"]).contains("no step 900"));
    assert!(refused(&[GPU, "--from", "2ms", "--to", "1ms"]).contains("--from must be before --to"));
    assert!(refused(&[GPU, "--line", "nowhere"]).contains("--line"));
    assert!(refused(&[GPU, "--step", "1", "--from", "1ms"]).contains("--step"));
}

#[test]
fn a_picture_has_no_more_rows_than_one_can_look_at() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("timeline_rows");
    std::fs::create_dir_all(&folder).expect("a folder for the tests");
    let event = |thread: usize| format!(r#"{{"ph":"X","pid":1,"tid":{thread},"name":"k","ts":{thread},"dur":900}}"#);
    let events: Vec<String> = (0..3000).map(event).collect();
    let path = folder.join("rows.trace.json");
    std::fs::write(&path, format!("{{\"traceEvents\":[{}]}}", events.join(","))).expect("the folder is writable");
    let output = run(&[path.to_str().expect("a plain path")]);
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("of ") && said.contains("--line"), "{said}");
    let svg = String::from_utf8(output.stdout).expect("text");
    assert!(svg.contains("height=\"8026\""), "{}", &svg[..200]);
    assert!(svg.matches(">Thread").count() < 1000 && svg.len() < 4_000_000, "{} bytes", svg.len());
}
