//! TPU cores wait for asynchronous copies.
//!
//! TPU only: the measure is the self time of `copy-done` as a share of the window. During this op, the core waits for a copy
//! between memories. Severity: warning from 10 % (XProf's limit for async-done ops), critical from 30 % (XProf's limit for
//! collectives). Confidence: high.
//!
//! The remedy depends on two facts. If the layouts of most of these ops name memory space 5, the copies read or write host
//! memory (offloading). The remedy is then to offload less, or to start the copies earlier. If all computation in the window
//! takes less time than the waits, no order of ops can overlap the copies (ours). The remedy is then to move fewer bytes. The
//! message states how many bytes of arguments in host memory are replicated on several devices (if at least 1 MiB). The byte
//! counts come from the `copy-done` ops in the profile.

use super::draft::{Draft, lacks};
use super::limits::{ASYNC_DONE_PERCENT, BOTTLENECK_PERCENT};
use super::memory::LEAST_BYTES;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use facts::hlo_categories::COPY_DONE;
use metrics::{OpClass, family_of};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "async_copy_wait", title: "Cores wait for copies", ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_tpu() {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window() else { return lacks("too few device ops ran. Capture several steps.") };
    let of_ops = numbers.category_percent(&|name| name == COPY_DONE);
    let share = of_ops * window.busy_percent / 100.0;
    if share < ASYNC_DONE_PERCENT {
        return Verdict::Fine;
    }
    let critical = share >= BOTTLENECK_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let host = copies_host_memory(numbers);
    let what = match host {
        Some(true) => "copies between the chip and host memory (memory space 5: offloaded arrays)",
        _ => "asynchronous copies",
    };
    let wait_us = window.us(share);
    let is_compute = |name: &str| family_of(name).class() == OpClass::Compute;
    let compute_us = window.us(numbers.of_window(numbers.category_percent(&is_compute)));
    // Copies can overlap at most all computation of the step.
    let can_hide = compute_us >= wait_us;
    let moved = bytes_per_wait_us(numbers).map(|rate| rate * wait_us);
    let mut message = format!(
        "Cores wait in copy-done ops for {} of {} ({}) until {what} have finished",
        format::time_us(wait_us),
        window.words(),
        format::percent(share)
    );
    if let Some(bytes) = moved {
        let each = if window.steps { " per step per device" } else { " per device" };
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
            "Move fewer bytes: keep arrays that fit in device memory there (memory_kind=\"device\" instead of \
             \"pinned_host\"), shard the offloaded ones over more devices, or store them in a smaller type (bfloat16 \
             for float32). The limit is the link to the host, some tens of GB/s in each direction. Starting copies \
             earlier saves at most the time during which only one direction of the link is in use."
        }
        (false, true) => {
            "Overlap the copies with more computation: use larger tiles or batches, and prefetch fewer arrays into \
             on-chip memory. The timeline shows each copy next to the ops that produce and use its data."
        }
        (false, false) => {
            "Move fewer bytes: keep arrays where they are used, shard them over more devices, or store them in a \
             smaller type (bfloat16 for float32). The timeline shows each copy next to the ops that produce and use \
             its data."
        }
    };
    Draft::new(
        severity,
        Confidence::High,
        &format!("Cores wait for copies for {} of the time", format::percent(share)),
        message,
    )
    .remedy(&format!("{remedy}{}", replicated(numbers)))
    .passed("copy_done_percent", share, if critical { BOTTLENECK_PERCENT } else { ASYNC_DONE_PERCENT })
    .evidence("copy_done_us", wait_us)
    .evidence("compute_us", compute_us)
    .evidence_where("copied_bytes", moved)
    .at_stake(share)
    .link(View::Ops, "category=copy-done")
    .fires()
}

/// Describes the offloaded arguments that every device holds in full, as sentences that start with a space. Empty if
/// there are no such arguments.
fn replicated(numbers: &Numbers<'_>) -> String {
    let programs = numbers.context.analysis.memory.programs.iter().map(|program| &program.replicated);
    let most = programs.max_by_key(|it| it.offloaded_bytes).filter(|it| it.offloaded_bytes >= LEAST_BYTES);
    most.map_or(String::new(), |found| {
        format!(
            " {} of the arguments in host memory are replicated: each of the program's {} devices moves all of them. \
             Shard them so that each device moves only a part.",
            format::bytes(found.offloaded_bytes),
            format::count(found.devices)
        )
    })
}

