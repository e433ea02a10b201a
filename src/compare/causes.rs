//! What explains the difference of two step times, largest first.
//!
//! Candidates are single ops (their self time, or what is exposed of them where they communicate), the parts of a step that no op
//! explains (idle time by cause, copies), and a device that falls behind the others. A part is left out where ops explain most of
//! it: one time is not told twice.

use super::{Cause, Change, PartChange, StepTimeChange, Subject};
use crate::format;
use crate::sort;

/// Causes of one run that are told.
const MOST: usize = 12;

/// Differences below this share of the step are nobody's cause.
const LEAST_SHARE: f64 = 0.002;

/// The causes of one run's difference.
pub fn causes(
    change: &StepTimeChange,
    subject: &Subject,
    baseline: &Subject,
    parts: &[PartChange],
    ops: &[Change],
) -> Vec<Cause> {
    if change.delta_us.is_none() {
        return Vec::new();
    }
    let total: f64 = parts.iter().map(|part| part.delta_us_per_step).sum();
    let step = parts.iter().map(|part| part.baseline_us).sum::<f64>();
    let mut causes = Vec::new();
    causes.extend(straggler(change.run, subject, baseline, total));
    let names = (subject.name.as_str(), baseline.name.as_str());
    let mut explained: Vec<(&str, f64)> = Vec::new();
    for op in ops.iter().filter(|op| op.change != "same" || op.exposed_us.is_some()) {
        let part = if op.exposed_us.is_some() { "communication" } else { "compute" };
        let delta = op.exposed_us.map_or(op.delta_us_per_step, |[ours, theirs]| ours - theirs);
        match explained.iter_mut().find(|(name, _)| *name == part) {
            Some((_, sum)) => *sum += delta,
            None => explained.push((part, delta)),
        }
        let kind = if op.exposed_us.is_some() { "communication" } else { "op" };
        causes.push(Cause {
            run: change.run,
            kind: kind.to_owned(),
            name: op.name.clone(),
            delta_us_per_step: delta,
            percent_of_difference: None,
            text: op_text(op, delta, names),
        });
    }
    for part in parts {
        let by_ops = explained.iter().find(|(name, _)| *name == part.part).map_or(0.0, |(_, sum)| *sum);
        // Ops explain a part where they add up to at least half of it.
        let is_explained = (by_ops - part.delta_us_per_step).abs() <= 0.5 * part.delta_us_per_step.abs();
        if !is_explained || by_ops == 0.0 {
            causes.push(Cause {
                run: change.run,
                kind: "part".to_owned(),
                name: part.part.clone(),
                delta_us_per_step: part.delta_us_per_step,
                percent_of_difference: None,
                text: part_text(part),
            });
        }
    }
    causes.retain(|cause| cause.delta_us_per_step.abs() > LEAST_SHARE * step);
    for cause in &mut causes {
        cause.percent_of_difference = (total != 0.0).then(|| 100.0 * cause.delta_us_per_step / total);
    }
    // What works against the difference explains none of it, however large.
    let against = |cause: &Cause| cause.delta_us_per_step * total < 0.0;
    sort::sort_by(&mut causes, |a: &Cause, b: &Cause| {
        let size = |cause: &Cause| cause.delta_us_per_step.abs();
        against(a).cmp(&against(b)).then_with(|| size(b).total_cmp(&size(a))).then_with(|| a.name.cmp(&b.name))
    });
    causes.truncate(MOST);
    causes
}

/// A device whose own work grew more than that of the others: they wait for it, so it costs the whole step what it is behind.
fn straggler(run: u32, subject: &Subject, baseline: &Subject, total: f64) -> Option<Cause> {
    let (name, ours) = behind(subject)?;
    let theirs = behind(baseline).map_or(0.0, |(_, behind)| behind);
    let delta = ours - theirs;
    // The reverse is told by the same words the other way round.
    let (delta, name, slow) =
        if delta >= 0.0 { (delta, name, &subject.name) } else { (delta, behind(baseline)?.0, &baseline.name) };
    let matters = delta * total > 0.0 && delta.abs() >= 0.3 * total.abs();
    matters.then(|| Cause {
        run,
        kind: "straggler".to_owned(),
        name: name.to_owned(),
        delta_us_per_step: delta,
        percent_of_difference: None,
        text: format!(
            "In {slow}, {name} works {} longer a step than the mean of the other devices, which wait for it ({} more than in the other run).",
            format::time_us(ours.max(theirs)),
            format::time_us(delta.abs())
        ),
    })
}

/// The device with the most own work of a step, and how far it is behind the mean of the others.
fn behind(subject: &Subject) -> Option<(&str, f64)> {
    let devices = &subject.profile.step_breakdown.as_ref()?.devices;
    let work = |at: usize| devices.get(at).map_or(0.0, |device| device.parts.compute_us);
    let slowest = (0..devices.len()).reduce(|a, b| if work(b) > work(a) { b } else { a })?;
    let others = devices.len().checked_sub(1).filter(|&others| others > 0)?;
    let sum: f64 = (0..devices.len()).filter(|&at| at != slowest).map(work).sum();
    Some((&devices.get(slowest)?.device_name, work(slowest) - sum / others as f64))
}

fn op_text(op: &Change, delta: f64, (ours, theirs): (&str, &str)) -> String {
    let name = format::shorten(&op.name, 60);
    let many = if op.ops[0].max(op.ops[1]) > 1 {
        format!(" and {} like it", op.ops[0].max(op.ops[1]) - 1)
    } else {
        String::new()
    };
    let adds = signed(delta);
    let [time, base] = op.time_us.map(format::time_us);
    match op.change.as_str() {
        "new" => format!("{name}{many} runs in {ours} only: {adds} a step."),
        "gone" => format!("{name}{many} runs in {theirs} only: {adds} a step."),
        _ if op.exposed_us.is_some() => {
            let [exposed, base_exposed] = op.exposed_us.unwrap_or_default().map(format::time_us);
            format!(
                "{name}{many} ({}) is exposed for {exposed} a step, for {base_exposed} in {theirs}: {adds}.",
                op.family
            )
        }
        "more_often" | "less_often" => format!(
            "{name}{many} ({}) runs {} times a step, {} times in {theirs}: {adds} a step.",
            op.family,
            format::number(op.per_step[0]),
            format::number(op.per_step[1])
        ),
        _ => {
            let times = op.slowdown.map_or(String::new(), |ratio| {
                if ratio >= 1.0 { format!("{ratio:.2}x slower") } else { format!("{:.2}x faster", 1.0 / ratio) }
            });
            format!("{name}{many} ({}) is {times}: {time} a step, {base} in {theirs}: {adds}.", op.family)
        }
    }
}

fn part_text(part: &PartChange) -> String {
    format!(
        "{}: {} a step instead of {}, {}.",
        part.title,
        format::time_us(part.run_us),
        format::time_us(part.baseline_us),
        signed(part.delta_us_per_step)
    )
}

/// `+12.3 us`, `-1.2 ms`, with a true minus.
pub fn signed(us: f64) -> String {
    format!("{}{}", if us < 0.0 { "\u{2212}" } else { "+" }, format::time_us(us.abs()))
}
