use super::*;

/// Formats each run of the plan as one line: `name: host=path ...; not path; with path`.
fn planned(files: &[(&str, FileKind)]) -> Vec<String> {
    let candidates: Vec<Candidate<'_>> = files.iter().map(|&(path, kind)| Candidate { path, kind }).collect();
    let path = |file: usize| files[file].0;
    let plan = plan(&candidates);
    let mut lines: Vec<String> = Vec::new();
    for run in &plan.runs {
        let mut line = format!("{}:", run.name);
        for host in &run.hosts {
            line += &format!(" {}={}", host.host, path(host.file));
        }
        for repeated in &run.repeated {
            line += &format!("; {} repeats {}", path(repeated.file), path(repeated.instead));
        }
        for &sidecar in &run.sidecars {
            line += &format!("; with {}", path(sidecar));
        }
        lines.push(line);
    }
    lines.extend(plan.archives.iter().map(|&file| format!("open {}", path(file))));
    lines.extend(plan.ignored.iter().map(|ignored| format!("ignore {}", path(ignored.file))));
    lines
}

use FileKind::{Archive, MemoryError, MemoryProfile, ModelConfig, Program, TraceJson, UnifiedProfile, Unknown, XPlane};

#[test]
fn a_run_folder_is_one_run_of_all_its_hosts() {
    let files = [
        ("log/plugins/profile/r1/b.xplane.pb", XPlane),
        ("log/plugins/profile/r1/a.trace.json.gz", TraceJson),
        ("log/plugins/profile/r1/a.xplane.pb", XPlane),
        ("log/plugins/profile/r2/a.xplane.pb", XPlane),
    ];
    let r1 = "log/plugins/profile/r1";
    assert_eq!(
        planned(&files),
        [
            format!("r1: a={r1}/a.xplane.pb b={r1}/b.xplane.pb; {r1}/a.trace.json.gz repeats {r1}/a.xplane.pb"),
            "r2: a=log/plugins/profile/r2/a.xplane.pb".to_owned(),
        ]
    );
}

#[test]
fn a_dropped_run_folder_is_detected_by_its_time() {
    let files = [("2026_01_05_10_00_00/a.xplane.pb", XPlane), ("2026_01_05_10_00_00/b.xplane.pb", XPlane)];
    assert_eq!(
        planned(&files),
        ["2026_01_05_10_00_00: a=2026_01_05_10_00_00/a.xplane.pb b=2026_01_05_10_00_00/b.xplane.pb"]
    );
}

#[test]
fn outside_run_folders_the_stem_pairs_files() {
    let files = [
        ("x.trace.json", TraceJson),
        ("x.xplane.pb", XPlane),
        ("sub/x.xplane.pb", XPlane),
        ("y.json.gz", TraceJson),
        ("result.json", UnifiedProfile),
    ];
    assert_eq!(
        planned(&files),
        [
            "x: x=x.xplane.pb; x.trace.json repeats x.xplane.pb",
            "x: x=sub/x.xplane.pb",
            "y: y=y.json.gz",
            "result: result=result.json"
        ]
    );
}

#[test]
fn the_perfetto_copy_is_read_only_where_it_is_alone() {
    let both = [("p/perfetto_trace.json.gz", TraceJson), ("p/h.trace.json.gz", TraceJson)];
    assert_eq!(planned(&both), ["h: h=p/h.trace.json.gz; p/perfetto_trace.json.gz repeats p/h.trace.json.gz"]);
    assert_eq!(planned(&both[..1]), ["perfetto_trace: perfetto_trace=p/perfetto_trace.json.gz"]);
    let folder = [
        ("plugins/profile/r/h.xplane.pb", XPlane),
        ("plugins/profile/r/h.trace.json.gz", TraceJson),
        ("plugins/profile/r/perfetto_trace.json.gz", TraceJson),
    ];
    let lines = planned(&folder);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("r: h=plugins/profile/r/h.xplane.pb; "), "{}", lines[0]);
    assert!(lines[0].contains("perfetto_trace.json.gz repeats plugins/profile/r/h.xplane.pb"), "{}", lines[0]);
}

#[test]
fn model_configurations_belong_to_what_is_below_them() {
    let files = [
        ("a/config.json", ModelConfig),
        ("a/crossprof.json", ModelConfig),
        ("a/x.xplane.pb", XPlane),
        ("b/y.xplane.pb", XPlane),
        ("c/config.json", ModelConfig),
    ];
    assert_eq!(
        planned(&files),
        [
            "x: x=a/x.xplane.pb; with a/config.json; with a/crossprof.json; with c/config.json",
            "y: y=b/y.xplane.pb; with c/config.json",
        ]
    );
}

