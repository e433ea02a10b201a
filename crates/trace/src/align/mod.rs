//! Aligns hosts whose files have no common clock. Uses events that all hosts take part in.
//!
//! ```text
//! host A, its clock   5.000 s  [step 0 )[step 1 )[step 2 )
//! host B, its clock 912.345 s            [step 1 )[step 2 )
//! shift of B                   |-907.345 s + 1 step|
//! merged              5.000 s  [step 0 )[step 1 )[step 2 )
//!                                       [step 1 )[step 2 )
//! ```
//!
//! Work that all hosts do together starts at about the same time on each host. The spread of the differences between
//! matching starts is the precision of the alignment. A constant difference between the starts cannot be detected.

mod collectives;

use std::collections::BTreeMap;

use crate::{EventColumn, EventId, LineKind, Trace};
use base::{Ps, format};

/// Alignment of all hosts to the clock of the first host.
#[derive(Debug)]
pub(super) struct Alignment {
    /// Shift added to the times of each host's events.
    pub shifts: Vec<Ps>,
    /// End of a sentence in the warning. The text names the events that aligned the hosts, and states how well these
    /// events agree.
    pub by: String,
    /// Largest disagreement between the events that aligned the hosts. `None` if unknown.
    apart: Option<Ps>,
}

/// Minimum number of marks that are needed to derive the precision of an alignment from their spread (our limit).
const FEWEST_TO_AGREE: usize = 3;

/// Start of each mark. The keys are the mark's name and number, which are the same on every host.
type Marks<'t> = BTreeMap<(&'t str, i64), Ps>;

/// Function that finds the marks of one host.
type Find = fn(&Trace) -> Marks<'_>;

/// Aligns the hosts by their collectives. If the hosts share no collectives, or if other events agree better, aligns
/// them by their steps or by their program runs. The last resort is the first event of each host.
pub(super) fn align(hosts: &[(String, Trace)]) -> Alignment {
    let coarse = coarse(hosts);
    collectives::refine(hosts, &coarse.shifts, coarse.apart).unwrap_or(coarse)
}

fn coarse(hosts: &[(String, Trace)]) -> Alignment {
    let kinds: [(&str, Find); 3] = [("step", steps), ("module run", runs_by_id), ("module run", runs_by_rank)];
    for (what, marks) in kinds {
        if let Some(alignment) = by_marks(hosts, what, marks) {
            return alignment;
        }
    }
    let starts: Vec<Ps> = hosts.iter().map(|(_, trace)| first_start(trace)).collect();
    let first = starts.first().copied().unwrap_or_default();
    Alignment {
        shifts: starts.into_iter().map(|start| first - start).collect(),
        by: "the first device event of each; the error of this alignment is unknown".to_owned(),
        apart: None,
    }
}

/// Aligns the hosts by the marks that the first host shares with every other host. Returns `None` if any host shares no
/// mark with the first host.
fn by_marks(hosts: &[(String, Trace)], what: &str, marks: Find) -> Option<Alignment> {
    let (first, others) = hosts.split_first()?;
    let ours = marks(&first.1);
    let (mut shifts, mut apart, mut fewest) = (vec![Ps::ZERO], Ps::ZERO, usize::MAX);
    for (_, trace) in others {
        let theirs = marks(trace);
        let mut differences: Vec<Ps> =
            theirs.iter().filter_map(|(key, start)| Some(*ours.get(key)? - *start)).collect();
        differences.sort_unstable();
        let median = *differences.get(differences.len() / 2)?;
        for edge in [differences.first(), differences.last()].into_iter().flatten() {
            apart = apart.max(*edge - median).max(median - *edge);
        }
        fewest = fewest.min(differences.len());
        shifts.push(median);
    }
    let s = if fewest == 1 { "" } else { "s" };
    let by = format!(
        "{} shared {what}{s}, whose starts then agree within {}; a difference common to all of them cannot be detected",
        format::count(fewest as u64),
        format::time_us(apart.as_us())
    );
    // Few marks agree by chance.
    Some(Alignment { shifts, by, apart: Some(apart).filter(|_| fewest >= FEWEST_TO_AGREE) })
}

/// Calls `visit` for the events on lines of one kind.
fn on_lines(trace: &Trace, kind: LineKind, mut visit: impl FnMut(EventId, &str, Ps)) {
    let wanted: Vec<bool> = trace.lines.iter().map(|line| line.kind == kind).collect();
    for id in trace.events.ids() {
        let event = trace.events.get(id).filter(|event| wanted.get(event.line.index()) == Some(&true));
        if let Some(event) = event {
            visit(id, trace.text(event.name), event.start);
        }
    }
}

/// Returns the first start of each numbered step on a host.
fn steps(trace: &Trace) -> Marks<'_> {
    let mut marks = Marks::new();
    for (id, number) in trace.events.column(EventColumn::StepNum).iter() {
        let Some(event) = trace.events.get(id) else { continue };
        if trace.lines.get(event.line.index()).is_some_and(|line| line.kind == LineKind::Host) {
            keep_first(&mut marks, ("", number), event.start);
        }
    }
    marks
}

