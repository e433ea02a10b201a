//! Checks that the derived tracks of the timeline add up to the numbers in the tables.

use std::path::Path;

use crate::support::{open, samples};
use crossprof::timeline::{Columns, Flame, Origin, Shows, Timeline};
use crossprof::{Ps, Settings, WindowChoice};
use serde_json::json;

/// Returns the number of communicating devices whose track of exposed communication adds up to the total in the collectives
/// table.
fn devices_that_agree(path: &Path) -> usize {
    let mut session = open(path.to_str().unwrap(), &std::fs::read(path).unwrap());
    let settings = Settings { window: WindowChoice::All, ..Settings::default() };
    let agree = session.timeline(0, &settings, |context, kept: &Timeline| {
        let derived = kept.source(context, Origin::Derived);
        let analysis = context.analysis;
        let mut agree = 0;
        for (device, sums) in analysis.captured.used.iter().zip(&analysis.collectives.devices) {
            let of_device = derived.by_line.lines_of(derived.trace, device.plane);
            let mut drawn = Ps::ZERO;
            for (_, line, events) in of_device {
                if derived.trace.text(line.name) == "Exposed communication" {
                    events.for_each(&derived.trace.events, |_, event| drawn += event.duration);
                }
            }
            assert_eq!(drawn, sums.sums.exposed, "{}", path.display());
            agree += usize::from(sums.sums.occurrences > 0);
        }
        let by_runs: Ps = analysis.collectives.runs.iter().map(|run| run.exposed).sum();
        assert_eq!(by_runs, analysis.collectives.sums.exposed);
        agree
    });
    agree.unwrap()
}

#[test]
fn exposed_communication_adds_up_to_the_collectives() {
    let examples = samples::root().join("www/assets/examples");
    assert_eq!(devices_that_agree(&examples.join("gpu-training.trace.json.gz")), 2);
    assert!(devices_that_agree(&examples.join("tpu-training.trace.json.gz")) > 1);
}

#[test]
#[ignore = "reads real profiles"]
fn exposed_communication_of_real_captures_adds_up_to_the_collectives() {
    assert_eq!(devices_that_agree(&samples::real("tpu-v6e-4chip/*.xplane.pb")), 4);
    for path in ["kineto/rank-0.json.gz", "mi300x-8gpu-conv/*.xplane.pb", "tpu-qwen3-runs/run-a.trace.json.gz"] {
        devices_that_agree(&samples::real(path));
    }
}

#[test]
fn source_lines_are_a_flame_of_files_and_lines() {
    let op = |name: &str, start: u32, length: u32, source: &str| json!({"ph":"X","pid":1,"tid":1,"name":name,"ts":start,"dur":length,"args":{"source":source,"hlo_category":"fusion"}});
    let name = |kind: &str, name: &str| json!({"ph":"M","pid":1,"tid":1,"name":kind,"args":{"name":name}});
    let events = json!({"traceEvents": [
        name("process_name", "/device:TPU:0"), name("thread_name", "XLA Ops"),
        op("outer", 0, 10, "a/model.py:7"), op("inner", 2, 4, "a/layer.py:30"), op("other", 12, 8, "a/model.py:9"), {}
    ]});
    let mut session = open("source.trace.json", events.to_string().as_bytes());
    let levels = session.timeline(0, &Settings::default(), |context, kept| {
        let tracks = kept.processes(context).iter().flat_map(|process| &process.tracks);
        let is_flame = |shows: Shows| matches!(shows, Shows::Scopes(Flame::SourceLines, _));
        let track = tracks.into_iter().find(|track| is_flame(track.shows)).unwrap();
        assert_eq!((track.name.as_str(), track.lanes), ("Source lines of XLA Ops", 2));
        assert!(track.definition.is_some_and(|text| text.contains("self time")));
        let Shows::Scopes(_, line) = track.shows else { panic!("a flame") };
        let [_, sources] = kept.flames(context);
        let source = kept.source(context, Origin::Captured);
        let cells = sources.cells(source, line, &Columns::new(crossprof::timeline::extent(context), 20));
        let named = cells.iter().map(|level| {
            let name = |at: usize| if level[at].share > 0 { sources.name(level[at].name) } else { "" };
            [0, 3, 8, 11, 15].map(name).map(str::to_owned)
        });
        named.collect::<Vec<_>>()
    });
    let expected = [
        ["a/model.py", "a/layer.py", "a/model.py", "", "a/model.py"],
        ["model.py:7", "layer.py:30", "model.py:7", "", "model.py:9"],
    ];
    assert_eq!(levels.unwrap(), expected);
}
