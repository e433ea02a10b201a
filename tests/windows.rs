//! Checks that all sections agree on each quantity, in every available profile and for every choice of the window.

use crate::support;
use crate::support::{open, samples};
use crossprof::document::Block;
use crossprof::pages::{PageQuery, View};
use crossprof::{Cell, Query, Session, Settings, TableName, UnifiedProfile, WindowChoice};

/// Returns choices of the window that work for every run, and choices that depend on the run.
fn choices(main: &UnifiedProfile) -> Vec<WindowChoice> {
    let mut all: Vec<WindowChoice> = ["main", "all", "active"].iter().map(|text| text.parse().unwrap()).collect();
    let name = |at: usize| main.steps.get(at).map(|step| step.name.clone().unwrap_or_else(|| at.to_string()));
    if let (Some(first), Some(last)) = (name(1), name(2)) {
        all.push(WindowChoice::Steps { first: first.clone(), last: first.clone() });
        all.push(WindowChoice::Steps { first, last });
    }
    if let Some(window) = &main.window {
        // These edges are inside ops.
        let length = window.end_us - window.start_us;
        let (from_us, to_us) = (window.start_us + 0.31 * length, window.start_us + 0.57 * length);
        if to_us > from_us {
            all.push(WindowChoice::Range { from_us, to_us });
        }
    }
    all
}

fn close(what: &str, a: f64, b: f64) {
    let tolerance = 1e-9 * a.abs().max(b.abs()) + 1e-6;
    assert!((a - b).abs() <= tolerance, "{what}: {a} is not {b}");
}

/// Checks that the sections of one profile agree. Returns false if the profile lacks these sections, for example
/// because no device ran ops.
fn agree(what: &str, profile: &UnifiedProfile) -> bool {
    let (Some(window), Some(usage), Some(devices)) =
        (&profile.window, &profile.compute_utilization, &profile.multi_device)
    else {
        return false;
    };
    let stats = &devices.device_stats;
    let sum = |value: fn(&crossprof::report::DeviceStats) -> f64| stats.iter().map(value).sum::<f64>();
    let (busy, whole) = (sum(|it| it.actual_busy_time_us), sum(|it| it.total_time_us));
    // Devices without work in the window do not have their own window.
    let taking_part = stats.iter().filter(|it| it.total_time_us > 0.0).count();
    close(&format!("{what}: window"), whole / taking_part as f64, window.duration_us);
    close(&format!("{what}: total time"), profile.step_timing.total_time_us, window.duration_us);
    let share = usage.kernel_time_us / (usage.kernel_time_us + usage.overhead_time_us).max(1e-9);
    close(&format!("{what}: busy share"), 100.0 * share, usage.compute_util_percent);
    close(&format!("{what}: devices"), devices.avg_utilization_percent.unwrap(), usage.compute_util_percent);
    // Without the section there are no gaps.
    let gaps = profile.timeline_analysis.as_ref().map(|timeline| timeline.gaps.clone()).unwrap_or_default();
    close(&format!("{what}: busy and gaps"), busy + gaps.total_gap_time_us, whole);
    close(&format!("{what}: gap share"), gaps.gap_time_percent, 100.0 - usage.compute_util_percent);
    let ops: u64 = stats.iter().map(|it| it.kernel_count).sum();
    assert_eq!(profile.step_timing.total_kernels, ops, "{what}: ops");
    let counted: u64 = profile.kernels.kernels_by_category.values().map(|it| it.count).sum();
    assert_eq!(counted, ops, "{what}: ops by category");
    for device in stats {
        let share = device.utilization_percent;
        assert!(share.is_none_or(|share| (0.0..=100.0).contains(&share)), "{what}: {device:?}");
        assert_eq!(share.is_some(), device.total_time_us > 0.0, "{what}: {device:?}");
        let idle = device.gaps.as_ref().map_or(0.0, |gaps| gaps.total_gap_time_us);
        close(&format!("{what}: {}", device.device_name), device.actual_busy_time_us + idle, device.total_time_us);
    }
    let buckets = gaps.gaps_under_10us + gaps.gaps_10_100us + gaps.gaps_100_1000us + gaps.gaps_over_1000us;
    assert_eq!(buckets, gaps.total_gaps, "{what}");
    for step in &profile.steps {
        let parts = step.compute_us + step.communication_us + step.transfer_us;
        close(&format!("{what}: parts of {step:?}"), parts, step.busy_us);
        close(&format!("{what}: {step:?}"), step.busy_us + step.idle_us, step.duration_us);
        assert!(step.busy_us >= 0.0 && step.idle_us >= 0.0, "{what}: {step:?}");
    }
    if let Some(breakdown) = &profile.step_breakdown {
        let parts = &breakdown.parts;
        let all = [
            Some(parts.compute_us),
            Some(parts.communication_us),
            Some(parts.h2d_us),
            Some(parts.d2h_us),
            Some(parts.p2p_us),
            Some(parts.d2d_us),
            parts.infeed_outfeed_us,
            Some(parts.data_movement_us),
            parts.barrier_us,
            parts.compile_us,
            parts.input_bound_us,
            parts.host_bound_us,
            parts.kernel_wait_us,
            Some(parts.other_idle_us),
        ];
        close(&format!("{what}: parts"), all.iter().flatten().sum(), breakdown.duration_us);
    }
    if let (Some(ops), Some(step_ops)) = (&profile.op_statistics, &profile.step_ops) {
        let device_steps = step_ops.device_steps as f64;
        close(&format!("{what}: ops of a step"), step_ops.op_time_us * device_steps, ops.op_time_us);
        let families: f64 = step_ops.families.iter().map(|it| it.self_time_us).sum();
        close(&format!("{what}: families"), families, step_ops.op_time_us);
    }
    true
}

