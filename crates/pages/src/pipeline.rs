//! Blocks of a pipeline-parallel program on the devices page: its bubbles, and its stages.

use crate::{PageQuery, Source};
use base::format;
use document::{Block, ColourClass, Figure, Series, Stack, StackRow};
use metrics::StepPart;
use report::{Pipeline, metric};
use table::Unit;
use tables::TableName;

/// Returns the blocks, if the devices form a pipeline.
pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let Some(pipeline) = &source.profile().pipeline else { return Vec::new() };
    let mut blocks = vec![Block::Figures { figures: figures(pipeline) }, Block::Stack(stages(pipeline))];
    blocks.push(Block::Note { text: pipeline.evidence.clone() });
    blocks.extend(source.table_block(TableName::Pipeline, "Stages of the pipeline", query));
    blocks
}

/// Describes the pipeline in one line.
pub(super) fn in_words(pipeline: &Pipeline) -> String {
    let microbatches = pipeline.num_microbatches.map(|count| format!(" and {count} microbatches")).unwrap_or_default();
    format!(
        "{}{microbatches}: bubbles take {} of the {} from the first to the last work of a step",
        format::counted(pipeline.num_stages, "stage"),
        format::percent(pipeline.bubble_percent),
        format::time_us(pipeline.span_us)
    )
}

fn figures(pipeline: &Pipeline) -> Vec<Figure> {
    let bubbles = Figure {
        label: "Pipeline bubbles".to_owned(),
        value: Some(pipeline.bubble_percent),
        unit: Unit::Percent,
        note: match pipeline.schedule_bubble_percent {
            Some(percent) => {
                format!("of the stages' time; {} if all stages took equally long", format::percent(percent))
            }
            None => "of the stages' time".to_owned(),
        },
        ..Figure::of(metric!("pipeline.bubble_percent"))
    };
    let step = Figure {
        label: "First to last work of a step".to_owned(),
        value: Some(pipeline.span_us),
        unit: Unit::TimeUs,
        note: format!(
            "mean of {}, {}",
            format::counted(pipeline.num_steps, "step"),
            match pipeline.step_source.as_str() {
                "program_order" => "from the order of programs on the first stage",
                "loop_runs" => "from the runs of the loop",
                "steps" => "as in the capture",
                _ => "which the capture does not separate",
            }
        ),
        ..Figure::of(metric!("pipeline.span_us"))
    };
    let microbatches = Figure {
        label: "Microbatches".to_owned(),
        value: pipeline.num_microbatches.map(|count| count as f64),
        unit: Unit::Count,
        note: format!(
            "per step, through {}{}",
            format::counted(pipeline.num_stages, "stage"),
            pipeline.schedule.as_ref().map_or_else(String::new, |schedule| format!(" (schedule {schedule})"))
        ),
        ..Figure::of(metric!("pipeline.num_microbatches"))
    };
    vec![bubbles, step, microbatches]
}

/// Draws the time of each stage in a step.
fn stages(pipeline: &Pipeline) -> Stack {
    let series = |name: &str, class: ColourClass| Series { label: name.to_owned(), class, link: None };
    let rows = pipeline.stages.iter().map(|stage| StackRow {
        label: format!("Stage {}", stage.stage),
        parts: vec![stage.work_us, stage.fill_us, stage.bubble_us - stage.fill_us - stage.drain_us, stage.drain_us],
        ..StackRow::default()
    });
    Stack {
        title: "Step of each pipeline stage".to_owned(),
        unit: Unit::TimeUs,
        series: vec![
            series("Work", StepPart::Compute.into()),
            series("Bubble before the first work", ColourClass::GROUP),
            series("Bubble between work", StepPart::Communication.into()),
            series("Bubble after the last work", StepPart::OtherIdle.into()),
        ],
        rows: rows.collect(),
        ..Stack::default()
    }
}
