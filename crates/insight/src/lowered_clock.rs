//! A power or temperature limit lowers the clock of a device.
//!
//! The rule has two forms. Both forms need samples of the clock or of throttling in the capture:
//!
//! * Slow steps: counted steps with a low clock (at most 97 % of the highest clock of a step) take at least 1.05 times
//!   the median duration of steps at the full clock (at least 98 %). The clock explains `compute_us * (1 - clock /
//!   highest clock)` of the excess of these steps. The rule fires if the explained excess is at least half of the
//!   excess of all such long steps, and at least 2 % of the time of all counted steps. The rule does not fire if the
//!   steps with a low clock exceed the other steps by less than half of the predicted excess. Severity: warning.
//!   Confidence: high.
//! * All steps: a reason for a lower clock is active for at least 10 % of the window and the mean clock is at most 95 % of the
//!   device's highest clock, or the device skips at least 5 % of its clock cycles. Severity: note. Confidence: high.
//!
//! All limits are ours. The rule is not reported if the capture has no samples of the clock or of throttling. Remedy:
//! compare runs at the same clock, and raise the limit or improve the cooling.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use metrics::median;
use report::{Confidence, FindingSeverity, MeterStats, Step, UnifiedProfile, View};

pub(super) static RULE: Rule =
    Rule { id: "lowered_clock", title: "A limit lowers the clock of a device", ..Rule::checked_by(check) };

/// A step's clock is treated as unlimited from this percentage of the highest clock of all steps.
const FULL_CLOCK_PERCENT: f64 = 98.0;
/// A step's clock is low up to this percentage of the highest clock of all steps.
const LOW_CLOCK_PERCENT: f64 = 97.0;
/// Minimum duration of a long step, relative to the steps at the highest clock.
const LONG_STEP: f64 = 1.05;
/// Minimum part of the excess of long steps that the clock must explain.
const LEAST_EXPLAINED: f64 = 0.5;
/// Minimum lost time, percent of the time of all counted steps.
const LEAST_LOST_PERCENT: f64 = 2.0;
/// Minimum share of the time during which a reason for a lower clock is active, percent.
const LEAST_LIMITED_PERCENT: f64 = 10.0;
/// Maximum mean clock that is treated as lowered, percent of the device's highest clock.
const LOWERED_PERCENT: f64 = 95.0;
/// Minimum share of skipped clock cycles, percent.
const LEAST_SKIPPED_PERCENT: f64 = 5.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let profile = numbers.profile;
    let Some(hardware) = &profile.hardware else { return Verdict::Irrelevant };
    match SlowSteps::of(&profile.steps) {
        Some(slow) => slow.finding(profile).fires(),
        None => lowest(profile).map_or(
            if hardware.meters.iter().any(|it| matches!(it.quantity.as_str(), "clock" | "throttling")) {
                Verdict::Fine
            } else {
                Verdict::Irrelevant
            },
            |lowered| lowered.finding().fires(),
        ),
    }
}

/// Counted steps that are long because of their clock.
struct SlowSteps {
    /// Number of long steps with a low clock.
    count: u64,
    /// Number of counted steps.
    of: u64,
    /// Median duration at the highest clock.
    usual_us: f64,
    /// Mean duration of the long steps with a low clock.
    slow_us: f64,
    /// Mean clock of the long steps, percent of the devices' highest clock.
    slow_clock_percent: f64,
    /// Highest clock of a step, percent of the devices' highest clock.
    full_clock_percent: f64,
    /// Part of the excess of all long steps that the clock explains, percent.
    explained_percent: f64,
    /// Explained excess, percent of the time of all counted steps.
    lost_percent: f64,
}

impl SlowSteps {
    fn of(steps: &[Step]) -> Option<SlowSteps> {
        let known = |step: &&Step| step.counted && step.is_comparable() && step.duration_us > 0.0;
        let steps: Vec<(&Step, f64)> =
            steps.iter().filter(known).filter_map(|step| Some((step, step.clock_percent?))).collect();
        let highest = steps.iter().map(|(_, clock)| *clock).reduce(f64::max).filter(|clock| *clock > 0.0)?;
        let relative = |clock: f64| 100.0 * clock / highest;
        let at_full = steps.iter().filter(|(_, clock)| relative(*clock) >= FULL_CLOCK_PERCENT);
        let usual_us = median(&at_full.map(|(step, _)| step.duration_us).collect::<Vec<f64>>())?;
        let excess = |step: &Step| step.duration_us - usual_us;
        let predicted = |step: &Step, clock: f64| step.compute_us * (1.0 - clock / highest);
        let low: Vec<&(&Step, f64)> = steps.iter().filter(|(_, clock)| relative(*clock) <= LOW_CLOCK_PERCENT).collect();
        let slow: Vec<&(&Step, f64)> =
            low.iter().copied().filter(|(step, _)| step.duration_us >= LONG_STEP * usual_us).collect();
        let sum = |steps: &[&(&Step, f64)], value: &dyn Fn(&Step, f64) -> f64| -> f64 {
            steps.iter().map(|(step, clock)| value(step, *clock)).sum()
        };
        let all: Vec<&(&Step, f64)> = steps.iter().collect();
        let long: Vec<&(&Step, f64)> =
            all.iter().copied().filter(|(step, _)| step.duration_us >= LONG_STEP * usual_us).collect();
        let explained = sum(&slow, &|step, clock| predicted(step, clock).min(excess(step)));
        let share = explained / sum(&long, &|step, _| excess(step));
        let lost_percent = 100.0 * explained / sum(&all, &|step, _| step.duration_us);
        let follows = sum(&low, &|step, _| excess(step)) >= LEAST_EXPLAINED * sum(&low, &predicted);
        let count = slow.len() as f64;
        (follows && share >= LEAST_EXPLAINED && lost_percent >= LEAST_LOST_PERCENT).then(|| SlowSteps {
            count: slow.len() as u64,
            of: steps.len() as u64,
            usual_us,
            slow_us: sum(&slow, &|step, _| step.duration_us) / count,
            slow_clock_percent: sum(&slow, &|_, clock| clock) / count,
            full_clock_percent: highest,
            explained_percent: 100.0 * share.min(1.0),
            lost_percent,
        })
    }

