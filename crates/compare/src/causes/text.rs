//! Describes causes in sentences.

use super::Evidence;
use crate::uniform::UniformChange;
use crate::{Change, ChangeKind, PartChange, Subject};
use base::{format, sort};

/// Number of ops that the sentence about a scope names.
const MOST_NAMED: usize = 3;

pub(super) use crate::label::scope;

/// Describes how an op changed.
pub(super) fn of_op(op: &Change, delta: f64, all: &[Change], (ours, theirs): (&str, &str)) -> String {
    let (name, adds) = (op.described(), signed(delta));
    let [is, runs] = if op.is_several() { ["are", "run"] } else { ["is", "runs"] };
    let [time, base] = op.time_us.map(format::time_us);
    match op.change {
        ChangeKind::New => format!("{name} {runs} in {ours} only: {adds} per step.{}", took_over(op, all)),
        ChangeKind::Gone => format!("{name} {runs} in {theirs} only: {adds} per step.{}", took_over(op, all)),
        ChangeKind::Rewritten => {
            let replaced = op.baseline_name.as_deref().unwrap_or(&op.name);
            let many = |count: u64| if count > 1 { format!(" ({} ops)", format::count(count)) } else { String::new() };
            let scope = scope(op).unwrap_or_default();
            let [run_ops, base_ops] = op.ops.map(many);
            let name = format::shorten(&op.name, 60);
            format!(
                "{scope} was rewritten: {name}{run_ops} in place of {}{base_ops}, {time} per step instead of {base}: {adds}.",
                format::shorten(replaced, 60)
            )
        }
        _ if op.exposed_us.is_some() => {
            let [exposed, base_exposed] = op.exposed_us.unwrap_or_default().map(format::time_us);
            format!("{name} {is} exposed for {exposed} per step, against {base_exposed} in {theirs}: {adds}.")
        }
        ChangeKind::MoreOften | ChangeKind::LessOften => format!(
            "{name} {runs} {} times per step, against {} times in {theirs}: {adds} per step.",
            per_step(op.per_step[0]),
            per_step(op.per_step[1])
        ),
        _ => {
            let times = op.slowdown.map_or(String::new(), |ratio| {
                if ratio >= 1.0 { format!("{ratio:.2}x slower") } else { format!("{:.2}x faster", 1.0 / ratio) }
            });
            let anew = if op.recompiled { " It was compiled differently." } else { "" };
            format!("{name} {is} {times}: {time} per step, {base} in {theirs}: {adds}.{anew}")
        }
    }
}

/// Names the fusion that gave up the work of a new op, or the fusion that took over the work of an op that is gone. The
/// fusion must be in the op's scope, change in the opposite direction and be compiled differently in the two runs.
/// Returns an empty string if there is no such fusion.
fn took_over(op: &Change, all: &[Change]) -> String {
    let Some(scope) = scope(op) else { return String::new() };
    let delta = op.delta_us_per_step;
    let others = all.iter().filter(|it| it.recompiled && it.delta_us_per_step * delta < 0.0);
    let of_scope = others.filter(|it| self::scope(it).as_ref() == Some(&scope));
    let most = of_scope.reduce(|a, b| if b.delta_us_per_step.abs() > a.delta_us_per_step.abs() { b } else { a });
    most.map_or_else(String::new, |it| {
        let way = if delta < 0.0 { "taken over" } else { "given away" };
        format!(
            " {} of the same scope {} compiled differently ({}) and may have {way} its work.",
            it.title(),
            if it.is_several() { "were" } else { "was" },
            signed(it.delta_us_per_step)
        )
    })
}

/// Describes the change of a scope:
/// `layer_*/mlp: 8 ops take 4.20 ms per step, 3.90 ms in a0: +300 us, most of it gelu (+80 us), ...`.
pub(super) fn of_scope(path: &str, ops: &[&Change], delta: f64, baseline: &str) -> String {
    let sum = |side: fn(&Change) -> f64| format::time_us(ops.iter().map(|op| side(op)).sum());
    let named: Vec<String> =
        ops.iter().take(MOST_NAMED).map(|op| format!("{} {}", named(op), signed(op.delta_us_per_step))).collect();
    let count: u64 = ops.iter().map(|op| op.ops[0].max(op.ops[1])).sum();
    format!(
        "{} ops of {path} that differ take {} per step, {} in {baseline}: {}, most of it {}.",
        format::count(count),
        sum(|op| op.time_us[0]),
        sum(|op| op.time_us[1]),
        signed(delta),
        named.join(", ")
    )
}

