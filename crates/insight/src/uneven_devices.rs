//! Devices that do not exchange data have uneven work: some are idle while one works.

use super::draft::{Draft, equals, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use metrics::median;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "uneven_devices", title: "Some devices work while others are idle", check };

/// Share of the time that an even split of the work would save, from which the finding is a warning (ours: devices that are
/// measured one by one differ by some percent).
const WARNING_PERCENT: f64 = 20.0;
/// Share from which the finding is critical (ours: most of the time).
const CRITICAL_PERCENT: f64 = 50.0;

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
    let (severity, limit) = match saved {
        CRITICAL_PERCENT.. => (FindingSeverity::Critical, CRITICAL_PERCENT),
        _ => (FindingSeverity::Warning, WARNING_PERCENT),
    };
    let name = format::printable(&device.name);
    let message = format!(
        "{name} is busy for {} of the time, the other {} for {} (median). With the same work on each, a step would take {} less \
         time.",
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
        .link("devices", &equals("device_name", &device.name))
        .fires()
}
