//! Steps, and devices, as stacked parts.

use super::link;
use crate::pages::{Series, Stack, StackRow};
use crate::table::Unit;
use metrics::{Breakdown, Context, MeanPart, StepPart};

/// A chart has at most so many rows.
const MOST_ROWS: usize = 200;

/// The steps in order; more than 200 in groups of equal size, each shown as its mean.
pub(super) fn by_step(context: &Context<'_>, device: Option<u32>) -> Stack {
    let steps: Vec<(u32, MeanPart)> = context
        .analysis
        .step_breakdown
        .steps()
        .filter_map(|step| Some((step.first()?.step?, Breakdown::mean_of_step(step, device)?)))
        .collect();
    let size = steps.len().div_ceil(MOST_ROWS).max(1);
    let title = match size {
        1 => "Step by step".to_owned(),
        _ => format!("Step by step: means of {size} steps each"),
    };
    let rows = steps.chunks(size).filter_map(|group| {
        let ((first, _), (last, _)) = (group.first()?, group.last()?);
        let mean = |part: StepPart| group.iter().map(|(_, mean)| mean.part_us(part)).sum::<f64>() / group.len() as f64;
        let (label, filter) = if first == last {
            (step_name(context, *first), format!("step={first}"))
        } else {
            (
                format!("{} to {}", step_name(context, *first), step_name(context, *last)),
                format!("step>={first} step<={last}"),
            )
        };
        Some(Row { label, filter, parts: StepPart::ALL.map(mean) })
    });
    stack(title, rows.collect())
}

/// The mean step, or the active span, of each device.
pub(super) fn by_device(context: &Context<'_>) -> Stack {
    let analysis = context.analysis;
    let devices = analysis.devices.used.iter().zip(&analysis.step_breakdown.mean_of_device).take(MOST_ROWS);
    let rows = devices.filter_map(|(device, mean)| {
        let filter = format!("device_name=\"{}\"", device.name);
        Some(Row { label: device.name.clone(), filter, parts: mean.as_ref()?.parts_us })
    });
    let title = if analysis.step_breakdown.has_steps { "MeanPart step by device" } else { "Window by device" };
    stack(title.to_owned(), rows.collect())
}

/// What the trace calls a step, else its position.
pub(super) fn step_name(context: &Context<'_>, index: u32) -> String {
    match context.analysis.steps.names.get(index as usize) {
        Some(Some(name)) => format!("step {name}"),
        _ => format!("step #{index}"),
    }
}

struct Row {
    label: String,
    filter: String,
    parts: [f64; StepPart::COUNT],
}

/// Parts that occur nowhere are left out.
fn stack(title: String, rows: Vec<Row>) -> Stack {
    let occurs = |part: &StepPart| rows.iter().any(|row| row.parts.get(*part as usize).is_some_and(|&time| time > 0.0));
    let shown: Vec<StepPart> = StepPart::ALL.into_iter().filter(occurs).collect();
    let series = shown.iter().map(|&part| Series {
        label: part.title().to_owned(),
        class: part.label().to_owned(),
        // With that of its step: the events of this part of it.
        link: Some(link("steps", &format!("part={}", part.label()))),
    });
    let series = series.collect();
    let rows = rows.into_iter().map(|row| StackRow {
        parts: shown.iter().filter_map(|&part| row.parts.get(part as usize).copied()).collect(),
        label: row.label,
        link: Some(link("steps", &row.filter)),
    });
    Stack { title, unit: Unit::TimeUs, series, rows: rows.collect() }
}
