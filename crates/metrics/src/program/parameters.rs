//! Computes the number of parameters of a transformer from its dimensions.
//!
//! Counts decoder-only transformers without learned positions: embedding, blocks of attention and feed-forward (dense
//! or mixture of experts) with norm vectors, a final norm, and the output embedding if it is not tied. The item tables
//! of a recommender are included if their dimensions are given. If a dimension is missing, the number is unknown,
//! because crossprof does not guess.

use facts::model_presets::{self, ModelPreset};
use report::{LayerFreezing, ModelConfig, ParameterCounts};

/// A public model: its display name and its dimensions.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// Display name.
    pub name: &'static str,
    /// Dimensions of the model. Batch size and sequence length are not set.
    pub model: ModelConfig,
}

/// Returns the public models that the model form offers.
pub fn presets() -> Vec<Preset> {
    let preset = |it: &ModelPreset| Preset { name: it.name, model: config(it) };
    model_presets::all().iter().map(preset).collect()
}

fn config(preset: &ModelPreset) -> ModelConfig {
    ModelConfig {
        model_dims: Some(preset.model_dims),
        num_layers: Some(preset.num_layers),
        num_heads: Some(preset.num_heads),
        num_kv_heads: Some(preset.num_kv_heads),
        head_dim: Some(preset.head_dim),
        ffn_hidden_dims: Some(preset.ffn_hidden_dims),
        vocab_size: Some(preset.vocab_size),
        gated_ffn: Some(preset.gated_ffn),
        tied_embeddings: Some(preset.tied_embeddings),
        num_experts: preset.num_experts,
        num_experts_per_token: preset.num_experts_per_token,
        attention_bias: Some(preset.attention_bias),
        norms_per_layer: Some(preset.norms_per_layer),
        pretrained_model: Some(preset.source.to_owned()),
        ..ModelConfig::default()
    }
}

/// Builds the parameter section. Counts that the user gives take precedence over computed counts. If two of the total,
/// trainable and frozen counts are given, the third count follows from the other two. Returns `None` if the total is
/// not given and the dimensions are incomplete.
pub fn parameter_counts(model: &ModelConfig) -> Option<ParameterCounts> {
    let computed = computed(model);
    let both = model.trainable_params.zip(model.frozen_params).and_then(|(a, b)| a.checked_add(b));
    let given = model.total_params.or(both);
    let total = given.or(computed.map(|count| count.total))?;
    let rest = |part: Option<u64>| part.and_then(|part| total.checked_sub(part));
    let trainable = model.trainable_params.or_else(|| rest(model.frozen_params));
    let frozen = model.frozen_params.or_else(|| rest(model.trainable_params));
    Some(ParameterCounts {
        total_params: total,
        trainable_params: trainable,
        frozen_params: frozen,
        has_frozen_layers: frozen.is_some_and(|count| count > 0),
        active_params: if given.is_some() { None } else { computed.and_then(|count| count.active) },
        source: Some(if given.is_some() { "given" } else { "computed" }.to_owned()),
    })
}

/// Adds the counts of the compiled training step. If there are no other counts, all counts come from the program. If
/// other counts exist, only the trained count comes from the program, and only if both totals agree. The totals may
/// differ, because a program contains only the parameters that it uses.
pub(crate) fn with_program(
    counts: Option<ParameterCounts>,
    program: Option<&LayerFreezing>,
) -> Option<ParameterCounts> {
    let Some(program) = program else { return counts };
    let has_frozen_layers = program.frozen_arrays > 0;
    let parts = program.trained_params.zip(program.frozen_params);
    let known = parts.and_then(|(trained, frozen)| Some((trained, frozen, trained.checked_add(frozen)?)));
    match (counts, known) {
        (None, Some((trained, frozen, total))) => Some(ParameterCounts {
            total_params: total,
            trainable_params: Some(trained),
            frozen_params: Some(frozen),
            has_frozen_layers,
            active_params: None,
            source: Some("program".to_owned()),
        }),
        (Some(mut counts), known) if counts.trainable_params.is_none() && counts.frozen_params.is_none() => {
            counts.has_frozen_layers = has_frozen_layers;
            if let Some((trained, frozen, _)) = known.filter(|known| known.2 == counts.total_params) {
                (counts.trainable_params, counts.frozen_params) = (Some(trained), Some(frozen));
            }
            Some(counts)
        }
        (counts, _) => counts,
    }
}

#[derive(Clone, Copy)]
struct Count {
    total: u64,
    active: Option<u64>,
}

