//! Devices that do not exchange data have different amounts of work, so some are idle while one works.
//!
//! The measure is the busy share of the busiest device in its window, minus the mean busy share of all devices. An even split
//! of the work would save this difference. Severity: warning from 20 %, critical from 50 % (ours: devices that are measured one
//! by one differ by only a few percent). Confidence: high. The rule is not reported for devices that communicate (see
//! `straggler_device`).

use super::draft::{Draft, equals, lacks};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::format;
use metrics::median;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "uneven_devices",
    title: "Some devices work while others are idle",
    needs: Needs::Whole,
    ..Rule::checked_by(check)
};

/// Minimum share of the time that an even split of the work would save, for a warning. We chose this limit because
/// devices that are measured one by one differ by only a few percent.
const WARNING_PERCENT: f64 = 20.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let devices = &numbers.context.analysis.devices.used;
    if devices.len() < 2 || numbers.communicates() {
        // `straggler_device` compares devices that wait for each other.
        return Verdict::Irrelevant;
    }
    let share = |work: i64, window: i64| (window > 0).then(|| 100.0 * work as f64 / window as f64);
    let work: Vec<Option<f64>> = devices
        .iter()
        .map(|it| share(it.busy.intersection(&it.window).length().as_ps(), it.window.length().as_ps()))
        .collect();
    let known = work.iter().zip(devices).filter_map(|(work, device)| Some(((*work)?, device)));
    let Some((most, device)) = known.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return lacks("too few device ops ran to compare the devices. Capture several steps.");
    };
    let all: Vec<f64> = work.iter().flatten().copied().collect();
    let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
    let saved = most - mean;
    if saved < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let others: Vec<f64> =
        work.iter().zip(devices).filter(|(_, it)| !std::ptr::eq(*it, device)).filter_map(|(work, _)| *work).collect();
    let others_median = median(&others).unwrap_or(0.0);
    let (severity, limit) = if saved >= OVERHEAD_PERCENT.bad {
        (FindingSeverity::Critical, OVERHEAD_PERCENT.bad)
    } else {
        (FindingSeverity::Warning, WARNING_PERCENT)
    };
    let name = format::printable(&device.name);
    let message = format!(
        "{name} is busy for {} of the time, the other {} for {} (median). If each had the same work, a step would \
         take {} less time.",
        format::percent(most),
        format::counted(others.len() as u64, "device"),
        format::percent(others_median),
        format::percent(saved)
    );
    Draft::new(severity, Confidence::High, &format!("{name} works while other devices are idle"), message)
        .remedy(
            "Split the batch or the model over all devices: give arrays a jax.sharding.NamedSharding over a mesh of all devices \
             (jax.device_put), and check the result with jax.debug.visualize_array_sharding. Or use fewer devices.",
        )
        .passed("uneven_percent", saved, limit)
        .evidence("busiest_percent", most)
        .evidence("median_percent", others_median)
        .at_stake(saved)
        .link(View::Devices, &equals("device_name", &device.name))
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel, op};
    use report::FindingSeverity::Warning;
    use trace::Trace;

    /// Builds steps of 1000 us on two GPUs. The first GPU works for 900 us, the second for `other` us.
    fn two_devices(other: i64) -> Trace {
        gpu_steps(12, |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 900);
            op(b, ("/device:GPU:1", "Stream #7(Compute)"), "gemm", at + 2, at + 5, other);
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(two_devices(10), &RULE);
        assert_eq!(found.title, "/device:GPU:0 works while other devices are idle");
        assert!(
            found.message.contains("busy for 90") && found.message.contains("the other 1 device for"),
            "{}",
            found.message
        );
        assert_eq!(found.severity, Warning);
        assert_eq!(found.time_at_stake_percent.unwrap().round(), 45.0);
        fine(two_devices(600), &RULE);
    }
}