/// Returns the name of an op for a sentence that already names its scope, with a count if the name stands for several
/// ops.
fn named(op: &Change) -> String {
    let within = Change { framework_op: None, family: String::new(), ..op.clone() };
    format::shorten(&within.title(), 40)
}

/// Describes the change of a part of the step. For the idle part that changes most, also names the
/// host activity.
pub(super) fn of_part(part: &PartChange, evidence: &Evidence<'_>) -> String {
    let is_idle = |part: &&PartChange| part.title.starts_with("Idle");
    let size = |part: &PartChange| part.delta_us_per_step.abs();
    let most_idle = evidence.parts.iter().filter(is_idle).fold(0.0, |most: f64, part| most.max(size(part)));
    let is_most = is_idle(&part) && size(part) >= most_idle;
    let host = if is_most { host(part, evidence.subject, evidence.baseline) } else { String::new() };
    format!(
        "{}: {} per step instead of {}, {}.{host}",
        part.title,
        format::time_us(part.run_us),
        format::time_us(part.baseline_us),
        signed(part.delta_us_per_step)
    )
}

/// Describes the host range whose share of the idle time changes most. Returns an empty string if the range explains
/// little of the part's change. The time of the range is not a share of the part, because the range covers all counted
/// steps and all causes of idle time.
fn host(part: &PartChange, subject: &Subject, baseline: &Subject) -> String {
    let ranges = |of: &Subject| -> Vec<(String, f64)> {
        let meanwhile = of.profile.step_breakdown.as_ref().and_then(|it| it.host_meanwhile.as_ref());
        meanwhile.into_iter().flat_map(|it| &it.ranges).map(|it| (it.name.clone(), it.time_us)).collect()
    };
    let (ours, theirs) = (ranges(subject), ranges(baseline));
    let marks_steps =
        |name: &str| [subject, baseline].iter().any(|it| facts::marks_step(it.profile.step_timing.annotation(), name));
    let time = |of: &[(String, f64)], name: &str| of.iter().find(|(known, _)| known == name).map_or(0.0, |(_, us)| *us);
    let mut changes: Vec<(&str, f64)> = ours
        .iter()
        .chain(&theirs)
        .map(|(name, _)| (name.as_str(), time(&ours, name) - time(&theirs, name)))
        .filter(|(name, delta)| delta * part.delta_us_per_step > 0.0 && !marks_steps(name))
        .collect();
    sort::sort_by(&mut changes, |a, b| b.1.abs().total_cmp(&a.1.abs()));
    let most = changes.first().filter(|(_, delta)| delta.abs() >= LEAST_OF_HOST * part.delta_us_per_step.abs());
    most.map_or_else(String::new, |(name, delta)| {
        format!(
            " While devices are idle, the host is in {} for {} of the time.",
            format::shorten(name, 60),
            if *delta < 0.0 { "less" } else { "more" }
        )
    })
}

/// A host range explains a part of the step if the change of the range is at least this share of the part's change.
const LEAST_OF_HOST: f64 = 0.3;

/// Describes the change of a part that no other cause explains.
pub(super) fn of_rest(title: &str, rest: f64) -> String {
    format!(
        "{title}, remainder: {}. It comes from ops that overlap with others, or whose own difference is small or \
            not proven.",
        signed(rest)
    )
}

/// Describes a change that nearly all ops share.
pub(super) fn of_uniform(alike: &UniformChange) -> String {
    let word = if alike.longer > 0.0 { "longer" } else { "less" };
    format!(
        "All ops take {} {word} ({} ops with {} of the op time), because clocks, power or the device differ, not the \
            program. The step changes by {}.",
        format::percent(100.0 * alike.longer.abs()),
        format::count(alike.ops.len() as u64),
        format::percent(100.0 * alike.time_share),
        signed(alike.delta_us)
    )
}

/// Formats executions per step; whole numbers get no decimals.
pub fn per_step(count: f64) -> String {
    if count == (count as u64) as f64 { format::count(count as u64) } else { format::number(count) }
}

/// Formats a signed time with a typographic minus: `+12.3 us`, `-1.2 ms`.
pub fn signed(us: f64) -> String {
    format!("{}{}", if us < 0.0 { "\u{2212}" } else { "+" }, format::time_us(us.abs()))
}
