//! Reads model dimensions from a Hugging Face `config.json` or from crossprof's sidecar `crossprof.json`.
//!
//! The sidecar contains the fields of [`ModelConfig`] under the same names, and the device. The capture kit of the
//! Python package also writes `capture`, which describes how the profile was made ([`capture`]).
//!
//! The field names in a `config.json` depend on the architecture (`hidden_size`, `n_embd`, `d_model`). A `config.json`
//! omits values that are the architecture's defaults: tied embeddings (Gemma: yes, Llama: no), gated feed-forward,
//! biases, Gemma's head dimension. Fields that affect no dimension are ignored. `max_position_embeddings` is ignored
//! too, because it is the longest possible sequence length, not the profiled one.

mod architecture;
mod arguments;
mod capture;
mod device_samples;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use architecture::Architecture;
use base::{Error, json};
pub(crate) use device_samples::DeviceSamples;
use report::{ModelConfig, Tracing};
use trace::Trace;

/// Names of the sidecar fields that describe the model. These names are the names of the fields of [`ModelConfig`].
pub const SIDECAR_FIELDS: &[&str] = &[
    "model_dims",
    "num_layers",
    "num_heads",
    "batch_size",
    "seq_length",
    "vocab_size",
    "ffn_hidden_dims",
    "num_items",
    "num_clusters",
    "item_embedding_dim",
    "pretrained_model",
    "num_kv_heads",
    "head_dim",
    "gated_ffn",
    "tied_embeddings",
    "num_experts",
    "num_experts_per_token",
    "attention_bias",
    "norms_per_layer",
    "total_params",
    "trainable_params",
    "frozen_params",
];

/// Name of the sidecar field that contains the device.
pub(crate) const DEVICE_FIELD: &str = "device";

/// Name of the sidecar field that describes how the profile next to the sidecar was captured.
pub(crate) const CAPTURE_FIELD: &str = "capture";

/// Content of a sidecar file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sidecar {
    /// Dimensions of the model.
    pub model: ModelConfig,
    /// The device (`tpu-v4`, `TPU v4-8`), spelled as for `--device`. Only a sidecar `crossprof.json` can contain it.
    pub device: Option<String>,
    /// Slowdown of the captured program by tracing, if the capture kit measured it.
    pub tracing: Option<Tracing>,
    /// Number of nanoseconds by which the clock of the captured process is ahead of the clock of the job's first
    /// process. `None` if the capture kit found no difference.
    pub clock_ahead_ns: Option<i64>,
    /// Other notes of the capture kit, under the names that they have in `metadata.environment`.
    pub capture_notes: BTreeMap<String, String>,
    /// Power and clock samples of the captured process's GPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_samples: Vec<DeviceSamples>,
}

impl Sidecar {
    /// Returns this sidecar, in which the values of `other` replace the sidecar's own values.
    pub fn overridden_by(mut self, other: &Sidecar) -> Sidecar {
        self.capture_notes.extend(other.capture_notes.clone());
        Sidecar {
            model: self.model.overridden_by(&other.model),
            device: other.device.clone().or(self.device),
            tracing: other.tracing.clone().or(self.tracing),
            clock_ahead_ns: other.clock_ahead_ns.or(self.clock_ahead_ns),
            capture_notes: self.capture_notes,
            device_samples: if other.device_samples.is_empty() {
                self.device_samples
            } else {
                other.device_samples.clone()
            },
        }
    }

    /// Adds the device samples to the trace of the captured process, as counters.
    pub fn add_samples(&self, trace: &mut Trace) {
        device_samples::add(&self.device_samples, trace);
    }
}

impl From<ModelConfig> for Sidecar {
    fn from(model: ModelConfig) -> Sidecar {
        Sidecar { model, ..Sidecar::default() }
    }
}

/// Reads a sidecar `crossprof.json`.
///
/// # Errors
///
/// Returns [`Error::Malformed`] if the text is not a JSON object, if it has an unknown field (a misspelt field would
/// have no effect), or if a value has the wrong type.
pub fn read_sidecar(text: &[u8]) -> Result<Sidecar, Error> {
    let malformed = |reason: String| Error::Malformed {
        what: "a model configuration (crossprof.json)".to_owned(),
        reason,
        remedy: format!("Its fields are: {}, {DEVICE_FIELD}.", SIDECAR_FIELDS.join(", ")),
    };
    let mut object = object(text).map_err(&malformed)?;
    let device = match object.remove(DEVICE_FIELD) {
        None | Some(Value::Null) => None,
        Some(Value::String(device)) => Some(device),
        Some(_) => return Err(malformed(format!("its field \"{DEVICE_FIELD}\" is not a text"))),
    };
    let capture = match object.remove(CAPTURE_FIELD) {
        None => Map::new(),
        Some(Value::Object(capture)) => capture,
        Some(_) => return Err(malformed(format!("its field \"{CAPTURE_FIELD}\" is not an object"))),
    };
    if let Some(unknown) = object.keys().find(|key| !key.starts_with('_') && !SIDECAR_FIELDS.contains(&key.as_str())) {
        return Err(malformed(format!("it has an unknown field \"{}\"", shortened(unknown))));
    }
    let model = json::from_foreign_tree(Value::Object(object)).map_err(|error| malformed(error.to_string()))?;
    Ok(Sidecar {
        model,
        device,
        tracing: capture::tracing(&capture),
        clock_ahead_ns: capture::clock_ahead_ns(&capture),
        capture_notes: capture::notes(&capture),
        device_samples: device_samples::read(&capture),
    })
}

