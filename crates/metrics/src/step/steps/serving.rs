//! Finds steps from the spans in which an inference engine runs its forward passes. The names of the spans contain the
//! batches ([`facts::ServedBatch`]).
//!
//! ```text
//! host     [execute_context_1(512)_generation_0(0)]  [execute_context_0(0)_generation_8(8)]  [...]
//!          '-- step 0: prefill ------------------'   '-- step 1: decode ----------------'
//! ```
//!
//! Without spans of forward passes, calls of compiled functions are the passes if their names contain the word
//! `prefill` or a word such as `decode`. Calls are used only if both kinds occur and no step is annotated.
//!
//! On each host, only the thread with the longest spans is used. A span inside another span belongs to the outer pass. The n-th
//! passes of several hosts are one step.

use std::collections::BTreeMap;

use super::annotations::{Annotations, one_line_per_host};
use super::{Mark, host_spans};
use crate::device::devices::Devices;
use base::sort;
use facts::{FORWARD_PASS, ServedBatch, ServingPhase};
use trace::{EventKind, Interval, LineId, LineKind, Trace};

/// The passes are the steps if there are at most this many passes per annotated step. With more passes, the annotations
/// are the steps, for example in reinforcement learning. We chose this limit.
const PASSES_PER_ANNOTATION: f64 = 1.5;

/// Forward passes of an inference engine.
#[derive(Clone, Debug)]
pub(super) struct Passes {
    /// The spans, as if they were annotations.
    pub spans: Annotations,
    /// Batch of each pass. If the hosts serve different batches, the sum over hosts.
    pub batches: Vec<ServedBatch>,
}

/// Finds the passes. Returns `None` if there are no passes, or if each of the `annotations` contains several passes.
pub(super) fn find(trace: &Trace, devices: &Devices, annotations: Option<&Annotations>) -> Option<Passes> {
    let kinds = trace.events.kinds();
    let of_names = |parse: fn(&str) -> Option<ServedBatch>| -> Vec<Option<ServedBatch>> {
        let batch = |kind: &EventKind| {
            let is_host = trace.lines.get(kind.line.index()).is_some_and(|line| line.kind == LineKind::Host);
            is_host.then(|| parse(trace.text(kind.name))).flatten()
        };
        kinds.iter().map(batch).collect()
    };
    let mut batches = of_names(ServedBatch::of_span);
    if annotations.is_none() && batches.iter().all(Option::is_none) {
        batches = of_names(ServedBatch::of_call);
        let has = |phase| batches.iter().flatten().any(|batch| batch.phase() == Some(phase));
        if !has(ServingPhase::Prefill) || !has(ServingPhase::Decode) {
            return None;
        }
    }
    let places: Vec<Option<usize>> = batches.iter().zip(0usize..).map(|(batch, kind)| batch.map(|_| kind)).collect();
    if places.iter().all(Option::is_none) {
        return None;
    }
    let mut by_line: BTreeMap<LineId, Vec<Mark>> = BTreeMap::new();
    host_spans::for_each_placed(trace, devices, &places, |kind, interval| {
        if let Some(line) = kinds.get(kind).map(|kind| kind.line) {
            by_line.entry(line).or_default().push(Mark { interval, key: i64::try_from(kind).ok() });
        }
    });
    by_line.values_mut().for_each(outermost);
    let by_host = one_line_per_host(trace, by_line);
    let count = by_host.values().map(Vec::len).max().filter(|&count| count > 0)?;
    if annotations.is_some_and(|it| count as f64 > PASSES_PER_ANNOTATION * it.numbers.len() as f64) {
        return None;
    }
    let batch_of = |mark: &Mark| batches.get(usize::try_from(mark.key?).ok()?).copied().flatten();
    let of_step = |step: usize| -> Vec<ServedBatch> {
        by_host.values().filter_map(|marks| marks.get(step).and_then(batch_of)).collect()
    };
    // Hosts that run parts of one model serve the same requests. Other hosts serve different requests.
    let are_equal = |batches: &[ServedBatch]| batches.iter().zip(batches.iter().skip(1)).all(|(a, b)| a == b);
    let is_one_model = (0..count).all(|step| are_equal(&of_step(step)));
    let of_all = |batches: Vec<ServedBatch>| {
        let used = if is_one_model { 1 } else { batches.len() };
        batches.into_iter().take(used).reduce(ServedBatch::plus).unwrap_or_default()
    };
    let batches = (0..count).map(|step| of_all(of_step(step))).collect();
    let numbered = |marks: Vec<Mark>| -> Vec<Option<Mark>> {
        let numbers = marks.into_iter().zip(0i64..).map(|(mark, number)| Some(Mark { key: Some(number), ..mark }));
        numbers.chain(std::iter::repeat(None)).take(count).collect()
    };
    Some(Passes {
        spans: Annotations {
            name: FORWARD_PASS.to_owned(),
            ends: true,
            distinct_numbers: None,
            numbers: (0i64..).take(count).collect(),
            by_host: sort::map(by_host.into_iter().map(|(host, marks)| (host, numbered(marks)))),
        },
        batches,
    })
}

/// Sorts spans by start, and removes spans that begin inside another span.
fn outermost(marks: &mut Vec<Mark>) {
    sort::sort_by_key(marks, |mark| (mark.interval.start, std::cmp::Reverse(mark.interval.end)));
    let mut last: Option<Interval> = None;
    marks.retain(|mark| {
        let is_outer = last.is_none_or(|last| mark.interval.start >= last.end);
        if is_outer {
            last = Some(mark.interval);
        }
        is_outer
    });
}
