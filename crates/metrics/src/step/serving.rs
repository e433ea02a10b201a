//! Computes sums over the forward passes of an inference engine, for each phase.
//!
//! ```text
//! pass            prefill |  decode  |  decode  | prefill | decode   |
//! token interval                     |<-------->|<------------------>|   a prompt prolongs the last one
//! ```

use crate::common::statistics::{self, Summary};
use crate::device::gaps::percent;
use crate::step::step_breakdown::{PassGap, PassGaps};
use crate::step::step_part::StepPart;
use base::Ps;
use facts::ServingPhase;
use report::{PhaseStats, Serving, SteadyState, Step};

/// Minimum number of requests of a pass in the steady state, as a share of the largest number of requests in any
/// decoding pass. We chose this limit.
const STEADY: f64 = 0.9;
/// Minimum number of decoding passes in a steady state. We chose this limit.
const FEWEST_STEADY: usize = 5;

/// Returns the section about `steps`. `gaps` are the devices' idle times between the steps. `launches_graphs` is true
/// if the host launches graphs, or `None` if launches are unknown. Returns `None` if no step has a phase.
pub(crate) fn section(steps: &[Step], gaps: &PassGaps, launches_graphs: Option<bool>) -> Option<Serving> {
    let counted: Vec<&Step> = steps.iter().filter(|step| step.counted && step.phase.is_some()).collect();
    let time_us: f64 = counted.iter().map(|step| step.duration_us).sum();
    let phases: Vec<PhaseStats> = ServingPhase::ALL
        .into_iter()
        .filter_map(|phase| of_phase(&counted, phase, time_us, gaps, launches_graphs))
        .collect();
    if phases.is_empty() {
        return None;
    }
    let intervals = token_intervals(steps);
    let lengths: Vec<f64> = intervals.iter().map(|interval| interval.us).collect();
    let summary = statistics::summarize(&lengths);
    Some(Serving {
        phases,
        max_requests: steps.iter().filter_map(|step| step.requests).max(),
        decode_tokens_per_sec: per_sec(sum(&counted, |step| step.decode_tokens), time_us),
        prefill_tokens_per_sec: per_sec(sum(&counted, |step| step.prefill_tokens), time_us),
        median_token_interval_us: summary.map(|it| it.median),
        p95_token_interval_us: summary.map(|it| it.p95),
        max_token_interval_us: summary.map(|it| it.max),
        prompt_delay_percent: prompt_delay_percent(&intervals),
        steady: steady(steps),
    })
}

fn of_phase(
    counted: &[&Step],
    phase: ServingPhase,
    all_us: f64,
    gaps: &PassGaps,
    launches_graphs: Option<bool>,
) -> Option<PhaseStats> {
    let own: Vec<&Step> = counted.iter().copied().filter(|step| step.phase.as_deref() == Some(phase.label())).collect();
    let durations: Vec<f64> = own.iter().map(|step| step.duration_us).collect();
    let Summary { mean, median, p95, max, .. } = statistics::summarize(&durations)?;
    let total_time_us: f64 = durations.iter().sum();
    let idle_us: f64 = own.iter().map(|step| step.idle_us).sum();
    let share = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    let requests: Vec<f64> = own.iter().filter_map(|step| step.requests).map(|requests| requests as f64).collect();
    let tokens = sum(&own, |step| step.tokens);
    let per_pass = |count: fn(&Step) -> f64| {
        launches_graphs.and_then(|_| statistics::mean(&own.iter().map(|step| count(step)).collect::<Vec<_>>()))
    };
    Some(PhaseStats {
        phase: phase.label().to_owned(),
        passes: own.len() as u64,
        total_time_us,
        time_percent: share(total_time_us, all_us),
        avg_time_us: mean,
        median_time_us: median,
        p95_time_us: p95,
        max_time_us: max,
        idle_percent: share(idle_us, total_time_us),
        avg_requests: statistics::mean(&requests).filter(|_| requests.len() == own.len()),
        tokens,
        prefill_tokens: sum(&own, |step| step.prefill_tokens),
        decode_tokens: sum(&own, |step| step.decode_tokens),
        tokens_per_sec: per_sec(tokens, total_time_us),
        graph_launches: per_pass(|step| step.graph_launches.unwrap_or(0.0)),
        graph_kernels: per_pass(|step| step.graph_kernels.unwrap_or(0.0)),
        single_kernels: per_pass(|step| step.num_kernels - step.graph_kernels.unwrap_or(0.0)),
        ..with_gaps(phase, gaps)
    })
}

