//! A step of a run as a small record: it is taken while the events of the run are at hand, and drawn later beside those of other runs, when
//! the longest of the steps is known, which they all have the scale of.
//!
//! ```text
//! events   [======a======)  [b)[c)  [d)        [======e======)
//! marks    a                b: 75 %            e                a mark knows its time and how much of it is busy
//! ```
//!
//! The busy times of the marks of a lane add up to what the lane is busy in the step, to the picosecond.

mod gathering;
mod text;

use base::Ps;
use base::format::printable;
use metrics::Context;

use crate::source::Origin;
use crate::step_range::{busy_device, median_step};
use crate::timeline::Timeline;
use gathering::{Gathered, lanes, merged};

/// Events shorter than this part of the step become one mark with those near them.
const FINEST: i64 = 1_000;
/// Marks of a picture: of more, longer events are merged.
const MOST_MARKS: usize = 2_000;

/// A step of a run on the first of its busy devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepPicture {
    /// Name of the step, else its number.
    pub step: String,
    /// The name of the device.
    pub device: String,
    /// Length of the step.
    pub length: Ps,
    /// What marks are called.
    pub names: Vec<MarkName>,
    /// The lanes of its busiest lines, from top to bottom.
    pub lanes: Vec<StepLane>,
}

/// What a mark is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkName {
    /// The name of the event.
    pub name: String,
    /// The HLO instruction that it runs; empty where the file does not say.
    pub op: String,
    /// The label of the op's family; empty of what is no op.
    pub family: String,
}

/// A lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepLane {
    /// The name of its line; empty where the lane above is of the same line.
    pub line: String,
    /// Marks from left to right; they do not overlap.
    pub marks: Vec<StepMark>,
}

/// An event, or several short ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepMark {
    /// Start of the mark, from the start of the step.
    pub start: Ps,
    /// Length of the mark.
    pub length: Ps,
    /// How much of the mark is busy.
    pub busy: Ps,
    /// Index of the name of what takes the most of the mark.
    pub name: usize,
}

impl StepPicture {
    /// The median step of a run; none where it has no steps, or no device ran them.
    pub fn of_median_step(context: Context<'_>, timeline: &Timeline) -> Option<StepPicture> {
        let step = median_step(context)?;
        let (device, range) = busy_device(context, step)?;
        let source = timeline.source(context, Origin::Captured);
        let mut finest = range.length().as_ps() / FINEST;
        let mut lanes = lanes(source, device, range, Ps::new(finest));
        // In the end each lane has one mark.
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

    /// The index of the name of a mark; `kinds` are the names and the ops of those that there are.
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
