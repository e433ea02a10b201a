//! Matches the ops of one run to the ops of another run.
//!
//! `fusion.12` does not identify an op: the next build numbers its fusions differently. Ops are therefore matched in
//! several passes. Each pass handles the ops that the previous passes left over, and the result records the pass:
//!
//! | pass | equal | meaning |
//! |---|---|---|
//! | `name` | name, and fingerprint and framework path if both sides have them | the same op |
//! | `fingerprint` | expression without names and numbers, and framework path; then the path without the layer's number | the same instruction, renumbered |
//! | `framework_path` | framework path and class | the same line of the model, compiled differently |
//! | `fingerprint` | expression alone | the same instruction under another path |
//! | `similar_name` | name without its number, class, and scope | probably the same |
//! | `scope` | the scope, for the remaining ops on both sides | the same work, rewritten |
//!
//! Ops with the same key are compared together, because the 24 identical fusions of 24 layers cannot be paired one by
//! one. Across platforms, scopes and classes are meaningful, but kernel names are not.

mod keys;

use std::collections::BTreeMap;

pub use self::keys::scope;
use self::keys::{ACROSS, MatchKey, PASSES, Witnesses};
use super::op_noise::OpNoise;
use super::products::Products;
use super::{Change, ChangeKind, MatchedBy, MatchedTime, Matching};
use base::{framework_path, sort};
use report::{StepKernel, StepOp, StepOps};

/// Op or kernel of a step, as input to the matching.
struct Item<'a> {
    name: &'a str,
    family: &'a str,
    framework_op: Option<&'a str>,
    source: Option<&'a str>,
    fingerprint: Option<&'a str>,
    instances: u64,
    time_us: f64,
    stddev_us: Option<f64>,
    exposed_us: Option<f64>,
    occurrences: f64,
}

impl<'a> Item<'a> {
    fn of_op(op: &'a StepOp, products: Products) -> Item<'a> {
        Item {
            name: &op.name,
            family: products.class(&op.family),
            framework_op: op.framework_op.as_deref(),
            source: op.source.as_deref(),
            fingerprint: op.fingerprint.as_deref(),
            instances: op.instances.max(1),
            time_us: op.self_time_us,
            stddev_us: op.stddev_us,
            exposed_us: op.exposed_time_us,
            occurrences: op.occurrences,
        }
    }

    fn named(name: &'a str, family: &'a str, time_us: f64, occurrences: f64) -> Item<'a> {
        Item {
            name,
            family,
            framework_op: None,
            source: None,
            fingerprint: None,
            instances: 1,
            time_us,
            stddev_us: None,
            exposed_us: None,
            occurrences,
        }
    }
}

/// Matches the ops of `run` to the ops of the baseline. Returns the changes sorted by difference, largest first, and the
/// unmatched time. `across` contains the common names of classes if the runs are from two platforms.
pub(crate) fn ops(
    run: usize,
    ours: &StepOps,
    theirs: &StepOps,
    noise: &OpNoise,
    across: Option<Products>,
) -> (Vec<Change>, Matching) {
    let products = across.unwrap_or_default();
    let sides = [ours, theirs].map(|it| it.ops.iter().map(|op| Item::of_op(op, products)).collect());
    let mut changes = changes(run, &sides, noise, if across.is_some() { &ACROSS } else { &PASSES });
    if across.is_some() {
        changes.iter_mut().for_each(by_time_alone);
    }
    let mut matching = Matching { run: run as u32, ..Matching::default() };
    for change in &changes {
        if change.matched_by == MatchedBy::None {
            matching.unmatched_us =
                [matching.unmatched_us[0] + change.time_us[0], matching.unmatched_us[1] + change.time_us[1]];
            continue;
        }
        match matching.matched_us.iter_mut().find(|it| it.matched_by == change.matched_by) {
            Some(it) => it.time_us += change.time_us[0],
            None => matching.matched_us.push(MatchedTime { matched_by: change.matched_by, time_us: change.time_us[0] }),
        }
    }
    let unlisted = |ops: &StepOps| {
        let listed: f64 = ops.ops.iter().map(|op| op.self_time_us).sum();
        if (ops.ops.len() as u64) < ops.num_ops { (ops.op_time_us - listed).max(0.0) } else { 0.0 }
    };
    matching.unlisted_us = [unlisted(ours), unlisted(theirs)];
    (changes, matching)
}

/// Matches the kernels of `run` to the kernels of the baseline by their full names, which identify the code.
pub(crate) fn kernels(run: usize, ours: &StepOps, theirs: &StepOps) -> Vec<Change> {
    let side = |ops: &'_ StepOps| -> Vec<(String, String, f64, f64)> {
        let kernel = |it: &StepKernel| (it.name.clone(), it.family.clone(), it.time_us, it.occurrences);
        ops.kernels.iter().map(kernel).collect()
    };
    named(run, [&side(ours), &side(theirs)], MatchedBy::Name)
}

