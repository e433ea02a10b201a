//! Schema 1.x of the unified profile. Field names that the 1.0.0 documents define are kept exactly; what is new is
//! optional. Times are microseconds, sizes bytes, shares percent, and the name of every field says so.
//! docs/metrics.md defines every number.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use base::Warning;

pub use super::communication::*;
pub use super::findings::*;
pub use super::host_activity::*;
pub use super::kernel_statistics::*;
pub use super::launches::*;
pub use super::layer_freezing::*;
pub use super::op_statistics::*;
pub use super::roofline::*;
pub use super::sections::*;
pub use super::step_breakdown::*;
pub use super::step_ops::*;
pub use super::window::*;

/// `metadata.schema_version` of profiles written by this version.
pub const SCHEMA_VERSION: &str = "1.1.0";

/// `metadata.profiler_version`: the literal that every 1.0.0 reader expects.
pub const PROFILER_VERSION: &str = "1.0.0";

/// One run, analysed: the document that `--output-json` and the page's download write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Calls on the host that started device work. Absent where none was found. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<LaunchSection>,
    /// What the hosts did. Absent where a device op ran, for then the devices come first, and without a host event. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_activity: Option<HostActivity>,
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

/// What was profiled, where and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    /// Start of the capture, ISO 8601: with `Z` where the profile knows it, without a zone where only the folder's
    /// name tells it (the capturing machine's local time). Absent where neither does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// `TPU`, `GPU` or `CPU`; `Unknown` where no device did anything.
    pub platform: String,
    /// Model of the device (`TPU v6 Lite`, `NVIDIA H100 80GB HBM3`); the platform where the file does not name it.
    pub device_type: String,
    /// The file (or first file) the run was read from.
    pub trace_file: String,
    /// `JAX`, `TensorFlow`, `PyTorch` or `Unknown`; imported profiles keep theirs (`Flax`, `PAXml`).
    pub framework: String,
    /// Devices that ran at least one op.
    pub num_devices: u64,
    /// Version of the documented shape: `1.0.0`.
    pub profiler_version: String,
    /// Version of this schema. Absent in profiles of the 1.0.0 tools. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<String>,
    /// Name of the experiment, where given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment_name: Option<String>,
    /// Name of the configuration, where given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_name: Option<String>,
    /// Name of the run: the profile folder's, else the file's. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    /// Devices the profile lists, used or not. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_devices_visible: Option<u64>,
    /// Hosts whose profiles were read. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_hosts: Option<u64>,
    /// First event's start to last event's end, host events included. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_duration_us: Option<f64>,
    /// Events that were read. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_events: Option<u64>,
    /// `xplane`, `trace_json` or `unified_profile`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_format: Option<String>,
    /// The program that wrote this document (`crossprof 0.1.0`). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// Versions, drivers and device capabilities as the profile states them. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Power of one device in watts, as the user gave it in a comparison: reports keep it. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts_per_device: Option<f64>,
    /// Price of one device in dollars an hour, as the user gave it in a comparison: reports keep it. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars_per_device_hour: Option<f64>,
    /// True for the baseline of the comparison whose report this profile is in. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison_baseline: Option<bool>,
    /// `strong` or `weak`, where the user said so in the comparison whose report this profile is in. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison_scaling: Option<String>,
}

/// Dimensions of the model; a trace knows none of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Width of one feed-forward matrix.
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
    /// Three feed-forward matrices (gate, up, down) instead of two. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated_ffn: Option<bool>,
    /// Input and output embedding share one matrix. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tied_embeddings: Option<bool>,
    /// Experts of a mixture-of-experts layer. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_experts: Option<u64>,
    /// Experts that a token is routed to. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_experts_per_token: Option<u64>,
    /// Attention projections have biases: on query, key and value (and output where `attention_output_bias`). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_bias: Option<bool>,
    /// Norm vectors per block (2 for Llama, 4 for Gemma 2). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norms_per_layer: Option<u64>,
    /// Total parameters, given by hand: overrides the computed count. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_params: Option<u64>,
    /// Trainable parameters, given by hand. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trainable_params: Option<u64>,
    /// Frozen parameters, given by hand. Added in 1.1.0.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParameterCounts {
    /// All parameters.
    pub total_params: u64,
    /// Those that training changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trainable_params: Option<u64>,
    /// Those it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_params: Option<u64>,
    /// True where some are frozen.
    pub has_frozen_layers: bool,
    /// Parameters that one token passes through (fewer than all with mixture of experts). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_params: Option<u64>,
    /// `given` by hand, `computed` from the model configuration, or `program`: the arguments of the compiled training step. Added
    /// in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A number that this run cannot have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotMeasured {
    /// The field, as a path in this document (`throughput.tokens_per_sec`).
    pub field: String,
    /// Why it is absent, as a sentence.
    pub reason: String,
    /// How to get it, as a sentence or a line of Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// A file that the profile was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceFile {
    /// Path as it was given, inside its archive where it came from one.
    pub path: String,
    /// Size as stored.
    pub size_bytes: u64,
    /// What it is (`xplane`, `trace_json`, `unified_profile`, `model_config`).
    pub format: String,
    /// Events read from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_events: Option<u64>,
}
