//! Decides which steps are counted: complete steps that are not warm-up.

use crate::common::statistics::median;
use base::sort;
use facts::ServingPhase;

/// Measurements of a step that decide whether the step is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepFacts {
    /// Mean over devices, in microseconds.
    pub duration_us: f64,
    /// True if no device shows the end of the step.
    pub open: bool,
    /// Part of the duration during which no op runs. Mean over devices, in microseconds.
    pub idle_us: f64,
    /// True if devices are still running earlier steps when the host begins this step.
    pub is_behind: bool,
    /// Ops per device.
    pub ops: f64,
    /// Share of the step's time during which the host compiled, from 0 to 1.
    pub compile_share: f64,
    /// The only device that runs the step, if each device has its own steps and therefore its own first step.
    pub only_on: Option<usize>,
    /// Phase of a step of an inference engine. Only steps of the same phase are compared with each other.
    pub phase: Option<ServingPhase>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub partial: bool,
    /// True if the host compiled in the step.
    pub compiles: bool,
    pub warm_up: bool,
    pub counted: bool,
}

/// A step is warm-up if compilation takes more than this share of the step's time.
const COMPILE_SHARE: f64 = 0.1;
/// A leading step is warm-up if it takes longer than the median by more than this factor.
const SLOW_START: f64 = 1.5;
/// Compilation is part of a usual step if later steps that compile outnumber other steps by more than this factor. We
/// chose this limit.
const USUALLY_COMPILES: usize = 2;
/// Maximum share of leading slow steps among all steps. If more leading steps are slow, slow steps are not warm-up. We
/// chose a third as the limit.
const MOST_SLOW_STARTS: f64 = 0.34;
/// Maximum number of leading steps that are warm-up by their length alone.
const MAX_SLOW_STARTS: usize = 5;
/// The first step is warm-up if it takes longer than the median by more than this factor, and devices only wait in it
/// until the host has run ahead. We chose this limit because a smaller difference hides in the noise.
const WAITED_START: f64 = 1.05;
/// Minimum share of the first step's excess over the median that must be idle time. We chose this limit.
const WAITED: f64 = 0.8;
/// Minimum number of later complete steps that must show that devices run behind the host. We chose this limit.
const FEWEST_BEHIND: usize = 3;
/// A step at an end of the capture was cut if it has less than this share of the usual number of ops.
const CUT_SHARE: f64 = 0.5;

/// Judges all steps of a run:
///
/// * *partial*: the end of the step is unknown, or the capture began or ended inside the step. The first or last step
///   is such a step if it is shorter and has far fewer ops than the other steps.
/// * *compiles*: compilation took more than 10 % of the step.
/// * *warm-up*: the step compiles, or it is a slow leading step. Leading steps (at most 5, and at most a third of all)
///   are slow if each takes more than 1.5 times the median of the complete steps that do not compile. The first step is
///   also warm-up if it exceeds the median by more than 5 % because devices wait in it for their first ops, and devices
///   run behind the host in all later steps. Some servers compile for each request. Therefore, steps that compile are
///   not warm-up if they come after the first complete step without compilation, and outnumber complete steps without
///   compilation by more than two to one.
/// * *counted*: neither partial nor warm-up. If no step is counted by this rule, all complete steps are counted. If no
///   step is complete, all steps are counted.
///
/// The forward passes of an inference engine are compared with passes of the same phase. Passes with prompts are neither
/// a slow start nor cut.
pub(super) fn judge(steps: &[StepFacts]) -> Vec<Flags> {
    let mut flags: Vec<Flags> = vec![Flags::default(); steps.len()];
    let groups = sort::set(steps.iter().map(|step| (step.only_on, step.phase)));
    for (only_on, phase) in groups {
        let of_device = || steps.iter().zip(0usize..).filter(|(step, _)| step.only_on == only_on);
        let of_group = || of_device().filter(|(step, _)| step.phase == phase);
        let ends = Ends {
            first: of_group().next().map(|(_, index)| index) == of_device().next().map(|(_, index)| index),
            last: of_group().last().map(|(_, index)| index) == of_device().last().map(|(_, index)| index),
        };
        let judged = judge_group(&of_group().map(|(step, _)| *step).collect::<Vec<StepFacts>>(), phase, ends);
        for ((_, index), judged) in of_group().zip(judged) {
            if let Some(slot) = flags.get_mut(index) {
                *slot = judged;
            }
        }
    }
    let rules: [fn(&Flags) -> bool; 3] = [|flag| !flag.partial && !flag.warm_up, |flag| !flag.partial, |_| true];
    let rule = rules.into_iter().find(|rule| flags.iter().any(rule)).unwrap_or(|_| true);
    for flag in &mut flags {
        flag.counted = rule(flag);
    }
    flags
}

