//! Compares busy time, gaps and step parts of random ops with a count that examines every microsecond.

use crossprof::insight::examine;
use crossprof::report::UnifiedProfile;
use crossprof::run::{Run, Settings, WindowChoice};
use crossprof::trace::TraceBuilder;
use proptest::prelude::*;

const END: usize = 400;
const NAMES: [&str; 3] = ["gemm_f32", "ncclDevKernel_AllReduce_Sum", "MemcpyD2H"];

/// One op: stream, class (index into `NAMES`), start, duration.
type Op = (usize, usize, usize, usize);

fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec((0..3usize, 0..3usize, 0..300usize, 0..80usize), 1..40)
}

fn run(ops: &[Op]) -> Run {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    for step in 0..4 {
        b.event(python, "train", step * 100, 50).step_num(step);
    }
    let streams = [1, 2, 3].map(|n| b.line("/device:GPU:0", &format!("Stream #{n}(Compute)")));
    for &(stream, class, start, duration) in ops {
        b.event(streams[stream], NAMES[class], start as i64, duration as i64);
    }
    Run { trace: b.build(), ..Run::default() }
}

fn profile(ops: &[Op], window: WindowChoice) -> UnifiedProfile {
    examine(&run(ops), &Settings { window, ..Settings::default() }).profile
}

/// Returns the device's activity in each microsecond. The activity is the first of compute, communication and copies
/// that is the innermost op of some stream, or 3 if the device is idle.
fn brute_force(ops: &[Op]) -> Vec<usize> {
    let innermost = |time: usize, stream: usize| {
        let covers = |op: &&(usize, Op)| op.1.0 == stream && op.1.2 <= time && time < op.1.2 + op.1.3;
        let all: Vec<(usize, Op)> = ops.iter().copied().enumerate().collect();
        // The op with the latest start is taken, then the shortest op, then the last op in the file.
        let op = all.iter().filter(covers).max_by_key(|(id, op)| (op.2, std::cmp::Reverse(op.3), *id));
        op.map_or(3, |(_, op)| op.1)
    };
    (0..END).map(|time| (0..3).map(|stream| innermost(time, stream)).min().unwrap()).collect()
}

