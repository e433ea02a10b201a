//! Seven synthetic steps with known parts (`support/seven_steps.rs`), exact to the picosecond in every section and table.
//! XProf counts the 90 us of `Memcpy*` as compute.

use crate::support::cli::{crossprof, scratch, stderr, stdout};
use crate::support::{decode_json, load_with, seven_steps};
use crossprof::metrics::{Analysis, HostRole, StepPart, StepRow, analyse};
use crossprof::run::{Run, Settings, WindowChoice};
use crossprof::{Cell, Ps, Query, Session, Table, TableName, UnifiedProfile};

fn settings(window: WindowChoice) -> Settings {
    Settings { window, ..Settings::default() }
}

fn report(window: WindowChoice) -> UnifiedProfile {
    let (result, mut reports) = load_with("a.trace.json", seven_steps::trace().as_bytes(), &settings(window));
    assert_eq!((result.error, reports.len()), (None, 1));
    reports.remove(0)
}

fn analysis(window: WindowChoice) -> Analysis {
    let run = Run { trace: decode_json(seven_steps::trace().as_bytes()), ..Run::default() };
    analyse(&run, &settings(window)).analysis
}

fn table(name: TableName) -> Table {
    let mut session = Session::new();
    let file = session.begin("a.trace.json", None);
    session.push(file, seven_steps::trace().as_bytes());
    session.finish(file);
    assert_eq!(session.runs().len(), 1);
    session.table(0, &settings(WindowChoice::Active), name, "", &Query::default()).unwrap()
}

fn column(table: &Table, key: &str) -> usize {
    table.columns.iter().position(|column| column.key == key).unwrap()
}

#[test]
fn steps_have_their_length_and_their_parts() {
    let profile = report(WindowChoice::Main);
    let timing = &profile.step_timing;
    assert_eq!((timing.num_steps, timing.step_count_source.as_str()), (7, "step_num"));
    assert_eq!((timing.avg_step_time_us, timing.stddev_step_time_us), (Some(1000.0), Some(0.0)));
    assert_eq!(timing.kernels_per_step, Some(8.0));
    assert_eq!(profile.steps.len(), 7);
    for (index, step) in profile.steps.iter().enumerate() {
        // Each step has three kernels, an all-reduce and four copies. Nothing overlaps.
        assert_eq!((step.compute_us, step.communication_us, step.transfer_us), (240.0, 50.0, 100.0), "{step:?}");
        // The last step has the length of its annotation. The host pauses for 100 us between annotations.
        assert_eq!((step.counted, step.duration_us), if index < 6 { (true, 1000.0) } else { (false, 900.0) });
        assert_eq!((step.busy_us, step.idle_us), (390.0, step.duration_us - 390.0), "{step:?}");
    }
    let utilization = profile.compute_utilization.unwrap();
    assert_eq!((utilization.kernel_time_us, utilization.overhead_time_us), (390.0, 610.0));
    assert_eq!(utilization.compute_util_percent, 39.0);
}

/// Of the idle time, 35 us are between ops that were launched in advance, and 575 us are before the host launches a
/// step's first kernel. The step's annotation covers 100 of these 575 us. The last step's annotation continues for 375
/// us after its last op.
#[test]
fn idle_time_has_its_causes() {
    let analysis = analysis(WindowChoice::Main);
    let found = &analysis.step_breakdown;
    assert_eq!(found.rows.len(), 7);
    let work = [
        (StepPart::Compute, 100.0 + 80.0 + 60.0),
        (StepPart::Communication, 50.0),
        (StepPart::HostToDevice, 40.0 + 10.0),
        (StepPart::DeviceToHost, 30.0),
        (StepPart::DeviceToDevice, 20.0),
    ];
    let parts = |row: &StepRow| -> Vec<(StepPart, f64)> {
        let all = StepPart::ALL.into_iter().map(|part| (part, row.parts.get(part).as_us()));
        all.filter(|(_, time)| *time != 0.0).collect()
    };
    for row in &found.rows {
        let last = row.step == Some(6);
        let waits = [(StepPart::HostBound, if last { 100.0 } else { 575.0 }), (StepPart::KernelWait, 35.0)];
        let rest = last.then_some((StepPart::OtherIdle, 375.0));
        assert_eq!(parts(row), work.into_iter().chain(waits).chain(rest).collect::<Vec<_>>());
        assert_eq!((row.parts.busy().as_us(), row.num_ops, row.partial, row.counted), (390.0, 8, last, !last));
        assert_eq!((row.overlap.communication.as_us(), row.overlap.hidden_communication), (50.0, Ps::ZERO));
        assert_eq!((row.overlap.transfer.as_us(), row.overlap.hidden_transfer), (100.0, Ps::ZERO));
    }
    let mean = found.mean.as_ref().unwrap();
    assert_eq!((mean.num_steps, mean.duration_us, mean.num_ops), (6, 1000.0, 8.0));
    assert_eq!((mean.part_us(StepPart::Compute), mean.part_us(StepPart::HostToDevice)), (240.0, 50.0));
    assert_eq!((mean.communication_overlap_percent(), found.concurrency), (Some(0.0), Some(1.0)));
}

