//! Many small collectives take most of the communication time.
//!
//! The rule considers collectives of one source line that move at most 16 KiB per call. These collectives must run at
//! least 10 times per step on each device, and take at least half of the communication time. These limits are ours: at
//! 20 GB/s, such a transfer takes less than a microsecond, so a call spends its time on the launch and the wait for the
//! slowest device. The impact is the exposed time of these collectives. Severity: warning from 10 % of the window (JAX
//! guide, overheads), critical from 30 % (XProf, collective-bound). Confidence: high. Remedy: make fewer calls. The
//! rule is skipped if there are no steps.

use std::collections::BTreeMap;

use super::avoidable_collectives::AVOIDABLE_COLLECTIVES;
use super::draft::{Draft, equals};
use super::limits::{BOTTLENECK_PERCENT, OVERHEAD_PERCENT};
use super::numbers::{Numbers, code_line, plural, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format, framework_path};
use metrics::CollectiveOp;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "small_collectives",
    title: "Many small collectives take most of the communication time",
    needs: Needs::AllLines,
    explained_by: &[&AVOIDABLE_COLLECTIVES],
    ..Rule::checked_by(check)
};

/// Maximum number of bytes per call of a small collective.
const SMALL_BYTES: u64 = 16 << 10;
/// Minimum number of calls per step per device.
const FEWEST_CALLS: f64 = 10.0;
/// Minimum share of the communication time that these collectives take.
const MOSTLY_PERCENT: f64 = 50.0;

/// Small collectives of one source line.
pub(super) struct Small<'a> {
    /// The source line, or an empty text if it is unknown.
    source: String,
    ops: Vec<&'a CollectiveOp>,
}

impl Small<'_> {
    fn sum(&self, time: impl Fn(&CollectiveOp) -> Ps) -> Ps {
        self.ops.iter().map(|op| time(op)).sum()
    }

    /// Returns true if there are many of these collectives, and one of them has this name.
    pub(crate) fn are_many_with(&self, numbers: &Numbers<'_>, name: &str) -> bool {
        let steps = numbers.steps_in_window().unwrap_or(f64::INFINITY);
        let devices = numbers.context.analysis.devices.used.len().max(1) as f64;
        self.calls() as f64 / steps / devices >= FEWEST_CALLS
            && self.ops.iter().any(|op| numbers.trace.text(op.name) == name)
    }

    fn calls(&self) -> u64 {
        self.ops.iter().map(|op| op.sums.occurrences).sum()
    }
}

/// Groups the small collectives by source line, and returns the group with the most time. Collectives without a source
/// line form one group.
pub(super) fn largest<'a>(numbers: &Numbers<'a>) -> Option<Small<'a>> {
    let analysis = &numbers.context.analysis;
    let mut lines: BTreeMap<String, Vec<&CollectiveOp>> = BTreeMap::new();
    let is_small = |op: &&CollectiveOp| op.message.bytes.is_some_and(|bytes| bytes <= SMALL_BYTES);
    for op in analysis.collectives.ops.iter().filter(is_small) {
        lines.entry(source(numbers, op)).or_default().push(op);
    }
    let groups = lines.into_iter().map(|(source, ops)| Small { source, ops });
    groups.max_by_key(|it| it.sum(|op| op.sums.total))
}

