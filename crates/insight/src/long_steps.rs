//! Steps that take longer than the median step, grouped by cause.
//!
//! ```text
//! median   |compute           |in|
//! step 3   |compute           |input pipeline  |      loses 7.8 ms, input: the host is in load_batch
//! step 7   |compute           |input pipeline   |     the same cause, so both steps form one loss
//! ```

use super::numbers::{Numbers, shown};
use base::{format, sort};
use metrics::{StepPart, StepRow, grown_op, median};
use report::{Step, StepParts, UnifiedProfile};

/// Minimum share by which a long step exceeds the median step. We chose this limit because users look for changes of
/// 5 %.
const LONG: f64 = 0.05;
/// Number of steps that a sentence lists by name.
const MOST_LISTED: usize = 3;

/// Time lost in the long steps that have one cause in common.
pub(super) struct Loss<'a> {
    /// The steps, longest first.
    pub steps: Vec<&'a Step>,
    /// Total time by which the steps exceed the median step, in microseconds.
    pub lost_us: f64,
    /// Part of the step that exceeds its own median by the most time. `None` if steps have no breakdown.
    pub part: Option<StepPart>,
    /// Time that `part` takes in the longest step, in microseconds.
    pub part_us: f64,
    /// Time by which `part` exceeds its median in the longest step, in microseconds.
    pub excess_us: f64,
    /// Function that the host runs during the idle time, or the op that takes longer.
    pub place: Option<String>,
    /// Host thread that runs this function.
    pub thread: Option<String>,
}

/// Returns the counted steps that do the same work.
pub(super) fn comparable(profile: &UnifiedProfile) -> impl Iterator<Item = &Step> {
    profile.steps.iter().filter(|step| step.counted && step.is_comparable())
}

/// Returns the losses of the comparable steps, largest first, and the median step time in microseconds.
pub(super) fn losses<'a>(numbers: &Numbers<'a>) -> (Vec<Loss<'a>>, f64) {
    let profile = numbers.profile;
    let marks_step = |name: &str| facts::marks_step(profile.step_timing.annotation(), name);
    let mut counted: Vec<&Step> = comparable(profile).collect();
    let durations: Vec<f64> = counted.iter().map(|step| step.duration_us).collect();
    let typical = median(&durations).unwrap_or(0.0);
    sort::sort_by(&mut counted, |a, b| b.duration_us.total_cmp(&a.duration_us).then(a.index.cmp(&b.index)));
    let breakdown = profile.step_breakdown.as_ref();
    let parts_of = |step: &Step| breakdown?.steps.iter().find(|it| it.index == step.index);
    let medians = median_parts(&counted.iter().filter_map(|step| Some(&parts_of(step)?.parts)).collect::<Vec<_>>());
    let mut losses: Vec<Loss<'a>> = Vec::new();
    for step in counted.into_iter().take_while(|step| step.duration_us > (1.0 + LONG) * typical) {
        let split = parts_of(step);
        let longest = split.and_then(|split| longest_part(&split.parts, &medians));
        let idle = longest.is_some_and(|(part, _)| part.is_idle());
        // When the capture begins, the host has not yet queued work for the devices.
        if idle && profile.steps.first().is_some_and(|first| first.index == step.index) {
            continue;
        }
        let (range, thread) = match split.filter(|_| idle) {
            // The annotation of the step itself explains nothing.
            Some(split) if !split.host_range.as_deref().is_some_and(marks_step) => {
                (split.host_range.clone(), split.host_thread.clone())
            }
            _ => (None, None),
        };
        let part = longest.map(|(part, _)| part);
        let known = losses.iter_mut().find(|loss| loss.part == part && (!idle || loss.place == range));
        let lost_us = step.duration_us - typical;
        match known {
            Some(loss) => {
                loss.steps.push(step);
                loss.lost_us += lost_us;
            }
            None => losses.push(Loss {
                // The op comes from the longest step with this cause.
                place: if idle { range } else { op_of(numbers, step, typical) },
                steps: vec![step],
                lost_us,
                part,
                part_us: split.zip(part).map_or(0.0, |(split, part)| time_of(&split.parts, part)),
                excess_us: longest.map_or(0.0, |(_, excess)| excess),
                thread,
            }),
        }
    }
    sort::sort_by(&mut losses, |a, b| b.lost_us.total_cmp(&a.lost_us));
    (losses, typical)
}

fn median_parts(steps: &[&StepParts]) -> Vec<f64> {
    let values: Vec<_> = steps.iter().map(|parts| parts.values_us()).collect();
    let of_part = |part: StepPart| {
        let times: Vec<f64> = values.iter().filter_map(|parts| parts.get(part as usize).copied().flatten()).collect();
        median(&times).unwrap_or(0.0)
    };
    StepPart::ALL.into_iter().map(of_part).collect()
}

/// Returns the time of a part, in microseconds. 0 if it is unknown.
fn time_of(parts: &StepParts, part: StepPart) -> f64 {
    parts.values_us().get(part as usize).copied().flatten().unwrap_or(0.0)
}

