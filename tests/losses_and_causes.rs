//! Checks that lost time is reported once, with its cause: late devices without replica groups, long steps, waits of
//! host and devices, and work outside the window. The expected values are sums over the events that the tests write.

use crate::support::chrome::ChromeTrace;
use crate::support::{open, tpu};
use crossprof::report::{Finding, FindingSeverity};
use crossprof::table::Cell;
use crossprof::{Query, Session, Settings, TableName, UnifiedProfile};

const US: u64 = 1_000_000;

fn read(text: &str) -> (Session, UnifiedProfile) {
    let mut session = open("a.trace.json", text.as_bytes());
    let profile = session.report(0, &Settings::default()).unwrap();
    (session, profile)
}

fn fired(profile: &UnifiedProfile) -> Vec<&Finding> {
    profile.findings.iter().filter(|it| it.severity != FindingSeverity::NotChecked).collect()
}

fn finding<'p>(profile: &'p UnifiedProfile, id: &str) -> &'p Finding {
    let found = fired(profile).into_iter().find(|it| it.id == id);
    found.unwrap_or_else(|| panic!("no {id} in {:#?}", fired(profile)))
}

/// Returns the value of a column in the row `id` of the checklist.
fn check(session: &mut Session, id: &str, column: &str) -> String {
    let table = session.table(0, &Settings::default(), TableName::Checklist, "", &Query::default()).unwrap();
    let place = |key: &str| table.columns.iter().position(|column| column.key == key).unwrap();
    let row = table.rows.iter().find(|row| row[place("id")] == Cell::Text(id.to_owned())).unwrap();
    match &row[place(column)] {
        Cell::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

fn near(value: Option<f64>, truth: f64) {
    assert!(value.is_some_and(|value| (value - truth).abs() < 1e-3), "{value:?} is not {truth}");
}

// Late devices.

/// In all 48 all-reduces of the example, the last chip arrives last. For the counted steps 2 to 7, a script summed
/// `duration - shortest duration` over the events of the file, and the shortest duration once per chip.
#[test]
fn the_last_chip_of_the_example_is_named() {
    let (_, profile) = read(&tpu::trace().0);
    let found = profile.communication.as_ref().unwrap();
    assert_eq!((found.straggler.as_deref(), found.straggler_percent), (Some("/device:TPU:3"), Some(100.0)));
    near(found.wait_time_us, 17_208.919);
    near(found.transfer_time_us, 28_506.0);
    assert!(profile.not_measured.iter().all(|it| it.field != "communication.wait_time_us"));
}

/// Builds runs of an all-reduce on four GPUs, 1 ms apart. `starts` contains the start on each device. All devices end
/// 400 us after the run began. `lacks` leaves out a run on one device.
fn gpus(programs: &[&str], starts: [u64; 4], lacks: Option<(u32, u64)>) -> String {
    let mut json = ChromeTrace::new();
    for device in 0..4 {
        json.process(1 + device, &format!("/device:GPU:{device}"));
        json.thread(1 + device, 7, "Stream #7(Compute)");
    }
    for run in 0..6 {
        let module = programs[run as usize % programs.len()];
        for (device, start) in (0..4).zip(starts) {
            let at = 1000 * US * (run + 1);
            let begin = at + start * US;
            let args = |op: &'static str| [("hlo_module", module), ("hlo_op", op)];
            json.event((1 + device, 7), "gemm_fusion_dot_1", at - 100 * US, 90 * US + start * US, &args("dot.1"));
            if lacks != Some((device, run)) {
                let name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)";
                json.event((1 + device, 7), name, begin, (400 - start) * US, &args("all-reduce.1"));
            }
        }
    }
    json.finish()
}

#[test]
fn gpus_without_replica_groups_wait_for_the_last_one() {
    let (_, profile) = read(&gpus(&["jit_f"], [0, 30, 200, 10], None));
    let found = profile.communication.unwrap();
    assert_eq!((found.straggler.as_deref(), found.straggler_percent), (Some("/device:GPU:2"), Some(100.0)));
    // The ops repeat six times, which gives five complete steps: 200 + 170 + 190 us of waiting, and four times 200 us of
    // transfer.
    near(found.wait_time_us, 5.0 * 560.0);
    near(found.transfer_time_us, 5.0 * 800.0);
}

#[test]
fn each_program_is_matched_by_itself_and_a_missing_run_is_left_out() {
    let (_, profile) = read(&gpus(&["jit_f", "jit_g"], [0, 30, 10, 200], None));
    let found = profile.communication.unwrap();
    assert_eq!(found.straggler.as_deref(), Some("/device:GPU:3"));
    near(found.wait_time_us, 5.0 * 560.0);
    let (_, profile) = read(&gpus(&["jit_f"], [0, 30, 10, 200], Some((1, 2))));
    let found = profile.communication.unwrap();
    assert_eq!((found.num_collectives, found.straggler.as_deref()), (23, Some("/device:GPU:3")));
    near(found.wait_time_us, 5.0 * 560.0);
}

// Long steps.

/// Steps 3 and 7 wait for their batches. In the file, their `data_loading` takes 8,419 and 8,644 us, and in the other steps
/// it takes 550 to 650 us.
#[test]
fn the_input_stalls_of_the_example_are_a_finding() {
    let (mut session, profile) = read(&tpu::trace().0);
    let found = finding(&profile, "data_loading");
    assert!(
        found.message.contains("Steps 3 and 7 lose ") && found.message.contains("input wait in data_loading."),
        "{found:#?}"
    );
    assert!(fired(&profile).iter().all(|it| it.id != "step_time_variation"), "one loss, one finding");
    assert_eq!(check(&mut session, "input", "judgement"), "warning");
    assert_eq!(check(&mut session, "input", "remedy"), found.remedy);
}

/// Each step on the GPU lasts 1 ms, with 100 us in `load_batch` (600 us in step 5), and then an op of 800 us (1,700 us
/// in step 8).
#[test]
fn losses_have_their_causes_and_the_largest_is_first() {
    let mut json = ChromeTrace::new();
    json.process(1, "/device:GPU:0");
    json.thread(1, 7, "Stream #7(Compute)");
    json.process(701, "/host:CPU");
    json.thread(701, 1, "python");
    let mut now = 1000 * US;
    for step in 0..14_u64 {
        let load = if step == 5 { 600 } else { 100 };
        let op = if step == 8 { 1700 } else { 800 };
        let length = (load + op + 100) * US;
        json.event((701, 1), "train", now, length - US, &[("step_num", &step.to_string())]);
        json.event((701, 1), "load_batch", now, load * US, &[]);
        let id = step.to_string();
        json.event((701, 1), "cuLaunchKernel", now + (load + 10) * US, 5 * US, &[("correlation_id", &id)]);
        let args = [("correlation_id", id.as_str()), ("hlo_module", "jit_f"), ("hlo_op", "fusion.7")];
        json.event((1, 7), "loop_fusion_7", now + (load + 20) * US, op * US, &args);
        now += length;
    }
    let (_, profile) = read(&json.finish());
    let found = finding(&profile, "step_time_variation");
    assert_eq!(found.title, "Step 8 loses 900 µs: compute in loop_fusion_7");
    assert!(found.message.contains("Step 5 takes 1.50 ms, 500 µs longer than the median step of 1.00 ms. In it, input wait takes 600 µs, 500 µs more than usual. Meanwhile the host is in load_batch on the thread python."), "{}", found.message);
}

// Host and devices.

/// Builds steps of 1 ms with an op of 150 us. For 800 us of each step, the host runs the functions in `python` (names
/// with lengths in us). Another thread runs `behind` meanwhile.
fn waiting(python: &[(&str, u64)], behind: Option<&str>) -> String {
    let mut json = ChromeTrace::new();
    json.process(1, "/device:GPU:0");
    json.thread(1, 7, "Stream #7(Compute)");
    json.process(701, "/host:CPU");
    json.thread(701, 1, "python");
    json.thread(701, 9, "se_gpu_worker");
    for step in 0..12_u64 {
        let at = 1000 * US * (step + 1);
        json.event((701, 1), "train", at, 5 * US, &[("step_num", &step.to_string())]);
        let mut now = at + 10 * US;
        for (name, us) in python {
            json.event((701, 1), name, now, us * US, &[]);
            now += us * US;
        }
        if let Some(name) = behind {
            json.event((701, 9), name, at + 20 * US, 750 * US, &[]);
        }
        let id = step.to_string();
        json.event((701, 1), "cuLaunchKernel", at + 820 * US, 5 * US, &[("correlation_id", &id)]);
        let args = [("correlation_id", id.as_str()), ("hlo_module", "jit_f"), ("hlo_op", "fusion.7")];
        json.event((1, 7), "loop_fusion_7", at + 830 * US, 150 * US, &args);
    }
    json.finish()
}

/// Returns the only finding about idle time.
fn idle(profile: &UnifiedProfile) -> &Finding {
    let ids = ["host_overhead", "low_device_utilization", "idle_gaps", "many_small_kernels", "data_loading"];
    let found: Vec<&Finding> = fired(profile).into_iter().filter(|it| ids.contains(&it.id.as_str())).collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    found[0]
}

#[test]
fn waits_of_host_and_devices_are_named() {
    let frames = [("$array.py:645 block_until_ready", 800)];
    let (_, profile) = read(&waiting(&frames, Some("BufferSequencingEvent::Execute")));
    let found = idle(&profile);
    assert!(found.title.contains("wait for transfers (BufferSequencingEvent::Execute)"), "{}", found.title);
    assert!(found.message.contains("waits too: it is in block_until_ready (array.py:645) for 94"), "{}", found.message);
    assert!(found.message.contains("(thread se_gpu_worker)"), "{}", found.message);
    assert!(
        !found.remedy.contains("do not read results") && found.remedy.contains("Transfer less data"),
        "{}",
        found.remedy
    );
}

#[test]
fn a_wait_of_the_runtime_and_a_copy_are_named_too() {
    let (_, profile) = read(&waiting(&[("cudaStreamSynchronize", 800)], Some("async_copy_to_device")));
    let found = idle(&profile);
    assert!(found.title.contains("wait for transfers (async_copy_to_device)"), "{}", found.title);
    assert!(!found.remedy.contains("do not read results"), "{}", found.remedy);
    // The trace does not show what the host waits for, so there is no advice to wait less.
    let (_, profile) = read(&waiting(&[("cudaStreamSynchronize", 800)], None));
    let found = idle(&profile);
    assert!(found.title.starts_with("Devices and host both wait"), "{}", found.title);
    assert!(!found.remedy.contains("do not read results"), "{}", found.remedy);
}

#[test]
fn the_host_is_named_by_whatever_the_file_has() {
    // The frames belong to libraries.
    let (_, profile) = read(&waiting(&[("$core.py:387 bind", 500), ("$linear_util.py:9 call_wrapped", 300)], None));
    let found = idle(&profile);
    assert!(!found.message.contains("annotated"), "{}", found.message);
    assert!(found.message.contains("in bind (thread python) for 58"), "{}", found.message);
    assert!(found.remedy.contains("do not read results"), "{}", found.remedy);
    // A runtime thread runs, but no Python.
    let (_, profile) = read(&waiting(&[], Some("Allocate")));
    let found = idle(&profile);
    assert!(found.message.contains("in Allocate (thread se_gpu_worker) for 88"), "{}", found.message);
    // There are no events.
    let (_, profile) = read(&waiting(&[], None));
    assert!(idle(&profile).message.contains("in no recorded event for 9"), "{}", idle(&profile).message);
}

/// The annotation that marks the steps covers each step as a whole, so it is not a cause of idle time.
#[test]
fn the_annotation_of_the_step_is_no_cause() {
    let mut json = ChromeTrace::new();
    json.process(1, "/device:GPU:0");
    json.thread(1, 7, "Stream #7(Compute)");
    json.process(701, "/host:CPU");
    json.thread(701, 1, "python");
    for step in 0..12_u64 {
        let at = 1000 * US * (step + 1);
        // One step is longer because of idle time.
        let late = if step == 7 { 0 } else { 200 * US };
        json.event((701, 1), "train", at, 995 * US, &[("step_num", &step.to_string())]);
        let id = step.to_string();
        json.event((701, 1), "cuLaunchKernel", at + 820 * US - late, 5 * US, &[("correlation_id", &id)]);
        let args = [("correlation_id", id.as_str()), ("hlo_module", "jit_f"), ("hlo_op", "fusion.7")];
        json.event((1, 7), "loop_fusion_7", at + 830 * US - late, 150 * US, &args);
    }
    let (_, profile) = read(&json.finish());
    let found = idle(&profile);
    assert!(found.message.contains("in the step, in code that the capture does not name, for"), "{}", found.message);
    for found in fired(&profile) {
        assert!(!format!("{} {}", found.title, found.message).contains("in train"), "{found:#?}");
    }
}

// Work outside the window.

/// The trace has four annotated steps with 1 ms of work each, and then 200 ms of work without an annotation.
#[test]
fn work_outside_of_the_steps_is_a_finding() {
    let mut json = ChromeTrace::new();
    json.process(1, "/device:GPU:0");
    json.thread(1, 7, "Stream #7(Compute)");
    json.process(701, "/host:CPU");
    json.thread(701, 1, "python");
    for step in 0..5_u64 {
        let at = 1000 * US * step;
        json.event((701, 1), "train", at, 990 * US, &[("step_num", &step.to_string())]);
        json.event((1, 7), "loop_fusion_7", at + 10 * US, 900 * US, &[("hlo_module", "jit_f"), ("hlo_op", "fusion.7")]);
    }
    let args = [("hlo_module", "jit_g"), ("hlo_op", "dot.1")];
    for run in 0..200 {
        json.event((1, 7), "gemm_fusion_dot_1", (6000 + 1000 * run) * US, 990 * US, &args);
    }
    let (_, profile) = read(&json.finish());
    let window = profile.window.as_ref().unwrap();
    let counted = window.num_steps.unwrap() as f64;
    near(window.work_percent, 100.0 * 900.0 * counted / (5.0 * 900.0 + 200.0 * 990.0));
    let found = finding(&profile, "outside_window");
    assert_eq!(found.severity, FindingSeverity::Warning);
    assert!(found.title.ends_with("of the device work is outside the window"), "{}", found.title);
    assert!(window.caution.as_ref().is_some_and(|caution| found.message.starts_with(caution.as_str())));
}