/// Returns the source line of a collective, or an empty text if it is unknown.
fn source(numbers: &Numbers<'_>, op: &CollectiveOp) -> String {
    let args = numbers.trace.args.get(op.args);
    let of_event = numbers.trace.text(args.source);
    let module = args.program_id.and_then(|id| numbers.module(id));
    let of_program = || module?.source_of(module?.instruction(numbers.trace.text(op.name))?);
    if of_event.is_empty() { of_program().unwrap_or_default() } else { of_event.to_owned() }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let collectives = &numbers.context.analysis.collectives;
    let Some(small) = largest(numbers) else { return Verdict::Irrelevant };
    let share = |time: Ps, all: Ps| if all > Ps::ZERO { 100.0 * time.as_ps() as f64 / all.as_ps() as f64 } else { 0.0 };
    let time = small.sum(|op| op.sums.total);
    let mostly = share(time, collectives.sums.total);
    let exposed = share(small.sum(|op| op.sums.exposed), collectives.device_time);
    if mostly < MOSTLY_PERCENT || exposed < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let Some(steps) = numbers.steps_in_window() else { return numbers.lacks_steps("the steps are unknown.") };
    let devices = numbers.context.analysis.devices.used.len().max(1) as f64;
    let per_step = |calls: u64| calls as f64 / steps / devices;
    let calls = per_step(small.calls());
    if calls < FEWEST_CALLS {
        return Verdict::Fine;
    }
    let critical = exposed >= BOTTLENECK_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let rounded = |calls: f64| calls.round() as u64;
    let place = match small.source.as_str() {
        "" => String::new(),
        source => format!(" at {}", code_line(source)),
    };
    let bytes = small.ops.iter().filter_map(|op| op.message.bytes);
    let (least, most) = bytes.fold((u64::MAX, 0), |(least, most), bytes| (least.min(bytes), most.max(bytes)));
    let bytes = match (least, most) {
        (least, most) if least == most => format::bytes(most),
        (_, most) => format!("at most {}", format::bytes(most)),
    };
    let scope = scope(&small);
    let of_scope = scope.as_ref().map_or(String::new(), |scope| format!(" in {}", shown(scope)));
    let window = numbers.window_of_parts();
    let (waits, transfers) = (small.sum(|op| op.sums.wait), small.sum(|op| op.sums.transfer));
    let waiting = match waits + transfers {
        compared if compared > Ps::ZERO => {
            format!(
                " In these calls, devices wait for each other for {} of the time.",
                format::percent(share(waits, compared))
            )
        }
        _ => String::new(),
    };
    let message = format!(
        "Each device runs {} per step. {} of them{of_scope}{place} move {bytes} per call and take {} of the communication time{}. \
         The transfer itself takes almost no time: a call takes as long as its launch and the wait for the slowest device.{waiting}",
        plural(rounded(per_step(collectives.sums.occurrences)), "collective"),
        format::count(rounded(calls)),
        format::percent(mostly),
        window.map_or(String::new(), |window| format!(
            ": {} of {} ({})",
            format::time_us(window.us(exposed)),
            window.words(),
            format::percent(exposed)
        )),
    );
    let title = format!(
        "{} small collectives per step{of_scope}{place} take {} of the time",
        format::count(rounded(calls)),
        format::percent(exposed)
    );
    let normalizes = scope.is_some_and(|scope| {
        let plain: String = scope.chars().filter(char::is_ascii_alphanumeric).collect();
        plain.to_ascii_lowercase().contains("batchnorm")
    });
    let remedy = if normalizes {
        "Batch normalisation synchronises its statistics over devices in each layer, forward and backward. Compute \
         them on each device (no axis_name), and average the running statistics once per step together with the \
         gradients. If the batch per device is too small for that, use a larger one, or normalise without the batch \
         (GroupNorm, LayerNorm)."
    } else {
        "Make fewer calls: pass all arrays to one call of jax.lax.psum or pmean as a tuple, after the values are computed, or add \
         them up on each device and communicate once per step. Leave out what each device can compute from its own part of the batch."
    };
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(remedy)
        .passed("exposed_percent", exposed, if critical { BOTTLENECK_PERCENT } else { OVERHEAD_PERCENT.good })
        .passed("calls_per_step", calls, FEWEST_CALLS)
        .passed("percent_of_communication", mostly, MOSTLY_PERCENT)
        .evidence("bytes_per_call", most as f64)
        .at_stake(exposed)
        .link(View::Communication, &small.ops.first().map_or(String::new(), |op| equals("kind", op.kind)))
        .fires()
}

