//! Schema 1.x of the unified profile. Field names of version 1.0.0 are unchanged, and new fields are optional. Times are in
//! microseconds, sizes in bytes and shares in percent, and the name of every field contains the unit. docs/metrics.md defines
//! every number.

use std::collections::BTreeMap;

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use base::Warning;

pub use super::communication::*;
pub use super::compared::*;
pub use super::experts::*;
pub use super::findings::*;
pub use super::goodput::*;
pub use super::hardware::*;
pub use super::host_activity::*;
pub use super::hosts::*;
pub use super::input_pipeline::*;
pub use super::kernel_statistics::*;
pub use super::launches::*;
pub use super::layer_freezing::*;
pub use super::layers::*;
pub use super::megascale::*;
pub use super::memory::*;
pub use super::op_statistics::*;
pub use super::pipeline::*;
pub use super::programs::*;
pub use super::roofline::*;
pub use super::sections::*;
pub use super::serving::*;
pub use super::step_breakdown::*;
pub use super::step_ops::*;
pub use super::tracing::*;
pub use super::window::*;

/// `metadata.schema_version` of profiles that this version of crossprof writes.
pub const SCHEMA_VERSION: &str = "1.1.0";

/// `metadata.profiler_version`: the value that readers of version 1.0.0 expect.
pub const PROFILER_VERSION: &str = "1.0.0";

/// Analysis of one run: the document that `--output-json` and the page's download write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct UnifiedProfile {
    /// Program, devices, files and start time of the capture.
    pub metadata: Metadata,
    /// Dimensions of the model, from the user or a sidecar file.
    pub model_config: ModelConfig,
    /// Parameters of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter_counts: Option<ParameterCounts>,
    /// Trained and frozen parameters of the training step. Absent if no compiled program shows which parameters are
    /// trained. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer_freezing: Option<LayerFreezing>,
    /// Step time and its variation.
    pub step_timing: StepTiming,
    /// Work per second.
    pub throughput: Throughput,
    /// Forward passes of an inference engine. Absent if the capture contains no forward passes. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<Serving>,
    /// Busy and idle time of the devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_utilization: Option<ComputeUtilization>,
    /// Device time by op name and category.
    pub kernels: Kernels,
    /// Copies between host and devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_operations: Option<MemoryOperations>,
    /// Comparison of the devices. Absent if no device ran an op.
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
    /// Stages of the input pipeline. Absent if no span of an input pipeline was recorded. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_pipeline: Option<InputPipeline>,
    /// Part of the run that the numbers cover. Absent if no device ran an op. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<MainWindow>,
    /// Every step of the capture. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Op statistics. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_statistics: Option<OpStatistics>,
    /// Time spent in each phase of a training step and in each layer of the model. Absent if no op has a framework path. Added
    /// in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<Layers>,
    /// Ops and kernels of a step, for the comparison of runs. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_ops: Option<StepOps>,
    /// Compiled programs that ran in the window. The programs show whether two runs executed the same program and did
    /// the same work. Empty if the capture embeds no HLO. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
    /// Communication between devices. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communication: Option<Communication>,
    /// Collectives between TPU slices. Absent if the capture contains no such collective. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub megascale: Option<Megascale>,
    /// Pipeline-parallel stages, and their bubbles, in the whole capture. Absent if the devices do not form a pipeline. Added in
    /// 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
    /// Balance of the experts of a mixture-of-experts model. Absent if no op names an expert. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experts: Option<Experts>,
    /// Productive and lost time of the capture. Absent if no device ran an op. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<Goodput>,
    /// Causes of lost time or memory, with evidence and remedy. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Time of a step by activity. Absent if no device ran an op. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_breakdown: Option<StepBreakdown>,
    /// Peaks of the devices, and the rates that the program reaches. Absent if the peaks are unknown. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roofline: Option<Roofline>,
    /// Kernels by name, launch shape and op. Absent if nothing ran on a device. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_statistics: Option<KernelStatistics>,
    /// Use of device memory. Absent if the file contains no memory data, and in profiles that the web page wrote. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Calls on the host that started device work. Absent if no such call was found. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<LaunchSection>,
    /// Activity of the hosts. Present only if the capture contains host events but no device ops. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_activity: Option<HostActivity>,
    /// Slowdown of the program that tracing causes. Absent if the slowdown was not measured. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// Devices of unknown kinds. If no device op ran, the list also contains the other processes of a Chrome trace.
    /// Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_devices: Vec<OtherDevice>,
    /// Hardware counters, power and clocks of the devices. Absent if the capture contains no hardware counters. Added
    /// in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Hardware>,
    /// Problems in the input: lost or inconsistent data. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Headline numbers that cannot be measured for this run, with the reason. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<NotMeasured>,
    /// Files that the profile was made from. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provenance: Vec<SourceFile>,
}

