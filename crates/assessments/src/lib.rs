//! Assessments of a run. Each fact about a run is judged once, in this crate. The cards, the checklist and the
//! checklist's table show the same assessment, so they cannot disagree. An earlier result has the same assessments if
//! it contains the numbers that the assessments need.
//!
//! ```text
//! profile --question--> number ---+--> level     good, note, warning, bad
//!         findings of its rules --+    limits    in words, from the limits that the rules use
//!         limits of the rules ----+    remedy    of the finding about the same fact
//! ```
//!
//! The first questions come from a guide to reading JAX profiles, and keep the guide's order. Our own questions follow.
//! The questions and the rules share their limits ([`insight::limits`]). A value between the good and the bad limit is
//! a warning. If a question has no limit for bad values, every value that is not good is a warning. If a finding covers
//! the same fact, its severity and remedy apply. A question without limits is judged only by findings.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod bandwidth;
mod devices;
mod kernels;
mod limits_in_words;
mod time;

pub use bandwidth::{memory_bound_percent, no_occupancy, waiting_share};
pub use devices::{compilation, fullness, memory_bandwidth};
pub use kernels::kernel_duration;
pub use time::{device_utilization, slowed_by_tracing};

use insight::limits::Limits;
use report::{Finding, FindingSeverity, Level, Metric, UnifiedProfile, View};
use table::Unit;
use trace::{Framework, Platform, SourceFormat, Words};

/// One fact about a run, with its judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Key: `device_utilization`.
    pub id: &'static str,
    /// Question in words.
    pub question: &'static str,
    /// Name of `value`.
    pub number: &'static str,
    /// Measured number. Absent if the value was not measured.
    pub value: Option<f64>,
    /// Unit of `value`.
    pub unit: Unit,
    /// Level of the value. Absent if nothing was measured, or if the value has neither limits nor rules.
    pub level: Option<Level>,
    /// Limits of the value, in words. Empty if only findings judge the value.
    pub limits: String,
    /// Answer in a sentence, or the reason why there is no answer.
    pub answer: String,
    /// Recommended action if the level is not good, or the way to capture missing data. Empty if
    /// there is nothing to do.
    pub remedy: String,
    /// Path of the number in the profile, if the number is a field of the profile.
    pub metric: Option<Metric>,
    /// View with the details.
    pub view: View,
    /// Filter that a link to the view sets. Empty if no row would pass the filter.
    pub filter: String,
}

/// A question about a run, with the limits that judge its answer.
struct Question {
    id: &'static str,
    question: &'static str,
    number: &'static str,
    unit: Unit,
    metric: Option<Metric>,
    view: View,
    filter: &'static str,
    /// Limits of the number. Absent if only findings judge the number.
    limits: Option<Limits>,
    /// Other conditions of the level, in a sentence.
    caveat: String,
}