/// Returns the innermost scope of the program that all these collectives share, with `*` for numbers: `BatchNorm_*`.
fn scope(small: &Small<'_>) -> Option<String> {
    let scope_of = |op: &&CollectiveOp| {
        let scopes = framework_path::scopes(&op.framework_op);
        scopes.last().map(|scope| framework_path::layered(scope))
    };
    let first = small.ops.first().and_then(scope_of)?;
    small.ops.iter().all(|op| scope_of(op).as_ref() == Some(&first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradient_synchronization;
    use crate::testing::{finding, fine, says};
    use report::FindingSeverity::{Critical, Warning};
    use trace::{Trace, TraceBuilder};

    /// Builds steps of 1000 us on two devices. In each step, `calls` reductions of `elements` floats in layers take
    /// `each` us each, a sum of gradients takes 50 us, and a product takes the rest of the step.
    fn steps(calls: i64, elements: i64, each: i64, layer: &'static str) -> Trace {
        let mut b = TraceBuilder::new();
        for step in 0..12 {
            let at = step * 1000;
            for device in ["/device:TPU:0", "/device:TPU:1"] {
                let modules = b.line(device, "XLA Modules");
                b.event(modules, "jit_f(1)", at, 1000).run_id(step);
                for call in 0..calls {
                    let path = format!("jit(f)/jvp(Net)/{layer}_{call}/psum");
                    reduce(&mut b, device, (call, elements), (at + each * call, each), (&path, "model.py:27"));
                }
                let end = at + each * calls;
                reduce(&mut b, device, (calls, 1 << 20), (end, 50), ("jit(f)/psum", "train.py:53"));
                let path = b.trace_mut().strings.intern("jit(f)/transpose(jvp(Net))/dot_general");
                let line = b.line(device, "XLA Ops");
                let dot = b.event(line, "dot.1", end + 50, at + 950 - end).hlo_category("convolution fusion");
                dot.args(|args| args.tf_op = path);
            }
        }
        b.build()
    }

    fn reduce(
        b: &mut TraceBuilder,
        device: &str,
        (number, elements): (i64, i64),
        (start, duration): (i64, i64),
        (path, source): (&str, &str),
    ) {
        let text = format!(
            "%psum.{number} = f32[{elements}]{{0}} all-reduce(f32[{elements}]{{0}} %x.{number}), replica_groups={{{{0,1}}}}"
        );
        let [text, path, source] = [text.as_str(), path, source].map(|it| b.trace_mut().strings.intern(it));
        let line = b.line(device, "XLA Ops");
        let op = b.event(line, &format!("psum.{number}"), start, duration).hlo_category("all-reduce");
        op.args(|args| (args.long_name, args.tf_op, args.source) = (text, path, source));
    }

    #[test]
    fn fires_above_its_limits() {
        let found = finding(steps(10, 32, 40, "BatchNorm"), &RULE);
        let title = "10 small collectives per step in BatchNorm_* at model.py:27 take 40.0 % of the time";
        assert_eq!((found.severity, found.title.as_str()), (Critical, title));
        let said = "Each device runs 11 collectives per step. 10 of them in BatchNorm_* at model.py:27 move 128 B per call and \
                    take 88.9 % of the communication time: 400 µs of each 1.00 ms step (40.0 %).";
        assert!(found.message.starts_with(said), "{}", found.message);
        assert!(found.remedy.contains("no axis_name"), "{}", found.remedy);
        assert_eq!(finding(steps(10, 32, 10, "BatchNorm"), &RULE).severity, Warning);
        fine(steps(10, 32, 9, "BatchNorm"), &RULE);
        fine(steps(9, 32, 40, "BatchNorm"), &RULE);
        // A call of 16 KiB is small, and a larger one is not.
        assert!(!finding(steps(10, 4096, 40, "mlp"), &RULE).remedy.contains("axis_name"));
        assert_eq!(says(steps(10, 4097, 40, "mlp"), &RULE), Verdict::Irrelevant);
    }

    #[test]
    fn statistics_are_no_gradients() {
        assert_eq!(says(steps(10, 32, 40, "BatchNorm"), &gradient_synchronization::RULE), Verdict::Fine);
    }
}
