//! What explains the difference of two step times, largest first.
//!
//! Candidates are single ops (their self time, or what is exposed of them where they communicate), kinds of collectives and classes of
//! ops where the single ones are too small to be listed, the parts of a step that none of these explains (idle time by cause,
//! copies), and a device that falls behind the others. A part is left out where the rest explains most of it: one time is not
//! told twice.

use super::uniform::{UniformChange, uniform};
use super::{
    Cause, CauseKind, Change, ChangeKind, CollectiveChange, PartChange, StepTimeChange, StepTimeVerdict, Subject,
};
use base::{format, sort};

/// Causes of one run that are reported.
const MOST: usize = 12;

/// Differences below this share of the step are nobody's cause.
const LEAST_SHARE: f64 = 0.002;

/// What the causes of one run's difference are looked for in.
pub struct Evidence<'a> {
    /// The run against the baseline.
    pub change: &'a StepTimeChange,
    /// Share from which on a difference counts.
    pub threshold: f64,
    /// The run.
    pub subject: &'a Subject,
    /// The baseline's.
    pub baseline: &'a Subject,
    /// Index of the baseline.
    pub baseline_run: usize,
    /// Parts of the step.
    pub parts: &'a [PartChange],
    /// All matched ops.
    pub ops: &'a [Change],
    /// Classes of ops: all of them, listed or not.
    pub classes: &'a [Change],
    /// Kinds of communication of all runs.
    pub collectives: &'a [CollectiveChange],
}

/// Causes while they are collected, and how much of each part of a step they explain.
struct CauseList<'a> {
    run: u32,
    causes: Vec<Cause>,
    explained: Vec<(&'a str, f64)>,
}

impl<'a> CauseList<'a> {
    fn add(&mut self, part: &'a str, kind: CauseKind, name: &str, delta_us: f64, text: String) {
        match self.explained.iter_mut().find(|(name, _)| *name == part) {
            Some((_, sum)) => *sum += delta_us,
            None => self.explained.push((part, delta_us)),
        }
        self.causes.push(Cause {
            run: self.run,
            kind,
            name: name.to_owned(),
            delta_us_per_step: delta_us,
            percent_of_difference: None,
            text,
        });
    }

    /// Whether what was found adds up to at least half of a part, and to no more than half beyond it.
    fn explains(&self, part: &PartChange) -> bool {
        let sum = self.explained.iter().find(|(name, _)| *name == part.part).map_or(0.0, |(_, sum)| *sum);
        sum != 0.0 && (sum - part.delta_us_per_step).abs() <= 0.5 * part.delta_us_per_step.abs()
    }
}

/// The causes of one run's difference.
pub fn causes(evidence: &Evidence<'_>) -> Vec<Cause> {
    let Evidence { change, subject, baseline, parts, ops, threshold, .. } = *evidence;
    // Where there is no difference, nothing causes it.
    if !matches!(change.verdict, StepTimeVerdict::Faster | StepTimeVerdict::Slower) {
        return Vec::new();
    }
    let total: f64 = parts.iter().map(|part| part.delta_us_per_step).sum();
    let step = parts.iter().map(|part| part.baseline_us).sum::<f64>();
    let names = (subject.name.as_str(), baseline.name.as_str());
    let mut found = CauseList { run: change.run, causes: Vec::new(), explained: Vec::new() };
    let alike = uniform(ops, threshold);
    if let Some(alike) = &alike {
        found.add("compute", CauseKind::Uniform, "all ops", alike.delta_us, uniform_text(alike));
    }
    let is_alike = |at: &usize| alike.as_ref().is_some_and(|alike| alike.ops.contains(at));
    for (at, op) in ops.iter().enumerate().filter(|(_, op)| op.change != ChangeKind::Same || op.exposed_us.is_some()) {
        // An op that captures of one side differ by as much among themselves is nobody's cause.
        if is_alike(&at) || op.margin_us.is_some_and(|margin| op.delta_us_per_step.abs() <= margin) {
            continue;
        }
        let (part, kind) = match (op.exposed_us, op.family.as_str()) {
            (Some(_), _) => ("communication", CauseKind::Communication),
            (None, DATA_MOVEMENT) => (DATA_MOVEMENT, CauseKind::Op),
            _ => ("compute", CauseKind::Op),
        };
        let delta = op.exposed_us.map_or(op.delta_us_per_step, |[ours, theirs]| ours - theirs);
        found.add(part, kind, &op.name, delta, op_text(op, delta, names));
    }
    small_ops(evidence, &mut found);
    if let Some(part) = parts.iter().find(|part| part.part == "communication").filter(|part| !found.explains(part)) {
        kinds(evidence, part, &mut found);
    }
    for part in parts.iter().filter(|part| !found.explains(part)).collect::<Vec<_>>() {
        found.add("", CauseKind::Part, &part.part, part.delta_us_per_step, part_text(part));
    }
    let mut causes = found.causes;
    causes.extend(straggler(change.run, subject, baseline, total));
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

/// The class of ops whose time is a separate part of the step.
const DATA_MOVEMENT: &str = "data_movement";

/// Ops that are too small to be listed singly, by their class: what a class differs by beyond its listed ops. Communication and data
/// movement have separate parts.
fn small_ops<'a>(evidence: &Evidence<'a>, found: &mut CauseList<'a>) {
    for class in evidence.classes.iter().filter(|it| it.name != "communication" && it.name != DATA_MOVEMENT) {
        let listed = evidence.ops.iter().filter(|op| op.family == class.family);
        let [mut time, mut count] = [class.time_us, class.per_step];
        for op in listed {
            for (rest, listed) in time.iter_mut().chain(&mut count).zip(op.time_us.iter().chain(&op.per_step)) {
                *rest -= listed;
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
            format!(" ({} runs a step instead of {})", runs[0], runs[1])
        };
        let text = format!(
            "Small {} ops, which are not listed singly, take {ours} a step, {theirs} in {}{of_count}: {}.",
            class.name.replace('_', " "),
            evidence.baseline.name,
            signed(delta)
        );
        found.add("compute", CauseKind::Class, &class.name, delta, text);
    }
}

/// Exposed communication by kind of collective, in proportion to what the whole captures expose of each.
fn kinds<'a>(evidence: &Evidence<'a>, part: &PartChange, found: &mut CauseList<'a>) {
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
                "{baseline} runs {many} {}, {name} none: {baseline_time} a step less exposed communication.",
                it.kind
            ),
            (many, 0) => format!(
                "{name} runs {many} {}, {baseline} none: {run_time} a step more exposed communication.",
                it.kind
            ),
            _ => format!(
                "{} is exposed for {run_time} a step, for {baseline_time} in {baseline}: {}.",
                it.kind,
                signed(delta)
            ),
        };
        found.add("communication", CauseKind::Communication, &it.kind, delta, text);
    }
}