/// For the capture's first and last step, true if the step belongs to the group.
#[derive(Clone, Copy)]
struct Ends {
    first: bool,
    last: bool,
}

/// Judges the steps of one group. The caller decides which of these steps are counted.
fn judge_group(steps: &[StepFacts], phase: Option<ServingPhase>, ends: Ends) -> Vec<Flags> {
    let judged = |step: &StepFacts| Flags {
        partial: step.open,
        compiles: step.compile_share > COMPILE_SHARE,
        ..Flags::default()
    };
    let mut flags: Vec<Flags> = steps.iter().map(judged).collect();
    // A pass takes longer for a longer prompt.
    let is_uneven = phase.is_some_and(|phase| phase != ServingPhase::Decode);
    if let Some(((first, others), flag)) = steps.split_first().zip(flags.first_mut())
        && ends.first
        && !is_uneven
        && others.iter().filter(|step| !step.open).count() > 1
        && is_cut(first, others)
    {
        flag.partial = true;
    }
    if let Some(((last, others), flag)) = steps.split_last().zip(flags.last_mut())
        && ends.last
        && !is_uneven
        && is_cut(last, others)
    {
        flag.partial = true;
    }
    let complete = |compiling: bool| -> Vec<f64> {
        let complete = steps.iter().zip(&flags).filter(|(_, flag)| !flag.partial && (compiling || !flag.compiles));
        complete.map(|(step, _)| step.duration_us).collect()
    };
    let (clean, all) = (complete(false), complete(true));
    // Steps that compile from here on are usual ones.
    let usual_from = flags.iter().position(|flag| !flag.partial && !flag.compiles).filter(|&first| {
        let later = flags.iter().skip(first).filter(|flag| !flag.partial && flag.compiles).count();
        later > USUALLY_COMPILES * clean.len()
    });
    let median = median(if usual_from.is_some() { &all } else { &clean }).or_else(|| median(&all));
    let median = median.unwrap_or(f64::INFINITY);
    let is_slow = |step: &StepFacts| step.duration_us > SLOW_START * median;
    let leading = steps.iter().zip(&flags).take_while(|(step, flag)| is_slow(step) || flag.partial).count();
    // If many steps are slow without compiling, they are not a slow start but normal variation.
    let slow = steps.iter().zip(&flags).take(leading).filter(|(step, flag)| is_slow(step) && !flag.compiles).count();
    let leading =
        if is_uneven || slow as f64 > MOST_SLOW_STARTS * steps.len() as f64 { 0 } else { leading.min(MAX_SLOW_STARTS) };
    let leading = if ends.first && has_waited(steps, median) { leading.max(1) } else { leading };
    let is_slow = |index: usize, step: &StepFacts| is_slow(step) || (index == 0 && has_waited(steps, median));
    for (index, (step, flag)) in steps.iter().zip(&mut flags).enumerate() {
        let is_usual = usual_from.is_some_and(|from| index > from);
        flag.warm_up = (flag.compiles && !is_usual) || (index < leading && is_slow(index, step));
    }
    flags
}

/// Returns true if devices waited only in the first step, because the host ran ahead of the devices afterwards.
/// `median_us` is the usual duration.
fn has_waited(steps: &[StepFacts], median_us: f64) -> bool {
    let Some((first, others)) = steps.split_first() else { return false };
    let complete: Vec<&StepFacts> = others.iter().filter(|step| !step.open).collect();
    let excess = first.duration_us - median_us;
    let idle = median(&complete.iter().map(|step| step.idle_us).collect::<Vec<f64>>()).unwrap_or(0.0);
    complete.len() >= FEWEST_BEHIND
        && !first.is_behind
        && others.iter().all(|step| step.is_behind)
        && first.duration_us > WAITED_START * median_us
        && first.idle_us - idle >= WAITED * excess
}

