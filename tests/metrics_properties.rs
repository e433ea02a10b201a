//! Busy time, gaps and the parts of a step of random ops against a count of every microsecond.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crossprof::insight::examine;
use crossprof::metrics::{Run, Settings};
use crossprof::report::UnifiedProfile;
use crossprof::trace::builder::TraceBuilder;
use proptest::prelude::*;

const END: usize = 400;
const NAMES: [&str; 3] = ["gemm_f32", "ncclDevKernel_AllReduce_Sum", "MemcpyD2H"];

/// One op: stream, class (index into `NAMES`), start, duration.
type Op = (usize, usize, usize, usize);

fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec((0..3usize, 0..3usize, 0..300usize, 0..80usize), 1..40)
}

fn profile(ops: &[Op]) -> UnifiedProfile {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    for step in 0..4 {
        b.event(python, "train", step * 100, 50).step_num(step);
    }
    let streams = [1, 2, 3].map(|n| b.line("/device:GPU:0", &format!("Stream #{n}(Compute)")));
    for &(stream, class, start, duration) in ops {
        b.event(streams[stream], NAMES[class], start as i64, duration as i64);
    }
    examine(&Run { trace: b.build(), ..Run::default() }, &Settings::default()).profile
}

/// What the device does in each microsecond: the first of compute, communication and copies that is the innermost op of
/// some stream; 3 for nothing.
fn brute_force(ops: &[Op]) -> Vec<usize> {
    let innermost = |time: usize, stream: usize| {
        let covers = |op: &&(usize, Op)| op.1.0 == stream && op.1.2 <= time && time < op.1.2 + op.1.3;
        let all: Vec<(usize, Op)> = ops.iter().copied().enumerate().collect();
        // The latest start; of equals the shortest; of equals the last in the file.
        let op = all.iter().filter(covers).max_by_key(|(id, op)| (op.2, std::cmp::Reverse(op.3), *id));
        op.map_or(3, |(_, op)| op.1)
    };
    (0..END).map(|time| (0..3).map(|stream| innermost(time, stream)).min().unwrap()).collect()
}

proptest! {
    #[test]
    fn busy_time_is_what_a_count_finds(ops in ops()) {
        let profile = profile(&ops);
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
            // A gap lies between two ops.
            prop_assert!(ops.len() < 2);
            return Ok(());
        };
        prop_assert_eq!(timeline.gaps.total_gaps, gaps as u64);
        prop_assert_eq!(timeline.gaps.total_gap_time_us, (end - start - busy) as f64);
    }

    #[test]
    fn parts_of_steps_are_what_a_count_finds(ops in ops()) {
        let profile = profile(&ops);
        let cells = brute_force(&ops);
        for (step, cells) in profile.steps.iter().zip(cells.chunks(100)).take(3) {
            let count = |part: usize| cells.iter().filter(|&&cell| cell == part).count() as f64;
            let found = [step.compute_us, step.communication_us, step.transfer_us, step.idle_us];
            prop_assert_eq!(found, [0, 1, 2, 3].map(count));
            prop_assert_eq!(step.duration_us, 100.0);
        }
    }
}
