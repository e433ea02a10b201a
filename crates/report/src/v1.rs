//! Schema 1.x of the unified profile. Field names that the 1.0.0 documents define are kept exactly; what is new is
//! optional. Times are microseconds, sizes bytes, shares percent, and the name of every field says so.
//! docs/metrics.md defines every number.

use std::collections::BTreeMap;

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use base::Warning;

pub use super::communication::*;
pub use super::compared::*;
pub use super::findings::*;
pub use super::host_activity::*;
pub use super::kernel_statistics::*;
pub use super::launches::*;
pub use super::layer_freezing::*;
pub use super::memory::*;
pub use super::op_statistics::*;
pub use super::programs::*;
pub use super::roofline::*;
pub use super::sections::*;
pub use super::step_breakdown::*;
pub use super::step_ops::*;
pub use super::tracing::*;
pub use super::window::*;

/// `metadata.schema_version` of profiles written by this version.
pub const SCHEMA_VERSION: &str = "1.1.0";

/// `metadata.profiler_version`: the literal that every 1.0.0 reader expects.
pub const PROFILER_VERSION: &str = "1.0.0";

/// One run, analysed: the document that `--output-json` and the page's download write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct UnifiedProfile {
    /// What was profiled, where and when.
    pub metadata: Metadata,
    /// Dimensions of the model, as far as the user or a sidecar file gave them.
    pub model_config: ModelConfig,
    /// Parameters of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter_counts: Option<ParameterCounts>,
    /// Which parameters the training step trains. Absent where no compiled program says so. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer_freezing: Option<LayerFreezing>,
    /// How long a step takes.
    pub step_timing: StepTiming,
    /// Work done per second.
    pub throughput: Throughput,
    /// How busy the devices are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_utilization: Option<ComputeUtilization>,
    /// Where device time goes.
    pub kernels: Kernels,
    /// Copies between host and devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_operations: Option<MemoryOperations>,
    /// The devices beside each other. Absent where none was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_device: Option<MultiDevice>,
    /// Idle gaps between device ops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline_analysis: Option<TimelineAnalysis>,
    /// Time spent compiling on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compilation: Option<Compilation>,
    /// Time spent in the input pipeline on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_operations: Option<IoOperations>,
    /// The part of the run that its numbers are of. Absent where no device was used. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<MainWindow>,
    /// Every step of the capture. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Op statistics. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_statistics: Option<OpStatistics>,
    /// What runs in a step: what runs are compared by. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_ops: Option<StepOps>,
    /// The compiled programs that ran in the window: by them it is known whether runs ran the same program, and whether
    /// they did the same work. Empty where the capture embeds no HLO. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
    /// Communication between devices. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communication: Option<Communication>,
    /// What to do about the run. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Where the time of a step goes. Absent where no device was used. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_breakdown: Option<StepBreakdown>,
    /// The devices' peaks and how near the program comes to them. Absent where the peaks are unknown. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roofline: Option<Roofline>,
    /// Kernels by name, launch shape and op. Absent where nothing ran on a device. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_statistics: Option<KernelStatistics>,
    /// What fills the memory of the devices. Absent where nothing says it, and in profiles that the web page made. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Calls on the host that started device work. Absent where none was found. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<LaunchSection>,
    /// What the hosts did. Absent where a device op ran, for then the devices come first, and without a host event. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_activity: Option<HostActivity>,
    /// How much tracing slowed the program down. Absent where nobody measured it. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// Devices of kinds that crossprof does not know; where no device op ran, also the other processes of a Chrome trace. Added in
    /// 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_devices: Vec<OtherDevice>,
    /// What was lost or odd. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Numbers that this run cannot have, with the reason. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<NotMeasured>,
    /// The files it was made from. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provenance: Vec<SourceFile>,
}

impl UnifiedProfile {
    /// A copy, by one function for all crates: the derived `clone` would be compiled into each that uses it, 7 kB of WebAssembly a time.
    #[inline(never)]
    pub fn copied(&self) -> UnifiedProfile {
        self.clone()
    }
}