/// Returns true if `step`, at an end of the capture, is shorter than the other steps and has far fewer ops.
fn is_cut(step: &StepFacts, others: &[StepFacts]) -> bool {
    let whole = || others.iter().filter(|step| !step.open);
    let ops: Vec<f64> = whole().map(|step| step.ops).collect();
    let durations: Vec<f64> = whole().map(|step| step.duration_us).collect();
    let usual = median(&ops).zip(median(&durations));
    usual.is_some_and(|(ops, duration)| step.ops < CUT_SHARE * ops && step.duration_us < duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(duration_us: f64) -> StepFacts {
        StepFacts { duration_us, ops: 10.0, ..StepFacts::default() }
    }

    fn marks(steps: &[StepFacts]) -> String {
        let letter = |flag: &Flags| match (flag.partial, flag.warm_up, flag.counted) {
            (false, false, true) => '.',
            (true, false, false) => 'p',
            (false, true, false) => 'w',
            (true, true, false) => 'b',
            _ => '*', // counted although it is partial or warm-up
        };
        judge(steps).iter().map(letter).collect()
    }

    #[test]
    fn an_open_last_step_is_partial_and_slow_first_ones_are_warm_up() {
        let last = StepFacts { open: true, ..step(40.0) };
        assert_eq!(marks(&[step(300.0), step(200.0), step(100.0), step(101.0), step(99.0), last]), "ww...p");
        // If four of ten steps are slow, they are not a slow start: other work slows them.
        let slow = [step(480.0), step(310.0), step(240.0), step(250.0)];
        assert_eq!(marks(&[&slow[..], &[step(100.0); 6]].concat()), "..........");
        // A slow step in the middle is part of the program.
        assert_eq!(marks(&[step(100.0), step(300.0), step(100.0), step(101.0), last]), "....p");
    }

    #[test]
    fn a_first_step_that_waits_for_a_host_that_then_runs_ahead_is_warm_up() {
        let first = |duration_us, idle_us| StepFacts { idle_us, ..step(duration_us) };
        let behind = StepFacts { is_behind: true, idle_us: 1.0, ..step(100.0) };
        let steps = |first| [first, behind, behind, behind, behind];
        assert_eq!(marks(&steps(first(130.0, 31.0))), "w....");
        // Its ops take longer.
        assert_eq!(marks(&steps(first(130.0, 11.0))), ".....");
        assert_eq!(marks(&steps(first(104.0, 5.0))), ".....");
        // A loop that waits for its devices in one later step may wait in every step.
        let waits = StepFacts { is_behind: false, ..behind };
        assert_eq!(marks(&[first(130.0, 31.0), behind, behind, waits, behind]), ".....");
        assert_eq!(marks(&[first(130.0, 31.0), behind, behind]), "...");
    }

    #[test]
    fn compilation_makes_any_step_warm_up() {
        let compiled = StepFacts { compile_share: 0.11, ..step(100.0) };
        let little = StepFacts { compile_share: 0.1, ..step(100.0) };
        assert_eq!(marks(&[step(100.0), compiled, little]), ".w.");
    }

    #[test]
    fn steps_that_compile_do_not_hide_a_slow_start() {
        let compiled = StepFacts { compile_share: 0.9, ..step(9000.0) };
        let last = StepFacts { open: true, ..step(40.0) };
        let steps = [step(300.0), step(100.0), step(101.0), compiled, compiled, compiled, last];
        assert_eq!(marks(&steps), "w..wwwp");
        assert_eq!(judge(&steps).iter().filter(|flag| flag.compiles).count(), 3);
    }

    /// A server compiles for each request, so compilation is part of a typical step.
    #[test]
    fn steps_that_usually_compile_count() {
        let compiled = StepFacts { compile_share: 0.9, ..step(600.0) };
        let request = [step(50.0), compiled, compiled, compiled];
        assert_eq!(marks(&request), "....");
        // Any number of first steps may compile.
        assert_eq!(marks(&[compiled, compiled, compiled, step(50.0)]), "www.");
        assert_eq!(marks(&[step(50.0), compiled, compiled]), ".ww");
    }

    #[test]
    fn devices_that_run_one_after_another_warm_up_each() {
        let on = |device, duration_us| StepFacts { only_on: Some(device), ..step(duration_us) };
        let first = [on(0, 300.0), on(0, 100.0), on(0, 100.0)];
        let second = [on(1, 600.0), on(1, 200.0), on(1, 200.0)];
        assert_eq!(marks(&[first, second].concat()), "w..w..");
    }

    #[test]
    fn a_first_step_with_few_ops_was_cut() {
        let cut = StepFacts { ops: 3.0, ..step(30.0) };
        assert_eq!(marks(&[cut, step(100.0), step(100.0)]), "p..");
        assert_eq!(marks(&[step(100.0), StepFacts { ops: 3.0, ..step(30.0) }]), ".p");
        // A step that is as long as the other steps, but has fewer ops, is not cut.
        assert_eq!(marks(&[StepFacts { ops: 3.0, ..step(100.0) }, step(100.0), step(100.0)]), "...");
    }

    #[test]
    fn something_always_counts() {
        let open = StepFacts { open: true, ..step(100.0) };
        let compiled = StepFacts { compile_share: 0.5, ..step(100.0) };
        assert_eq!(marks(&[open]), "*");
        assert_eq!(marks(&[compiled, open]), "*p");
        assert_eq!(marks(&[]), "");
    }
}
