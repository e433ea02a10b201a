//! Dimensions of public models, from their published `config.json` (`model_presets.csv`). An empty cell means that the
//! dimension does not apply. A test counts the parameters of each model and compares the count with the published size
//! of the weights (`model_presets.published.csv`).

use std::sync::LazyLock;

use super::table;

/// Dimensions of a public model, with the fields of the report's model configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelPreset {
    /// Name for people.
    pub name: &'static str,
    /// Hidden size.
    pub model_dims: u64,
    /// Number of transformer blocks.
    pub num_layers: u64,
    /// Number of query heads per layer.
    pub num_heads: u64,
    /// Number of key-value heads per layer.
    pub num_kv_heads: u64,
    /// Head dimension.
    pub head_dim: u64,
    /// Width of one feed-forward matrix.
    pub ffn_hidden_dims: u64,
    /// Number of entries in the vocabulary.
    pub vocab_size: u64,
    /// True if the feed-forward network has three matrices instead of two.
    pub gated_ffn: bool,
    /// True if the input and output embeddings share one matrix.
    pub tied_embeddings: bool,
    /// Number of experts of a mixture-of-experts layer.
    pub num_experts: Option<u64>,
    /// Number of experts that each token is routed to.
    pub num_experts_per_token: Option<u64>,
    /// True if the query, key and value projections have biases.
    pub attention_bias: bool,
    /// Number of normalisation weight vectors per transformer block.
    pub norms_per_layer: u64,
    /// Repository of the published weights and their configuration.
    pub source: &'static str,
}

static PRESETS: LazyLock<Vec<ModelPreset>> =
    LazyLock::new(|| table::rows(include_str!("model_presets.csv")).filter_map(|cells| parse(&cells)).collect());

/// Returns all presets, in table order.
pub fn all() -> &'static [ModelPreset] {
    &PRESETS
}

fn parse(cells: &[&'static str]) -> Option<ModelPreset> {
    let &[name, dims, layers, heads, kv, head, ffn, vocab, gated, tied, experts, per_token, bias, norms, source] =
        cells
    else {
        return None;
    };
    Some(ModelPreset {
        name,
        model_dims: dims.parse().ok()?,
        num_layers: layers.parse().ok()?,
        num_heads: heads.parse().ok()?,
        num_kv_heads: kv.parse().ok()?,
        head_dim: head.parse().ok()?,
        ffn_hidden_dims: ffn.parse().ok()?,
        vocab_size: vocab.parse().ok()?,
        gated_ffn: gated.parse().ok()?,
        tied_embeddings: tied.parse().ok()?,
        num_experts: experts.parse().ok(),
        num_experts_per_token: per_token.parse().ok(),
        attention_bias: bias.parse().ok()?,
        norms_per_layer: norms.parse().ok()?,
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(all().len(), table::rows(include_str!("model_presets.csv")).count());
        assert!(all().iter().any(|preset| preset.name == "Llama 3 8B"));
    }
}
