//! Finds the causes of the difference between two step times, and sorts the causes by size.
//!
//! Candidates are ops and their name scopes (by self time, or by exposed time for communication), kinds of collectives,
//! classes of ops that are too small to list individually, and stragglers. Each part of the step (idle time by cause,
//! copies) then gets an entry for its unexplained remainder, so that the causes add up to the difference. If the runs
//! are from two platforms, the parts of the step come first and the scopes second, because the ops of two platforms do
//! not correspond to each other.

mod communication;
mod scope_tree;
mod text;

use std::collections::BTreeSet;

use self::communication::{kinds, straggler};
use self::scope_tree::Entry;
use super::steps;
use super::uniform::uniform;
use super::{
    Cause, CauseKind, Change, ChangeKind, CollectiveChange, FairnessCheck, FairnessStatus, PartChange, StepTimeChange,
    StepTimeVerdict, Subject,
};
use base::{format, framework_path, sort};
pub use text::{per_step, signed};

/// Maximum number of ops, scopes and classes that are reported for one run, in addition to the parts of the step.
const MOST: usize = 10;

/// A difference is a cause if it exceeds this share of the step, or the share [`LEAST_REST`] of the whole difference.
const LEAST_SHARE: f64 = 0.002;

/// The unexplained remainder of a part is listed if it exceeds this share of the whole difference.
const LEAST_REST: f64 = 0.05;

/// Data in which [`causes`] finds the causes of one run's difference from the baseline.
pub(crate) struct Evidence<'a> {
    /// Step time of the run, compared with the baseline's step time.
    pub change: &'a StepTimeChange,
    /// Smallest relative difference that is treated as a change.
    pub threshold: f64,
    /// Run to explain.
    pub subject: &'a Subject,
    /// Baseline run.
    pub baseline: &'a Subject,
    /// Index of the baseline.
    pub baseline_run: usize,
    /// Parts of the step with their changes.
    pub parts: &'a [PartChange],
    /// Changes of all matched ops.
    pub ops: &'a [Change],
    /// Changes of all classes of ops, listed or not.
    pub classes: &'a [Change],
    /// Communication of all runs by kind.
    pub collectives: &'a [CollectiveChange],
    /// True if the runs are from different platforms, so that only parts, scopes and classes are comparable.
    pub across: bool,
}

/// Causes found so far, each with the part of the step that it explains.
struct CauseList<'a> {
    run: u32,
    causes: Vec<(&'a str, Cause)>,
}

impl Cause {
    fn new(kind: CauseKind, name: &str, delta_us_per_step: f64, text: String) -> Cause {
        Cause { kind, name: name.to_owned(), delta_us_per_step, text, ..Cause::default() }
    }
}

impl<'a> CauseList<'a> {
    fn add(&mut self, part: &'a str, cause: Cause) {
        self.causes.push((part, Cause { run: self.run, ..cause }));
    }

    /// Returns the total of the causes found for a part, in microseconds. Returns `None` if no cause was found.
    fn explained(&self, part: &str) -> Option<f64> {
        self.causes.iter().filter(|(of, _)| *of == part).map(|(_, cause)| cause.delta_us_per_step).reduce(|a, b| a + b)
    }

    /// Returns true if the causes add up to between 50 % and 150 % of the part's change.
    fn explains(&self, part: &PartChange) -> bool {
        let delta = part.delta_us_per_step;
        self.explained(&part.part).is_some_and(|sum| sum != 0.0 && (sum - delta).abs() <= 0.5 * delta.abs())
    }

    /// Keeps the `most` largest causes that exceed `least`.
    fn keep(&mut self, least: f64, most: usize, total: f64) {
        self.causes.retain(|(_, cause)| cause.delta_us_per_step.abs() > least);
        sort::sort_by(&mut self.causes, |(_, a), (_, b)| by_size(a, b, total));
        self.causes.truncate(most);
    }
}

/// Sorts causes by size, largest first. Causes with the opposite sign of the difference come last, because they explain
/// none of it.
fn by_size(a: &Cause, b: &Cause, total: f64) -> std::cmp::Ordering {
    let against = |cause: &Cause| cause.delta_us_per_step * total < 0.0;
    let size = |cause: &Cause| cause.delta_us_per_step.abs();
    let is_rest = |cause: &Cause| cause.kind == CauseKind::Rest;
    let last = |cause: &Cause| (against(cause), is_rest(cause));
    last(a).cmp(&last(b)).then_with(|| size(b).total_cmp(&size(a))).then_with(|| a.name.cmp(&b.name))
}

