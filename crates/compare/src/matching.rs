//! Which op of one run is which of the other.
//!
//! `fusion.12` is no identity: the next build numbers its fusions anew. So ops are matched in passes, each with what the one before
//! left over, and the pass is told:
//!
//! | pass | equal | says |
//! |---|---|---|
//! | `name` | name, and fingerprint where both have one, else framework path | the same op |
//! | `fingerprint` | expression without names and numbers | the same instruction, perhaps renumbered |
//! | `framework_path` | framework path and class | the same line of the model, compiled differently |
//! | `similar_name` | name without its number, and class | probably the same |
//!
//! Ops that are equal by a key are compared together: 24 layers have 24 equal fusions, and none of them is "the" other. Across
//! platforms only the last step makes sense, by name scope and class; kernel names never do.

use std::collections::BTreeMap;

use super::difference::of_values;
use super::subject::CaptureTimes;
use super::t_quantile::t_quantile_9995;
use super::{Change, ChangeKind, MatchedBy, MatchedTime, Matching};
use base::sort;
use report::{StepKernel, StepOp, StepOps};

/// An op or kernel of a step as the matching sees it.
struct Item<'a> {
    name: &'a str,
    family: &'a str,
    framework_op: Option<&'a str>,
    fingerprint: Option<&'a str>,
    time_us: f64,
    exposed_us: Option<f64>,
    occurrences: f64,
}