impl UnifiedProfile {
    /// Returns a copy. All crates use this function, because the derived `clone` would add 7 kB of WebAssembly to each crate.
    #[inline(never)]
    pub fn copied(&self) -> UnifiedProfile {
        self.clone()
    }
}

/// Program, devices, files and start time of the capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Metadata {
    /// Start of the capture, in ISO 8601 format. Source: the start time in the profile (UTC, with `Z`). If the profile
    /// has no start time, the source is the name of its folder (local time of the capturing machine, without zone).
    /// Absent if neither contains a time. The value is never the time of the analysis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// `TPU`, `GPU`, `CPU`, or `Unknown` if no op ran. The platform depends only on the planes that ran ops.
    pub platform: String,
    /// Model of the first device that ran ops (`TPU v6 Lite`, `NVIDIA H100 80GB HBM3`). Source: `gpu_device_name` (in
    /// PyTorch's JSON, the name in `deviceProperties`), `device_type_string`, or the model that the compute capability
    /// implies. If the profile names no device (as in JAX's JSON traces), this is the device that the user gives with
    /// `--device` or in a sidecar `crossprof.json` with `"device"`. If the user gives no device, this is the platform.
    /// The profile of one host does not name a TPU slice (`TPU v4-8`: a generation and the number of its cores or
    /// chips). Therefore, the user's name replaces the profile's name if both have the same generation.
    pub device_type: String,
    /// Path of the run's main file, as given.
    pub trace_file: String,
    /// `JAX`, `TensorFlow`, `PyTorch` or `Unknown`, or the library on top of JAX (`PAXml`, `Haiku`, `Flax`). The
    /// framework is derived from marks that it leaves in the file, but imported profiles keep their value. A library is
    /// recognised by its source files or by the names of its programs, which `crates/facts/src/frameworks.csv` lists. A
    /// source file is recognised in an op, in the op's call stack, in a compiled program that ran, and in a Python
    /// frame with its path. A program's name is recognised if only the library uses the name (PAXml's
    /// `_wrapped_step_fn`). PAXml has priority over Flax, because PAXml's layers are Flax modules. Names of scopes and
    /// classes are not evidence, because users choose them. If the capture of a Flax program has neither source files
    /// nor such names, the framework is reported as `JAX`.
    pub framework: String,
    /// Number of devices that ran at least one op, on all hosts.
    pub num_devices: u64,
    /// Version of the document format, always `1.0.0`.
    pub profiler_version: String,
    /// Version of this schema. Absent in profiles that tools of version 1.0.0 wrote. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<String>,
    /// Name of the experiment. Present only in imported profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment_name: Option<String>,
    /// Name of the configuration. Present only in imported profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_name: Option<String>,
    /// Name of the profile folder, or of the file if there is no such folder. JAX names that folder after the time
    /// (`2026_01_31_12_00_00`), and the capture kit of the Python package names it after the time and the steps. The
    /// page, the command line and reports then show the name of the log folder instead (`step_1000` for
    /// `logs/step_1000/plugins/profile/2026_01_31_12_00_00`), followed by the time if several runs have the same name.
    /// Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    /// Number of devices of the platform in the profile, including devices that ran no op. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_devices_visible: Option<u64>,
    /// Number of hosts whose profiles were read. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_hosts: Option<u64>,
    /// Time from the start of the first event to the end of the last event, including host events. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_duration_us: Option<f64>,
    /// Number of events with a duration. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_events: Option<u64>,
    /// `xplane`, `trace_json` or `unified_profile` (an earlier result, such as the result of a benchmark). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_format: Option<String>,
    /// Program and version that wrote the document (`crossprof 0.1.0`). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// Versions, drivers and device capabilities from the planes (first device that ran ops, then hosts, then others).
    /// The units are the profiler's units: `clock_rate` is in kHz, `memory_bandwidth` in bytes/s, and `memory_size` in
    /// bytes. The map also contains the values that the capture kit of the Python package stores with the capture:
    /// versions, `argv`, `git_commit`, `mesh` and `XLA_FLAGS`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Settings of the run in the comparison whose report contains this profile. The document lists these fields directly in
    /// `metadata`.
    #[serde(flatten)]
    pub compared: Compared,
}

