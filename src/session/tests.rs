use super::*;
use input::Unpacker;
use report::ModelConfig;
use wire_writer::message;

fn json(op: &str) -> Vec<u8> {
    format!(
        r#"{{"traceEvents":[{{"ph":"M","pid":3,"name":"process_name","args":{{"name":"/device:TPU:0"}}}},
{{"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{{"name":"XLA Ops"}}}},
{{"ph":"X","pid":3,"tid":1,"ts":0,"dur":60,"name":"{op}"}},{{}}]}}"#
    )
    .into_bytes()
}

fn xplane() -> Vec<u8> {
    let folder = format!("{}/tests/data/jax-cpu-train/plugins/profile", env!("CARGO_MANIFEST_DIR"));
    let run = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    std::fs::read(run.join("host.xplane.pb")).unwrap()
}

fn add(session: &mut Session, path: &str, bytes: &[u8]) -> FileResult {
    let file = session.begin(path, Some(bytes.len() as u64));
    session.push(file, bytes);
    session.finish(file)
}

/// Returns a session that has read the exported report of a run.
fn imported() -> Session {
    let mut session = Session::new();
    add(&mut session, "h.xplane.pb", &xplane());
    session.runs();
    let report = session.report(0, &Settings::default()).unwrap();
    let mut session = Session::new();
    add(&mut session, "report.json", export::json::profile(&report).as_bytes());
    session.runs();
    session
}

#[test]
fn an_imported_run_has_each_table_or_the_reason_why_not() {
    let (mut session, settings) = (imported(), Settings::default());
    let (mut found, mut absent) = (0, 0);
    for name in TableName::ALL {
        let rows = session.rows(0, &settings, name, "", |rows| rows.len()).unwrap();
        let why = session.why_empty(0, &settings, name);
        assert!(name.is_of_profile() || rows == 0 && why.is_some(), "{name:?}: {rows} rows, {why:?}");
        found += usize::from(rows > 0);
        absent += usize::from(!name.is_of_profile());
    }
    assert!(found >= 8 && absent >= 15, "{found} found, {absent} absent");
    let why = session.why_empty(0, &settings, TableName::Ops).unwrap();
    assert!(why.starts_with("This table needs events. ") && why.ends_with("made from."), "{why}");
    assert_eq!(session.why_empty(0, &settings, TableName::Steps), None);
    assert!(session.memory(0, &settings).is_none() && session.timeline(0, &settings, |_, _| ()).is_none());
}

#[test]
fn results_follow_the_settings_in_both_kinds_of_runs() {
    let mut traced = Session::new();
    add(&mut traced, "h.xplane.pb", &xplane());
    traced.runs();
    for mut session in [traced, imported()] {
        let (two, other) = (Settings { num_steps: Some(2), ..Settings::default() }, Settings::default());
        let [first, given, again] = [&other, &two, &other].map(|settings| session.report(0, settings).unwrap());
        assert_eq!((given.step_timing.num_steps, &given.step_timing.step_count_source[..]), (2, "user"));
        assert_eq!(again, first);
    }
}

fn names(session: &mut Session) -> Vec<String> {
    session.runs().iter().map(|run| run.name.clone()).collect()
}

#[test]
fn the_xplane_is_read_and_a_json_that_was_not_needed_is_not_mentioned() {
    let mut session = Session::new();
    add(&mut session, "plugins/profile/r/h.trace.json", &json("op"));
    add(&mut session, "plugins/profile/r/h.xplane.pb", &xplane());
    assert_eq!(names(&mut session), ["r"]);
    let report = session.report(0, &Settings::default()).unwrap();
    assert_eq!(report.metadata.source_format.as_deref(), Some("xplane"));
    assert!(report.warnings.iter().all(|warning| warning.code != "repeated_file_not_read"));
}