fn question(
    id: &'static str,
    question: &'static str,
    number: &'static str,
    unit: Unit,
    metric: Option<Metric>,
    (view, filter): (View, &'static str),
) -> Question {
    Question { id, question, number, unit, metric, view, filter, limits: None, caveat: String::new() }
}

impl Question {
    fn within(self, limits: Limits) -> Question {
        Question { limits: Some(limits), ..self }
    }

    /// Adds a sentence to the limits in words.
    fn with_caveat(self, caveat: impl Into<String>) -> Question {
        Question { caveat: caveat.into(), ..self }
    }

    /// Returns the level that the findings of these rules give to a value. If none of the rules fired, judges the value
    /// by the limits. Returns `None` if the first rule could not be checked, for example because too few ops ran.
    fn level(&self, profile: &UnifiedProfile, rules: &[&str], value: f64) -> Option<Level> {
        if rules.first().is_some_and(|id| is_unchecked(profile, id)) {
            return None;
        }
        let found = fired(profile, rules).filter_map(|finding| finding.severity.level()).max();
        found.or_else(|| self.limits.map(|limits| limits.judge(value)))
    }

    fn answer(&self, value: f64, level: Option<Level>, answer: String, remedy: &str) -> Assessment {
        let remedy = if level.is_some_and(|level| level > Level::Good) { remedy } else { "" };
        // If the value is good, there may be no rows that pass the filter.
        let filter = if level != Some(Level::Good) && value > 0.0 { self.filter } else { "" };
        Assessment {
            value: Some(value),
            level,
            answer,
            remedy: remedy.to_owned(),
            filter: filter.to_owned(),
            ..self.absent(String::new(), "")
        }
    }

    fn absent(&self, why: String, how: &str) -> Assessment {
        let limits = self.limits.map_or(String::new(), |limits| limits_in_words::of(limits, self.unit));
        Assessment {
            id: self.id,
            question: self.question,
            number: self.number,
            value: None,
            unit: self.unit,
            level: None,
            limits: format!("{limits} {}", self.caveat).trim().to_owned(),
            answer: why,
            remedy: how.to_owned(),
            metric: self.metric,
            view: self.view,
            filter: String::new(),
        }
    }

    /// Creates an assessment without a number. The answer is the reason that the profile gives, or `why` if it gives
    /// none.
    fn not_measured(&self, profile: &UnifiedProfile, why: &str, how: &str) -> Assessment {
        let section = |path: &str| path.split('.').next().unwrap_or_default().to_owned();
        let is_it = |field: &str| self.metric.is_some_and(|it| field == it.path || field == section(it.path));
        match profile.not_measured.iter().find(|missing| is_it(&missing.field)) {
            Some(missing) => self.absent(missing.reason.clone(), missing.remedy.as_deref().unwrap_or(how)),
            None => self.absent(why.to_owned(), how),
        }
    }
}

impl Assessment {
    /// Replaces the remedy with the remedy of the finding about the same fact, if there is such a finding.
    fn advised_by(mut self, profile: &UnifiedProfile, rules: &[&str]) -> Assessment {
        if let Some(finding) =
            fired(profile, rules).max_by_key(|finding| finding.severity).filter(|_| !self.remedy.is_empty())
        {
            self.remedy.clone_from(&finding.remedy);
        }
        self
    }
}

/// Returns all assessments: first the guide's questions, in the guide's order, then our own.
pub fn all(profile: &UnifiedProfile) -> Vec<Assessment> {
    vec![
        time::step_time(profile),
        time::host_overhead(profile),
        time::device_idle(profile),
        time::kernel_launch(profile),
        time::input(profile),
        time::device_utilization(profile),
        kernels::kernel_duration(profile),
        kernels::small_kernels(profile),
        devices::transfers(profile),
        kernels::top_ops(profile),
        kernels::dominant_op(profile),
        kernels::long_ops(profile),
        devices::cpu_fallback(profile),
        devices::peak_memory(profile),
        devices::memory_bandwidth(profile),
        kernels::occupancy(profile),
        devices::communication(profile),
        devices::balance(profile),
        devices::compilation(profile),
        time::slowed_by_tracing(profile),
    ]
}

/// Returns the findings that these rules reported.
fn fired<'a>(profile: &'a UnifiedProfile, ids: &[&str]) -> impl Iterator<Item = &'a Finding> {
    let is_fired = |it: &&Finding| ids.contains(&it.id.as_str()) && it.severity != FindingSeverity::NotChecked;
    profile.findings.iter().filter(is_fired)
}

/// Returns the words that advice uses for the profile's framework.
fn words(profile: &UnifiedProfile) -> &'static Words {
    profile.metadata.framework().words()
}

/// Names a file that may contain more data about the same run.
fn better_file(profile: &UnifiedProfile) -> &'static str {
    let is_pytorch = profile.metadata.framework() == Framework::PyTorch;
    let is_export = profile.metadata.source_format() != Some(SourceFormat::XPlane);
    if is_export && !is_pytorch { "Open the run's *.xplane.pb file: it contains the most data." } else { "" }
}

/// Judges only by the findings of these rules: good if the first rule was checked and none of them fired. A finding of
/// a more specific rule replaces the finding of the general rule, so both rules are examined.
fn level_by_rules(profile: &UnifiedProfile, rules: &[&str]) -> Option<Level> {
    // Results of other tools contain no findings, so nothing was checked.
    if profile.findings.is_empty() {
        return None;
    }
    let found = fired(profile, rules).filter_map(|finding| finding.severity.level()).max();
    // If the general rule could not be checked, a specific rule that does not apply proves nothing.
    let is_checked = rules.first().is_some_and(|id| !is_unchecked(profile, id));
    found.or(is_checked.then_some(Level::Good))
}

/// Returns true if the rule lacked its input.
fn is_unchecked(profile: &UnifiedProfile, id: &str) -> bool {
    profile.findings.iter().any(|it| it.id == id && it.severity == FindingSeverity::NotChecked)
}

/// Explains how to record steps.
fn capture_steps(profile: &UnifiedProfile) -> String {
    format!(
        "{} when capturing, or enter the number of steps on the Model page (--num-steps).",
        words(profile).mark_steps
    )
}