/// Reads a Hugging Face `config.json`.
///
/// # Errors
///
/// Returns [`Error::Malformed`] if the text is not a JSON object or contains no dimension of a model.
pub(crate) fn read_hugging_face(text: &[u8]) -> Result<ModelConfig, Error> {
    let malformed = |reason: String| Error::Malformed {
        what: "a Hugging Face config.json".to_owned(),
        reason,
        remedy: "Enter the model's dimensions in the form, by flags, or in a crossprof.json.".to_owned(),
    };
    let outer = object(text).map_err(&malformed)?;
    // The configuration of a multimodal model stores the dimensions of its language model one level deeper.
    let inner = ["text_config", "llm_config", "language_config"]
        .iter()
        .find_map(|key| outer.get(*key).and_then(Value::as_object))
        .unwrap_or(&outer);
    let fields = ConfigFields { inner, outer: &outer };
    let config = fields.read();
    let known = [config.model_dims, config.num_layers, config.num_heads, config.vocab_size];
    if known.iter().all(Option::is_none) {
        return Err(malformed("it contains no hidden size, layers, heads or vocabulary".to_owned()));
    }
    Ok(config)
}

/// The fields of an object in a `config.json`, and the fields of the enclosing object.
struct ConfigFields<'a> {
    inner: &'a Map<String, Value>,
    outer: &'a Map<String, Value>,
}

impl ConfigFields<'_> {
    fn read(&self) -> ModelConfig {
        let defaults = Architecture::of(self.text("model_type").unwrap_or_default());
        let num_experts = self
            .number(&["num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"])
            .filter(|n| *n > 1);
        let expert_width =
            self.number(&["moe_intermediate_size", "expert_ffn_hidden_size"]).filter(|_| num_experts.is_some());
        let model_dims = self.number(&["hidden_size", "n_embd", "d_model", "embed_dim", "model_dim"]);
        let width =
            self.number(&["intermediate_size", "n_inner", "ffn_dim", "d_ff", "ffn_hidden_size", "encoder_ffn_dim"]);
        ModelConfig {
            model_dims,
            num_layers: self.number(&["num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers"]),
            num_heads: self
                .number(&["num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads"])
                .or(defaults.num_heads),
            num_kv_heads: self
                .number(&["num_key_value_heads", "num_kv_heads", "n_head_kv"])
                .or_else(|| self.is_true("multi_query").then_some(1))
                .or(defaults.num_kv_heads),
            head_dim: self.number(&["head_dim", "d_kv", "attention_head_dim"]).or(defaults.head_dim),
            ffn_hidden_dims: expert_width
                .or(width)
                .or_else(|| model_dims.and_then(|dims| dims.checked_mul(defaults.ffn_factor?))),
            vocab_size: self.number(&["vocab_size"]).or(defaults.vocab_size),
            gated_ffn: self.gated().or(defaults.gated_ffn),
            tied_embeddings: self.flag("tie_word_embeddings").or(defaults.tied_embeddings),
            num_experts,
            num_experts_per_token: self
                .number(&["num_experts_per_tok", "num_experts_per_token", "moe_top_k", "num_selected_experts"])
                .filter(|_| num_experts.is_some()),
            attention_bias: self.flag("attention_bias").or_else(|| self.flag("qkv_bias")).or(defaults.attention_bias),
            norms_per_layer: defaults.norms_per_layer,
            pretrained_model: self.text("_name_or_path").filter(|name| !name.is_empty()).map(str::to_owned),
            ..ModelConfig::default()
        }
    }

    /// Returns the value of the first field in `names` whose value is a positive integer.
    fn number(&self, names: &[&str]) -> Option<u64> {
        let positive = |value: &Value| value.as_u64().filter(|number| *number > 0);
        names.iter().find_map(|name| self.inner.get(*name).and_then(positive))
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.inner.get(name).or_else(|| self.outer.get(name)).and_then(Value::as_bool)
    }

    fn is_true(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.inner.get(name).or_else(|| self.outer.get(name)).and_then(Value::as_str)
    }

    /// Returns true if the feed-forward network is gated. T5 has a field for this. For some other architectures, the
    /// name of the activation function shows it.
    fn gated(&self) -> Option<bool> {
        if let Some(projection) = self.text("feed_forward_proj") {
            return Some(projection.starts_with("gated"));
        }
        let activation = self.text("hidden_act").or_else(|| self.text("activation_function"))?;
        (activation.contains("glu")).then_some(true)
    }
}

fn object(text: &[u8]) -> Result<Map<String, Value>, String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    match serde_json::from_slice(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(error) => Err(format!("its JSON is damaged ({error})")),
    }
}

/// Shortens a name from the file, which may have any length.
fn shortened(name: &str) -> String {
    name.chars().take(60).collect()
}

#[cfg(test)]
mod tests;