proptest! {
    #[test]
    fn busy_time_is_what_a_count_finds(ops in ops()) {
        let profile = profile(&ops, WindowChoice::Active);
        let cells = brute_force(&ops);
        let device = &profile.multi_device.as_ref().unwrap().device_stats[0];
        let busy = cells.iter().filter(|&&cell| cell < 3).count();
        prop_assert_eq!(device.actual_busy_time_us, busy as f64);
        let start = ops.iter().map(|op| op.2).min().unwrap();
        let end = ops.iter().map(|op| op.2 + op.3).max().unwrap();
        prop_assert_eq!(device.total_time_us, (end - start) as f64);
        let span = &cells[start..end];
        let gaps = (0..span.len()).filter(|&i| span[i] == 3 && (i == 0 || span[i - 1] < 3)).count();
        let Some(timeline) = &profile.timeline_analysis else {
            // A gap is between two ops.
            prop_assert!(ops.len() < 2);
            return Ok(());
        };
        prop_assert_eq!(timeline.gaps.total_gaps, gaps as u64);
        prop_assert_eq!(timeline.gaps.total_gap_time_us, (end - start - busy) as f64);
    }

    #[test]
    fn parts_of_steps_are_what_a_count_finds(ops in ops()) {
        let profile = profile(&ops, WindowChoice::Main);
        let cells = brute_force(&ops);
        prop_assert_eq!(profile.steps.len(), 4);
        for (step, cells) in profile.steps.iter().zip(cells.chunks(100)).take(3) {
            let count = |part: usize| cells.iter().filter(|&&cell| cell == part).count() as f64;
            let found = [step.compute_us, step.communication_us, step.transfer_us, step.idle_us];
            prop_assert_eq!(found, [0, 1, 2, 3].map(count));
            prop_assert_eq!(step.duration_us, 100.0);
        }
    }

    /// For any range, the numbers of a window equal the results of a brute-force count: busy and idle time, the time of
    /// every op, and the ops that start in the window.
    #[test]
    fn a_range_is_what_a_count_finds(ops in ops(), from in 0usize..350, length in 1usize..150) {
        let to = (from + length).min(ops.iter().map(|op| op.2 + op.3).max().unwrap().max(350));
        let profile = profile(&ops, WindowChoice::Range { from_us: from as f64, to_us: to as f64 });
        let cells = brute_force(&ops);
        let cells: Vec<usize> = (from..to).map(|time| cells.get(time).copied().unwrap_or(3)).collect();
        let device = &profile.multi_device.as_ref().unwrap().device_stats[0];
        let busy = cells.iter().filter(|&&cell| cell < 3).count() as f64;
        prop_assert_eq!((device.actual_busy_time_us, device.total_time_us), (busy, (to - from) as f64));
        // Without the section, there are no gaps.
        let gaps = profile.timeline_analysis.as_ref().map_or(0.0, |timeline| timeline.gaps.total_gap_time_us);
        prop_assert_eq!(gaps, (to - from) as f64 - busy);
        let overlap = |op: &Op| (op.2 + op.3).min(to).saturating_sub(op.2.max(from)) as f64;
        prop_assert_eq!(device.total_kernel_time_us, ops.iter().map(overlap).sum::<f64>());
        let start = |time: usize| (from..to).contains(&time);
        let covers = ops.iter().all(|op| op.2 >= from && op.2 + op.3 <= to);
        let starting = ops.iter().filter(|op| start(op.2) || covers).count() as u64;
        prop_assert_eq!(device.kernel_count, starting);
        prop_assert_eq!(profile.step_timing.total_kernels, starting);
        let counted: u64 = profile.kernels.kernels_by_category.values().map(|category| category.count).sum();
        prop_assert_eq!(counted, starting);
    }

    /// A window of one step equals that step's row. The numbers of adjacent windows add up, and the numbers of all
    /// windows add up to the numbers of the whole capture.
    #[test]
    fn windows_add_up(ops in ops()) {
        let of = |window: &str| profile(&ops, window.parse().unwrap());
        let main = of("main");
        prop_assert_eq!(main.steps.len(), 4);
        for step in main.steps.iter().take(3) {
            let name = step.name.clone().unwrap();
            let chosen = of(&format!("steps:{name}"));
            let usage = chosen.compute_utilization.as_ref().unwrap();
            prop_assert_eq!((usage.kernel_time_us, usage.overhead_time_us), (step.busy_us, step.idle_us));
            let parts = &chosen.step_breakdown.as_ref().unwrap().parts;
            prop_assert_eq!((parts.compute_us, parts.communication_us), (step.compute_us, step.communication_us));
            prop_assert_eq!(chosen.step_timing.avg_step_time_us, Some(step.duration_us));
            prop_assert_eq!(chosen.step_timing.total_kernels as f64, step.num_kernels);
            let window = chosen.window.as_ref().unwrap();
            prop_assert_eq!((window.start_us, window.duration_us), (step.start_us, step.duration_us));
            prop_assert_eq!(chosen.multi_device.as_ref().unwrap().device_stats[0].kernel_count as f64, step.num_kernels);
        }
        let [one, two, both] = ["steps:0", "steps:1-2", "steps:0-2"].map(of);
        let self_time = |profile: &UnifiedProfile| profile.op_statistics.as_ref().map_or(0.0, |ops| ops.op_time_us);
        let time = |profile: &UnifiedProfile| profile.multi_device.as_ref().unwrap().device_stats[0].total_kernel_time_us;
        prop_assert_eq!(self_time(&one) + self_time(&two), self_time(&both));
        prop_assert_eq!(time(&one) + time(&two), time(&both));
        let count = |profile: &UnifiedProfile| profile.step_timing.total_kernels;
        prop_assert_eq!(count(&one) + count(&two), count(&both));
        let (all, active) = (of("all"), of("active"));
        prop_assert_eq!(self_time(&all), self_time(&active));
        prop_assert_eq!(count(&all), ops.len() as u64);
    }
}