    fn finding(&self, profile: &UnifiedProfile) -> Draft {
        let reason = reasons(profile).next().map(reason_of);
        let because = reason.map(|reason| format!(" The driver reports the reason: {reason}.")).unwrap_or_default();
        let title = format!(
            "{} of {} steps are slow because of a low clock",
            format::count(self.count),
            format::count(self.of)
        );
        let message = format!(
            "{} steps take {} on average, and the others {}. Their clock is {} of the highest clock, instead of {}. This explains {} \
             of the excess time of long steps.{because}",
            format::count(self.count),
            format::time_us(self.slow_us),
            format::time_us(self.usual_us),
            format::percent(self.slow_clock_percent),
            format::percent(self.full_clock_percent),
            format::percent(self.explained_percent),
        );
        Draft::new(FindingSeverity::Warning, Confidence::High, &title, message)
            .remedy(REMEDY)
            .passed("explained_percent", self.explained_percent, 100.0 * LEAST_EXPLAINED)
            .evidence("slow_clock_percent", self.slow_clock_percent)
            .evidence("full_clock_percent", self.full_clock_percent)
            .at_stake(self.lost_percent)
            .link(View::Steps, "")
    }
}

const REMEDY: &str = "Compare runs only at the same clock. Check the power limit and the temperature of the device, its cooling, and the \
                      other devices of the machine. Ops that are limited by memory hardly depend on this clock.";

/// Returns the reasons for a lower clock that are active in the window, the longest first.
fn reasons(profile: &UnifiedProfile) -> impl Iterator<Item = &MeterStats> {
    let mut reasons: Vec<&MeterStats> = profile.hardware.iter().flat_map(|it| &it.meters).collect();
    reasons.retain(|it| it.quantity == "clock_limit" && 100.0 * it.mean >= LEAST_LIMITED_PERCENT);
    base::sort::sort_by(&mut reasons, |a, b| b.mean.total_cmp(&a.mean));
    reasons.into_iter()
}

/// Returns the reason that a counter measures: the part of its name after the colon.
fn reason_of(meter: &MeterStats) -> &str {
    meter.counter.split_once(": ").map_or(meter.counter.as_str(), |(_, reason)| reason)
}

/// A device whose clock is low during the whole window.
struct Lowered<'a> {
    device: &'a str,
    /// Mean clock, percent of the device's highest clock.
    clock_percent: f64,
    evidence: String,
    /// Name and value of the evidence.
    number: (&'static str, f64),
}

/// Returns the device with the lowest clock among the devices whose low clock a limit explains.
fn lowest(profile: &UnifiedProfile) -> Option<Lowered<'_>> {
    let hardware = profile.hardware.as_ref()?;
    let clock_of = |device: &str| {
        let clock = |it: &&MeterStats| it.device_name == device && it.quantity == "clock";
        hardware.meters.iter().find(clock).and_then(|it| Some((it, it.mean_percent?)))
    };
    let limited = reasons(profile).filter_map(|reason| {
        let (clock, clock_percent) = clock_of(&reason.device_name)?;
        let evidence = format!(
            "Its clock is {} MHz on average, {} of its highest clock. The driver reports the reason \"{}\" for {} of the time.",
            format::number(clock.mean),
            format::percent(clock_percent),
            reason_of(reason),
            format::percent(100.0 * reason.mean),
        );
        let number = ("limited_percent", 100.0 * reason.mean);
        Some(Lowered { device: &reason.device_name, clock_percent, evidence, number })
    });
    let throttling = hardware.meters.iter().filter(|it| it.quantity == "throttling").map(|it| (it, it.mean));
    let throttled = throttling.map(|(it, skipped)| Lowered {
        device: &it.device_name,
        clock_percent: 100.0 - skipped,
        evidence: format!("Its firmware reports throttling of {} ({}).", format::percent(skipped), it.counter),
        number: ("skipped_percent", skipped),
    });
    let skipped = hardware.units.iter().filter(|it| it.name == "Clocks Skipped").map(|it| Lowered {
        device: &it.device_name,
        clock_percent: 100.0 - it.use_percent,
        evidence: format!("Its power manager skips {} of the clock cycles.", format::percent(it.use_percent)),
        number: ("skipped_percent", it.use_percent),
    });
    let all = limited.chain(throttled).chain(skipped);
    let low = all.filter(|it| it.clock_percent <= LOWERED_PERCENT.min(100.0 - LEAST_SKIPPED_PERCENT));
    low.min_by(|a, b| a.clock_percent.total_cmp(&b.clock_percent))
}