/// Explains how to record the activity of host threads.
fn capture_host(profile: &UnifiedProfile) -> String {
    match profile.metadata.platform() {
        // The ops of XLA's CPU backend are not launched.
        Some(Platform::Cpu) => String::new(),
        _ => format!("Capture with {}.", words(profile).host_events),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_has_an_answer_or_a_reason() {
        for profile in [report::example::profile(), UnifiedProfile::default()] {
            let all = super::all(&profile);
            assert_eq!(all.len(), 20);
            for answer in &all {
                assert!(answer.answer.ends_with('.'), "{answer:?}");
                assert!(answer.question.ends_with('?'), "{answer:?}");
                assert!(answer.value.is_some() || answer.level.is_none(), "{answer:?}");
                assert!(answer.level <= Some(Level::Note) || !answer.remedy.is_empty(), "{answer:?}");
            }
        }
        assert!(all(&UnifiedProfile::default()).iter().all(|answer| answer.value.is_none()));
    }

    /// A capture of 7 steps; 6 of them are counted. In the counted steps, all ops take 1,000 µs, and `matmul` takes 600 µs of
    /// that. The steps ran on 2 devices that were busy for half of the time.
    #[test]
    fn ops_are_of_the_counted_steps_and_of_the_time_of_all_ops() {
        let mut profile = report::example::profile();
        profile.metadata.num_devices = 2;
        profile.step_timing.num_steps = 7;
        profile.window = Some(report::MainWindow { num_steps: Some(6), ..Default::default() });
        let op = |name: &str, time: f64| report::TopOp {
            name: name.to_owned(),
            self_time_us: time,
            self_time_percent: Some(time / 20.0),
            ..Default::default()
        };
        profile.op_statistics = Some(report::OpStatistics {
            device_time_us: 2000.0,
            op_time_us: 1000.0,
            top_ops: vec![op("matmul", 600.0), op("add", 400.0)],
            ..Default::default()
        });
        let of = |id: &str| all(&profile).into_iter().find(|it| it.id == id).unwrap();
        let dominant = of("dominant_op");
        assert_eq!((dominant.value, dominant.level), (Some(60.0), Some(Level::Warning)), "{}", dominant.answer);
        assert_eq!(
            of("top_ops").answer,
            "Ops with the most self time: matmul 60.0 %, add 40.0 %. Together, they take 100 % of all op time."
        );
        assert_eq!(of("long_ops").answer, "None. The longest is matmul, with 50.0 µs per step per device.");
    }

    #[test]
    fn too_few_ops_are_not_judged_as_good() {
        let mut profile = report::example::profile();
        profile.findings.clear();
        profile.compute_utilization.as_mut().unwrap().compute_util_percent = 100.0;
        let judgement =
            |profile: &UnifiedProfile| all(profile).into_iter().find(|it| it.id == "device_utilization").unwrap().level;
        assert_eq!(judgement(&profile), Some(Level::Good));
        profile.findings.push(report::Finding {
            id: "low_device_utilization".to_owned(),
            severity: FindingSeverity::NotChecked,
            confidence: report::Confidence::High,
            title: String::new(),
            message: String::new(),
            remedy: String::new(),
            evidence: Vec::new(),
            time_at_stake_percent: None,
            view: None,
            filter: None,
        });
        assert_eq!(judgement(&profile), None);
    }

    #[test]
    fn a_single_rank_may_communicate_with_others() {
        let mut profile = report::example::profile();
        profile.metadata.num_devices = 1;
        for (time, expected) in [(0.0, None), (50.0, Some(5.0))] {
            let parts = report::StepParts { communication_us: time, ..Default::default() };
            profile.step_breakdown = Some(report::StepBreakdown { duration_us: 1000.0, parts, ..Default::default() });
            let answer = all(&profile).into_iter().find(|it| it.id == "communication").unwrap();
            assert_eq!(answer.value, expected, "{}", answer.answer);
        }
    }

    /// Tries values at, below and above each limit in the guide's table of key performance indicators.
    #[test]
    fn the_limits_are_those_of_the_guide() {
        let with = |busy: f64, compiled: f64, kernel_us: f64| {
            let mut profile = report::example::profile();
            profile.compute_utilization.as_mut().unwrap().compute_util_percent = busy;
            profile.metadata.platform = "GPU".into();
            profile.findings.clear();
            profile.compilation = Some(report::Compilation {
                compilation_time_us: compiled,
                num_compilation_events: 1,
                ..Default::default()
            });
            profile.kernel_statistics = Some(report::KernelStatistics {
                count: 10,
                total_time_us: 10.0 * kernel_us,
                avg_time_us: kernel_us,
                ..Default::default()
            });
            let of = |id: &str| all(&profile).into_iter().find(|it| it.id == id).unwrap().level;
            ["device_utilization", "device_idle", "compilation", "kernel_duration"].map(of)
        };
        // Short kernels cost nothing if the devices are still busy.
        assert_eq!(with(95.0, 1e6, 99.0), [Some(Level::Good), Some(Level::Good), Some(Level::Good), None]);
        assert_eq!(with(75.0, 5e6, 99.0), [Some(Level::Warning); 4]);
        assert_eq!(
            with(40.0, 1.1e7, 99.0),
            [Some(Level::Bad), Some(Level::Bad), Some(Level::Bad), Some(Level::Warning)]
        );
        // Kernels of efficient programs are shorter than 1 ms.
        assert_eq!(with(40.0, 1.1e7, 101.0).last(), Some(&Some(Level::Good)));
    }

    /// Memory use is judged if the profile contains it. The checklist and the overview judge memory bandwidth alike.
    #[test]
    fn memory_is_answered_from_its_section() {
        let mut profile = report::example::profile();
        let peak = answer_of(&profile, "peak_memory");
        assert_eq!((peak.value, peak.level, peak.view), (Some(75.0), Some(Level::Good), View::Memory));
        assert_eq!(peak.answer, "At its peak, /device:TPU:0 uses 24.0 GiB, which is 75.0 % of its memory.");
        let device = |profile: &mut UnifiedProfile, percent| {
            profile.memory.as_mut().unwrap().devices[0].peak_percent = percent;
            answer_of(profile, "peak_memory")
        };
        assert_eq!(device(&mut profile, Some(90.0)).level, Some(Level::Warning));
        let unknown = device(&mut profile, None);
        assert_eq!((unknown.value, unknown.answer.contains("is unknown")), (None, true));
        profile.roofline = Some(report::Roofline {
            hbm_utilization_percent: Some(10.0),
            program: Some(report::ProgramPoint { hbm_bandwidth_percent: Some(70.0), ..Default::default() }),
            ..Default::default()
        });
        profile.op_statistics = Some(report::OpStatistics {
            op_time_us: 1.0,
            device_time_us: 1.0,
            top_ops: vec![report::TopOp { self_time_us: 1.0, bound_by: Some("HBM".into()), ..Default::default() }],
            ..Default::default()
        });
        let of_ops = answer_of(&profile, "memory_bandwidth");
        assert_eq!((of_ops.value, of_ops.level), (Some(70.0), Some(Level::Good)));
        profile.roofline.as_mut().unwrap().program = None;
        let counted = answer_of(&profile, "memory_bandwidth");
        assert_eq!((counted.value, counted.level), (Some(10.0), Some(Level::Bad)));
        // Programs that are not memory-bound do not need the bandwidth, regardless of the source of the number.
        profile.op_statistics.as_mut().unwrap().top_ops[0].bound_by = Some("Compute".into());
        assert_eq!(answer_of(&profile, "memory_bandwidth").level, None);
    }

    /// A link to kernels with low occupancy is filtered only if such kernels exist.
    #[test]
    fn a_link_has_a_filter_only_if_rows_pass() {
        let mut profile = report::example::profile();
        profile.kernel_statistics = None;
        assert_eq!(answer_of(&profile, "occupancy").filter, "");
        let mut of = |share: f64| {
            let kernels = report::KernelStatistics { occupancy_percent: Some(share), ..Default::default() };
            profile.kernel_statistics = Some(kernels);
            answer_of(&profile, "occupancy").filter
        };
        assert_eq!((of(80.0).as_str(), of(30.0).as_str()), ("", "occupancy_pct<50"));
    }

    /// A fact has one severity and one remedy on all pages.
    #[test]
    fn the_finding_about_the_same_fact_decides() {
        let mut profile = report::example::profile();
        profile.metadata.framework = "PyTorch".to_owned();
        profile.findings = vec![report::Finding {
            remedy: "Do this.".to_owned(),
            ..fired("host_overhead", FindingSeverity::Warning, 25.0)
        }];
        let parts = report::StepParts { host_bound_us: Some(60.0), ..Default::default() };
        profile.step_breakdown = Some(report::StepBreakdown { duration_us: 100.0, parts, ..Default::default() });
        let answer = answer_of(&profile, "host_overhead");
        assert_eq!(
            (answer.value, answer.level, answer.remedy.as_str()),
            (Some(60.0), Some(Level::Warning), "Do this.")
        );
        profile.findings.clear();
        let answer = answer_of(&profile, "host_overhead");
        assert_eq!(answer.level, Some(Level::Bad));
        assert!(answer.remedy.contains("torch.compile") && !answer.remedy.contains("jax"), "{}", answer.remedy);
    }

    /// Only 6 of 138 us of idle time have a known cause, so the largest known cause explains very little.
    #[test]
    fn idle_time_without_a_cause_is_not_given_one() {
        let mut profile = report::example::profile();
        profile.findings.clear();
        let mut says = |kernel_wait_us, other_idle_us| {
            let parts = report::StepParts {
                host_bound_us: Some(2.0),
                kernel_wait_us: Some(kernel_wait_us),
                other_idle_us,
                ..Default::default()
            };
            profile.step_breakdown = Some(report::StepBreakdown { duration_us: 214.0, parts, ..Default::default() });
            answer_of(&profile, "device_idle").answer
        };
        let (unknown, known) = (says(4.0, 132.0), says(132.0, 4.0));
        assert!(unknown.contains("is not in the file") && !unknown.contains("launches"), "{unknown}");
        assert!(known.ends_with("; most of the idle time with a known cause is waiting for launches."), "{known}");
    }

    fn answer_of(profile: &UnifiedProfile, id: &str) -> Assessment {
        all(profile).into_iter().find(|it| it.id == id).unwrap()
    }

    fn fired(id: &str, severity: FindingSeverity, stake: f64) -> report::Finding {
        report::Finding {
            id: id.to_owned(),
            severity,
            confidence: report::Confidence::High,
            title: String::new(),
            message: String::new(),
            remedy: String::new(),
            evidence: Vec::new(),
            time_at_stake_percent: Some(stake),
            view: None,
            filter: None,
        }
    }

    /// Half of the device time is idle. All ops together take 100 us. One op takes 60 of these 100 us, which is 30 % of
    /// the device time and 60 % of the op time. 2 of 4 steps are counted, on one of two devices.
    #[test]
    fn shares_are_of_op_time_and_times_of_counted_steps() {
        let mut profile = report::example::profile();
        let op = |name: &str, time: f64| report::TopOp {
            name: name.to_owned(),
            self_time_us: time,
            self_time_percent: Some(time / 2e6),
            ..Default::default()
        };
        profile.op_statistics = Some(report::OpStatistics {
            device_time_us: 200e6,
            op_time_us: 100e6,
            top_ops: vec![op("a", 60e6), op("b", 40e6)],
            ..Default::default()
        });
        (profile.step_timing.num_steps, profile.step_timing.num_steps_counted) = (4, Some(2));
        profile.metadata.num_devices = 2;
        let window = report::MainWindow { num_steps: Some(2), ..Default::default() };
        profile.window = Some(window);
        profile.step_ops = Some(report::StepOps { device_steps: 2, ..Default::default() });
        let dominant = answer_of(&profile, "dominant_op");
        assert_eq!((dominant.value, dominant.level), (Some(60.0), Some(Level::Warning)));
        assert_eq!(answer_of(&profile, "top_ops").value, Some(100.0));
        assert!(answer_of(&profile, "long_ops").answer.starts_with("a 30.0 s, b 20.0 s"));
        profile.window.as_mut().unwrap().num_steps = None;
        assert_eq!(answer_of(&profile, "long_ops").value, None);
    }

    #[test]
    fn a_specific_finding_replaces_the_general_one() {
        let with = |finding, id| {
            let mut profile = UnifiedProfile { findings: vec![finding], ..report::example::profile() };
            profile.metadata.num_devices = 2;
            profile.step_breakdown =
                Some(report::StepBreakdown { duration_us: 100.0, num_steps: Some(2), ..Default::default() });
            answer_of(&profile, id).level
        };
        let warning = FindingSeverity::Warning;
        let communication = |finding| with(finding, "communication");
        assert_eq!(communication(fired("gradient_synchronization", warning, 27.0)), Some(Level::Warning));
        assert_eq!(communication(fired("unhidden_collectives", FindingSeverity::Note, 6.0)), Some(Level::Note));
        assert_eq!(communication(fired("dominant_op", warning, 27.0)), Some(Level::Good));
        assert_eq!(communication(fired("unhidden_collectives", FindingSeverity::NotChecked, 0.0)), None);
    }
}
