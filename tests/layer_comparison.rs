//! Compares layers and phases of two runs. The times of each layer must equal the times that the generator chose.

use crate::support;
use crate::support::chrome::ChromeTrace;
use crate::support::cli::{crossprof, stderr, stdout};
use crossprof::UnifiedProfile;
use crossprof::compare::{LayerKind, Options, Subject, compare};
use crossprof::export::comparison::{html, markdown};

const US: u64 = 1_000_000;

/// A training step on two chips. All times are in microseconds, per step and chip.
#[derive(Clone, Copy)]
struct Model {
    program: &'static str,
    layers: u64,
    attention: u64,
    mlp: u64,
    /// Time of the model's head. Zero if the model has no head.
    head: u64,
    /// True to give ops their framework paths.
    has_paths: bool,
}

const MODEL: Model = Model { program: "jit_train", layers: 3, attention: 40, mlp: 20, head: 50, has_paths: true };

impl Model {
    /// Returns the ops of a step, with path and duration. The backward pass takes twice the time of the forward pass.
    fn ops(self) -> Vec<(String, u64)> {
        let mut ops = Vec::new();
        for (pass, factor) in [("jvp", 1), ("transpose(jvp", 2)] {
            let close = if factor == 1 { ")" } else { "))" };
            for layer in 0..self.layers {
                ops.push((format!("{pass}(layer_{layer}{close}/attn/dot_general"), factor * self.attention));
                ops.push((format!("{pass}(layer_{layer}{close}/mlp/dot_general"), factor * self.mlp));
            }
            if self.head > 0 {
                ops.push((format!("{pass}(head{close}/dot_general"), factor * self.head));
            }
        }
        ops.push(("optimizer/mul".to_owned(), 30));
        ops
    }

    fn trace(self) -> String {
        let mut json = ChromeTrace::new();
        let ops = self.ops();
        let step_us = ops.iter().map(|op| op.1).sum::<u64>() + 10;
        for device in 0..2 {
            let pid = 3 + device;
            json.process(pid, &format!("/device:TPU:{device}"));
            json.thread(pid, 1, "Steps");
            json.thread(pid, 3, "XLA Ops");
            for step in 0..6 {
                let mut now = step * step_us * US;
                json.event((pid, 1), &step.to_string(), now, step_us * US, &[]);
                for (number, (path, us)) in ops.iter().enumerate() {
                    let path = format!("{}({})/{path}", &self.program[..3], &self.program[4..]);
                    let mut args = vec![("hlo_module", self.program), ("hlo_category", "convolution")];
                    args.extend(self.has_paths.then_some(("tf_op", path.as_str())));
                    json.event((pid, 3), &format!("fusion.{number}"), now, us * US, &args);
                    now += us * US;
                }
            }
        }
        json.finish()
    }

    fn profile(self) -> UnifiedProfile {
        let (result, mut profiles) = support::load("run.trace.json", self.trace().as_bytes());
        assert_eq!(result.error, None);
        profiles.remove(0)
    }

    fn subject(self, name: &str) -> Subject {
        Subject { name: name.to_owned(), ..Subject::new(self.profile()) }
    }
}

#[test]
fn each_layer_has_its_time_per_step_and_device() {
    let new = Model { program: "jit_train_v2", layers: 4, attention: 25, head: 0, ..MODEL };
    let subjects = [MODEL.subject("main"), new.subject("new")];
    let found = compare(&subjects, &Options::default());
    let of = |kind: LayerKind| found.layers.iter().filter(move |it| it.kind == kind);
    let phases: Vec<_> = of(LayerKind::Phase).map(|it| (it.name.as_str(), it.time_us)).collect();
    let times = |ours: u64, theirs: u64| [Some(ours as f64), Some(theirs as f64)];
    // Forward: 4 * (25 + 20) in the run, 3 * (40 + 20) + 50 in the baseline.
    assert_eq!(
        phases,
        [("forward", times(180, 230)), ("backward", times(360, 460)), ("update", times(30, 30))],
        "{:#?}",
        found.layers
    );
    // The last part of a path is the primitive.
    let is_layer = |path: &str| !path.ends_with("/dot_general") && !path.ends_with("/mul");
    let listed = of(LayerKind::Layer).filter(|it| is_layer(&it.name));
    let layers: Vec<_> = listed.map(|it| (it.name.as_str(), it.time_us, it.delta_us_per_step, it.members)).collect();
    assert_eq!(
        layers,
        [
            ("jit_train_v2", times(570, 720), Some(-150.0), [1, 1]),
            ("jit_train_v2/layer_*/attn", times(300, 360), Some(-60.0), [4, 3]),
            ("jit_train_v2/layer_*/mlp", times(240, 180), Some(60.0), [4, 3]),
            ("jit_train_v2/layer_*", times(540, 540), Some(0.0), [4, 3]),
            ("jit_train/head", [None, Some(150.0)], None, [0, 1]),
            ("jit_train_v2/optimizer", times(30, 30), Some(0.0), [1, 1]),
        ]
    );
}

#[test]
fn every_report_shows_the_layers() {
    let folder = support::cli::scratch("compare", "layers");
    std::fs::write(folder.join("main.trace.json"), MODEL.trace()).unwrap();
    std::fs::write(folder.join("new.trace.json"), Model { attention: 80, ..MODEL }.trace()).unwrap();
    let output = crossprof(&folder, &["compare", "main.trace.json", "new.trace.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let is_row = |line: &&str| line.contains("jit_train/layer_*/attn ") && line.contains("+100 %");
    let row = text.lines().find(is_row).unwrap_or_else(|| panic!("{text}"));
    assert!(row.contains("360 µs") && row.contains("720 µs"), "{row}");
    let subjects = [MODEL.subject("main"), Model { attention: 80, ..MODEL }.subject("new")];
    let found = compare(&subjects, &Options::default());
    for report in [html(&found, &subjects), markdown(&found)] {
        assert!(report.contains("Time by phase and layer, per step per device"), "{report}");
        let plain = report.replace('\\', "");
        assert!(plain.contains("jit_train/layer_*/attn") && !plain.contains("attn/dot_general, 3 layers"), "{report}");
    }
    // Without paths in one of the runs, there is nothing to compare.
    let without = Model { has_paths: false, ..MODEL }.subject("new");
    assert_eq!(compare(&[MODEL.subject("main"), without], &Options::default()).layers, []);
}
