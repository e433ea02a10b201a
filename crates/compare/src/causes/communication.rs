//! Causes that involve several devices: kinds of collectives, if no single op explains the exposed
//! communication, and stragglers.

use super::{CauseList, Evidence};
use crate::{Cause, CauseKind, CollectiveChange, PartChange, Subject, signed};
use base::format;

/// Adds causes for the kinds of collectives. Splits the change of exposed communication among the kinds, in proportion
/// to each kind's exposed time in the whole captures.
pub(super) fn kinds<'a>(evidence: &Evidence<'a>, part: &PartChange, found: &mut CauseList<'a>) {
    let (ours, theirs) = (evidence.change.run as usize, evidence.baseline_run);
    let exposed = |it: &CollectiveChange, run: usize| it.exposed_time_us.get(run).copied().unwrap_or(0.0);
    let count = |it: &CollectiveChange, run: usize| it.counts.get(run).copied().unwrap_or(0);
    let total = |run: usize| evidence.collectives.iter().map(|it| exposed(it, run)).sum::<f64>();
    let share = |it: &CollectiveChange, run: usize, of_us: f64| {
        if total(run) > 0.0 { of_us * exposed(it, run) / total(run) } else { 0.0 }
    };
    for it in evidence.collectives {
        let (run_us, baseline_us) = (share(it, ours, part.run_us), share(it, theirs, part.baseline_us));
        let delta = run_us - baseline_us;
        let [run_time, baseline_time] = [run_us, baseline_us].map(format::time_us);
        let (name, baseline) = (&evidence.subject.name, &evidence.baseline.name);
        let text = match (count(it, ours), count(it, theirs)) {
            (0, 0) => continue,
            (0, many) => format!(
                "{baseline} runs {many} {}, {name} none: {baseline_time} less exposed communication per step.",
                it.kind
            ),
            (many, 0) => format!(
                "{name} runs {many} {}, {baseline} none: {run_time} more exposed communication per step.",
                it.kind
            ),
            _ => format!(
                "{} is exposed for {run_time} per step, against {baseline_time} in {baseline}: {}.",
                it.kind,
                signed(delta)
            ),
        };
        found.add("communication", Cause::new(CauseKind::Communication, &it.kind, delta, text));
    }
}

/// Returns a cause for a device whose own work grew more than the work of the other devices. The other devices wait for
/// the slow device, so its lag delays the whole step.
pub(super) fn straggler(run: u32, subject: &Subject, baseline: &Subject, total: f64) -> Option<Cause> {
    let (name, ours) = behind(subject)?;
    let theirs = behind(baseline).map_or(0.0, |(_, behind)| behind);
    let delta = ours - theirs;
    // If the run is faster, swaps the sides in the same sentence.
    let (delta, name, slow) =
        if delta >= 0.0 { (delta, name, &subject.name) } else { (delta, behind(baseline)?.0, &baseline.name) };
    let matters = delta * total > 0.0 && delta.abs() >= 0.3 * total.abs();
    matters.then(|| {
        let text = format!(
            "In {slow}, {name} works {} longer per step than the mean of the other devices ({} more than in the other \
                run), and the other devices wait for it.",
            format::time_us(ours.max(theirs)),
            format::time_us(delta.abs())
        );
        Cause { run, ..Cause::new(CauseKind::Straggler, name, delta, text) }
    })
}

/// Returns the device with the most computation per step, and its lag behind the mean of the other
/// devices in microseconds.
fn behind(subject: &Subject) -> Option<(&str, f64)> {
    let devices = &subject.profile.step_breakdown.as_ref()?.devices;
    let work = |at: usize| devices.get(at).map_or(0.0, |device| device.parts.compute_us);
    let slowest = (0..devices.len()).reduce(|a, b| if work(b) > work(a) { b } else { a })?;
    let others = devices.len().checked_sub(1).filter(|&others| others > 0)?;
    let sum: f64 = (0..devices.len()).filter(|&at| at != slowest).map(work).sum();
    Some((&devices.get(slowest)?.device_name, work(slowest) - sum / others as f64))
}