/// Returns the first start of each numbered program run on a device.
fn runs_by_id(trace: &Trace) -> Marks<'_> {
    let mut marks = Marks::new();
    let runs = trace.events.column(EventColumn::RunId);
    for (id, number) in runs.iter() {
        let Some(event) = trace.events.get(id) else { continue };
        if trace.lines.get(event.line.index()).is_some_and(|line| line.kind == LineKind::Modules) {
            keep_first(&mut marks, (without_fingerprint(trace.text(event.name)), number), event.start);
        }
    }
    marks
}

/// Returns the start of each run of each program, numbered from the first run. Uses the first device that runs any
/// program.
fn runs_by_rank(trace: &Trace) -> Marks<'_> {
    let mut of_line: BTreeMap<usize, Vec<(Ps, &str)>> = BTreeMap::new();
    on_lines(trace, LineKind::Modules, |id, _, start| {
        let Some(event) = trace.events.get(id) else { return };
        let name = without_fingerprint(trace.text(event.name));
        of_line.entry(event.line.index()).or_default().push((start, name));
    });
    let (mut marks, mut ranks) = (Marks::new(), BTreeMap::new());
    let mut runs = of_line.into_values().next().unwrap_or_default();
    runs.sort_unstable();
    for (start, name) in runs {
        let rank: &mut i64 = ranks.entry(name).or_default();
        keep_first(&mut marks, (name, *rank), start);
        *rank += 1;
    }
    marks
}

fn keep_first<'t>(marks: &mut Marks<'t>, key: (&'t str, i64), start: Ps) {
    let first = marks.entry(key).or_insert(start);
    *first = start.min(*first);
}

/// Returns the start of the first device event. If no device has events, returns the start of the first event.
fn first_start(trace: &Trace) -> Ps {
    let mut first = Ps::MAX;
    on_lines(trace, LineKind::DeviceOps, |_, _, start| first = first.min(start));
    if first == Ps::MAX {
        first = trace.events.iter().map(|event| event.start).min().unwrap_or_default();
    }
    first
}

/// Returns `jit_f` for `jit_f(1219)`, because hosts may give different numbers to the same program.
fn without_fingerprint(name: &str) -> &str {
    name.split_once('(').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceBuilder;

    fn shifts(hosts: Vec<Trace>) -> (Vec<i64>, String) {
        let hosts: Vec<(String, Trace)> = hosts.into_iter().map(|trace| ("host".to_owned(), trace)).collect();
        let Alignment { shifts, by, .. } = align(&hosts);
        (shifts.into_iter().map(|shift| shift.as_us() as i64).collect(), by)
    }

    /// Builds a trace with runs of 100 us at the given times.
    fn runs(starts: &[i64], ids: &[i64]) -> Trace {
        let mut b = TraceBuilder::new();
        let modules = b.line("/device:TPU:0", "XLA Modules");
        for (index, &start) in starts.iter().enumerate() {
            let event = b.event(modules, &format!("jit_f({start})"), start, 100);
            if let Some(&id) = ids.get(index) {
                event.run_id(id);
            }
        }
        b.build()
    }

    #[test]
    fn hosts_are_laid_over_each_other_by_the_runs_that_they_share() {
        // The second host lacks the first run, and its third run is 4 us late.
        let (found, by) =
            shifts(vec![runs(&[0, 1000, 2000, 3000], &[1, 2, 3, 4]), runs(&[901_000, 902_000, 903_004], &[2, 3, 4])]);
        assert_eq!(found, [0, -900_000]);
        assert!(by.starts_with("3 shared module runs, whose starts then agree within 4"), "{by}");
        // Without ids, the first run on one host matches the first run on the other.
        let (found, _) = shifts(vec![runs(&[50, 1050], &[]), runs(&[7_000, 8_000], &[])]);
        assert_eq!(found, [0, -6_950]);
    }

    #[test]
    fn steps_come_before_runs_and_starts_come_last() {
        let steps = |starts: &[(i64, i64)]| {
            let mut b = TraceBuilder::new();
            let python = b.line("/host:CPU", "python");
            for &(number, start) in starts {
                b.event(python, "train", start, 10).step_num(number);
            }
            b.build()
        };
        let (found, by) = shifts(vec![steps(&[(3, 0), (4, 100), (5, 200)]), steps(&[(5, 70_200), (6, 70_300)])]);
        assert_eq!((found, by.starts_with("1 shared step,")), (vec![0, -70_000], true));
        // The hosts have no step in common.
        let (found, by) = shifts(vec![steps(&[(3, 20)]), steps(&[(5, 70)])]);
        assert_eq!((found, by.starts_with("the first device event")), (vec![0, -50], true));
        assert_eq!(shifts(vec![Trace::default(), Trace::default()]).0, [0, 0]);
    }
}
