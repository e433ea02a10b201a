//! Recognises stages of input pipelines by the names of events (`input_stages.csv`).

use std::sync::LazyLock;

use super::pattern::{Name, Pattern};
use super::table;

/// A stage of an input pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InputStage {
    /// Gets examples from files or memory.
    Read,
    /// Changes examples.
    Preprocess,
    /// Combines examples into a batch.
    Batch,
    /// Moves a batch to the devices.
    Transfer,
    /// Puts a batch into the queue of a device (TPU infeed).
    Enqueue,
    /// Passes on results that other threads or nested spans produce.
    Wait,
    /// Any other part of a pipeline.
    Other,
}

impl InputStage {
    /// All stages, in the order in which a batch passes through them.
    pub const ALL: [InputStage; 7] = [
        InputStage::Read,
        InputStage::Preprocess,
        InputStage::Batch,
        InputStage::Transfer,
        InputStage::Enqueue,
        InputStage::Wait,
        InputStage::Other,
    ];

    /// Returns the name that the report uses.
    pub fn label(self) -> &'static str {
        match self {
            InputStage::Read => "read",
            InputStage::Preprocess => "preprocess",
            InputStage::Batch => "batch",
            InputStage::Transfer => "transfer",
            InputStage::Enqueue => "enqueue",
            InputStage::Wait => "wait",
            InputStage::Other => "other",
        }
    }

    /// Returns the stage whose label is `label`.
    pub fn from_label(label: &str) -> Option<InputStage> {
        InputStage::ALL.into_iter().find(|stage| stage.label() == label)
    }
}

/// Stage that the name of an event indicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageOfName {
    /// The stage.
    pub stage: InputStage,
    /// True if the event may wait for other threads that do the work.
    pub waits: bool,
}

/// Kind of names that a row applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Applies {
    /// tf.data iterators.
    Iterator,
    /// All other names.
    Name,
    /// Ranges that the user annotated inside a pipeline.
    Inside,
}

type Row = (StageOfName, Applies, Pattern);

static ROWS: LazyLock<Vec<Row>> =
    LazyLock::new(|| table::rows(include_str!("input_stages.csv")).filter_map(|cells| parse(&cells)).collect());

fn parse(cells: &[&'static str]) -> Option<Row> {
    let &[stage, work, kind, text, _source] = cells else { return None };
    let (applies, pattern) = match kind {
        "iterator" => (Applies::Iterator, Pattern::Exact(text)),
        "thread" => (Applies::Inside, Pattern::Words(text)),
        _ => (Applies::Name, Pattern::parse(kind, text)?),
    };
    let waits = match work {
        "own" => false,
        "async" => true,
        _ => return None,
    };
    Some((StageOfName { stage: InputStage::from_label(stage)?, waits }, applies, pattern))
}

fn first(name: &str, applies: &[Applies]) -> Option<StageOfName> {
    let name = Name::new(name);
    ROWS.iter().find(|(_, of, pattern)| applies.contains(of) && pattern.matches(&name)).map(|&(stage, ..)| stage)
}

/// Returns the last part of a tf.data iterator's name (`Iterator::Root::Prefetch::ParallelMapV2[0]`), without its version and
/// number: `ParallelMap`. Returns `None` for other names.
pub fn iterator(name: &str) -> Option<&str> {
    let last = name.strip_prefix("Iterator::")?.rsplit("::").next()?;
    let last = last.split('[').next().unwrap_or(last);
    let stem = last.trim_end_matches(|c: char| c.is_ascii_digit());
    Some(stem.strip_suffix('V').filter(|_| stem.len() < last.len()).unwrap_or(last))
}

/// Returns the stage of a span of the input pipeline, given the name of the span. An unknown iterator has the stage
/// [`InputStage::Other`], and any other unknown span [`InputStage::Wait`].
pub fn of_name(name: &str) -> StageOfName {
    match iterator(name) {
        Some(last) => {
            first(last, &[Applies::Iterator]).unwrap_or(StageOfName { stage: InputStage::Other, waits: false })
        }
        None => first(name, &[Applies::Name]).unwrap_or(StageOfName { stage: InputStage::Wait, waits: true }),
    }
}

/// Returns true if a transfer span with this name moves a batch to a device.
pub fn is_to_device(name: &str) -> bool {
    first(name, &[Applies::Name]).is_some_and(|it| it.stage == InputStage::Transfer)
}

/// Returns the stage of a range that the user annotated inside a pipeline. Returns `None` if the name of the range
/// matches no stage.
pub fn of_range(name: &str) -> Option<InputStage> {
    first(name, &[Applies::Name, Applies::Inside]).map(|it| it.stage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(ROWS.len(), table::rows(include_str!("input_stages.csv")).count());
    }

    #[test]
    fn iterators_lose_their_version_and_number() {
        assert_eq!(iterator("Iterator::Root::Prefetch::ParallelMapV2"), Some("ParallelMap"));
        assert_eq!(iterator("Iterator::Root::FlatMap[0]::Generator"), Some("Generator"));
        assert_eq!(iterator("Iterator::Root::FlatMap[12]"), Some("FlatMap"));
        assert_eq!(iterator("IteratorGetNext"), None);
        let stage = |name| (of_name(name).stage, of_name(name).waits);
        assert_eq!(stage("Iterator::Root::Prefetch"), (InputStage::Wait, true));
        assert_eq!(stage("Iterator::Root::Prefetch::MapAndBatch"), (InputStage::Preprocess, true));
        assert_eq!(stage("Iterator::Root::BatchV2"), (InputStage::Batch, false));
        assert_eq!(stage("Iterator::Root::ParallelInterleaveV4[0]::TFRecord"), (InputStage::Read, false));
        assert_eq!(stage("Iterator::Root::Unheard"), (InputStage::Other, false));
    }

    #[test]
    fn names_of_users_have_a_stage() {
        assert_eq!(of_name("next_batch").stage, InputStage::Wait);
        assert_eq!(of_name("InfeedEnqueueTuple").stage, InputStage::Enqueue);
        assert_eq!(of_name("transfer").stage, InputStage::Transfer);
        assert_eq!(of_range("decode"), Some(InputStage::Preprocess));
        assert_eq!(of_range("data/tokenizer"), Some(InputStage::Preprocess));
        assert_eq!(of_range("collate_fn"), Some(InputStage::Batch));
        assert_eq!(of_range("spread"), None);
    }
}
