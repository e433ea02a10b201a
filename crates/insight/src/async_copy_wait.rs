//! TPU cores wait for asynchronous copies.

use super::draft::{Draft, lacks};
use super::memory::LEAST_BYTES;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::{OpClass, family_of};
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "async_copy_wait", title: "Cores wait for copies", check };

/// Share of the window from which the finding is a warning (XProf, `kAsyncDoneThresholdInPercent`: 10 % in async-done ops).
const WARNING_PERCENT: f64 = 10.0;
/// Share of the window from which the wait is the bottleneck (XProf's 30 % for collectives and shuffles).
const CRITICAL_PERCENT: f64 = 30.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_tpu() {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window() else { return lacks("too few device ops ran. Capture several steps.") };
    let of_ops = numbers.category_percent(&|name| name == "copy-done");
    let share = of_ops * window.busy_percent / 100.0;
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let critical = share >= CRITICAL_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let host = copies_host_memory(numbers);
    let what = match host {
        Some(true) => "copies between the chip and host memory (memory space 5: offloaded arrays)",
        _ => "asynchronous copies",
    };
    let wait_us = window.us(share);
    let is_compute = |name: &str| family_of(name).class() == OpClass::Compute;
    let compute_us = window.us(numbers.of_window(numbers.category_percent(&is_compute)));
    // All computation of the step is the upper bound for overlap.
    let can_hide = compute_us >= wait_us;
    let moved = bytes_per_wait_us(numbers).map(|rate| rate * wait_us);
    let mut message = format!(
        "The cores wait in copy-done ops for {} of {} ({}) until {what} have finished",
        format::time_us(wait_us),
        window.words(),
        format::percent(share)
    );
    if let Some(bytes) = moved {
        let each = if window.steps { " per step and device" } else { " per device" };
        message.push_str(&format!(
            ": {}{each}, at {}",
            format::bytes(bytes as u64),
            format::si(1e6 * bytes / wait_us, "B/s")
        ));
    }
    message.push('.');
    if !can_hide {
        message
            .push_str(&format!(" Computation takes only {}, too little to overlap them.", format::time_us(compute_us)));
    }
    let remedy = match (host == Some(true), can_hide) {
        (true, true) => {
            "Move less data between the chip and host memory: offload fewer arrays (optimizer state before activations). Or \
             overlap each copy with more computation by starting it a layer earlier. The limit is the link to the host, some \
             tens of GB/s. Check memory_kind=\"pinned_host\" and remat policies that offload."
        }
        (true, false) => {
            "Move fewer bytes: keep arrays that fit in device memory there (memory_kind=\"device\" instead of \"pinned_host\"), \
             shard the offloaded ones over more devices, or store them in a smaller type (bfloat16 for float32). The limit is \
             the link to the host, some tens of GB/s in each direction. Starting copies earlier saves at most the time in which \
             only one direction of the link is in use."
        }
        (false, true) => {
            "Overlap the copies with more computation: use larger tiles or batches, and prefetch fewer arrays into on-chip \
             memory. The timeline shows the ops that produce and use each copy next to it."
        }
        (false, false) => {
            "Move fewer bytes: keep arrays where they are used, shard them over more devices, or store them in a smaller type \
             (bfloat16 for float32). The timeline shows the ops that produce and use each copy next to it."
        }
    };
    Draft::new(
        severity,
        Confidence::High,
        &format!("Cores wait for copies for {} of the time", format::percent(share)),
        message,
    )
    .remedy(&format!("{remedy}{}", replicated(numbers)))
    .passed("copy_done_percent", share, if critical { CRITICAL_PERCENT } else { WARNING_PERCENT })
    .evidence("copy_done_us", wait_us)
    .evidence("compute_us", compute_us)
    .evidence_where("copied_bytes", moved)
    .at_stake(share)
    .link("ops", "category=copy-done")
    .fires()
}

/// Describes the offloaded arguments that every device holds in full, as sentences with a leading blank. Empty if there are none.
fn replicated(numbers: &Numbers<'_>) -> String {
    let programs = numbers.context.analysis.memory.programs.iter().map(|program| &program.replicated);
    let most = programs.max_by_key(|it| it.offloaded_bytes).filter(|it| it.offloaded_bytes >= LEAST_BYTES);
    most.map_or(String::new(), |found| {
        format!(
            " {} of the arguments in host memory are replicated: each of the program's {} devices moves all of them. Shard them, \
             so that each device moves only a part.",
            format::bytes(found.offloaded_bytes),
            format::count(found.devices)
        )
    })
}

/// Returns the bytes that copies move per microsecond of waiting. `None` if the profile lacks the bytes of any `copy-done`.
fn bytes_per_wait_us(numbers: &Numbers<'_>) -> Option<f64> {
    let ops = &numbers.context.analysis.ops;
    let waits = || ops.rows.iter().filter(|op| ops.text(numbers.trace, op.category) == "copy-done");
    let time_us = waits().map(|op| op.self_time).sum::<Ps>().as_us();
    let bytes = waits().try_fold(0.0, |sum, op| Some(sum + op.bytes.filter(|&bytes| bytes > 0.0)?))?;
    (time_us > 0.0).then_some(bytes / time_us)
}

/// Returns true if most of the copies read or write host memory, which XLA's layouts call memory space 5. `None` if the trace has
/// no instruction text.
fn copies_host_memory(numbers: &Numbers<'_>) -> Option<bool> {
    let (mut host, mut all) = (0_u32, 0_u32);
    for args in (0..numbers.trace.args.len()).filter_map(|index| numbers.trace.args.set(index)) {
        let text = numbers.trace.text(args.long_name);
        if numbers.trace.text(args.hlo_category) == "copy-done" && !text.is_empty() {
            all += 1;
            host += u32::from(text.contains("S(5)"));
        }
    }
    (all > 0).then_some(host * 2 > all)
}
