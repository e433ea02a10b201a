//! The op that limits the input pipeline, in words, and the advice for its stage.

use super::numbers::shown;
use base::format;
use metrics::InputStage;
use report::{InputOpTime, InputPipeline, View};

/// Returns a sentence about the op that limits the pipeline. `None` if this op only waits, or if no op works.
pub(super) fn sentence_of_stage(pipeline: &InputPipeline) -> Option<String> {
    limit(pipeline).filter(|(_, stage)| *stage != InputStage::Wait).and_then(|_| sentence(pipeline))
}

/// Returns a sentence about the op that limits the pipeline. `None` if no op works.
pub fn sentence(pipeline: &InputPipeline) -> Option<String> {
    let (op, stage) = limit(pipeline)?;
    let name = name(op);
    let held = pipeline.held_us > 0.0;
    let time = if held { "the time during which it waits for a batch" } else { "the window" };
    let host_time = time.replace("it waits", "the host waits");
    let busy = format::percent(op.busy_percent);
    Some(match stage {
        InputStage::Wait => format!(
            "The host is in {name} for {busy} of {time}, and the capture shows no stage inside it, so the work is in \
             code without annotations or in other processes."
        ),
        InputStage::Other => format!("The slowest op is {name}, which works for {busy} of {host_time}."),
        _ => format!("The slowest stage is {}: {name} works for {busy} of {host_time}.", stage.label()),
    })
}

/// Returns the advice for the stage that limits the pipeline. `None` if the capture does not show this stage.
pub(super) fn remedy(pipeline: &InputPipeline) -> Option<String> {
    let (op, stage) = limit(pipeline)?;
    Some(match stage {
        InputStage::Read => {
            "Read several files at once and ahead of time, in larger chunks, or from a faster disk.".to_owned()
        }
        InputStage::Preprocess => {
            "Do less work per example, run it in more threads or processes, or store its result.".to_owned()
        }
        InputStage::Batch => {
            "Assemble batches in the loader's threads or processes, in memory that is reused.".to_owned()
        }
        InputStage::Transfer | InputStage::Enqueue => {
            "Copy the next batch while the step runs, use smaller types, and let each process copy only its own part."
                .to_owned()
        }
        InputStage::Other => format!("Make {} faster, or run it in more threads or processes.", name(op)),
        // The view of the input pipeline explains how to record stages.
        InputStage::Wait => return None,
    })
}

/// View that shows the evidence about the input pipeline.
pub(super) const VIEW: View = View::Input;

fn limit(pipeline: &InputPipeline) -> Option<(&InputOpTime, InputStage)> {
    let wanted = (pipeline.limiting_op.as_deref()?, pipeline.limiting_stage.as_deref()?, pipeline.limiting_percent?);
    let found = pipeline.ops.iter().find(|op| (op.name.as_str(), op.stage.as_str(), op.busy_percent) == wanted)?;
    Some((found, InputStage::from_label(wanted.1)?))
}

/// Names an op and the function that it runs.
fn name(op: &InputOpTime) -> String {
    match &op.detail {
        Some(detail) => format!("{} ({})", shown(&op.name), shown(detail)),
        None => shown(&op.name),
    }
}
