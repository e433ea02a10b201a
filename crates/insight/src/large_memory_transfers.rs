//! Copies between host and device delay the step.
//!
//! GPU only: the measure is the time of copies between host and device that neither computation nor communication overlaps, as
//! a share of the window. Severity: warning from 10 %, critical from 30 % (ours: the JAX guide describes the pattern but gives
//! no limit). Confidence: high. Remedy: call `jax.device_put` once and ahead of time, and do not convert arrays to NumPy in the
//! loop. A program is assumed to keep state on the host, such as the state of an optimizer, if about as much data comes from
//! pinned host memory as goes back to it: at most a quarter more or less, and at least 1 MiB per copy on average (our limits).
//! The finding then names this state, and the remedy is to keep it on the device.

use super::draft::{Draft, lacks};
use super::limits::{BOTTLENECK_PERCENT, OVERHEAD_PERCENT};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use metrics::{CopyRow, StepPart};
use report::{Confidence, FindingSeverity, Transfer, View};
use trace::copies::Direction;

pub(super) static RULE: Rule = Rule {
    id: "large_memory_transfers",
    title: "Copies between host and device take much of the time",
    ..Rule::checked_by(check)
};

/// Copies are treated as copies of state that is kept on the host if the bytes in one direction are at most this many
/// times the bytes in the other.
const SAME_DATA_RATIO: f64 = 1.25;
/// Minimum mean size of a copy of state that is kept on the host. We chose this limit because small results and batches
/// may have similar sizes by chance.
const LEAST_STATE_BYTES: u64 = 1 << 20;

/// Returns the bytes that go from pinned host memory to the device and back, if the program keeps state on the host.
fn offloaded(rows: &[CopyRow]) -> Option<[u64; 2]> {
    let sum = |direction: Direction, memory: fn(&CopyRow) -> &str| {
        let of = || rows.iter().filter(move |row| row.class.direction == direction && memory(row) == "pinned");
        let (bytes, count) =
            (of().filter_map(|row| row.bytes).sum::<u64>(), of().map(|row| row.sized_count).sum::<u64>());
        (bytes.checked_div(count)? >= LEAST_STATE_BYTES).then_some(bytes)
    };
    let to = sum(Direction::HostToDevice, |row| &row.class.source_memory)?;
    let from = sum(Direction::DeviceToHost, |row| &row.class.target_memory)?;
    (to.max(from) as f64 <= SAME_DATA_RATIO * to.min(from) as f64).then_some([to, from])
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() {
        // TPU captures do not record these copies as device ops; a CPU backend has none.
        return Verdict::Irrelevant;
    }
    let (Some(window), Some(to), Some(from)) = (
        numbers.window_of_parts(),
        numbers.part_percent(StepPart::HostToDevice),
        numbers.part_percent(StepPart::DeviceToHost),
    ) else {
        return lacks("too few device ops ran to measure where their time goes. Capture several steps.");
    };
    let share = to + from;
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let critical = share >= BOTTLENECK_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let between = |it: &&Transfer| matches!(it.direction.as_str(), "h2d" | "d2h");
    let transfers = numbers.profile.memory_operations.iter().flat_map(|memory| &memory.transfers).filter(between);
    let parts: Vec<String> = transfers
        .map(|it| {
            let rate = it.bandwidth_gb_per_sec;
            let rate = rate.map_or(String::new(), |rate| format!(" at {}", format::si(rate * 1e9, "B/s")));
            format!("{} {} in {}{rate}", format::count(it.count), it.direction, format::time_us(it.total_time_us))
        })
        .collect();
    let offloaded = offloaded(&numbers.context.analysis.copies.rows);
    let state = offloaded.map_or(String::new(), |[to, from]| {
        format!(
            " About the same data goes both ways: {} come from pinned host memory, and {} go back to it.",
            format::bytes(to),
            format::bytes(from)
        )
    });
    let (title, remedy) = match offloaded {
        Some(_) => (
            format!("Copying state from the host and back takes {} of the time", format::percent(share)),
            "Keep the state (for example, the optimizer's) on the device if its memory has room: do not put it into pinned_host memory. \
             Otherwise keep only a part of it on the host, and move it inside jit, so that copies and computation overlap.",
        ),
        None => (
            RULE.title.to_owned(),
            "Copy data to the device once and ahead of its use, keep intermediate results there, and do not convert results to \
             NumPy arrays or Python numbers inside the loop.",
        ),
    };
    let message = format!(
        "Exposed copies between host and device take {} of {} ({}). All copies in the window: {}.{state}",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share),
        parts.join(", ")
    );
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(remedy)
        .passed("exposed_transfer_percent", share, if critical { BOTTLENECK_PERCENT } else { OVERHEAD_PERCENT.good })
        .evidence("h2d_percent", to)
        .evidence("d2h_percent", from)
        .at_stake(share)
        .link(View::Transfers, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel, op};
    use report::FindingSeverity::{Critical, Warning};

    #[test]
    fn fires_above_its_limit() {
        let trace = |length: i64| {
            gpu_steps(12, move |b, at| {
                op(b, ("/device:GPU:0", "Stream #8(MemcpyH2D)"), "MemcpyH2D", at + 1, at + 5, length);
                kernel(b, "gemm", at + 2, at + 5 + length, 900 - length);
            })
        };
        assert_eq!(finding(trace(310), &RULE).severity, Critical);
        assert_eq!(finding(trace(110), &RULE).severity, Warning);
        fine(trace(95), &RULE);
    }

    #[test]
    fn state_that_goes_back_to_the_host_is_named() {
        let trace = |back: i64| {
            gpu_steps(12, move |b, at| {
                let details =
                    |from, to, bytes: i64| format!("kind_src:{from} kind_dst:{to} size:{bytes} dest:0 async:1");
                let [to, from] =
                    ["Stream #8(MemcpyH2D)", "Stream #9(MemcpyD2H)"].map(|name| b.line("/device:GPU:0", name));
                b.event(to, "MemcpyH2D", at + 5, 300).memcpy_details(&details("pinned", "device", 16 << 20));
                b.event(from, "MemcpyD2H", at + 320, 300).memcpy_details(&details("device", "pinned", back));
                kernel(b, "gemm", at + 2, at + 630, 300);
            })
        };
        let kept = finding(trace(17 << 20), &RULE);
        assert!(kept.title.starts_with("Copying state from the host and back takes"), "{}", kept.title);
        assert!(kept.message.contains("come from pinned host memory"), "{}", kept.message);
        // A loss, or a batch, goes one way.
        assert_eq!(finding(trace(4), &RULE).title, RULE.title);
        assert_eq!(finding(trace(12 << 20), &RULE).title, RULE.title);
    }
}