/// Returns the causes of one run's difference, and the percentage of the difference that they add
/// up to.
pub(crate) fn causes(evidence: &Evidence<'_>) -> (Vec<Cause>, Option<f64>) {
    let Evidence { change, subject, baseline, parts, .. } = *evidence;
    // Without a proven difference, there are no causes.
    if !matches!(change.verdict, StepTimeVerdict::Faster | StepTimeVerdict::Slower) {
        return (Vec::new(), None);
    }
    let total: f64 = parts.iter().map(|part| part.delta_us_per_step).sum();
    let step = parts.iter().map(|part| part.baseline_us).sum::<f64>();
    let least = (LEAST_SHARE * step).min(LEAST_REST * total.abs());
    let mut found = CauseList { run: change.run, causes: Vec::new() };
    if !evidence.across {
        of_ops(evidence, &mut found);
        small_ops(evidence, &mut found);
        if let Some(part) = parts.iter().find(|part| part.part == "communication").filter(|part| !found.explains(part))
        {
            kinds(evidence, part, &mut found);
        }
        found.keep(least, MOST, total);
    }
    of_parts(evidence, total, &mut found);
    found.keep(least, MOST + parts.len(), total);
    let mut causes: Vec<Cause> = found.causes.into_iter().map(|(_, cause)| cause).collect();
    let listed: f64 = causes.iter().map(|cause| cause.delta_us_per_step).sum();
    // Scopes and parts split the same time, so scopes are not part of the sum.
    if evidence.across {
        let scopes = of_scopes(evidence);
        causes.extend(scopes.into_iter().filter(|cause| cause.delta_us_per_step.abs() > least).take(MOST));
    } else {
        causes.extend(straggler(change.run, subject, baseline, total));
        sort::sort_by(&mut causes, |a, b| by_size(a, b, total));
    }
    for cause in &mut causes {
        cause.percent_of_difference = (total != 0.0).then(|| 100.0 * cause.delta_us_per_step / total);
    }
    let explained = (total != 0.0 && !causes.is_empty()).then(|| 100.0 * listed / total);
    (causes, explained.filter(|percent| percent.is_finite()))
}

/// Fairness checks of the compiler and its flags. If the runs differ in one of these checks, they may do the same work
/// with different ops.
const OF_COMPILATION: [&str; 2] = ["compiler", "compiler_flags"];

/// Returns a cause for each compiler setting that differs. The cost of these causes is unknown, so they come after the
/// causes whose time is known.
pub(crate) fn conditions(fairness: &[FairnessCheck], run: usize, baseline: usize) -> Vec<Cause> {
    let differs =
        |it: &&FairnessCheck| it.status == FairnessStatus::Differs && OF_COMPILATION.contains(&it.check.as_str());
    let cause = |it: &FairnessCheck| {
        let [ours, theirs] = [run, baseline].map(|run| it.values.get(run)?.as_deref());
        let (ours, theirs) = (ours?, theirs?);
        let text = format!("{}: {ours} instead of {theirs}. This may be why ops differ.", it.title);
        let of_run = Cause { run: run as u32, ..Cause::new(CauseKind::Condition, &it.check, 0.0, text) };
        (ours != theirs).then_some(of_run)
    };
    fairness.iter().filter(differs).filter_map(cause).collect()
}