/// Counts parameters with hidden size `d`, `h` heads of dimension `a`, `k` key/value heads, feed-forward size `f`, `e`
/// experts and `n` norms:
///
/// ```text
/// attention     2 d h a + 2 d k a   (+ (h + 2 k) a with biases on query, key and value)
/// feed-forward  3 d f gated, else 2 d f; times e, plus the router's d e, with experts
/// norms         n d
/// total         layers * (attention + feed-forward + norms) + d + vocabulary * d * (1 tied, else 2)
/// ```
fn computed(model: &ModelConfig) -> Option<Count> {
    let wide = |value: Option<u64>| value.filter(|&it| it > 0).map(u128::from);
    // Every dimension of a real model fits into 32 bits. Products of larger dimensions could overflow 128 bits.
    let dims = [model.model_dims, model.num_layers, model.num_heads, model.num_kv_heads, model.head_dim];
    let more = [model.ffn_hidden_dims, model.vocab_size, model.num_experts, model.num_experts_per_token];
    let items = [model.num_items, model.num_clusters, model.item_embedding_dim, model.norms_per_layer];
    if dims.into_iter().chain(more).chain(items).flatten().any(|it| it > u64::from(u32::MAX)) {
        return None;
    }
    let width = wide(model.model_dims)?;
    let layers = wide(model.num_layers)?;
    let heads = wide(model.num_heads)?;
    let kv_heads = wide(model.num_kv_heads).unwrap_or(heads);
    let head = wide(model.head_dim).or_else(|| (width % heads == 0).then(|| width / heads))?;
    let vocabulary = wide(model.vocab_size)?;
    let mut attention = 2 * width * head * (heads + kv_heads);
    if model.attention_bias == Some(true) {
        attention += (heads + 2 * kv_heads) * head;
    }
    let matrices = if model.gated_ffn == Some(true) { 3 } else { 2 };
    let expert = matrices * width * wide(model.ffn_hidden_dims)?;
    let experts = wide(model.num_experts);
    let router = experts.unwrap_or(0) * width;
    let norms = model.norms_per_layer.map_or(2, u128::from) * width;
    let embeddings = vocabulary * width * if model.tied_embeddings == Some(true) { 1 } else { 2 };
    let outside = width + embeddings + recommender(model, width);
    let sum = |experts: u128| u64::try_from(layers * (attention + expert * experts + router + norms) + outside).ok();
    let active = match experts {
        Some(experts) => wide(model.num_experts_per_token).map(|used| used.min(experts)),
        None => Some(1),
    };
    Some(Count { total: sum(experts.unwrap_or(1))?, active: active.and_then(sum) })
}

/// Counts a recommender's item embedding with its projection to the hidden size, and its cluster head.
fn recommender(model: &ModelConfig, width: u128) -> u128 {
    let value = |field: Option<u64>| field.map_or(0, u128::from);
    let item_width = value(model.item_embedding_dim);
    let projection = if item_width > 0 { item_width * width } else { 0 };
    value(model.num_items) * item_width + projection + value(model.num_clusters) * width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_its_published_count() {
        let published = include_str!("../../../facts/src/model_presets.published.csv");
        let mut published = published.lines().skip(1);
        let presets = presets();
        assert!(presets.len() >= 20);
        for preset in presets {
            let (name, params) = published.next().unwrap().split_once(',').unwrap();
            let counts = parameter_counts(&preset.model).unwrap();
            assert_eq!((preset.name, counts.total_params), (name, params.parse().unwrap()));
            assert_eq!(counts.source.as_deref(), Some("computed"));
        }
        assert_eq!(published.next(), None);
    }

    fn preset(name: &str) -> ModelConfig {
        presets().into_iter().find(|preset| preset.name == name).unwrap().model
    }

    /// The models' authors published the expected numbers. This test repeats the numbers to check the table
    /// independently.
    #[test]
    fn known_models_count_as_published() {
        let total = |name| parameter_counts(&preset(name)).map(|it| it.total_params);
        assert_eq!(total("Gemma 2B"), Some(2_506_172_416));
        assert_eq!(total("Llama 3 8B"), Some(8_030_261_248));
        assert_eq!(total("Mixtral 8x7B"), Some(46_702_792_704));
        assert_eq!(total("Mistral 7B"), Some(7_241_732_096));
        assert_eq!(total("Qwen2.5 7B"), Some(7_615_616_512));
        assert_eq!(total("Gemma 2 2B"), Some(2_614_341_888));
    }

    #[test]
    fn a_token_passes_through_some_experts_only() {
        let counts = parameter_counts(&preset("Mixtral 8x7B")).unwrap();
        // Six of the eight experts of each of the 32 layers are left out.
        assert_eq!(counts.active_params, Some(46_702_792_704 - 32 * 6 * 3 * 4096 * 14_336));
        let counts = parameter_counts(&preset("Llama 3 8B")).unwrap();
        assert_eq!(counts.active_params, Some(counts.total_params));
    }

    #[test]
    fn a_missing_dimension_gives_no_count() {
        for blank in [
            |model: &mut ModelConfig| model.vocab_size = None,
            |model: &mut ModelConfig| model.ffn_hidden_dims = None,
            |model: &mut ModelConfig| model.num_layers = Some(0),
            |model: &mut ModelConfig| model.model_dims = Some(u64::MAX),
        ] {
            let mut model = preset("Gemma 2B");
            blank(&mut model);
            assert_eq!(parameter_counts(&model), None);
        }
        let mut model = preset("Llama 2 7B");
        (model.num_kv_heads, model.head_dim) = (None, None);
        assert_eq!(parameter_counts(&model).map(|it| it.total_params), Some(6_738_415_616));
    }

    #[test]
    fn given_counts_win_and_the_third_follows_from_two() {
        let given = |total, trainable, frozen| {
            let model = ModelConfig {
                total_params: total,
                trainable_params: trainable,
                frozen_params: frozen,
                ..preset("Gemma 2B")
            };
            let it = parameter_counts(&model).unwrap();
            (it.total_params, it.trainable_params, it.frozen_params, it.has_frozen_layers)
        };
        assert_eq!(given(Some(100), Some(60), None), (100, Some(60), Some(40), true));
        assert_eq!(given(Some(100), None, Some(0)), (100, Some(100), Some(0), false));
        assert_eq!(given(None, Some(60), Some(40)), (100, Some(60), Some(40), true));
        assert_eq!(given(None, None, Some(6_172_416)).1, Some(2_500_000_000));
        assert_eq!(given(Some(10), Some(60), None), (10, Some(60), None, false));
        assert_eq!(given(Some(10), None, None), (10, None, None, false));
    }
}