#[test]
fn a_left_out_file_is_wanted_when_the_other_gives_nothing() {
    let mut session = Session::new();
    session.leave_out("h.trace.json", 9, FileKind::TraceJson);
    let result = add(&mut session, "h.xplane.pb", b"\0\0\0\0 nothing of the kind");
    assert!(result.error.is_some());
    assert_eq!(session.wanted(), ["h.trace.json"]);
    add(&mut session, "h.trace.json", &json("op"));
    assert_eq!(names(&mut session), ["h"]);

    let mut session = Session::new();
    session.leave_out("h.trace.json", 9, FileKind::TraceJson);
    add(&mut session, "h.xplane.pb", &xplane());
    assert!(session.wanted().is_empty());
    let report = {
        session.runs();
        session.report(0, &Settings::default()).unwrap()
    };
    assert!(report.warnings.iter().all(|warning| warning.code != "repeated_file_not_read"));
}

#[test]
fn several_hosts_are_one_run() {
    let mut session = Session::new();
    add(&mut session, "plugins/profile/r/b.trace.json", &json("of b"));
    add(&mut session, "plugins/profile/r/a.trace.json", &json("of a"));
    assert_eq!(names(&mut session), ["r"]);
    let report = session.report(0, &Settings::default()).unwrap();
    let devices = report.multi_device.unwrap().device_stats;
    let devices: Vec<&str> = devices.iter().map(|device| device.device_name.as_str()).collect();
    assert_eq!(devices, ["a /device:TPU:0", "b /device:TPU:0"]);
    assert_eq!(report.metadata.num_hosts, Some(2));
}

