//! TPU cores wait for asynchronous copies.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "async_copy_wait", title: "Cores wait for copies", check };

/// Share of the window (XProf, `kAsyncDoneThresholdInPercent`: 10 % in async-done ops).
const WARNING_PERCENT: f64 = 10.0;
/// From here it is the bottleneck (XProf's 30 % of collectives and shuffles).
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
        _ => "copies that run beside the program",
    };
    let message = format!(
        "The cores wait in copy-done ops for {} of {} ({}), until {what} have arrived.",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share)
    );
    let remedy = if host == Some(true) {
        "Move less between the chip and host memory: offload fewer arrays (optimizer state before activations), or give each \
         copy more computation to hide under by starting it a layer earlier; the link to the host, some tens of GB/s, is the \
         limit. Check memory_kind=\"pinned_host\" and remat policies that offload."
    } else {
        "Give the copies more computation to hide under: larger tiles or batches, fewer arrays prefetched into on-chip \
         memory. The ops that feed and use each copy stand beside it on the timeline."
    };
    Draft::new(
        severity,
        Confidence::High,
        &format!("Cores wait for copies {} of the time", format::percent(share)),
        message,
    )
    .remedy(remedy)
    .passed("copy_done_percent", share, if critical { CRITICAL_PERCENT } else { WARNING_PERCENT })
    .evidence("copy_done_us", window.us(share))
    .at_stake(share)
    .link("ops", "category=copy-done")
    .fires()
}

/// Whether most copies that are waited for have an end in host memory, which XLA writes as memory space 5 in the
/// instruction's layouts; `None` where the trace has no instruction text.
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