/// Returns the bytes that copies move per microsecond of waiting. `None` if the bytes of at least one `copy-done` op
/// are unknown.
fn bytes_per_wait_us(numbers: &Numbers<'_>) -> Option<f64> {
    let ops = &numbers.context.analysis.ops;
    let waits = || ops.rows.iter().filter(|op| ops.text(numbers.trace, op.category) == COPY_DONE);
    let time_us = waits().map(|op| op.self_time).sum::<Ps>().as_us();
    let bytes = waits().try_fold(0.0, |sum, op| Some(sum + op.bytes.filter(|&bytes| bytes > 0.0)?))?;
    (time_us > 0.0).then_some(bytes / time_us)
}

/// Returns true if most of the copies read or write host memory. In XLA's layouts, host memory is memory space 5.
/// `None` if the trace has no instruction text.
fn copies_host_memory(numbers: &Numbers<'_>) -> Option<bool> {
    let (mut host, mut all) = (0_u32, 0_u32);
    for args in (0..numbers.trace.args.len()).filter_map(|index| numbers.trace.args.set(index)) {
        let text = numbers.trace.text(args.long_name);
        if numbers.trace.text(args.hlo_category) == COPY_DONE && !text.is_empty() {
            all += 1;
            host += u32::from(text.contains("S(5)"));
        }
    }
    (all > 0).then_some(host * 2 > all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_op, tpu_steps};
    use report::FindingSeverity::{Critical, Warning};

    #[test]
    fn fires_above_its_limit() {
        let trace = |wait: i64| {
            tpu_steps(12, move |b, at| {
                tpu_op(b, "copy-done", at, wait);
                tpu_op(b, "loop fusion", at + wait, 1000 - wait);
            })
        };
        assert_eq!(finding(trace(300), &RULE).severity, Critical);
        assert_eq!(finding(trace(100), &RULE).severity, Warning);
        fine(trace(99), &RULE);
    }

    #[test]
    fn async_copies_of_host_memory_are_named() {
        let text = "%copy-done.1 = f32[8]{0:T(8)} copy-done((f32[8]{0:T(8)}, f32[8]{0:T(8)S(5)}, u32[]) %copy-start.1)";
        let trace = tpu_steps(12, |b, at| {
            let long_name = b.trace_mut().strings.intern(text);
            let line = b.line("/device:TPU:0", "XLA Ops");
            b.event(line, "copy-done.1", at, 500).hlo_category("copy-done").args(|args| args.long_name = long_name);
            tpu_op(b, "loop fusion", at + 500, 500);
        });
        assert!(finding(trace, &RULE).message.contains("host memory"));
    }

    /// In each step of 1,000 us, the device waits for a copy of 1 GiB for 500 us, and then computes for `compute` us.
    #[test]
    fn copies_that_no_computation_can_hide_must_move_less() {
        let trace = |compute: i64| {
            tpu_steps(12, move |b, at| {
                let line = b.line("/device:TPU:0", "XLA Ops");
                b.event(line, "copy-done.1", at, 500)
                    .hlo_category("copy-done")
                    .args(|args| args.bytes_accessed = Some(1 << 30));
                tpu_op(b, "loop fusion", at + 500, compute);
                tpu_op(b, "data formatting", at + 500 + compute, 500 - compute);
            })
        };
        let (hidden, exposed) = (finding(trace(500), &RULE), finding(trace(100), &RULE));
        // 2^30 bytes in 500 us.
        for found in [&hidden, &exposed] {
            assert!(
                found.message.contains("have finished: 1.00 GiB per step per device, at 2.15 TB/s."),
                "{}",
                found.message
            );
        }
        assert!(hidden.remedy.contains("Overlap the copies with more computation"), "{}", hidden.remedy);
        assert!(
            exposed.message.ends_with("Computation takes only 100 µs, too little to overlap them."),
            "{}",
            exposed.message
        );
        assert!(exposed.remedy.starts_with("Move fewer bytes"), "{}", exposed.remedy);
        let evidence = |name: &str| exposed.evidence.iter().find(|it| it.name == name).map(|it| it.value.round());
        assert_eq!((evidence("compute_us"), evidence("copied_bytes")), (Some(100.0), Some(f64::from(1u32 << 30))));
    }
}