/// Adds one cause if all ops change alike, and otherwise a cause for each op of communication and for each scope of
/// computation.
fn of_ops<'a>(evidence: &Evidence<'a>, found: &mut CauseList<'a>) {
    let Evidence { subject, baseline, ops, threshold, .. } = *evidence;
    let names = (subject.name.as_str(), baseline.name.as_str());
    let alike = uniform(ops, threshold);
    if let Some(alike) = &alike {
        found.add("compute", Cause::new(CauseKind::Uniform, "all ops", alike.delta_us, text::of_uniform(alike)));
    }
    let is_alike = |at: usize| alike.as_ref().is_some_and(|alike| alike.ops.contains(&at));
    let mut computing = Vec::new();
    for (at, op) in ops.iter().enumerate().filter(|(_, op)| op.change != ChangeKind::Same || op.exposed_us.is_some()) {
        // A difference within the noise is not a cause.
        if is_alike(at) || op.margin_us.is_some_and(|margin| op.delta_us_per_step.abs() <= margin) {
            continue;
        }
        match (op.exposed_us, op.family.as_str()) {
            (Some([exposed, base_exposed]), _) => {
                let delta = exposed - base_exposed;
                found.add("communication", of_op(CauseKind::Communication, op, delta, ops, names));
            }
            (None, DATA_MOVEMENT) => {
                found.add(DATA_MOVEMENT, of_op(CauseKind::Op, op, op.delta_us_per_step, ops, names));
            }
            (None, _) => computing.push(at),
        }
    }
    for entry in scope_tree::entries(ops, &computing) {
        match entry {
            Entry::Op(at) => {
                if let Some(op) = ops.get(at) {
                    found.add("compute", of_op(CauseKind::Op, op, op.delta_us_per_step, ops, names));
                }
            }
            Entry::Scope { path, ops: at } => {
                let members: Vec<&Change> = at.iter().filter_map(|&at| ops.get(at)).collect();
                let delta = members.iter().map(|op| op.delta_us_per_step).sum();
                let text = text::of_scope(&path, &members, delta, names.1);
                found.add(
                    "compute",
                    Cause { scope: Some(path.clone()), ..Cause::new(CauseKind::Scope, &path, delta, text) },
                );
            }
        }
    }
}

fn of_op(kind: CauseKind, op: &Change, delta: f64, ops: &[Change], names: (&str, &str)) -> Cause {
    Cause {
        scope: text::scope(op),
        source: op.source.clone(),
        ..Cause::new(kind, &op.name, delta, text::of_op(op, delta, ops, names))
    }
}

/// Adds a cause for each part of the step whose change the listed causes do not fully explain. The [`DATA_PARTS`] form
/// one entry, because data movement ops do not record which of these parts they belong to.
fn of_parts<'a>(evidence: &Evidence<'a>, total: f64, found: &mut CauseList<'a>) {
    let moves: Vec<&PartChange> =
        evidence.parts.iter().filter(|part| DATA_PARTS.contains(&part.part.as_str())).collect();
    let moved: f64 = moves.iter().map(|part| part.delta_us_per_step).sum();
    let has_moves = found.explained(DATA_MOVEMENT).is_some();
    for part in evidence.parts.iter().filter(|part| !has_moves || !DATA_PARTS.contains(&part.part.as_str())) {
        match found.explained(&part.part) {
            None => {
                let text = text::of_part(part, evidence);
                found.add(&part.part, Cause::new(CauseKind::Part, &part.part, part.delta_us_per_step, text));
            }
            Some(sum) => add_rest(found, &part.part, &part.title, part.delta_us_per_step - sum, total),
        }
    }
    if let Some(sum) = found.explained(DATA_MOVEMENT).filter(|_| has_moves) {
        add_rest(found, DATA_MOVEMENT, "Data movement", moved - sum, total);
    }
}

fn add_rest<'a>(found: &mut CauseList<'a>, part: &'a str, title: &str, rest: f64, total: f64) {
    if rest.abs() > LEAST_REST * total.abs() {
        found.add(part, Cause::new(CauseKind::Rest, part, rest, text::of_rest(title, rest)));
    }
}