/// Compares classes of ops. If a profile has no ops per step, the categories of its kernels are
/// used.
pub(crate) fn families(
    run: usize,
    ours: &[(String, f64, f64)],
    theirs: &[(String, f64, f64)],
    are_of_one_platform: bool,
) -> Vec<Change> {
    let side = |of: &[(String, f64, f64)]| -> Vec<(String, String, f64, f64)> {
        of.iter().map(|(family, time_us, count)| (family.clone(), family.clone(), *time_us, *count)).collect()
    };
    let mut classes = named(run, [&side(ours), &side(theirs)], MatchedBy::Class);
    if !are_of_one_platform {
        classes.iter_mut().for_each(by_time_alone);
    }
    classes
}

/// Reduces a change across platforms to the time per step. The platforms split work into different numbers of ops, so counts
/// are not comparable. If a platform lacks a class or scope, it does that work under another name.
fn by_time_alone(change: &mut Change) {
    change.slowdown = None;
    if !matches!(change.change, ChangeKind::Slower | ChangeKind::Faster | ChangeKind::Rewritten) {
        let [ours, theirs] = change.time_us;
        change.change = match (ours - theirs).abs() <= SAME_SHARE * ours.max(theirs) {
            true => ChangeKind::Same,
            false if ours > theirs => ChangeKind::Slower,
            false => ChangeKind::Faster,
        };
    }
}

/// Matches two lists of name, class, time and count by full name.
fn named(run: usize, sides: [&[(String, String, f64, f64)]; 2], matched_by: MatchedBy) -> Vec<Change> {
    let items = sides.map(|side| side.iter().map(|(name, family, us, n)| Item::named(name, family, *us, *n)).collect());
    changes(run, &items, &OpNoise::default(), &[(matched_by, |item, _| Some(item.name.to_owned()))])
}