impl<'a> Item<'a> {
    fn of_op(op: &'a StepOp) -> Item<'a> {
        Item {
            name: &op.name,
            family: &op.family,
            framework_op: op.framework_op.as_deref(),
            fingerprint: op.fingerprint.as_deref(),
            time_us: op.self_time_us,
            exposed_us: op.exposed_time_us,
            occurrences: op.occurrences,
        }
    }

    fn of_kernel(kernel: &'a StepKernel) -> Item<'a> {
        Item {
            name: &kernel.name,
            family: &kernel.family,
            framework_op: None,
            fingerprint: None,
            time_us: kernel.time_us,
            exposed_us: None,
            occurrences: kernel.occurrences,
        }
    }
}

/// What ops have in common that are compared with each other.
type MatchKey = fn(&Item<'_>) -> Option<String>;

/// The passes on one platform.
const PASSES: [(MatchedBy, MatchKey); 4] = [
    (MatchedBy::Name, |item| {
        let detail = item.fingerprint.or(item.framework_op).unwrap_or_default();
        // A bare number after a general name tells nothing without a second witness.
        (!detail.is_empty() || base_name(item.name) == item.name).then(|| format!("{}\n{detail}", item.name))
    }),
    (MatchedBy::Fingerprint, |item| item.fingerprint.map(str::to_owned)),
    (MatchedBy::FrameworkPath, |item| Some(format!("{}\n{}", item.framework_op?, item.family))),
    (MatchedBy::SimilarName, |item| Some(format!("{}\n{}", base_name(item.name), item.family))),
];

/// The passes across platforms.
const ACROSS: [(MatchedBy, MatchKey); 2] = [
    (MatchedBy::FrameworkPath, |item| Some(format!("{}\n{}", scope(item.framework_op?)?, item.family))),
    (MatchedBy::Class, |item| Some(item.family.to_owned())),
];

/// Ops of `run` against those of the baseline, by descending difference, with what could not be matched.
/// Where a side is several captures, `times` has the time of each listed op in each of its captures.
pub fn ops(
    run: usize,
    ours: &StepOps,
    theirs: &StepOps,
    times: &[CaptureTimes; 2],
    across_platforms: bool,
) -> (Vec<Change>, Matching) {
    let sides = [ours.ops.iter().map(Item::of_op).collect(), theirs.ops.iter().map(Item::of_op).collect()];
    let changes = changes(run, &sides, times, if across_platforms { &ACROSS } else { &PASSES });
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

/// Kernels of `run` against those of the baseline, by their whole names: they say what the code is.
pub fn kernels(run: usize, ours: &StepOps, theirs: &StepOps) -> Vec<Change> {
    let sides =
        [ours.kernels.iter().map(Item::of_kernel).collect(), theirs.kernels.iter().map(Item::of_kernel).collect()];
    changes(run, &sides, &Default::default(), &[(MatchedBy::Name, |item| Some(item.name.to_owned()))])
}

/// Classes of ops. Where a profile has no step sections, categories of its kernels take their place.
pub fn families(run: usize, ours: &[(String, f64, f64)], theirs: &[(String, f64, f64)]) -> Vec<Change> {
    fn items(of: &[(String, f64, f64)]) -> Vec<Item<'_>> {
        fn item((family, time_us, occurrences): &(String, f64, f64)) -> Item<'_> {
            let (time_us, occurrences) = (*time_us, *occurrences);
            Item { name: family, family, framework_op: None, fingerprint: None, time_us, exposed_us: None, occurrences }
        }
        of.iter().map(item).collect()
    }
    let sides = [items(ours), items(theirs)];
    changes(run, &sides, &Default::default(), &[(MatchedBy::Class, |item| Some(item.name.to_owned()))])
}

fn changes(
    run: usize,
    sides: &[Vec<Item<'_>>; 2],
    times: &[CaptureTimes; 2],
    passes: &[(MatchedBy, MatchKey)],
) -> Vec<Change> {
    let change = |group: &[Vec<usize>; 2], matched_by: MatchedBy| Change {
        margin_us: margin_us(times, group),
        ..change(run, sides, group, matched_by)
    };
    let mut left: [Vec<usize>; 2] = [(0..sides[0].len()).collect(), (0..sides[1].len()).collect()];
    let mut changes = Vec::new();
    for &(matched_by, key) in passes {
        let ours = grouped(&sides[0], &left[0], key);
        let mut theirs = grouped(&sides[1], &left[1], key);
        for (key, ours) in ours {
            let Some(theirs) = theirs.remove(&key) else { continue };
            let group = [ours, theirs];
            changes.push(change(&group, matched_by));
            for (left, group) in left.iter_mut().zip(&group) {
                left.retain(|at| !group.contains(at));
            }
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

/// How far the times of a group of ops lie apart by what captures of one side differ by; `None` where each side is one capture.
fn margin_us(times: &[CaptureTimes; 2], group: &[Vec<usize>; 2]) -> Option<f64> {
    let of_side = |(times, group): (&CaptureTimes, &Vec<usize>)| -> Vec<f64> {
        let of_capture = |capture: &Vec<f64>| group.iter().filter_map(|&at| capture.get(at)).sum();
        times.iter().map(of_capture).collect()
    };
    let [ours, theirs] = [of_side((&times[0], &group[0])), of_side((&times[1], &group[1]))];
    let (error, df) = of_values(&ours, &theirs)?;
    Some(t_quantile_9995(df) * error).filter(|margin| margin.is_finite())
}

/// What is left of a side, by key.
fn grouped(items: &[Item<'_>], left: &[usize], key: MatchKey) -> BTreeMap<String, Vec<usize>> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for &at in left {
        if let Some(key) = items.get(at).and_then(key) {
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
    // From 0: the sum of nothing would be -0, and stand so in the document.
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
    // A whole class has no op to be named after.
    let by_class = matched_by == MatchedBy::Class;
    let name = shown.map_or("", |item| if by_class { item.family } else { item.name });
    Change {
        run: run as u32,
        name: name.to_owned(),
        baseline_name: base.map(|item| item.name).filter(|base| *base != name && !by_class).map(str::to_owned),
        family: shown.map_or("", |item| item.family).to_owned(),
        framework_op: shown.and_then(|item| item.framework_op).filter(|_| !by_class).map(str::to_owned),
        matched_by,
        change: kind(time_us, per_step, slowdown),
        ops: [group[0].len() as u64, group[1].len() as u64],
        per_step,
        time_us,
        exposed_us: exposed.then(|| sum(|item| item.exposed_us.unwrap_or(0.0))),
        delta_us_per_step: delta,
        margin_us: None,
        slowdown,
    }
}

/// Changes below this share of the longer time are none.
const SAME_SHARE: f64 = 0.01;

/// Splits the difference into that of counts (at the old mean time) and that of mean times; the larger names the change.
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

/// `fusion` of `fusion.12`, `fusion.12.remat2` and `fusion_12`; names that are all number stay.
fn base_name(name: &str) -> &str {
    let mut base = name;
    loop {
        let stripped = base.trim_end_matches(|c: char| c.is_ascii_digit());
        let stripped = stripped.strip_suffix(['.', '_']).or_else(|| stripped.strip_suffix(".remat"));
        match stripped {
            Some(shorter) if !shorter.is_empty() && shorter.len() < base.len() => base = shorter,
            _ => return base,
        }
    }
}

/// The name scopes of a framework path: without the functions that were compiled, and without the primitive at the end.
/// `jit(train)/jit(main)/transpose(jvp(layer_3))/attn/dot_general` is `transpose(jvp(layer_3))/attn`.
fn scope(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && !part.starts_with("jit(")).collect();
    parts.pop();
    (!parts.is_empty()).then(|| parts.join("/"))
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
    fn a_number_is_no_identity() {
        // The second build numbered its fusions the other way round.
        let base = step(vec![op("fusion.1", "aa", "l/a", 10.0, 1.0), op("fusion.2", "bb", "l/b", 30.0, 1.0)]);
        let run = step(vec![op("fusion.2", "aa", "l/a", 11.0, 1.0), op("fusion.1", "bb", "l/b", 30.0, 1.0)]);
        let (changes, matching) = ops(1, &run, &base, &Default::default(), false);
        assert_eq!(changes.len(), 2);
        assert_eq!((changes[0].name.as_str(), changes[0].baseline_name.as_deref()), ("fusion.2", Some("fusion.1")));
        assert_eq!((changes[0].matched_by.label(), changes[0].change.label()), ("fingerprint", "slower"));
        assert_eq!(changes[1].change, ChangeKind::Same);
        assert_eq!(matching.unmatched_us, [0.0, 0.0]);
    }

    #[test]
    fn passes_follow_each_other_and_the_rest_is_told() {
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
        let (changes, matching) = ops(1, &run, &base, &Default::default(), false);
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
        let (changes, _) = ops(1, &run, &base, &Default::default(), false);
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
        let (changes, _) = ops(1, &tpu, &gpu, &Default::default(), true);
        let how: Vec<&str> = changes.iter().map(|it| it.matched_by.label()).collect();
        assert_eq!(how, ["framework_path", "class"]);
    }

    #[test]
    fn names_without_their_numbers() {
        for (name, base) in [
            ("fusion.12", "fusion"),
            ("fusion.12.remat2", "fusion"),
            ("copy", "copy"),
            ("12", "12"),
            ("wrapped_add_3", "wrapped_add"),
        ] {
            assert_eq!(base_name(name), base);
        }
        assert_eq!(
            scope("jit(f)/jit(main)/transpose(jvp(layer_3))/attn/dot").as_deref(),
            Some("transpose(jvp(layer_3))/attn")
        );
        assert_eq!(scope("jit(f)/dot"), None);
    }
}