/// Both hosts start their captures at the same instant, and both start an op at the same instant. The clock of the
/// second host is 7 s ahead, as the capture kit measured.
///
/// ```text
/// s      12:00:00                12:00:07
/// a      [op)                                on the common clock: both at 12:00:00
/// b                              [op)
/// ```
#[test]
fn hosts_with_compared_clocks_share_one_clock() {
    let start_ns = 1_700_000_000_000_000_000;
    let host = |process: i64, ahead_ns: i64, known: &str| {
        let op = message().int(1, 1).int(2, 0).int(3, 5_000_000);
        let line = message().int(1, 7).bytes(2, "Stream #7(Compute)").message(4, op);
        let device = message().bytes(2, "/device:GPU:0").message(3, line).event_metadata(1, "gemm");
        let sidecar = format!(r#"{{"capture":{{"process":{process},"clocks":{known}}}}}"#);
        let times = message()
            .bytes(2, "Task Environment")
            .stat_metadata(1, "profile_start_time")
            .stat_metadata(2, "crossprof")
            .message(6, message().int(1, 1).int(3, start_ns + ahead_ns))
            .message(6, message().int(1, 2).bytes(5, sidecar));
        message().message(1, device).message(1, times).0
    };
    let skew = |ahead_ns: i64, known: &str| {
        let mut session = Session::new();
        add(&mut session, "log/plugins/profile/r/a.xplane.pb", &host(0, 0, known));
        add(&mut session, "log/plugins/profile/r/b.xplane.pb", &host(1, ahead_ns, known));
        assert_eq!(names(&mut session), ["r"]);
        let report = session.report(0, &Settings::default()).unwrap();
        (report.multi_device.unwrap().start_skew_us, report.metadata.timestamp)
    };
    let seven = 7_000_000_000;
    let (aligned, timestamp) = skew(seven, r#"{"offset_s":[0,7.0],"error_s":[0,0.001]}"#);
    assert_eq!(aligned, Some(0.0));
    assert_eq!(skew(-seven, r#"{"offset_s":[0,-7.0],"error_s":[0,0.001]}"#), (Some(0.0), timestamp));
    // The ops are 3 ms apart after the clock difference is removed.
    assert_eq!(skew(seven + 3_000_000, r#"{"offset_s":[0,7.0],"error_s":[0,0.001]}"#).0, Some(3_000.0));
    // A difference is ignored if it is not larger than its error, or if its error is unknown.
    for unknown in
        [r#"{"offset_s":[0,0.002],"error_s":[0,0.002]}"#, r#"{"offset_s":[0,0.002]}"#, r#"{"offset_s":[0]}"#, "{}"]
    {
        assert_eq!(skew(2_000_000, unknown).0, Some(2_000.0), "{unknown}");
    }
}

/// The file of the first host ends with the capture times. The files of the second host and of a separate run end
/// earlier.
#[test]
fn a_host_without_the_last_plane_is_cut() {
    let plane = |name: &str| {
        let event = message().int(1, 1).int(2, 5).int(3, 9);
        let line = message().int(1, 7).bytes(2, "Stream #7(Compute)").message(4, event);
        message().bytes(2, name).message(3, line).event_metadata(1, "gemm")
    };
    let times = message().bytes(2, "Task Environment").stat_metadata(1, "profile_start_time");
    let times = times.message(6, message().int(1, 1).int(3, 1_700_000_000_000_000_000));
    let cut = message().message(1, plane("/device:GPU:0"));
    let whole = cut.clone().message(1, times);
    let mut session = Session::new();
    add(&mut session, "log/plugins/profile/r/a.xplane.pb", &whole.0);
    add(&mut session, "log/plugins/profile/r/b.xplane.pb", &cut.0);
    add(&mut session, "alone.xplane.pb", &cut.0);
    assert_eq!(names(&mut session), ["r", "alone"]);
    let said = |session: &mut Session, run| {
        let report = session.report(run, &Settings::default()).unwrap();
        let found = report.warnings.into_iter().filter(|warning| warning.code == "xplane_truncated");
        found.map(|warning| (warning.file, warning.byte_offset)).collect::<Vec<_>>()
    };
    let place = (Some("log/plugins/profile/r/b.xplane.pb".to_owned()), Some(cut.0.len() as u64));
    assert_eq!(said(&mut session, 0), [place]);
    assert_eq!(said(&mut session, 1), []);
}

#[test]
fn sidecars_and_settings_reach_the_report() {
    let mut session = Session::new();
    add(&mut session, "x/crossprof.json", br#"{"batch_size":8,"seq_length":128}"#);
    add(&mut session, "x/h.trace.json", &json("op"));
    session.runs();
    let model = ModelConfig { batch_size: Some(16), ..ModelConfig::default() };
    let report = session.report(0, &Settings { num_steps: Some(3), model, ..Settings::default() }).unwrap();
    assert_eq!((report.model_config.batch_size, report.model_config.seq_length), (Some(16), Some(128)));
    // 60 us in 3 steps, each with 16 samples of 128 tokens.
    assert_eq!(report.step_timing.avg_step_time_us, Some(20.0));
    assert_eq!(report.throughput.tokens_per_sec.map(f64::round), Some(102_400_000.0));
    assert_eq!(report.provenance.len(), 2);
}

#[test]
fn an_imported_result_is_a_run_and_takes_settings() {
    let mut session = Session::new();
    add(&mut session, "h.trace.json", &json("op"));
    session.runs();
    let first = session.report(0, &Settings::default()).unwrap();
    add(&mut session, "result.json", export::json::profile(&first).as_bytes());
    assert_eq!(names(&mut session), ["h", "result"]);
    assert_eq!(session.report(1, &Settings::default()).as_ref(), Some(&first));
    let model = ModelConfig { batch_size: Some(2), ..ModelConfig::default() };
    let again = session.report(1, &Settings { num_steps: Some(2), model, ..Settings::default() }).unwrap();
    assert_eq!(again.step_timing.avg_step_time_us, Some(30.0));
    assert_eq!(again.throughput.samples_per_sec.map(f64::round), Some(66_667.0));
}

#[test]
fn a_document_of_several_results_is_several_runs() {
    let mut session = Session::new();
    add(&mut session, "h.trace.json", &json("op"));
    session.runs();
    let mut first = session.report(0, &Settings::default()).unwrap();
    let exported = export::json::profile(&first);
    first.metadata.run_name = None;
    let unnamed = export::json::profile(&first);
    add(&mut session, "both.json", format!("[{exported},{unnamed}]").as_bytes());
    assert_eq!(names(&mut session), ["h", "h", "both 2"]);
    // Runs without a name are named after their file.
    first.metadata.run_name = Some("both 2".to_owned());
    assert_eq!(session.report(2, &Settings::default()), Some(first));
    // Each run is handed over separately.
    let mut images = 0;
    while session.hand_over().is_some() {
        images += 1;
    }
    assert_eq!(images, 3);
}

#[test]
fn results_of_a_benchmark_are_a_run_a_method() {
    let results =
        br#"{"lcam": {"execution_time": 45.2, "success": true, "tensorboard_trace": "logs/4gpu_20241201_143022/x"},
        "tad": {"execution_time": 0, "success": false}}"#;
    let mut session = Session::new();
    let result = add(&mut session, "results.json", results);
    assert_eq!((result.error, result.members.len(), result.members[0].kind), (None, 1, FileKind::UnifiedProfile));
    assert_eq!(result.warnings.len(), 1);
    assert_eq!(names(&mut session), ["lcam, 4 GPUs"]);
    let report = session.report(0, &Settings::default()).unwrap();
    assert_eq!(report.step_timing.avg_step_time_us, Some(45_200_000.0));
    assert_eq!(report.warnings, result.warnings);

    let failed = add(&mut session, "failed.json", br#"{"lcam": {"execution_time": 1.0, "success": false}}"#);
    assert!(failed.error.unwrap().to_string().contains("lcam failed"));
}

#[test]
fn unpacking_elsewhere_gives_the_same() {
    let bytes = json("op");
    let mut pushed = Session::new();
    let expected = add(&mut pushed, "h.json", &bytes);
    pushed.runs();

    let mut session = Session::new();
    let file = session.begin("h.json", Some(bytes.len() as u64));
    let mut unpacker = Unpacker::new("h.json");
    for chunk in bytes.chunks(5) {
        unpacker.push(chunk, &mut |piece| session.unpacked(file, piece));
    }
    unpacker.finish(&mut |piece| session.unpacked(file, piece));
    assert_eq!(session.finish(file), expected);
    session.runs();
    let settings = Settings::default();
    assert_eq!(session.report(0, &settings), pushed.report(0, &settings));
}

#[test]
fn a_cancelled_file_leaves_nothing() {
    let mut session = Session::new();
    let file = session.begin("h.json", None);
    session.push(file, &json("op"));
    session.cancel(file);
    session.push(file, b"more");
    assert_eq!(session.finish(file), FileResult::default());
    assert!(session.runs().is_empty());
    assert_eq!(session.report(0, &Settings::default()), None);
}

#[test]
fn the_newest_run_is_the_one_that_was_captured_last() {
    let mut session = Session::new();
    assert_eq!(session.newest(), 0);
    for (time, op) in [("2026_01_05_10_00_00", "a"), ("2026_01_07_10_00_00", "b"), ("2026_01_06_10_00_00", "c")] {
        add(&mut session, &format!("plugins/profile/{time}/h.trace.json"), &json(op));
    }
    assert_eq!(session.runs().len(), 3);
    assert_eq!(session.newest(), 1);
    let mut unknown = Session::new();
    add(&mut unknown, "b.trace.json", &json("b"));
    add(&mut unknown, "a.trace.json", &json("a"));
    assert_eq!((unknown.runs().len(), unknown.newest()), (2, 0));
}

#[test]
fn layers_are_prepared_one_grouping_at_a_time() {
    let mut session = Session::new();
    add(&mut session, "h.xplane.pb", &xplane());
    session.runs();
    let settings = Settings::default();
    let mut prepare = || session.timeline(0, &settings, |context, _| context.prepare_layers()).unwrap();
    let prepared: Vec<bool> = (0..5).map(|_| prepare()).collect();
    // The first answer includes the default grouping.
    assert_eq!(prepared, [true, true, true, false, false]);
}
