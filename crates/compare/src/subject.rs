//! One side of a comparison: a capture, or several captures of one program.

use std::collections::BTreeMap;

use super::level::Level;
use super::{ComparedProgram, ProgramChange};
use report::{
    Compared, ComputeUtilization, HostMeanwhile, HostRangeTime, StepFamily, StepKernel, StepOp, StepOps, StepParts,
    StepTiming, UnifiedProfile,
};

/// One run of a comparison.
#[derive(Debug)]
pub struct Subject {
    /// Name of the run. [`compare`](super::compare()) makes it unique.
    pub name: String,
    /// Measurements of the run. For several captures, step times are means over the captures, so that
    /// parts and ops add up as they do in each capture. All other data comes from the first capture.
    pub profile: UnifiedProfile,
    /// Captures of the run, if there are several.
    pub group: Vec<UnifiedProfile>,
    /// Picture of the median step as text, for reports. Present if the events of the run were available. If the run has
    /// several captures, the picture shows the first.
    pub median_step: Option<String>,
    /// Compiled programs with the most device time, if the files of the run are available. If the run has several
    /// captures, these are the programs of the first.
    pub programs: Vec<ComparedProgram>,
    /// Differences between the run's programs and the programs of the baseline. The `run` field of each change is
    /// ignored.
    pub program_changes: Vec<ProgramChange>,
    /// Power of one device in watts, if the user gives it.
    pub watts_per_device: Option<f64>,
    /// Price of one device in dollars per hour, if the user gives it.
    pub dollars_per_device_hour: Option<f64>,
}

impl Clone for Subject {
    fn clone(&self) -> Subject {
        Subject {
            name: self.name.clone(),
            profile: self.profile.copied(),
            group: self.group.iter().map(UnifiedProfile::copied).collect(),
            median_step: self.median_step.clone(),
            programs: self.programs.clone(),
            program_changes: self.program_changes.clone(),
            ..*self
        }
    }
}

impl Subject {
    /// Creates a run under the profile's own name, with the power and the price recorded in a report.
    pub fn new(profile: UnifiedProfile) -> Subject {
        let Compared { watts_per_device, dollars_per_device_hour, .. } = profile.metadata.compared;
        let name = profile.metadata.name().to_owned();
        Subject {
            name,
            profile,
            group: Vec::new(),
            median_step: None,
            programs: Vec::new(),
            program_changes: Vec::new(),
            watts_per_device,
            dollars_per_device_hour,
        }
    }

    /// Combines several captures of one program. Returns `None` if `captures` is empty.
    pub fn of_captures(name: &str, captures: Vec<UnifiedProfile>) -> Option<Subject> {
        let first = Subject::new(captures.first()?.clone());
        let name = name.to_owned();
        Some(match captures.len() {
            1 => Subject { name, ..first },
            _ => Subject { name, profile: combined(&first.profile, &captures), group: captures, ..first },
        })
    }

    /// Groups captures into runs, and returns the run of each capture. Captures with the same group
    /// name become one run, at the position of the first.
    pub fn grouped(captures: Vec<Subject>) -> (Vec<Subject>, Vec<usize>) {
        let mut groups: Vec<(Option<String>, Vec<Subject>)> = Vec::new();
        let mut run_of = Vec::with_capacity(captures.len());
        for capture in captures {
            let name = capture.profile.metadata.compared.comparison_group.clone();
            let known = groups.iter().position(|(group, _)| name.is_some() && *group == name);
            let run = known.unwrap_or(groups.len());
            match groups.get_mut(run) {
                Some((_, group)) => group.push(capture),
                None => groups.push((name, vec![capture])),
            }
            run_of.push(run);
        }
        (groups.into_iter().filter_map(|(name, captures)| Subject::together(name, captures)).collect(), run_of)
    }

    /// Combines captures into one run, with the power and the price of the first capture.
    fn together(name: Option<String>, captures: Vec<Subject>) -> Option<Subject> {
        let Some(name) = name else { return captures.into_iter().next() };
        let first = captures.first()?.clone();
        let group = Subject::of_captures(&name, captures.into_iter().map(|it| it.profile).collect())?;
        Some(Subject { name, profile: group.profile, group: group.group, ..first })
    }

    /// Returns the typical step of the run, as a mean over its captures. Returns `None` if the steps
    /// are unknown.
    pub fn typical_step_us(&self) -> Option<f64> {
        let levels: Vec<Level> = self.captures().iter().map(Level::typical).collect::<Option<_>>()?;
        Level::mean_us(&levels)
    }

    /// Returns the captures of the run, at least one.
    pub fn captures(&self) -> &[UnifiedProfile] {
        if self.group.is_empty() { std::slice::from_ref(&self.profile) } else { &self.group }
    }
}