fn changes(run: usize, sides: &[Vec<Item<'_>>; 2], noise: &OpNoise, passes: &[(MatchedBy, MatchKey)]) -> Vec<Change> {
    let witnesses = Witnesses::of(sides);
    let change = |group: &[Vec<usize>; 2], matched_by: MatchedBy| {
        let stddevs = [0, 1].map(|side: usize| stddev_us(sides.get(side)?, group.get(side)?));
        Change { margin_us: noise.margin_us(group, stddevs), ..change(run, sides, group, matched_by) }
    };
    let mut left: [Vec<usize>; 2] = [(0..sides[0].len()).collect(), (0..sides[1].len()).collect()];
    let mut changes = Vec::new();
    for &(matched_by, key) in passes {
        let key = |item: &Item<'_>| key(item, witnesses);
        let ours = grouped(&sides[0], &left[0], key);
        let mut theirs = grouped(&sides[1], &left[1], key);
        for (key, ours) in ours {
            let Some(theirs) = theirs.remove(&key) else { continue };
            for (left, group) in left.iter_mut().zip([&ours, &theirs]) {
                left.retain(|at| !group.contains(at));
            }
            changes.extend(split(sides, [ours, theirs]).iter().map(|group| change(group, matched_by)));
        }
    }
    for &at in &left[0] {
        changes.push(change(&[vec![at], Vec::new()], MatchedBy::None));
    }
    for &at in &left[1] {
        changes.push(change(&[Vec::new(), vec![at]], MatchedBy::None));
    }
    sort::sort_by(&mut changes, |a: &Change, b: &Change| {
        let size = |change: &Change| change.delta_us_per_step.abs();
        size(b)
            .total_cmp(&size(a))
            .then_with(|| a.name.cmp(&b.name))
            .then_with(|| a.matched_by.label().cmp(b.matched_by.label()))
    });
    changes
}

/// Splits a small group of ops that have the same framework path but compute different things. If both sides have the
/// same number of ops, pairs them by time, longest with longest, which minimises the changes. Identical ops are
/// interchangeable and stay together.
fn split(sides: &[Vec<Item<'_>>; 2], group: [Vec<usize>; 2]) -> Vec<[Vec<usize>; 2]> {
    let [ours, theirs] = &group;
    let items = || {
        [(&sides[0], ours), (&sides[1], theirs)]
            .into_iter()
            .flat_map(|(side, at)| at.iter().filter_map(|&at| side.get(at)))
    };
    let first = items().next();
    let is_one_path = first
        .is_some_and(|first| first.framework_op.is_some() && items().all(|it| it.framework_op == first.framework_op));
    let is_one_op =
        first.is_some_and(|first| first.fingerprint.is_some() && items().all(|it| it.fingerprint == first.fingerprint));
    if is_one_path && !is_one_op && ours.len() == theirs.len() && ours.len() <= MOST_PAIRED {
        // Profiles list ops sorted by time.
        return ours.iter().zip(theirs).map(|(&ours, &theirs)| [vec![ours], vec![theirs]]).collect();
    }
    vec![group]
}

/// Maximum number of ops that are paired. If more ops have the same path, they belong to layers that the path does not
/// name.
const MOST_PAIRED: usize = 8;

/// Returns an upper bound of the variation of a group of ops from step to step, as if all of them
/// varied in unison. Returns `None` if an op does not record its variation.
fn stddev_us(items: &[Item<'_>], group: &[usize]) -> Option<f64> {
    group.iter().map(|&at| items.get(at)?.stddev_us).sum()
}

/// Groups the unmatched ops of a side by key.
fn grouped(
    items: &[Item<'_>],
    left: &[usize],
    key: impl Fn(&Item<'_>) -> Option<String>,
) -> BTreeMap<String, Vec<usize>> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for &at in left {
        if let Some(key) = items.get(at).and_then(&key) {
            groups.entry(key).or_default().push(at);
        }
    }
    groups
}

fn change<'i>(run: usize, sides: &'i [Vec<Item<'i>>; 2], group: &[Vec<usize>; 2], matched_by: MatchedBy) -> Change {
    let pick = |items: &'i [Item<'i>], group: &[usize]| -> Vec<&'i Item<'i>> {
        group.iter().filter_map(|&at| items.get(at)).collect()
    };
    let found = [pick(&sides[0], &group[0]), pick(&sides[1], &group[1])];
    // Starts from 0, because the sum of an empty list is -0, which would appear in the document.
    let sum = |value: fn(&Item<'_>) -> f64| {
        found.each_ref().map(|items| items.iter().map(|item| value(item)).fold(0.0, |sum, it| sum + it))
    };
    let (time_us, per_step) = (sum(|item| item.time_us), sum(|item| item.occurrences));
    let exposed = found.iter().flatten().any(|item| item.exposed_us.is_some());
    let delta = time_us[0] - time_us[1];
    let slowdown = (per_step.iter().all(|count| *count > 0.0) && time_us[1] > 0.0)
        .then(|| (time_us[0] / per_step[0]) / (time_us[1] / per_step[1]));
    let [first, base] = found.each_ref().map(|items| items.first().copied());
    let shown = first.or(base);
    // A whole class cannot be named after one op.
    let by_class = matched_by == MatchedBy::Class;
    let ops = found.each_ref().map(|items| items.iter().map(|item| item.instances).sum());
    let path = shown.and_then(|item| item.framework_op).filter(|_| !by_class);
    let scopes = |path: Option<&'i str>| path.map(framework_path::scopes);
    let is_of_layers = found.iter().flatten().any(|item| scopes(item.framework_op) != scopes(path));
    let fingerprint = |item: Option<&Item<'_>>| item.and_then(|item| item.fingerprint.map(str::to_owned));
    let is_recompiled = matches!((fingerprint(first), fingerprint(base)), (Some(ours), Some(theirs)) if ours != theirs);
    let name = shown.map_or("", |item| if by_class { item.family } else { item.name });
    Change {
        run: run as u32,
        name: name.to_owned(),
        baseline_name: base.map(|item| item.name).filter(|base| *base != name && !by_class).map(str::to_owned),
        family: shown.map_or("", |item| item.family).to_owned(),
        framework_op: path.map(|path| if is_of_layers { framework_path::layered(path) } else { path.to_owned() }),
        source: shown.and_then(|item| item.source).filter(|_| !by_class).map(str::to_owned),
        matched_by,
        recompiled: is_recompiled && !by_class,
        change: if matched_by == MatchedBy::Scope { ChangeKind::Rewritten } else { kind(time_us, per_step, slowdown) },
        ops,
        per_step,
        time_us,
        exposed_us: exposed.then(|| sum(|item| item.exposed_us.unwrap_or(0.0))),
        delta_us_per_step: delta,
        margin_us: None,
        slowdown,
    }
}

/// A change below this share of the longer time is treated as `same`.
const SAME_SHARE: f64 = 0.01;

/// Splits the difference into a change of the count (at the baseline's mean time) and a change of the mean time. The
/// larger of the two determines the kind of change.
fn kind(time_us: [f64; 2], per_step: [f64; 2], slowdown: Option<f64>) -> ChangeKind {
    let [ours, theirs] = per_step;
    if theirs == 0.0 {
        return ChangeKind::New;
    }
    if ours == 0.0 {
        return ChangeKind::Gone;
    }
    let delta = time_us[0] - time_us[1];
    if delta.abs() <= SAME_SHARE * time_us[0].max(time_us[1]) || slowdown.is_none() {
        return ChangeKind::Same;
    }
    let by_count = (ours - theirs) * time_us[1] / theirs;
    match (by_count.abs() > (delta - by_count).abs(), delta > 0.0) {
        (true, true) => ChangeKind::MoreOften,
        (true, false) => ChangeKind::LessOften,
        (false, true) => ChangeKind::Slower,
        (false, false) => ChangeKind::Faster,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(name: &str, fingerprint: &str, path: &str, time: f64, count: f64) -> StepOp {
        StepOp {
            name: name.to_owned(),
            family: "matmul".to_owned(),
            fingerprint: Some(fingerprint.to_owned()).filter(|it| !it.is_empty()),
            framework_op: Some(path.to_owned()).filter(|it| !it.is_empty()),
            self_time_us: time,
            occurrences: count,
            ..StepOp::default()
        }
    }

    fn step(ops: Vec<StepOp>) -> StepOps {
        let op_time_us = ops.iter().map(|op| op.self_time_us).sum();
        StepOps { device_steps: 1, op_time_us, num_ops: ops.len() as u64, ops, ..StepOps::default() }
    }

    #[test]
    fn a_number_in_a_name_does_not_identify_an_op() {
        // The second build numbers its fusions in the opposite order.
        let base = step(vec![op("fusion.1", "aa", "l/a", 10.0, 1.0), op("fusion.2", "bb", "l/b", 30.0, 1.0)]);
        let run = step(vec![op("fusion.2", "aa", "l/a", 11.0, 1.0), op("fusion.1", "bb", "l/b", 30.0, 1.0)]);
        let (changes, matching) = ops(1, &run, &base, &OpNoise::default(), None);
        assert_eq!(changes.len(), 2);
        assert_eq!((changes[0].name.as_str(), changes[0].baseline_name.as_deref()), ("fusion.2", Some("fusion.1")));
        assert_eq!((changes[0].matched_by.label(), changes[0].change.label()), ("fingerprint", "slower"));
        assert_eq!(changes[1].change, ChangeKind::Same);
        assert_eq!(matching.unmatched_us, [0.0, 0.0]);
    }

    #[test]
    fn passes_run_in_order_and_the_rest_is_reported() {
        let base = step(vec![
            op("gemm", "", "", 5.0, 1.0),
            op("dot.1", "p", "l/q", 8.0, 2.0),
            op("loop_fusion.3", "", "", 4.0, 4.0),
            op("lost", "", "", 3.0, 1.0),
        ]);
        let run = step(vec![
            op("gemm", "", "", 10.0, 1.0),
            op("dot.9", "r", "l/q", 8.0, 2.0),
            op("loop_fusion.8", "", "", 8.0, 8.0),
            op("won", "", "", 1.0, 1.0),
        ]);
        let (changes, matching) = ops(1, &run, &base, &OpNoise::default(), None);
        let found: Vec<(&str, &str, &str)> =
            changes.iter().map(|it| (it.name.as_str(), it.matched_by.label(), it.change.label())).collect();
        assert_eq!(
            found,
            [
                ("gemm", "name", "slower"),
                ("loop_fusion.8", "similar_name", "more_often"),
                ("lost", "none", "gone"),
                ("won", "none", "new"),
                ("dot.9", "framework_path", "same"),
            ]
        );
        assert_eq!(matching.unmatched_us, [1.0, 3.0]);
        let sum: f64 = changes.iter().map(|it| it.delta_us_per_step).sum();
        assert_eq!(sum, run.op_time_us - base.op_time_us);
    }

    #[test]
    fn equal_ops_are_compared_together() {
        let layer = |n: usize| op(&format!("fusion.{n}"), "same", "", 1.0, 1.0);
        let base = step((0..24).map(layer).collect());
        let run = step((100..125).map(layer).collect());
        let (changes, _) = ops(1, &run, &base, &OpNoise::default(), None);
        assert_eq!(changes.len(), 1);
        assert_eq!((changes[0].ops, changes[0].change.label()), ([25, 24], "more_often"));
        assert_eq!(changes[0].slowdown, Some(1.0));
    }

    #[test]
    fn platforms_meet_in_scopes_and_classes() {
        let tpu = step(vec![
            op("fusion.7", "x", "jit(f)/layer_3/attn/dot_general", 4.0, 1.0),
            op("copy.1", "", "", 1.0, 1.0),
        ]);
        let gpu = step(vec![
            op("nvjet_x", "y", "jit(f)/jit(main)/layer_3/attn/dot_general", 6.0, 1.0),
            op("k", "", "", 2.0, 1.0),
        ]);
        let (changes, _) = ops(1, &tpu, &gpu, &OpNoise::default(), Some(Products::AsStated));
        let how: Vec<&str> = changes.iter().map(|it| it.matched_by.label()).collect();
        assert_eq!(how, ["framework_path", "class"]);
    }
}