#[test]
fn caches_are_named_and_ignored() {
    let files = [("r/h.hlo_proto.pb", Unknown), ("r/ALL_HOSTS.op_stats_v2.pb", Unknown), ("all.zip", Archive)];
    assert_eq!(planned(&files), ["open all.zip", "ignore r/h.hlo_proto.pb", "ignore r/ALL_HOSTS.op_stats_v2.pb"]);
    assert!(cache_reason("r/x.SSTABLE").is_some());
    assert!(cache_reason("r/h.xplane.pb").is_none());
}

#[test]
fn memory_profiles_are_runs() {
    let files = [("r/a.prof", MemoryProfile), ("r/b.prof", MemoryProfile)];
    let candidates = files.map(|(path, kind)| Candidate { path, kind });
    let plan = plan(&candidates);
    let names: Vec<_> = plan.runs.iter().map(|run| (run.name.as_str(), run.memory.clone())).collect();
    assert_eq!((names.as_slice(), plan.ignored.len()), (&[("a.prof", vec![0]), ("b.prof", vec![1])][..], 0));
    assert_eq!(plan.unclear_memory(&candidates).count(), 0);
}

/// Returns each run with its memory profiles, the profiles that fit several runs, and the ignored files.
fn planned_memory(files: &[(&str, FileKind)]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let candidates: Vec<Candidate<'_>> = files.iter().map(|&(path, kind)| Candidate { path, kind }).collect();
    let plan = plan(&candidates);
    let name = |file: usize| file_name(files[file].0).to_owned();
    let run = |run: &PlannedRun| {
        let memory: Vec<String> = run.memory.iter().map(|&file| name(file)).collect();
        format!("{}: {}", run.name, memory.join(" "))
    };
    (
        plan.runs.iter().map(run).collect(),
        plan.unclear_memory(&candidates).map(name).collect(),
        plan.ignored.iter().map(|ignored| name(ignored.file)).collect(),
    )
}

#[test]
fn memory_profiles_belong_to_the_only_run_of_their_folder() {
    let trace = ("log/plugins/profile/r/h.xplane.pb", XPlane);
    let of = |paths: &[&'static str]| {
        let profiles = paths.iter().map(|&path| (path, MemoryProfile));
        let (runs, unclear, ignored) = planned_memory(&std::iter::once(trace).chain(profiles).collect::<Vec<_>>());
        assert_eq!((runs.len(), unclear.len()), (1, 0), "{runs:?}");
        (runs[0].clone(), ignored.join(" "))
    };
    let at_the_top = of(&["log/memory_b.prof", "log/memory_a.prof"]);
    assert_eq!(at_the_top, ("r: memory_a.prof memory_b.prof".to_owned(), String::new()));
    let beside = of(&["log/plugins/profile/r/h.memory_start.prof", "log/plugins/profile/r/h.memory_end.prof"]);
    assert_eq!(beside.0, "r: h.memory_start.prof h.memory_end.prof");
    let numbers = of(&["log/memory/step_9.prof", "log/memory/step_100.prof", "log/memory/step_10.prof"]);
    assert_eq!(numbers, ("r: step_9.prof step_100.prof".to_owned(), "step_10.prof".to_owned()));
    assert_eq!(of(&["log/after.prof", "log/before.prof"]).0, "r: before.prof after.prof");
    assert_eq!(of(&["log/one.prof"]).0, "r: one.prof");
}

#[test]
fn memory_profiles_of_several_runs_belong_to_the_nearest() {
    let (r, s) = ("log/plugins/profile/r/h.xplane.pb", "log/plugins/profile/s/h.xplane.pb");
    let of = |path| planned_memory(&[(r, XPlane), (s, XPlane), (path, MemoryProfile)]);
    assert_eq!(of("log/plugins/profile/s/m.prof").0, ["r: ", "s: m.prof"]);
    for unclear in ["log/m.prof", "m.prof", "log/memory/m.prof", "other/m.prof"] {
        let (runs, named, _) = of(unclear);
        assert_eq!((runs.last().unwrap().as_str(), named.as_slice()), ("m.prof: m.prof", &["m.prof".to_owned()][..]));
    }
    // Neither the text of an error nor a profile from an unrelated folder belongs to a run.
    let (runs, unclear, _) = planned_memory(&[(r, XPlane), ("log/oom.txt", MemoryError), ("x/m.prof", MemoryProfile)]);
    assert_eq!((runs.len(), unclear), (3, vec!["m.prof".to_owned()]));
}

