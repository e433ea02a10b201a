//! A compact record of a step. The record is made while the run's events are loaded, and drawn later next to the steps
//! of other runs. All steps have the same scale, which depends on the longest step.
//!
//! ```text
//! events   [======a======)  [b)[c)  [d)        [======e======)
//! marks    a                b: 75 %            e                a mark has its time and its busy share
//! ```
//!
//! The busy times of a lane's marks add up to the busy time of the lane in the step, to the picosecond.

mod gathering;
mod text;

use base::Ps;
use base::format::printable;
use metrics::Context;

use crate::events::source::Origin;
use crate::events::step_range::{busy_device, median_step};
use crate::events::timeline::Timeline;
use gathering::{Gathered, lanes, merged};

/// Events shorter than this fraction of the step are merged with nearby events.
const FINEST: i64 = 1_000;
/// Maximum number of marks in a picture. If there are more marks, longer events are merged as well.
const MOST_MARKS: usize = 2_000;

/// A picture of one step on the run's first busy device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepPicture {
    /// Name of the step, or the number of a step without a name.
    pub step: String,
    /// Name of the device.
    pub device: String,
    /// Length of the step.
    pub length: Ps,
    /// Names of the marks.
    pub names: Vec<MarkName>,
    /// Lanes of the busiest lines, from top to bottom.
    pub lanes: Vec<StepLane>,
}

/// Name of a mark, with its op and the op's family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkName {
    /// Name of the event.
    pub name: String,
    /// HLO instruction of the event. Empty if the trace file does not record the instruction.
    pub op: String,
    /// Label of the op's family. Empty if the event is not an op.
    pub family: String,
}

/// Marks of a lane, and the name of its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepLane {
    /// Name of the line. Empty if the lane above belongs to the same line.
    pub line: String,
    /// Marks from left to right, without overlap.
    pub marks: Vec<StepMark>,
}

/// An event, or several short events that were merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepMark {
    /// Start of the mark, from the start of the step.
    pub start: Ps,
    /// Length of the mark.
    pub length: Ps,
    /// Time within the mark during which the lane is busy.
    pub busy: Ps,
    /// Index of the name of the event that covers most of the mark.
    pub name: usize,
}

impl StepPicture {
    /// Records the median step of a run. Returns `None` if the run has no steps, or if no device ran a step.
    pub fn of_median_step(context: Context<'_>, timeline: &Timeline) -> Option<StepPicture> {
        let step = median_step(context)?;
        let (device, range) = busy_device(context, step)?;
        let source = timeline.source(context, Origin::Captured);
        let mut finest = range.length().as_ps() / FINEST;
        let mut lanes = lanes(source, device, range, Ps::new(finest));
        // The loop ends, because at some point there is only one mark per lane.
        while lanes.iter().map(|(_, gathered)| gathered.len()).sum::<usize>() > MOST_MARKS {
            finest = finest.saturating_mul(2).max(1);
            for (_, gathered) in &mut lanes {
                *gathered = merged(&mut std::mem::take(gathered).into_iter(), Ps::new(finest));
            }
        }
        let name = context.analysis.steps.names.get(step).and_then(Option::clone);
        let mut picture = StepPicture {
            step: name.map_or_else(|| step.to_string(), |name| printable(&name)),
            device: printable(&device.name),
            length: range.length(),
            ..StepPicture::default()
        };
        let mut kinds = Vec::new();
        for (line, gathered) in lanes {
            let ends: Vec<Ps> = gathered.iter().skip(1).map(|next| next.time.start).chain([range.end]).collect();
            let marks = gathered.iter().zip(ends).map(|(it, end)| {
                let end = it.time.end.max(end.min(it.time.start + Ps::new(if it.is_short { finest } else { 0 })));
                let name = picture.name_of(source, &mut kinds, it);
                StepMark { start: it.time.start - range.start, length: end - it.time.start, busy: it.busy, name }
            });
            let marks = marks.collect();
            picture.lanes.push(StepLane { line, marks });
        }
        Some(picture).filter(|picture| !picture.lanes.is_empty())
    }

    fn name_of(
        &mut self,
        source: crate::Source<'_>,
        kinds: &mut Vec<(trace::StrId, trace::StrId)>,
        gathered: &Gathered,
    ) -> usize {
        let trace = source.trace;
        let op = trace.events.kinds().get(gathered.kind).map(|kind| trace.args.get(kind.args).hlo_op);
        let key = (source.name(gathered.kind), op.unwrap_or_default());
        kinds.iter().position(|known| *known == key).unwrap_or_else(|| {
            let text = |id| printable(trace.text(id));
            let family = source.paint(gathered.kind).family().map_or("", metrics::OpFamily::label).to_owned();
            kinds.push(key);
            self.names.push(MarkName { name: text(key.0), op: text(key.1), family });
            kinds.len() - 1
        })
    }
}

#[cfg(test)]
mod tests;
