//! Describes change points and the levels on both sides: medians, and the differences between the
//! runs with the median step times.

use super::super::op_noise::OpNoise;
use super::super::{ChangePoint, OrderedBy, matching, signed, steps, waterfall};
use super::{LevelChange, TimedRun, median, percent, when};
use base::{format, sort};

/// Number of parts of the step, and of ops, that are named for a change.
const MOST_NAMED: usize = 3;

/// Minimum change of a part or op that is named, as a share of the whole change.
const LEAST_SHARE: f64 = 0.05;

/// Returns the change points of runs whose levels begin at `firsts`.
pub(super) fn change_points(ordered_by: OrderedBy, timed: &[TimedRun<'_>], firsts: &[usize]) -> Vec<ChangePoint> {
    let change_point = |at: usize| {
        let first = *firsts.get(at)?;
        let start = at.checked_sub(1).and_then(|before| firsts.get(before)).copied().unwrap_or(0);
        let end = firsts.get(at + 1).copied().unwrap_or(timed.len());
        let is_last = end == timed.len();
        between(ordered_by, timed.get(start..first)?, timed.get(first..end)?, is_last)
    };
    (0..firsts.len()).filter_map(change_point).collect()
}

/// Describes the change from one level to the next.
fn between(
    ordered_by: OrderedBy,
    before: &[TimedRun<'_>],
    after: &[TimedRun<'_>],
    is_last: bool,
) -> Option<ChangePoint> {
    let mean = |level: &[TimedRun<'_>]| level.iter().map(|run| run.sample.mean_us).sum::<f64>() / level.len() as f64;
    let (before_us, after_us) = (mean(before), mean(after));
    let medians = [before, after].map(|level| median(level.iter().map(|run| run.sample.mean_us)));
    let first = after.first()?.place;
    let changes = changes(middle(before)?, middle(after)?);
    let [old_us, new_us] = medians;
    let stays = if after.len() == 1 && is_last { " (this is the last run, so the change may not last)" } else { "" };
    let mut text = format!(
        "From {} on, a step takes {} instead of {} ({:+.1} %, {}; medians of {} after the change and {} \
            before){stays}.",
        when(ordered_by, &first.label),
        format::time_us(new_us),
        format::time_us(old_us),
        percent(old_us, new_us),
        signed(new_us - old_us),
        runs(after.len()),
        runs(before.len())
    );
    for (is_op, what) in [(false, "Parts"), (true, "Ops")] {
        let named: Vec<String> = changes
            .iter()
            .filter(|it| it.is_op == is_op)
            .map(|it| format!("{} {}", it.name, signed(it.after_us - it.before_us)))
            .collect();
        if !named.is_empty() {
            text.push_str(&format!(" {what} that change most: {}.", named.join(", ")));
        }
    }
    let run = u32::try_from(first.index).ok()?;
    let runs = [before.len() as u64, after.len() as u64];
    Some(ChangePoint { run, before_us, after_us, medians_us: medians, runs, changes, text })
}

fn runs(count: usize) -> String {
    format::counted(count as u64, "run")
}

/// Returns the run with the median step time of its level. For an even number of runs, returns the
/// faster of the middle two.
fn middle<'l, 'a>(level: &'l [TimedRun<'a>]) -> Option<&'l TimedRun<'a>> {
    let mut order: Vec<&TimedRun<'_>> = level.iter().collect();
    sort::sort_by(&mut order, |a, b| a.sample.mean_us.total_cmp(&b.sample.mean_us));
    order.get(order.len().saturating_sub(1) / 2).copied()
}

/// Returns the changes between two runs that go in the same direction as the total change. Parts of the step come first
/// and ops second, each sorted by size, largest first. Empty if the runs list neither parts nor ops, or if the times of
/// only one run are per step.
fn changes(before: &TimedRun<'_>, after: &TimedRun<'_>) -> Vec<LevelChange> {
    let (old, new) = (&before.subject.profile, &after.subject.profile);
    if steps::window(old) != steps::window(new) {
        return Vec::new();
    }
    let part = |name: String, before_us: f64, after_us: f64| LevelChange { name, is_op: false, before_us, after_us };
    let parts = waterfall::waterfall(0, after.subject, before.subject, waterfall::StepKind::Mean);
    let parts = parts.into_iter().map(|it| part(it.title, it.baseline_us, it.run_us)).collect();
    let ops = steps::ops(new)
        .zip(steps::ops(old))
        .map(|(new, old)| matching::ops(0, &new, &old, &OpNoise::default(), None).0);
    let op = |it: super::super::Change| {
        let [after_us, before_us] = it.time_us;
        LevelChange { name: it.name, is_op: true, before_us, after_us }
    };
    let ops = ops.unwrap_or_default().into_iter().map(op).collect();
    let difference_us = after.sample.mean_us - before.sample.mean_us;
    [biggest(parts, difference_us), biggest(ops, difference_us)].concat()
}

/// Returns the largest changes that have the same sign as the difference and are at least [`LEAST_SHARE`] of it.
fn biggest(mut changes: Vec<LevelChange>, difference_us: f64) -> Vec<LevelChange> {
    let sign = if difference_us < 0.0 { -1.0 } else { 1.0 };
    let size = |it: &LevelChange| sign * (it.after_us - it.before_us);
    changes.retain(|it| size(it) > LEAST_SHARE * difference_us.abs());
    sort::sort_by(&mut changes, |a, b| size(b).total_cmp(&size(a)).then_with(|| a.name.cmp(&b.name)));
    changes.truncate(MOST_NAMED);
    changes
}