impl Lowered<'_> {
    fn finding(&self) -> Draft {
        let title = format!("A limit lowers the clock of {}", self.device);
        let lost = 100.0 - self.clock_percent;
        let message = format!(
            "{} {} Ops that are limited by computation take up to {} longer.",
            self.device,
            lower_first(&self.evidence),
            format::percent(100.0 * lost / self.clock_percent.max(1.0))
        );
        let (name, value) = self.number;
        Draft::new(FindingSeverity::Note, Confidence::High, &title, message)
            .remedy(REMEDY)
            .passed("clock_percent", self.clock_percent, LOWERED_PERCENT)
            .evidence(name, value)
            .link(View::Devices, "")
    }
}

/// Makes the first letter lower-case, to continue a sentence that names a device: "Its clock is" becomes ": its clock is".
fn lower_first(text: &str) -> String {
    text.strip_prefix("Its").map_or_else(|| text.to_owned(), |rest| format!("runs below its highest clock: its{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, kernel, says};
    use base::Ps;
    use report::FindingSeverity::{Note, Warning};
    use trace::{CounterTrack, StatValue, Trace, TraceBuilder};

    /// Builds twelve steps. The steps in the second half of the run have this clock and this length. `reason` is the
    /// share of samples with a power cap.
    fn steps(clock: f64, length: i64, reason: f64) -> Trace {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let (mut at, mut times, mut clocks, mut caps) = (0, Vec::new(), Vec::new(), Vec::new());
        for step in 0..12 {
            let (clock, length) = if step < 6 { (2000.0, 1000) } else { (clock, length) };
            b.event(python, "train", at, length).step_num(step);
            kernel(&mut b, "gemm", at + 1, at + 2, length - 5);
            times.push(Ps::new(at * 1_000_000));
            clocks.push(clock);
            caps.push(reason);
            at += length;
        }
        b.plane_stat("/device:GPU:0", "clock_rate", StatValue::Int(2_000_000));
        let mut trace = b.build();
        let plane = (0..trace.planes.len()).find(|&it| trace.text(trace.planes[it].name) == "/device:GPU:0").unwrap();
        let plane = trace.plane_id(plane).unwrap();
        for (name, values) in [("SM clock (MHz)", clocks), ("Clock limit: power cap", caps)] {
            let name = trace.strings.intern(name);
            trace.counters.push(CounterTrack { plane, name, times: times.clone(), values });
        }
        trace
    }

    #[test]
    fn slow_steps_at_a_low_clock_are_explained() {
        let found = finding(steps(1600.0, 1250, 0.5), &RULE);
        assert_eq!((found.severity, found.title.as_str()), (Warning, "6 of 12 steps are slow because of a low clock"));
        assert!(found.message.contains("power cap"), "{}", found.message);
        let explained = found.evidence.iter().find(|it| it.name == "explained_percent").unwrap().value;
        assert!(explained > 95.0, "{explained}");
        // The last step has a sample at its start only.
        assert!((9.0..=11.2).contains(&found.time_at_stake_percent.unwrap()), "{:?}", found.time_at_stake_percent);
    }

    #[test]
    fn slow_steps_with_another_cause_are_not() {
        // The steps take twice as long at 97 % of the clock, so the clock explains only 3 of 100 points.
        fine(steps(1940.0, 2000, 0.0), &RULE);
        // The clock is low but the steps are not slow, and no reason is known.
        fine(steps(1600.0, 1000, 0.0), &RULE);
        // The steps are slow at the highest clock.
        fine(steps(2000.0, 1500, 0.0), &RULE);
    }

    #[test]
    fn a_limit_of_all_steps_is_a_note() {
        let found = finding(steps(1600.0, 1000, 0.8), &RULE);
        assert_eq!((found.severity, found.title.as_str()), (Note, "A limit lowers the clock of /device:GPU:0"));
        fine(steps(1600.0, 1000, 0.05), &RULE);
        fine(steps(1900.0, 1000, 0.8), &RULE);
    }

    #[test]
    fn a_capture_without_clocks_is_irrelevant() {
        let mut trace = steps(1600.0, 1250, 0.5);
        trace.counters.clear();
        assert_eq!(says(trace, &RULE), Verdict::Irrelevant);
    }
}