/// Returns the mean of a number over the captures. Returns `None` if a capture lacks the number.
pub(crate) fn mean(captures: &[UnifiedProfile], value: impl Fn(&UnifiedProfile) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = captures.iter().map(value).collect();
    values.filter(|values| !values.is_empty()).map(|values| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the first profile with the mean step times of all captures.
fn combined(first: &UnifiedProfile, captures: &[UnifiedProfile]) -> UnifiedProfile {
    let mut profile = first.clone();
    let count = captures.iter().map(|it| it.step_timing.num_steps_counted).sum::<Option<u64>>();
    profile.step_timing = StepTiming {
        avg_step_time_us: mean(captures, |it| it.step_timing.avg_step_time_us),
        num_steps_counted: count,
        ..profile.step_timing
    };
    // The spread of one capture's steps is not the spread of the group.
    profile.step_timing.stddev_step_time_us = None;
    // If a capture has no busy time, the group has no busy time, because a mean over the remaining captures would not
    // describe the group.
    profile.compute_utilization = profile.compute_utilization.and_then(|busy| {
        let of =
            |value: fn(&ComputeUtilization) -> f64| mean(captures, |it| it.compute_utilization.as_ref().map(value));
        let (kernel_time_us, overhead_time_us) = (of(|it| it.kernel_time_us)?, of(|it| it.overhead_time_us)?);
        Some(ComputeUtilization { kernel_time_us, overhead_time_us, ..busy })
    });
    if let Some(breakdown) = &mut profile.step_breakdown {
        let of =
            |at: usize| mean(captures, |it| it.step_breakdown.as_ref()?.parts.values_us().get(at).copied().flatten());
        let all = captures.iter().all(|it| it.step_breakdown.is_some());
        breakdown.host_meanwhile = all.then(|| host_meanwhile(captures));
        breakdown.parts = if all { StepParts::of_values_us(std::array::from_fn(of)) } else { StepParts::default() };
    }
    profile.step_ops = step_ops(captures);
    profile
}

/// Averages the host activity during idle time over the captures. Captures without idle time are averaged as zero.
fn host_meanwhile(captures: &[UnifiedProfile]) -> HostMeanwhile {
    let share = 1.0 / captures.len() as f64;
    let mut mean = HostMeanwhile::default();
    for it in captures.iter().filter_map(|it| it.step_breakdown.as_ref()?.host_meanwhile.as_ref()) {
        mean.outside_us += share * it.outside_us;
        for range in &it.ranges {
            match mean.ranges.iter_mut().find(|known| known.name == range.name) {
                Some(known) => known.time_us += share * range.time_us,
                None => mean.ranges.push(HostRangeTime { time_us: share * range.time_us, ..range.clone() }),
            }
        }
    }
    mean
}

/// Self time of every op of a run in each of its captures: one list per capture, in the order of
/// the run's ops. Empty for a single capture.
pub(crate) type CaptureTimes = Vec<Vec<f64>>;

impl Subject {
    /// Returns the times of `ops`, which are the ops of the run, in each capture.
    pub fn op_times(&self, ops: &StepOps) -> CaptureTimes {
        let of_capture = |capture: &UnifiedProfile| -> Vec<f64> {
            let listed = capture.step_ops.iter().flat_map(|it| &it.ops);
            let mut times: BTreeMap<OpKey<'_>, f64> = BTreeMap::new();
            listed.for_each(|op| *times.entry(op_key(op)).or_insert(0.0) += op.self_time_us);
            ops.ops.iter().map(|op| times.get(&op_key(op)).copied().unwrap_or(0.0)).collect()
        };
        self.group.iter().map(of_capture).collect()
    }
}

fn op_key(op: &StepOp) -> OpKey<'_> {
    (&op.name, &op.family, op.framework_op.as_deref(), op.fingerprint.as_deref())
}

/// Key that identifies an op across captures: name, family, framework path and fingerprint.
type OpKey<'a> = (&'a str, &'a str, Option<&'a str>, Option<&'a str>);

/// Averages the ops of all captures. If a capture lacks an op, the op took no time there.
fn step_ops(captures: &[UnifiedProfile]) -> Option<StepOps> {
    let all: Option<Vec<&StepOps>> = captures.iter().map(|it| it.step_ops.as_ref()).collect();
    let all = all.filter(|all| !all.is_empty())?;
    let share = 1.0 / all.len() as f64;
    let mut families: BTreeMap<&str, StepFamily> = BTreeMap::new();
    let mut kernels: BTreeMap<&str, StepKernel> = BTreeMap::new();
    let mut ops: BTreeMap<OpKey<'_>, StepOp> = BTreeMap::new();
    for it in &all {
        for family in &it.families {
            let sum = families.entry(&family.family).or_insert_with(|| StepFamily {
                self_time_us: 0.0,
                occurrences: 0.0,
                ..family.clone()
            });
            sum.self_time_us += share * family.self_time_us;
            sum.occurrences += share * family.occurrences;
        }
        for kernel in &it.kernels {
            let sum = kernels.entry(&kernel.name).or_insert_with(|| StepKernel {
                time_us: 0.0,
                occurrences: 0.0,
                ..kernel.clone()
            });
            sum.time_us += share * kernel.time_us;
            sum.occurrences += share * kernel.occurrences;
        }
        for op in &it.ops {
            let sum = ops.entry(op_key(op)).or_insert_with(|| StepOp {
                self_time_us: 0.0,
                // The spread of one capture's steps is not the spread of the group.
                stddev_us: None,
                exposed_time_us: op.exposed_time_us.map(|_| 0.0),
                occurrences: 0.0,
                ..op.clone()
            });
            sum.self_time_us += share * op.self_time_us;
            sum.occurrences += share * op.occurrences;
            sum.exposed_time_us = match (sum.exposed_time_us, op.exposed_time_us) {
                (None, None) => None,
                (sum, exposed) => Some(sum.unwrap_or(0.0) + share * exposed.unwrap_or(0.0)),
            };
        }
    }
    let most_first = |a: f64, b: f64| b.total_cmp(&a);
    let mut families: Vec<StepFamily> = families.into_values().collect();
    base::sort::sort_by(&mut families, |a, b| most_first(a.self_time_us, b.self_time_us));
    let mut kernels: Vec<StepKernel> = kernels.into_values().collect();
    base::sort::sort_by(&mut kernels, |a, b| most_first(a.time_us, b.time_us));
    let mut ops: Vec<StepOp> = ops.into_values().collect();
    base::sort::sort_by(&mut ops, |a, b| most_first(a.self_time_us, b.self_time_us));
    Some(StepOps {
        device_steps: all.iter().map(|it| it.device_steps).sum(),
        op_time_us: all.iter().map(|it| share * it.op_time_us).sum(),
        num_ops: all.iter().map(|it| it.num_ops).max().unwrap_or(0).max(ops.len() as u64),
        families,
        ops,
        kernels,
        // All captures of a program have the same types.
        operand_types: all.first().map_or_else(Vec::new, |it| it.operand_types.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(step_us: f64, op: &str, time_us: f64) -> UnifiedProfile {
        let mut profile = UnifiedProfile::default();
        profile.step_timing.avg_step_time_us = Some(step_us);
        profile.step_timing.num_steps_counted = Some(4);
        let op = StepOp { name: op.to_owned(), self_time_us: time_us, occurrences: 2.0, ..StepOp::default() };
        profile.step_ops =
            Some(StepOps { device_steps: 4, op_time_us: time_us, num_ops: 1, ops: vec![op], ..StepOps::default() });
        profile
    }

    #[test]
    fn busy_time_is_absent_if_a_capture_has_none() {
        let busy = |kernel_time_us| {
            let compute_utilization = Some(ComputeUtilization { kernel_time_us, ..ComputeUtilization::default() });
            UnifiedProfile { compute_utilization, ..capture(10.0, "a", 4.0) }
        };
        let of = |captures| Subject::of_captures("main", captures).unwrap().profile.compute_utilization;
        assert_eq!(of(vec![busy(2.0), busy(4.0)]).map(|it| it.kernel_time_us), Some(3.0));
        assert_eq!(of(vec![busy(2.0), capture(10.0, "a", 4.0)]), None);
    }

    #[test]
    fn times_of_a_step_are_means_over_the_captures() {
        let captures = vec![capture(10.0, "a", 4.0), capture(20.0, "a", 6.0), capture(30.0, "b", 3.0)];
        let group = Subject::of_captures("main", captures).unwrap();
        assert_eq!((group.name.as_str(), group.captures().len()), ("main", 3));
        let timing = &group.profile.step_timing;
        assert_eq!((timing.avg_step_time_us, timing.num_steps_counted), (Some(20.0), Some(12)));
        let ops = group.profile.step_ops.as_ref().unwrap();
        let shown: Vec<(&str, f64)> =
            ops.ops.iter().map(|op| (op.name.as_str(), (op.self_time_us * 3.0).round())).collect();
        assert_eq!(shown, [("a", 10.0), ("b", 3.0)]);
        assert_eq!((ops.device_steps, (ops.op_time_us * 3.0).round()), (12, 13.0));
        assert!(Subject::of_captures("none", Vec::new()).is_none());
        assert_eq!(Subject::of_captures("one", vec![capture(1.0, "a", 1.0)]).unwrap().captures().len(), 1);
    }
}