#[test]
fn memory_profiles_of_one_process_are_compared() {
    let hosts = ["r/plugins/profile/t/h_p000.xplane.pb", "r/plugins/profile/t/h_p001.xplane.pb"];
    let profiles = ["h_p001.memory_end.prof", "h_p000.memory_end.prof", "h_p001.memory_start.prof"];
    let paths: Vec<String> = profiles.iter().map(|name| format!("r/plugins/profile/t/{name}")).collect();
    let files: Vec<(&str, FileKind)> = hosts.iter().map(|&path| (path, XPlane)).collect();
    let of = |count: usize| {
        let profiles = paths.iter().take(count).map(|path| (path.as_str(), MemoryProfile));
        planned_memory(&files.iter().copied().chain(profiles).collect::<Vec<_>>())
    };
    assert_eq!(of(1).0, ["t: h_p001.memory_end.prof"]);
    let (runs, _, ignored) = of(3);
    assert_eq!(runs, ["t: h_p001.memory_start.prof h_p001.memory_end.prof"], "the first host with two");
    assert_eq!(ignored, ["h_p000.memory_end.prof"]);
}

#[test]
fn programs_of_a_folder_are_a_run_unless_their_profile_is_there() {
    let files = [
        ("dump/module_1.jit_f.hlo.pb", Program),
        ("plugins/profile/r/h.hlo_proto.pb", Program),
        ("dump/module_2.jit_g.hlo.pb", Program),
        ("plugins/profile/r/h.xplane.pb", XPlane),
        ("alone.hlo_proto.pb", Program),
        ("plugins/profile/s/h.hlo_proto.pb", Program),
        ("dump/config.json", ModelConfig),
    ];
    let candidates: Vec<Candidate<'_>> = files.iter().map(|&(path, kind)| Candidate { path, kind }).collect();
    let plan = plan(&candidates);
    let runs: Vec<_> = plan.runs.iter().map(|run| (run.name.as_str(), run.hosts.len(), run.programs.clone())).collect();
    assert_eq!(runs, [("r", 1, vec![]), ("dump", 0, vec![0, 2]), ("alone.hlo_proto", 0, vec![4]), ("s", 0, vec![5])]);
    assert_eq!(plan.ignored.iter().map(|ignored| ignored.file).collect::<Vec<_>>(), [1]);
    assert_eq!(plan.runs[1].sidecars, [6]);
}

#[test]
fn run_folders_are_found_anywhere_in_a_path() {
    assert_eq!(run_folder("z.zip/log/plugins/profile/r/h.pb"), Some("z.zip/log/plugins/profile/r"));
    assert_eq!(run_folder("plugins/profile/h.pb"), None);
    assert_eq!(run_folder("/plugins/profile/r/x/h.pb"), Some("/plugins/profile/r"));
    assert_eq!(run_folder("h.pb"), None);
}

#[test]
fn thousands_of_runs_with_a_configuration_each_are_planned_in_linear_time() {
    let paths: Vec<(String, String)> =
        (0..20_000).map(|run| (format!("log/{run}/a.xplane.pb"), format!("log/{run}/crossprof.json"))).collect();
    let files: Vec<Candidate<'_>> = paths
        .iter()
        .flat_map(|(trace, config)| {
            [Candidate { path: trace, kind: FileKind::XPlane }, Candidate { path: config, kind: FileKind::ModelConfig }]
        })
        .collect();
    let start = std::time::Instant::now();
    let plan = plan(&files);
    assert_eq!(plan.runs.len(), 20_000);
    assert!(plan.runs.iter().all(|run| run.sidecars.len() == 1), "its own and no other");
    assert_eq!(plan.runs[7].sidecars, [15]);
    // An earlier version took minutes.
    assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn a_path_says_when_its_run_was_captured() {
    assert_eq!(capture_time("log/plugins/profile/2026_01_05_10_00_00/h.pb"), Some("2026_01_05_10_00_00"));
    assert_eq!(capture_time("log/2026/h.pb"), None);
    assert!(capture_time("2026_01_05_10_00_00/h.pb") < capture_time("2026_01_05_10_00_01/h.pb"));
}
