//! Input pipeline of the hosts: its stages and ops, and the stage that limits it.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stages of the input pipeline in the window, over all hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct InputPipeline {
    /// Time during which a thread that feeds devices is in the input pipeline, summed over hosts. Excludes the time of the
    /// pipeline's own threads.
    pub held_us: f64,
    /// Share of the window during which a thread that feeds devices is in the input pipeline: `100 * held_us` divided by the
    /// window's length, summed over hosts.
    pub held_percent: f64,
    /// Stage of the op that limits the pipeline: see `limiting_op`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limiting_stage: Option<String>,
    /// Op with the largest `busy_percent`. While the threads that feed devices wait for input, this op's threads work
    /// for a larger share of the time than the threads of any other op. The pipeline cannot be faster than this op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limiting_op: Option<String>,
    /// `busy_percent` of the op that limits the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limiting_percent: Option<f64>,
    /// Chain of ops from the op that feeds the devices back to the source of the data. If an op gets its input from
    /// several ops, the chain continues with the input op that has the most self time together with its own inputs. At
    /// most 50 ops.
    pub chain: Vec<String>,
    /// Self time of the ops that XProf puts into the category `Enqueue`: they send batches to the devices (infeed, and
    /// copies named `MemcpyHToD` on the host). XProf's `enqueue_us`. The times of all four categories are sums over
    /// threads and hosts. If devices also copy from the host, XProf scales the other three times to a time that it
    /// estimates from the share of these copies in the steps. crossprof never scales them. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enqueue_us: Option<f64>,
    /// Self time of the ops that XProf puts into the category `Demanded file read`: they read files or get examples from a source
    /// when the next op asks for them. XProf's `demanded_file_read_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demanded_file_read_us: Option<f64>,
    /// Self time of the ops that XProf puts into the category `Advanced file read`: they read files ahead, behind a prefetch,
    /// interleave, cache or parallel map. XProf's `advanced_file_read_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advanced_file_read_us: Option<f64>,
    /// Self time of the ops that XProf puts into the category `Preprocessing`: all other ops of tf.data and Grain. XProf's
    /// `preprocessing_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preprocessing_us: Option<f64>,
    /// Stages that occur, in the order in which a batch passes through them.
    pub stages: Vec<InputStageTime>,
    /// The ops with the most self time, at most 50.
    pub ops: Vec<InputOpTime>,
}

/// A stage of the input pipeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct InputStageTime {
    /// `read`, `preprocess`, `batch`, `transfer`, `enqueue`, `wait` (threads that only wait for other stages, and spans without a
    /// known stage) or `other` (`crates/facts/src/input_stages.csv`).
    pub stage: String,
    /// Time during which at least one thread works in the stage, summed over hosts.
    pub time_us: f64,
    /// Time that all threads spend in the stage.
    pub thread_time_us: f64,
    /// Number of events of the stage's ops.
    pub count: u64,
    /// How busy the stage is while the threads that feed devices are in the pipeline: the share of `held_us` during which a
    /// thread works in the stage. If the threads that feed devices are never in the pipeline, this is a share of the window.
    pub busy_percent: f64,
}

/// An op of the input pipeline: a tf.data iterator, a stage of Grain, or a range that the user annotated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct InputOpTime {
    /// Name of the op's events.
    pub name: String,
    /// Transformation or data set that the op belongs to, as Grain names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Stage of the op: see `stages[].stage`.
    pub stage: String,
    /// Name of the op that gets this op's results: the iterator or range that contains this op, or an op on another
    /// thread that this op feeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Number of events.
    pub count: u64,
    /// Sum of the events' durations inside the window.
    pub total_time_us: f64,
    /// Time of the events without the ops nested in them on their thread.
    pub self_time_us: f64,
    /// Number of threads that run the op.
    pub threads: u64,
    /// How busy the op is while the threads that feed devices are in the pipeline: the time of its threads, divided by
    /// `held_us` and by the largest number of its threads that work at once. An op that waits for other threads works
    /// only while none of those threads works. If the threads that feed devices are never in the pipeline, this is a
    /// share of the window.
    pub busy_percent: f64,
}
