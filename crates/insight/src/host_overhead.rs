//! Devices wait for the host to launch the next op.
//!
//! `host_bound_percent` is the share of the window during which devices are idle because the host launched the next op
//! only after the previous op had ended, and neither compilation nor input was the reason. If devices also wait for
//! input for 10 % or more, the message describes the host's activity during the remaining idle time only, and names
//! transfers. Severity: warning from 10 % (JAX guide, in which 20 % is bad), critical from 50 %. Confidence: high.
//! Remedy: let the host run ahead (asynchronous dispatch, larger compiled programs). The host may read device results
//! (copies of 4 KiB or more, ours) and spend most of the idle time in a NumPy function (`argpartition`, `argmax`,
//! random choices). In that case, the remedy first advises the user to move that computation to the device. Tracing
//! slows down launches of CUDA graphs. If such launches take 10 % of the time (ours), the finding is at most a warning.
//! If `many_programs` explains at least half of the share, this rule is not reported. There is one exception: the host
//! waits for devices for at least 20 % of the idle time (ours), as it does when it reads results. The rule is skipped
//! if devices are idle for 10 % or more and the capture does not link ops to launches. The rule is not reported for
//! XLA's CPU backend, whose ops have no launches.

use super::draft::{Draft, lacks};
use super::gap;
use super::host_side::{BesidesInput, BothWait, HostSide};
use super::limits::HOST_BOUND_PERCENT;
use super::numbers::Numbers;
use super::waiting::idle_share;
use super::{Needs, Rule, Verdict, host_arguments, many_programs, many_small_kernels, profiler_overhead};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity};
use trace::Platform;

pub(super) static RULE: Rule = Rule {
    id: "host_overhead",
    title: "Devices wait for the host",
    needs: Needs::AllLines,
    explained_by: &[&[&many_small_kernels::RULE, &host_arguments::RULE]],
    parts: &[&many_small_kernels::RULE],
    ..Rule::checked_by(check)
};

/// The evidence names this limit if the share exceeds it (JAX guide: bad above 20 %). The limit does not change the
/// severity.
const BAD_PERCENT: f64 = 20.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (window, share) =
        match idle_share(numbers, StepPart::HostBound, HOST_BOUND_PERCENT.good, lacks_launches(numbers)) {
            Ok(found) => found,
            Err(verdict) => return verdict,
        };
    if share < HOST_BOUND_PERCENT.good || many_programs::explains(numbers, share) {
        return Verdict::Fine;
    }
    let slowed = profiler_overhead::slow_graph_launches_percent(numbers);
    let (severity, limit) = match share {
        share if share >= HOST_BOUND_PERCENT.bad && slowed.is_none() => {
            (FindingSeverity::Critical, HOST_BOUND_PERCENT.bad)
        }
        share if share >= BAD_PERCENT => (FindingSeverity::Warning, BAD_PERCENT),
        _ => (FindingSeverity::Warning, HOST_BOUND_PERCENT.good),
    };
    // Another finding describes the host while devices wait for input.
    let besides = numbers.besides_input();
    let message = format!(
        "Devices wait for the host for {} of {} ({}): the host launches the next op only after the previous op has \
         ended.{}{}{}",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share),
        slowed.map_or(String::new(), |percent| {
            format!(
                " Devices wait less without tracing, which slows down the launches of CUDA graphs. Here these \
                 launches take {} of the time.",
                format::percent(percent)
            )
        }),
        gap::sentence(numbers),
        besides.as_ref().map_or_else(|| numbers.host_meanwhile(), BesidesInput::sentences)
    );
    let both = match &besides {
        Some(besides) => besides.host_side().both_wait(),
        None => numbers.both_wait(),
    };
    let title = match both.map(BothWait::for_what) {
        Some(Some(what)) => format!("Devices and host wait for {what} for {} of the time", format::percent(share)),
        Some(None) => format!("Devices and host both wait for {} of the time", format::percent(share)),
        None => format!("Devices wait for the host for {} of the time", format::percent(share)),
    };
    let remedy = both.map(|both| both.remedy(numbers)).or_else(|| besides.as_ref()?.remedy(numbers));
    let remedy = remedy.unwrap_or_else(
        || {
            let to_device = numbers.host_side().and_then(HostSide::to_device).map_or(String::new(), |it| format!("{it} "));
            format!(
                "{to_device}Let the host run ahead of the devices: do not read results in every step ({}), compile the whole step with one \
                 {}, and prepare input in another thread. The timeline shows the host's activity in the gaps.",
                numbers.words().reads,
                numbers.words().compiler
            )
        },
    );
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(&remedy)
        .passed("host_bound_percent", share, limit)
        .evidence("host_bound_us", window.us(share))
        .evidence("idle_percent", window.idle_percent())
        .at_stake(share)
        .link_to_idle(numbers)
        .fires()
}

/// Returns the verdict for a capture without launches. XLA's CPU backend launches no ops.
fn lacks_launches(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform == Some(Platform::Cpu) {
        return Verdict::Irrelevant;
    }
    lacks(&format!(
        "the capture does not contain the launches of the ops that follow idle time. Capture with {}.",
        numbers.words().host_events
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, host_bound, kernel};
    use report::FindingSeverity::{Critical, Warning};

    #[test]
    fn fires_above_its_limit() {
        let found = finding(host_bound(400), &RULE);
        assert_eq!((found.severity, found.time_at_stake_percent.unwrap().round()), (Critical, 60.0));
        assert_eq!(finding(host_bound(850), &RULE).severity, Warning);
        fine(host_bound(910), &RULE);
    }

    #[test]
    fn the_wait_for_input_is_left_out() {
        // Each step of 1000 us computes for 300 us, loads a batch for 400 us and copies the batch for 280 us.
        let trace = gpu_steps(12, |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 300);
            let (python, runner) = (b.line("/host:CPU", "python"), b.line("/host:CPU", "pjrt_async_work_runner/7"));
            b.event(python, "next_batch", at + 310, 400);
            b.event(runner, "H2D Dispatch", at + 715, 280);
        });
        let found = finding(trace, &RULE);
        assert!(!found.message.contains("next_batch"), "{}", found.message);
        assert!(
            found.message.contains("While devices are idle and do not wait for input, the host is in "),
            "{}",
            found.message
        );
        // In each step, devices are idle for 300 us outside loading. The copy takes 280 us of them.
        let said = "The host transfers data during 93.3 % of this idle time, mostly in H2D Dispatch (thread pjrt_async_work_runner).";
        assert!(found.message.contains(said), "{}", found.message);
        assert!(found.remedy.starts_with("Transfer less data, and start earlier"), "{}", found.remedy);
    }
}