/// Returns statistics that contain only the gaps between passes of a phase.
fn with_gaps(phase: ServingPhase, gaps: &PassGaps) -> PhaseStats {
    let own: Vec<&PassGap> = gaps.gaps.iter().filter(|gap| gap.phase == phase).collect();
    let lengths: Vec<f64> = own.iter().map(|gap| gap.length.as_us()).collect();
    let Some(Summary { median, p95, max, .. }) = statistics::summarize(&lengths) else { return PhaseStats::default() };
    let whole: Ps = own.iter().map(|gap| gap.length).sum();
    let time_of = |part: StepPart| -> Ps { own.iter().map(|gap| gap.causes.get(part)).sum() };
    let idle = StepPart::ALL.into_iter().rev().filter(|part| part.is_idle());
    // If several causes have equal times, the first is used.
    let cause = idle.map(|part| (time_of(part), part)).max_by_key(|it| it.0).filter(|it| it.0 > Ps::ZERO);
    let of_phase = gaps.time.get(&phase).copied().unwrap_or_default();
    PhaseStats {
        median_gap_us: Some(median),
        p95_gap_us: Some(p95),
        max_gap_us: Some(max),
        gap_percent: (of_phase > Ps::ZERO).then(|| percent(whole, of_phase)),
        gap_cause: cause.map(|(_, part)| part.label().to_owned()),
        gap_cause_percent: cause.map(|(time, _)| percent(time, whole)),
        ..PhaseStats::default()
    }
}

/// Returns the sum of a number over steps, or `None` if a step lacks the number.
fn sum(steps: &[&Step], value: fn(&Step) -> Option<u64>) -> Option<u64> {
    steps.iter().try_fold(0u64, |sum, step| Some(sum.saturating_add(value(step)?)))
}

fn per_sec(count: Option<u64>, time_us: f64) -> Option<f64> {
    count.filter(|_| time_us > 0.0).map(|count| count as f64 * 1e6 / time_us)
}

/// Time between the ends of two decoding passes.
struct TokenInterval {
    us: f64,
    /// True if a pass in the interval computes a prompt.
    has_prompt: bool,
}

/// Returns the times between the ends of consecutive decoding passes. A pass that is not counted ends a sequence of
/// consecutive passes.
fn token_intervals(steps: &[Step]) -> Vec<TokenInterval> {
    let mut intervals = Vec::new();
    let mut since: Option<TokenInterval> = None;
    for step in steps {
        let has_prompt = step.phase.as_deref() != Some(ServingPhase::Decode.label());
        let longer = since
            .take()
            .filter(|_| step.counted)
            .map(|it| TokenInterval { us: it.us + step.duration_us, has_prompt: it.has_prompt || has_prompt });
        if step.counted && decodes(step) {
            intervals.extend(longer);
            since = Some(TokenInterval { us: 0.0, has_prompt: false });
        } else {
            since = longer;
        }
    }
    intervals
}

/// Returns the share of the time between tokens that is due to prompts. `None` if all intervals contain a prompt, or if
/// there are no intervals.
fn prompt_delay_percent(intervals: &[TokenInterval]) -> Option<f64> {
    let without: Vec<f64> = intervals.iter().filter(|it| !it.has_prompt).map(|it| it.us).collect();
    let usual = statistics::median(&without)?;
    let whole: f64 = intervals.iter().map(|it| it.us).sum();
    let delays = intervals.iter().filter(|it| it.has_prompt).map(|it| (it.us - usual).max(0.0));
    (whole > 0.0).then(|| 100.0 * delays.sum::<f64>() / whole)
}

/// Returns true if the pass computes the next token of a request.
fn decodes(step: &Step) -> bool {
    step.phase.is_some() && step.phase.as_deref() != Some(ServingPhase::Prefill.label())
}