/// Dimensions of the model, which traces do not contain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ModelConfig {
    /// Hidden size: width of the residual stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_dims: Option<u64>,
    /// Number of transformer blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_layers: Option<u64>,
    /// Number of query heads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_heads: Option<u64>,
    /// Samples per step over all devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<u64>,
    /// Tokens per sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq_length: Option<u64>,
    /// Number of entries in the vocabulary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocab_size: Option<u64>,
    /// Hidden size of the feed-forward network. In a mixture of experts, this is the hidden size of one expert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ffn_hidden_dims: Option<u64>,
    /// Number of items in a recommender's catalogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_items: Option<u64>,
    /// Number of clusters of a recommender's hierarchical softmax.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_clusters: Option<u64>,
    /// Width of a recommender's item embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_embedding_dim: Option<u64>,
    /// Name of the pretrained model (`google/gemma-2b`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pretrained_model: Option<String>,
    /// Number of key and value heads (grouped-query attention). Default: `num_heads`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_kv_heads: Option<u64>,
    /// Head dimension. Default: `model_dims / num_heads`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_dim: Option<u64>,
    /// True if the feed-forward network has three matrices (gate, up, down) instead of two. Default: two. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated_ffn: Option<bool>,
    /// True if input and output embedding share one matrix. Default: two matrices. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tied_embeddings: Option<bool>,
    /// Number of experts in each mixture-of-experts block. Default: a dense feed-forward network. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_experts: Option<u64>,
    /// Number of experts that each token is routed to. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_experts_per_token: Option<u64>,
    /// True if the query, key and value projections have biases (and the output projection, if `attention_output_bias` is set).
    /// Default: none. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_bias: Option<bool>,
    /// Number of norm vectors per block (2 for Llama, 4 for Gemma 2). Default: 2. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norms_per_layer: Option<u64>,
    /// Total number of parameters, entered by the user. This number overrides the computed number. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_params: Option<u64>,
    /// Number of trainable parameters, entered by the user. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trainable_params: Option<u64>,
    /// Number of frozen parameters, entered by the user. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_params: Option<u64>,
}

impl ModelConfig {
    /// Returns a copy of this configuration in which every field that `other` sets has the value from `other`.
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
    /// Number of all parameters. The value is the first of these numbers that is known: the user's number, the sum of
    /// trainable and frozen parameters if the user gives both, the computed number, and the number of parameters of the
    /// compiled training step. See [layer_freezing](#layer_freezing). Absent if unknown.
    pub total_params: u64,
    /// Number of parameters that training changes. The value is the user's number, or else the total minus the frozen
    /// parameters, or else the number in the compiled training step if both totals are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trainable_params: Option<u64>,
    /// Number of parameters that training does not change. The value is the user's number, or else the total minus the
    /// trainable parameters, or else the number in the compiled training step if both totals are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_params: Option<u64>,
    /// True if `frozen_params` is above 0, or if the training step leaves parameters unchanged.
    pub has_frozen_layers: bool,
    /// Number of parameters that process one token. The number includes only the experts that the token is routed to.
    /// Present only for computed numbers. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_params: Option<u64>,
    /// `given` (entered by the user), `computed` (from the model configuration) or `program` (from the arguments of the compiled
    /// training step). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A headline number that cannot be measured for this run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct NotMeasured {
    /// Path of a headline number that cannot be measured for this run (`throughput.tokens_per_sec`).
    pub field: String,
    /// Reason why the number is absent, as a sentence.
    pub reason: String,
    /// Advice for measuring the number, as a sentence or a line of Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// A file that the profile was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct SourceFile {
    /// Path of the file as given. For a file in an archive, this is the path inside the archive. The main file is
    /// first.
    pub path: String,
    /// Size of the file on disk, which may be compressed.
    pub size_bytes: u64,
    /// Format of the file (`xplane`, `trace_json`, `unified_profile`, `model_config`).
    pub format: String,
    /// Number of events read from the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_events: Option<u64>,
}