/// A device whose own work grew more than that of the others: they wait for it, so it costs the whole step what it is behind.
fn straggler(run: u32, subject: &Subject, baseline: &Subject, total: f64) -> Option<Cause> {
    let (name, ours) = behind(subject)?;
    let theirs = behind(baseline).map_or(0.0, |(_, behind)| behind);
    let delta = ours - theirs;
    // A run that is faster has the same sentence with the sides exchanged.
    let (delta, name, slow) =
        if delta >= 0.0 { (delta, name, &subject.name) } else { (delta, behind(baseline)?.0, &baseline.name) };
    let matters = delta * total > 0.0 && delta.abs() >= 0.3 * total.abs();
    matters.then(|| Cause {
        run,
        kind: CauseKind::Straggler,
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
    let (adds, family) = (signed(delta), op.family.replace('_', " "));
    let [time, base] = op.time_us.map(format::time_us);
    match op.change {
        ChangeKind::New => format!("{name}{many} runs in {ours} only: {adds} a step."),
        ChangeKind::Gone => format!("{name}{many} runs in {theirs} only: {adds} a step."),
        _ if op.exposed_us.is_some() => {
            let [exposed, base_exposed] = op.exposed_us.unwrap_or_default().map(format::time_us);
            format!(
                "{name}{many} ({}) is exposed for {exposed} a step, for {base_exposed} in {theirs}: {adds}.",
                family
            )
        }
        ChangeKind::MoreOften | ChangeKind::LessOften => format!(
            "{name}{many} ({}) runs {} times a step, {} times in {theirs}: {adds} a step.",
            family,
            per_step(op.per_step[0]),
            per_step(op.per_step[1])
        ),
        _ => {
            let times = op.slowdown.map_or(String::new(), |ratio| {
                if ratio >= 1.0 { format!("{ratio:.2}x slower") } else { format!("{:.2}x faster", 1.0 / ratio) }
            });
            format!("{name}{many} ({}) is {times}: {time} a step, {base} in {theirs}: {adds}.", family)
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

fn uniform_text(alike: &UniformChange) -> String {
    let word = if alike.longer > 0.0 { "longer" } else { "less" };
    format!(
        "All ops take {} {word} ({} ops with {} of the op time, alike): clocks, power or the device differ, not the program. {} a step.",
        format::percent(100.0 * alike.longer.abs()),
        format::count(alike.ops.len() as u64),
        format::percent(100.0 * alike.time_share),
        signed(alike.delta_us)
    )
}

/// Runs in a step: whole numbers without decimals.
pub fn per_step(count: f64) -> String {
    if count == (count as u64) as f64 { format::count(count as u64) } else { format::number(count) }
}

/// `+12.3 us`, `-1.2 ms`, with a true minus.
pub fn signed(us: f64) -> String {
    format!("{}{}", if us < 0.0 { "\u{2212}" } else { "+" }, format::time_us(us.abs()))
}