/// Returns the time differences by scope, largest first, for runs on two platforms. Falls back to classes of ops if one capture
/// does not record its scopes, because a scope that is not recorded may still take time.
fn of_scopes(evidence: &Evidence<'_>) -> Vec<Cause> {
    let (run, baseline) = (evidence.change.run, evidence.baseline.name.as_str());
    let by_scope = have_common_scopes(evidence.ops);
    let mut sums: Vec<(String, CauseKind, [f64; 2])> = Vec::new();
    for op in evidence.ops {
        let scope = scope_of_layers(op).filter(|_| by_scope);
        let kind = if scope.is_some() { CauseKind::Scope } else { CauseKind::Class };
        let name = scope.unwrap_or_else(|| op.family.replace('_', " "));
        match sums.iter_mut().find(|(known, known_kind, _)| *known == name && *known_kind == kind) {
            Some((_, _, [ours, theirs])) => (*ours, *theirs) = (*ours + op.time_us[0], *theirs + op.time_us[1]),
            None => sums.push((name, kind, op.time_us)),
        }
    }
    let cause = |(name, kind, [ours, theirs]): (String, CauseKind, [f64; 2])| {
        let [time, base_time] = [ours, theirs].map(format::time_us);
        let what = match kind {
            CauseKind::Scope => format!("Ops of {name}"),
            _ if by_scope => format!("{name} ops without a scope"),
            _ => format!("{name} ops"),
        };
        let text = format!(
            "{what} take {time} per step, against {base_time} in {baseline}: \
            {}.",
            signed(ours - theirs)
        );
        let scope = (kind == CauseKind::Scope).then(|| name.clone());
        Cause { run, scope, ..Cause::new(kind, &name, ours - theirs, text) }
    };
    let mut causes: Vec<Cause> = sums.into_iter().map(cause).collect();
    sort::sort_by(&mut causes, |a, b| b.delta_us_per_step.abs().total_cmp(&a.delta_us_per_step.abs()));
    causes
}

/// Returns the name scopes of an op, with all layers merged into one.
fn scope_of_layers(op: &Change) -> Option<String> {
    text::scope(op).map(|scope| framework_path::layered(&scope))
}

/// Scopes are compared only if the ops with a scope take at least this share of the op time.
const MOST_IN_SCOPES: f64 = 0.5;

/// Returns true if both sides record scopes for most of their op time and have at least one scope
/// in common.
fn have_common_scopes(ops: &[Change]) -> bool {
    let scopes_of = |side: usize| {
        let time = |op: &Change| op.time_us.get(side).copied().unwrap_or(0.0);
        let (mut scopes, mut inside, mut all) = (BTreeSet::new(), 0.0, 0.0);
        for op in ops.iter().filter(|op| time(op) > 0.0) {
            all += time(op);
            if let Some(scope) = scope_of_layers(op) {
                inside += time(op);
                scopes.insert(scope);
            }
        }
        (all > 0.0 && inside >= MOST_IN_SCOPES * all).then_some(scopes)
    };
    matches!([0, 1].map(scopes_of), [Some(ours), Some(theirs)] if !ours.is_disjoint(&theirs))
}

/// Class of the ops that move data. The time of these ops belongs to [`DATA_PARTS`].
const DATA_MOVEMENT: &str = "data_movement";

/// Parts of the step that contain ops of [`DATA_MOVEMENT`].
const DATA_PARTS: [&str; 5] = ["h2d", "d2h", "p2p", "d2d", DATA_MOVEMENT];

/// Adds a cause for each class of ops that are too small to list individually: the change of the class minus the change
/// of its listed ops. Skips communication and data movement, which have their own parts of the step.
fn small_ops<'a>(evidence: &Evidence<'a>, found: &mut CauseList<'a>) {
    let sides = [steps::ops(&evidence.subject.profile), steps::ops(&evidence.baseline.profile)];
    for class in evidence.classes.iter().filter(|it| it.name != "communication" && it.name != DATA_MOVEMENT) {
        let [mut time, mut count] = [class.time_us, class.per_step];
        for ((side, time), count) in sides.iter().zip(&mut time).zip(&mut count) {
            for op in side.iter().flat_map(|ops| &ops.ops).filter(|op| op.family == class.family) {
                *time -= op.self_time_us;
                *count -= op.occurrences;
            }
        }
        let delta = time[0] - time[1];
        if delta.abs() <= 0.5 * class.delta_us_per_step.abs() {
            continue;
        }
        let [ours, theirs] = time.map(|time| format::time_us(time.max(0.0)));
        let runs = count.map(|count| per_step(count.max(0.0)));
        let of_count = if runs[0] == runs[1] {
            String::new()
        } else {
            format!(" ({} calls per step instead of {})", runs[0], runs[1])
        };
        let text = format!(
            "Small {} ops, which are not listed, take {ours} per step, against {theirs} in {}{of_count}: {}.",
            class.name.replace('_', " "),
            evidence.baseline.name,
            signed(delta)
        );
        found.add("compute", Cause::new(CauseKind::Class, &class.name, delta, text));
    }
}