/// What was profiled, where and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Metadata {
    /// Start of the capture, ISO 8601. Source: the profile's own start time (UTC, with `Z`), else the name of its
    /// folder (local time of the capturing machine, no zone). Absent where neither has it; never the time of analysis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// `TPU`, `GPU`, `CPU`, or `Unknown` where no op ran. Told by the planes that ran ops, not by those listed.
    pub platform: String,
    /// Model of the first used device (`TPU v6 Lite`, `NVIDIA H100 80GB HBM3`). Source: `gpu_device_name` (of PyTorch's JSON the
    /// name in `deviceProperties`), `device_type_string`, or what the compute capability implies. Where the profile names none
    /// (JSON traces of JAX), the device that the user gives with `--device` or a sidecar `crossprof.json` with `"device"`; else
    /// the platform. A slice of TPUs (`TPU v4-8`: a generation and the number of its cores or chips) is more than one host's
    /// profile knows: the user's name counts where it is of the generation that the profile names.
    pub device_type: String,
    /// Path of the run's main file, as given.
    pub trace_file: String,
    /// `JAX`, `TensorFlow`, `PyTorch` or `Unknown`, or the library on top of JAX (`PAXml`, `Haiku`, `Flax`). Told by what the
    /// writer leaves in the file; imported profiles keep theirs. A library (the first of these, since PAXml's layers are modules
    /// of Flax) is named where one of its own source files is named by an op, its call stack, a compiled program that ran or a
    /// frame of a Python tracer with its path, or a program has a name that only the library gives (PAXml's `_wrapped_step_fn`);
    /// `crates/facts/src/frameworks.csv` lists both. A scope or a class can be called anything and is no evidence, so a program
    /// of Flax whose capture has neither source files nor such names stays `JAX`.
    pub framework: String,
    /// Devices that ran at least one op, over all hosts.
    pub num_devices: u64,
    /// Version of the documented shape, always `1.0.0`.
    pub profiler_version: String,
    /// Version of this schema. Absent in profiles of the 1.0.0 tools. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<String>,
    /// Name of the experiment. Only in imported profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment_name: Option<String>,
    /// Name of the configuration. Only in imported profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_name: Option<String>,
    /// The profile folder's name, else the file's. JAX names that folder by the time of day (`2026_01_31_12_00_00`), the capture kit of the
    /// Python package by time and steps: then page,
    /// command line and reports show the name of the folder that was logged to (`step_1000` of
    /// `logs/step_1000/plugins/profile/2026_01_31_12_00_00`), with the time behind it where several runs are called so. Added in
    /// 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    /// Devices of the platform that the profile lists, used or not. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_devices_visible: Option<u64>,
    /// Hosts whose profiles were read. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_hosts: Option<u64>,
    /// First event's start to last event's end, host events included. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_duration_us: Option<f64>,
    /// Events with a duration that were read. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_events: Option<u64>,
    /// `xplane`, `trace_json` or `unified_profile` (any earlier result, a benchmark's included). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_format: Option<String>,
    /// Program and version that wrote the document (`crossprof 0.1.0`). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// Versions, drivers and device capabilities as the planes state them (first used device, then hosts, then others). Units
    /// are the profiler's own: `clock_rate` kHz, `memory_bandwidth` bytes/s, `memory_size` bytes. Then what the capture kit of the
    /// Python package noted beside the capture or in it: versions, `argv`, `git_commit`, `mesh`, `XLA_FLAGS`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// What the user said of this run in the comparison whose report this profile is in; its fields stand among these.
    #[serde(flatten)]
    pub compared: Compared,
}