/// The host's annotation covers 900 of 1000 us. During 8 x 5 us of these, the host launches ops.
#[test]
fn the_host_launches_eight_times_a_step() {
    let all = analysis(WindowChoice::All);
    let threads = all.step_breakdown.host_threads.as_ref().unwrap();
    let role = |wanted: HostRole| threads.roles.iter().find(|(role, _)| *role == wanted).map(|(_, time)| time.as_us());
    assert_eq!((role(HostRole::Launch), role(HostRole::Python)), (Some(7.0 * 40.0), Some(7.0 * 860.0)));
    assert_eq!((threads.busy.as_us(), threads.idle.as_us(), threads.window.as_us()), (6300.0, 600.0, 6900.0));
    let launches = table(TableName::Launches);
    let sum = |key: &str| -> f64 {
        let number = |row: &Vec<Cell>| match row[column(&launches, key)] {
            Cell::Int(value) => value as f64,
            Cell::Float(value) => value,
            _ => panic!("{key}"),
        };
        launches.rows.iter().map(number).sum()
    };
    assert_eq!((sum("launches"), sum("total_host_us")), (56.0, 280.0));
}

#[test]
fn copies_are_listed_by_direction_with_their_bytes() {
    let profile = report(WindowChoice::Active);
    let memory = profile.memory_operations.as_ref().unwrap();
    assert_eq!((memory.h2d_count, memory.h2d_total_time_us), (Some(14), Some(7.0 * 50.0)));
    assert_eq!((memory.d2h_count, memory.d2h_total_time_us), (Some(7), Some(7.0 * 30.0)));
    assert_eq!((memory.d2d_count, memory.d2d_total_time_us), (Some(7), Some(7.0 * 20.0)));
    assert_eq!(memory.transfers.len(), 3);
    for (direction, us) in [("h2d", 40.0), ("d2h", 30.0), ("d2d", 20.0)] {
        let transfer = memory.transfers.iter().find(|it| it.direction == direction).unwrap();
        // Only the first of the two copies to the device has a size.
        assert_eq!((transfer.total_bytes, transfer.sized_count), (Some(7 * 1_048_576), 7), "{direction}");
        let bandwidth = transfer.bandwidth_gb_per_sec.unwrap();
        assert!((bandwidth - 1_048_576.0 / us / 1e3).abs() < 1e-9, "{bandwidth}");
    }
    let transfers = table(TableName::Transfers);
    let row = |direction: &str, sized: bool| {
        let [of, bytes] = ["direction", "total_bytes"].map(|key| column(&transfers, key));
        let fits =
            |row: &&Vec<Cell>| row[of] == Cell::Text(direction.to_owned()) && (row[bytes] != Cell::Absent) == sized;
        let row = transfers.rows.iter().find(fits).unwrap();
        ["count", "total_time_us", "total_bytes"].map(|key| row[column(&transfers, key)].clone())
    };
    let sized = |count, time| [Cell::Int(count), Cell::Float(time), Cell::Int(count * 1_048_576)];
    assert_eq!(row("h2d", true), sized(7, 280.0));
    assert_eq!(row("h2d", false), [Cell::Int(7), Cell::Float(70.0), Cell::Absent]);
    assert_eq!(row("d2h", true), sized(7, 210.0));
    assert_eq!(row("d2d", true), sized(7, 140.0));
}

#[test]
fn one_all_reduce_a_step() {
    let profile = report(WindowChoice::Active);
    let found = profile.communication.unwrap();
    assert_eq!((found.num_collectives, found.total_time_us, found.kinds.len()), (7, 350.0, 1));
    assert_eq!(found.kinds[0].kind, "all-reduce");
    let categories = &profile.kernels.kernels_by_category;
    assert_eq!(categories["all-reduce"].time_us, 350.0);
    assert_eq!(categories.values().map(|it| it.time_us).sum::<f64>(), 7.0 * 390.0);
}

/// Parts are fractions of a step, even in a window without steps. The capture is 6.9 ms long, and its counted steps take 1
/// ms each.
#[test]
fn step_fractions_match_step_times() {
    for window in [WindowChoice::Main, WindowChoice::All, WindowChoice::Active] {
        let profile = report(window);
        let waiting = profile.findings.iter().find(|finding| finding.id == "host_overhead").unwrap();
        let said = "Devices wait for the host for 575 µs of each 1.00 ms step (57.5 %)";
        assert!(waiting.message.starts_with(said), "{}", waiting.message);
    }
}

#[test]
fn a_budget_holds_its_numbers() {
    let folder = scratch("seven_steps", "budget");
    std::fs::write(folder.join("a.trace.json"), seven_steps::trace()).unwrap();
    for (rule, code) in [
        ("step_timing.num_steps == 7", 0),
        ("step_timing.median_step_time_us == 1 ms", 0),
        ("memory_operations.transfers[direction=d2h].total_bytes == 7 MiB", 0),
        ("memory_operations.transfers[direction=d2h].total_bytes < 7.3 MB", 1),
    ] {
        let output = crossprof(&folder, &["check", "a.trace.json", "--window", "all", "--limit", rule]);
        assert_eq!(output.status.code(), Some(code), "{rule}\n{}{}", stdout(&output), stderr(&output));
    }
}