/// Finds the longest part of the run in which every decoding pass has nearly the largest number of requests. The part
/// includes passes that only prefill, if they are between two such decoding passes.
fn steady(steps: &[Step]) -> Option<SteadyState> {
    let most = steps.iter().filter(|step| decodes(step)).filter_map(|step| step.requests).max()?;
    let is_full = |step: &Step| step.requests.is_some_and(|requests| requests as f64 >= STEADY * most as f64);
    let parts = steps.split(|step| !step.counted || (decodes(step) && !is_full(step)));
    let between = |part| -> Vec<&Step> {
        let part: &[Step] = part;
        let last = part.iter().rposition(decodes).map_or(0, |last| last + 1);
        part.iter().take(last).skip_while(|step| !decodes(step)).collect()
    };
    let time = |part: &[&Step]| -> f64 { part.iter().map(|step| step.duration_us).sum() };
    let best = parts.map(between).max_by(|a, b| time(a).total_cmp(&time(b)))?;
    let decoding: Vec<&Step> = best.iter().copied().filter(|step| decodes(step)).collect();
    let (first, last) = best.first().zip(best.last()).filter(|_| decoding.len() >= FEWEST_STEADY)?;
    let requests: Vec<f64> = decoding.iter().filter_map(|step| step.requests).map(|it| it as f64).collect();
    let duration_us = time(&best);
    Some(SteadyState {
        first_step: first.index,
        last_step: last.index,
        duration_us,
        avg_requests: statistics::mean(&requests)?,
        decode_tokens_per_sec: per_sec(sum(&best, |step| step.decode_tokens), duration_us),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::step_part::Parts;

    fn pass(index: u64, phase: &str, duration_us: f64, requests: u64, tokens: u64) -> Step {
        let (prefill, decode) = if phase == "prefill" { (tokens, 0) } else { (0, tokens) };
        Step {
            index,
            duration_us,
            idle_us: duration_us / 4.0,
            counted: true,
            phase: Some(phase.to_owned()),
            requests: Some(requests),
            tokens: Some(tokens),
            prefill_tokens: Some(prefill),
            decode_tokens: Some(decode),
            ..Step::default()
        }
    }

    fn of(steps: &[Step]) -> Option<Serving> {
        section(steps, &PassGaps::default(), None)
    }

    /// One prefill, three decoding passes, a second prefill, and four more decoding passes. The last decoding pass has
    /// few requests.
    fn passes() -> Vec<Step> {
        let all = [
            ("prefill", 100.0, 2, 1000),
            ("decode", 10.0, 8, 8),
            ("decode", 10.0, 8, 8),
            ("decode", 12.0, 8, 8),
            ("prefill", 50.0, 1, 500),
            ("decode", 10.0, 9, 9),
            ("decode", 10.0, 9, 9),
            ("decode", 8.0, 2, 2),
        ];
        (0..).zip(all).map(|(index, (phase, us, requests, tokens))| pass(index, phase, us, requests, tokens)).collect()
    }

    #[test]
    fn phases_and_rates_add_up() {
        let found = of(&passes()).unwrap();
        let [prefill, decode] = found.phases.as_slice() else { panic!("{found:?}") };
        assert_eq!((prefill.phase.as_str(), prefill.passes, prefill.total_time_us), ("prefill", 2, 150.0));
        assert_eq!((decode.phase.as_str(), decode.passes, decode.total_time_us), ("decode", 6, 60.0));
        assert_eq!((prefill.tokens, decode.tokens, decode.median_time_us), (Some(1500), Some(44), 10.0));
        assert_eq!((decode.idle_percent, prefill.time_percent), (25.0, 100.0 * 150.0 / 210.0));
        assert_eq!(decode.avg_requests, Some(44.0 / 6.0));
        assert_eq!(prefill.tokens_per_sec, Some(1e7));
        assert_eq!(found.decode_tokens_per_sec, Some(44.0 * 1e6 / 210.0));
        assert_eq!(found.max_requests, Some(9));
    }

    #[test]
    fn a_prefill_delays_the_next_token() {
        let found = of(&passes()).unwrap();
        // The five intervals are 10, 12, 50 + 10, 10 and 8 us.
        assert_eq!((found.median_token_interval_us, found.max_token_interval_us), (Some(10.0), Some(60.0)));
        // The median of the four intervals without a prompt is 10 us.
        assert_eq!(found.prompt_delay_percent, Some(100.0 * 50.0 / 100.0));
    }

    #[test]
    fn steps_that_do_not_count_separate_intervals() {
        let mut steps = passes();
        steps[4].counted = false;
        let found = of(&steps).unwrap();
        assert_eq!(found.max_token_interval_us, Some(12.0));
        assert_eq!(found.prompt_delay_percent, Some(0.0));
    }

    #[test]
    fn the_steady_state_has_nearly_all_requests() {
        let mut steps = passes();
        assert_eq!(
            of(&steps).unwrap().steady,
            None,
            "two parts of three and two decoding passes: 8 is below 90 % of 9"
        );
        steps[5].requests = Some(8);
        steps[6].requests = Some(8);
        let steady = of(&steps).unwrap().steady.unwrap();
        assert_eq!((steady.first_step, steady.last_step, steady.duration_us), (1, 6, 102.0));
        assert_eq!((steady.avg_requests, steady.decode_tokens_per_sec), (8.0, Some(42.0 * 1e6 / 102.0)));
    }

    #[test]
    fn other_steps_have_no_section() {
        assert_eq!(of(&[Step { counted: true, duration_us: 5.0, ..Step::default() }]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn gaps_have_a_share_and_a_main_cause() {
        let gap = |us: i64, host_us: i64| {
            let mut causes = Parts::default();
            causes.add(StepPart::HostBound, Ps::new(host_us * 1_000_000));
            causes.add(StepPart::KernelWait, Ps::new((us - host_us) * 1_000_000));
            PassGap { phase: ServingPhase::Decode, length: Ps::new(us * 1_000_000), causes }
        };
        let time = [(ServingPhase::Decode, Ps::new(60_000_000))].into();
        let gaps = PassGaps { gaps: vec![gap(1, 0), gap(4, 3), gap(7, 6), gap(0, 0)], time };
        let found = section(&passes(), &gaps, None).unwrap();
        let [prefill, decode] = found.phases.as_slice() else { panic!("{found:?}") };
        assert_eq!((prefill.median_gap_us, prefill.gap_percent, &prefill.gap_cause), (None, None, &None));
        assert_eq!((decode.median_gap_us, decode.p95_gap_us, decode.max_gap_us), (Some(2.5), Some(7.0), Some(7.0)));
        assert_eq!((decode.gap_percent, decode.gap_cause_percent), (Some(20.0), Some(75.0)));
        assert_eq!(decode.gap_cause.as_deref(), Some("host_bound"));
    }

    #[test]
    fn gaps_without_time_have_no_cause() {
        let gap = PassGap { phase: ServingPhase::Decode, length: Ps::ZERO, causes: Parts::default() };
        let gaps = PassGaps { gaps: vec![gap], time: [(ServingPhase::Decode, Ps::new(5))].into() };
        let found = section(&passes(), &gaps, None).unwrap();
        let decode = found.phases.last().unwrap();
        assert_eq!((decode.gap_percent, &decode.gap_cause, decode.max_gap_us), (Some(0.0), &None, Some(0.0)));
    }

    #[test]
    fn ops_outside_graphs_are_launched_one_by_one() {
        let mut steps = passes();
        for step in &mut steps {
            step.num_kernels = 10.0;
        }
        let single = |steps: &[Step], launches| {
            let decode = section(steps, &PassGaps::default(), launches).unwrap().phases.pop().unwrap();
            [decode.graph_launches, decode.graph_kernels, decode.single_kernels]
        };
        assert_eq!(single(&steps, None), [None; 3]);
        assert_eq!(single(&steps, Some(false)), [0.0, 0.0, 10.0].map(Some));
        for step in steps.iter_mut().filter(|step| step.phase.as_deref() == Some("decode")) {
            (step.graph_launches, step.graph_kernels) = (Some(1.0), Some(8.0));
        }
        assert_eq!(single(&steps, Some(true)), [1.0, 8.0, 2.0].map(Some));
    }
}