/// Returns the part that exceeds its own median by the most time, and the excess in microseconds.
fn longest_part(parts: &StepParts, medians: &[f64]) -> Option<(StepPart, f64)> {
    let values = parts.values_us();
    let excess = StepPart::ALL.into_iter().zip(values).zip(medians);
    let excess = excess.map(|((part, us), median)| (part, us.unwrap_or(0.0) - median));
    excess.reduce(|a, b| if b.1 > a.1 { b } else { a }).filter(|(_, excess)| *excess > 0.0)
}

/// Returns the op that takes longer in a step than in the counted step nearest to the median.
fn op_of(numbers: &Numbers<'_>, step: &Step, typical: f64) -> Option<String> {
    let breakdown = &numbers.context.analysis.step_breakdown;
    let rows = |index: u64| breakdown.steps().find(move |rows| first(rows).is_some_and(|it| it == index));
    let counted = numbers.profile.steps.iter().filter(|step| step.counted);
    let near = |step: &&Step| (step.duration_us - typical).abs();
    let usual = counted.reduce(|a, b| if near(&b) < near(&a) { b } else { a })?;
    let long = rows(step.index)?.iter().max_by_key(|row| row.duration)?;
    let usual = rows(usual.index)?.iter().find(|row| row.device == long.device)?;
    grown_op(numbers.context, long, usual).map(|(name, _)| shown(&name))
}

/// Returns the index of the step to which these rows belong.
fn first(rows: &[StepRow]) -> Option<u64> {
    rows.first()?.step.map(u64::from)
}

impl Loss<'_> {
    /// Names the steps: `Step 3`, `Steps 3 and 7`, `9 steps`.
    pub(crate) fn steps(&self) -> String {
        let mut names: Vec<&Step> = self.steps.clone();
        sort::sort_by_key(&mut names, |step| step.index);
        let names: Vec<String> =
            names.iter().map(|step| step.name.as_deref().map_or_else(|| step.index.to_string(), shown)).collect();
        match names.as_slice() {
            [one] => format!("Step {one}"),
            [first @ .., last] if names.len() <= MOST_LISTED => format!("Steps {} and {last}", first.join(", ")),
            all => format!("{} steps", format::count(all.len() as u64)),
        }
    }

    /// Names the part that takes longer: `input wait in load_batch`, `compute in fusion.3`.
    pub(crate) fn cause(&self) -> Option<String> {
        let place = self.place.as_ref().map_or(String::new(), |place| format!(" in {}", shown(place)));
        Some(format!("{}{place}", self.part_name()?))
    }

    fn part_name(&self) -> Option<&'static str> {
        Some(match self.part? {
            StepPart::Compute => "compute",
            StepPart::Communication => "exposed communication",
            StepPart::HostToDevice => "copies to the device",
            StepPart::DeviceToHost => "copies to the host",
            StepPart::PeerToPeer => "copies between devices",
            StepPart::DeviceToDevice => "copies on the device",
            StepPart::InfeedOutfeed => "infeed and outfeed",
            StepPart::DataMovement => "data movement",
            StepPart::Barrier => "waiting for devices",
            StepPart::Compile => "compilation",
            StepPart::InputBound => "input wait",
            StepPart::HostBound => "waiting for launch",
            StepPart::KernelWait => "time between ops",
            StepPart::OtherIdle => "idle time",
        })
    }

    /// Describes the lost time and its cause in sentences.
    pub(crate) fn sentence(&self, numbers: &Numbers<'_>, typical_us: f64) -> String {
        let longest = self.steps.first().map_or(0.0, |step| step.duration_us);
        let [longest, typical, lost] = [longest, typical_us, self.lost_us].map(format::time_us);
        let steps = self.steps();
        let (loss, subject) = match self.steps.as_slice() {
            [_] => (format!("{steps} takes {longest}, {lost} longer than the median step of {typical}."), "In it"),
            _ => (
                format!("{steps} exceed the median step of {typical} by {lost} in total. The longest takes {longest}."),
                "In the longest",
            ),
        };
        let cause = self.part_name().map_or(String::new(), |part| {
            let [all, more] = [self.part_us, self.excess_us].map(format::time_us);
            let takes = if part.starts_with("copies") || part.contains(" and ") { "take" } else { "takes" };
            format!(" {subject}, {part} {takes} {all}, {more} more than usual.{}", self.where_it_grew(numbers))
        });
        format!("{loss}{cause}")
    }

    /// Names the op whose time grew most, or the host's activity during an idle part.
    fn where_it_grew(&self, numbers: &Numbers<'_>) -> String {
        let Some(place) = self.place.as_deref() else { return String::new() };
        match self.part {
            Some(part) if !part.is_idle() => {
                format!(" The op that grew most is {}.", shown(place))
            }
            _ => {
                let thread = self.thread.as_deref();
                let thread = thread.map_or(String::new(), |thread| format!(" on the thread {}", shown(thread)));
                format!(" Meanwhile the host is in {}{thread}.", numbers.host_range(place))
            }
        }
    }

    pub(crate) fn evidence(&self) -> Option<String> {
        self.part.map(evidence_of)
    }
}

/// Returns the name of the evidence for the part of a step that grows most in long steps.
pub(super) fn evidence_of(part: StepPart) -> String {
    format!("{}_us", part.label())
}