/// Checks that the root of the op tree has the self time of all ops plus the idle time, and that the devices table and
/// the devices page show the report's numbers.
fn tables_agree(what: &str, session: &mut Session, settings: &Settings, profile: &UnifiedProfile) {
    let table = |session: &mut Session, name| session.table(0, settings, name, "", &Query::default()).unwrap();
    let number = |cell: &Cell| match cell {
        Cell::Float(value) => *value,
        Cell::Int(value) => *value as f64,
        _ => 0.0,
    };
    let column = |table: &crossprof::Table, key: &str| {
        table.columns.iter().position(|column| column.key == key).unwrap_or_else(|| panic!("{key}"))
    };
    let tree = table(session, TableName::OpTree);
    // No op ran in this window.
    let Some(ops) = profile.op_statistics.as_ref() else {
        return assert!(table(session, TableName::Ops).rows.is_empty(), "{what}");
    };
    let time = column(&tree, "total_self_time_us");
    close(&format!("{what}: tree"), number(&tree.rows[0][time]), ops.op_time_us + ops.idle_time_us);
    let rows = table(session, TableName::Ops);
    let time = column(&rows, "total_self_time_us");
    close(&format!("{what}: rows"), rows.rows.iter().map(|row| number(&row[time])).sum(), ops.op_time_us);
    let devices = table(session, TableName::Devices);
    let at = column(&devices, "actual_busy_time_us");
    let busy: f64 = profile.multi_device.as_ref().unwrap().device_stats.iter().map(|it| it.actual_busy_time_us).sum();
    close(&format!("{what}: devices"), devices.rows.iter().map(|row| number(&row[at])).sum(), busy);
}

/// Returns the number of windows, and the number of windows for which sections could be compared.
fn check(session: &mut Session, name: &str, with_tables: bool) -> (usize, usize) {
    let Some(main) = session.report(0, &Settings::default()) else { return (0, 0) };
    let mut compared = 0;
    for window in choices(&main) {
        let what = format!("{name}, {window}");
        let settings = Settings { window: window.clone(), ..Settings::default() };
        let profile = session.report(0, &settings).unwrap();
        if let Some(measured) = profile.window.as_ref().filter(|_| window != WindowChoice::Main) {
            assert_eq!(measured.chosen, Some(window.to_string()), "{what}");
        }
        let has_devices = agree(&what, &profile);
        compared += usize::from(has_devices);
        if has_devices && with_tables {
            tables_agree(&what, session, &settings, &profile);
        }
        if let WindowChoice::Steps { first, last } = &window
            && first == last
        {
            let step = &main.steps[1];
            let usage = profile.compute_utilization.as_ref().unwrap();
            close(&format!("{what}: busy"), usage.kernel_time_us, step.busy_us);
            close(&format!("{what}: idle"), usage.overhead_time_us, step.idle_us);
            close(&format!("{what}: step"), profile.step_timing.avg_step_time_us.unwrap(), step.duration_us);
        }
    }
    (choices(&main).len(), compared)
}

#[test]
fn sections_agree_in_every_window_of_our_own_profiles() {
    for path in samples::own() {
        let mut session = support::xprof::open(&path);
        let (windows, compared) = check(&mut session, &path.file_name().unwrap().to_string_lossy(), true);
        // These captures contain no device op.
        let without_ops =
            path.components().any(|part| ["host-only", "tpu-counters"].iter().any(|it| part.as_os_str() == *it));
        assert!(windows >= 3 && compared == if without_ops { 0 } else { windows }, "{path:?}: {compared} of {windows}");
    }
}

#[test]
#[ignore = "reads real profiles"]
fn sections_agree_in_every_window_of_real_profiles() {
    let traces = samples::traces();
    let mut total = 0;
    for path in samples::files(&traces, &[".xplane.pb", ".trace.json.gz"]) {
        if std::fs::metadata(&path).unwrap().len() < 20 << 20 {
            // The profiles include the readable parts of broken profiles.
            let mut session = open(&path.to_string_lossy(), &std::fs::read(&path).unwrap());
            let name = path.strip_prefix(&traces).unwrap().to_string_lossy().into_owned();
            total += check(&mut session, &name, false).1;
        }
    }
    assert!(total > 40, "{total} windows");
}

#[test]
fn an_impossible_window_is_ignored_and_reported() {
    let path = samples::own().into_iter().find(|path| path.to_string_lossy().contains("tpu")).unwrap();
    let mut session = support::xprof::open(&path);
    let main = session.report(0, &Settings::default()).unwrap();
    let settings = Settings { window: "steps:999999-1000000".parse().unwrap(), ..Settings::default() };
    let profile = session.report(0, &settings).unwrap();
    assert!(profile.warnings.iter().any(|warning| warning.code == "window_ignored"), "{:?}", profile.warnings);
    assert_eq!(profile.compute_utilization, main.compute_utilization);
    let _ = session.page(0, &settings, View::Overview, &PageQuery::default()).map(|page| {
        assert!(page.blocks.iter().any(|block| matches!(block, Block::Table(_))));
    });
}