/// Dimensions of the model; a trace knows none of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ModelConfig {
    /// Width of the residual stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_dims: Option<u64>,
    /// Transformer blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_layers: Option<u64>,
    /// Query heads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_heads: Option<u64>,
    /// Samples per step over all devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<u64>,
    /// Tokens per sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq_length: Option<u64>,
    /// Entries of the vocabulary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocab_size: Option<u64>,
    /// Width of one feed-forward matrix (of one expert).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ffn_hidden_dims: Option<u64>,
    /// Items of a recommender's catalogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_items: Option<u64>,
    /// Clusters of a recommender's hierarchical softmax.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_clusters: Option<u64>,
    /// Width of a recommender's item embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_embedding_dim: Option<u64>,
    /// Name of the pretrained model (`google/gemma-2b`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pretrained_model: Option<String>,
    /// Key and value heads (grouped-query attention); equal to `num_heads` where absent. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_kv_heads: Option<u64>,
    /// Width of one head; `model_dims / num_heads` where absent. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_dim: Option<u64>,
    /// Three feed-forward matrices (gate, up, down) instead of two; two where absent. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated_ffn: Option<bool>,
    /// Input and output embedding are one matrix; two where absent. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tied_embeddings: Option<bool>,
    /// Experts of each mixture-of-experts block; a dense feed-forward where absent. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_experts: Option<u64>,
    /// Experts that a token is routed to. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_experts_per_token: Option<u64>,
    /// Query, key and value projections have biases (the output too where `attention_output_bias`); none where absent. Added in
    /// 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_bias: Option<bool>,
    /// Norm vectors per block (2 for Llama, 4 for Gemma 2); 2 where absent. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norms_per_layer: Option<u64>,
    /// Total parameters, given by hand: overrides the computed count. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_params: Option<u64>,
    /// Trainable parameters given by hand. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trainable_params: Option<u64>,
    /// Frozen parameters given by hand. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_params: Option<u64>,
}

impl ModelConfig {
    /// This configuration with every field that `other` gives replaced by it.
    pub fn overridden_by(&self, other: &ModelConfig) -> ModelConfig {
        ModelConfig {
            model_dims: other.model_dims.or(self.model_dims),
            num_layers: other.num_layers.or(self.num_layers),
            num_heads: other.num_heads.or(self.num_heads),
            batch_size: other.batch_size.or(self.batch_size),
            seq_length: other.seq_length.or(self.seq_length),
            vocab_size: other.vocab_size.or(self.vocab_size),
            ffn_hidden_dims: other.ffn_hidden_dims.or(self.ffn_hidden_dims),
            num_items: other.num_items.or(self.num_items),
            num_clusters: other.num_clusters.or(self.num_clusters),
            item_embedding_dim: other.item_embedding_dim.or(self.item_embedding_dim),
            pretrained_model: other.pretrained_model.clone().or_else(|| self.pretrained_model.clone()),
            num_kv_heads: other.num_kv_heads.or(self.num_kv_heads),
            head_dim: other.head_dim.or(self.head_dim),
            gated_ffn: other.gated_ffn.or(self.gated_ffn),
            tied_embeddings: other.tied_embeddings.or(self.tied_embeddings),
            num_experts: other.num_experts.or(self.num_experts),
            num_experts_per_token: other.num_experts_per_token.or(self.num_experts_per_token),
            attention_bias: other.attention_bias.or(self.attention_bias),
            norms_per_layer: other.norms_per_layer.or(self.norms_per_layer),
            total_params: other.total_params.or(self.total_params),
            trainable_params: other.trainable_params.or(self.trainable_params),
            frozen_params: other.frozen_params.or(self.frozen_params),
        }
    }
}

/// Parameters of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ParameterCounts {
    /// All parameters: the number that was given, else trainable plus frozen where both are given, else the computed one, else
    /// the parameters of the compiled training step. See [layer_freezing](#layer_freezing). Absent where nothing says so.
    pub total_params: u64,
    /// Parameters that training changes: as given, else total minus frozen, else that of the training step where its total is
    /// the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trainable_params: Option<u64>,
    /// Parameters that training leaves as they are: as given, else total minus trainable, else that of the training step where
    /// its total is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_params: Option<u64>,
    /// True where `frozen_params` is above 0, or where the training step leaves parameters as they are.
    pub has_frozen_layers: bool,
    /// Parameters that one token passes through: of the experts, those that it is routed to. Only for computed counts. Added
    /// in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_params: Option<u64>,
    /// `given` by hand, `computed` from the model configuration, or `program`: the arguments of the compiled training step.
    /// Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A number that this run cannot have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct NotMeasured {
    /// Path of a headline number that this run cannot have (`throughput.tokens_per_sec`).
    pub field: String,
    /// Why the number is absent, as a sentence.
    pub reason: String,
    /// How to get it, as a sentence or a line of Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// A file that the profile was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct SourceFile {
    /// File that was read, as it was given, inside its archive where it came from one. The main file is first.
    pub path: String,
    /// Size as stored.
    pub size_bytes: u64,
    /// What the file is (`xplane`, `trace_json`, `unified_profile`, `model_config`).
    pub format: String,
    /// Events read from the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_events: Option<u64>,
}
