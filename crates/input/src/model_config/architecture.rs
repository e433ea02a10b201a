//! Default values that a `config.json` omits, by architecture (the `*Config` classes of Hugging Face Transformers).

/// Default values of an architecture. A field is `None` if the architecture has no default for it, or if the default is
/// unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Architecture {
    pub tied_embeddings: Option<bool>,
    pub gated_ffn: Option<bool>,
    pub attention_bias: Option<bool>,
    pub norms_per_layer: Option<u64>,
    pub num_heads: Option<u64>,
    pub num_kv_heads: Option<u64>,
    pub head_dim: Option<u64>,
    pub vocab_size: Option<u64>,
    /// Width of the feed-forward matrices as a multiple of the hidden size.
    pub ffn_factor: Option<u64>,
}

impl Architecture {
    /// Root-mean-square norms before attention and before the gated feed-forward network, a separate output matrix, no
    /// biases.
    const LLAMA: Architecture = Architecture {
        tied_embeddings: Some(false),
        gated_ffn: Some(true),
        attention_bias: Some(false),
        norms_per_layer: Some(2),
        num_heads: None,
        num_kv_heads: None,
        head_dim: None,
        vocab_size: None,
        ffn_factor: None,
    };

    /// Like Llama, but with tied embeddings and wide heads.
    const GEMMA: Architecture =
        Architecture { tied_embeddings: Some(true), head_dim: Some(256), ..Architecture::LLAMA };

    /// Like Gemma, but with norms before and after both halves of each block.
    const GEMMA_2: Architecture = Architecture { norms_per_layer: Some(4), ..Architecture::GEMMA };

    /// Two feed-forward matrices with four times the hidden size, biases, tied embeddings.
    const GPT_2: Architecture = Architecture {
        tied_embeddings: Some(true),
        gated_ffn: Some(false),
        attention_bias: Some(true),
        norms_per_layer: Some(2),
        ffn_factor: Some(4),
        ..Architecture::LLAMA
    };

    /// Returns the default values for a `model_type`.
    pub(super) fn of(model_type: &str) -> Architecture {
        let llama = Architecture::LLAMA;
        match model_type {
            "llama" | "qwen3" | "qwen3_moe" | "olmo" | "olmo2" | "granite" | "glm" | "deepseek" | "phi3" => llama,
            // Grouped-query attention with eight key-value heads is the default of the class.
            "mistral" | "mixtral" => Architecture { num_kv_heads: Some(8), ..llama },
            "qwen2" | "qwen2_moe" => Architecture { attention_bias: Some(true), ..llama },
            "gemma" => Architecture::GEMMA,
            "gemma2" => Architecture::GEMMA_2,
            "gemma3_text" => Architecture {
                num_heads: Some(8),
                num_kv_heads: Some(4),
                vocab_size: Some(262_208),
                ..Architecture::GEMMA_2
            },
            "cohere" => Architecture { tied_embeddings: Some(true), norms_per_layer: Some(1), ..llama },
            "gpt2" | "gpt_bigcode" => Architecture::GPT_2,
            "opt" | "bloom" => Architecture::GPT_2,
            "gpt_neox" => Architecture { tied_embeddings: Some(false), ..Architecture::GPT_2 },
            "gptj" | "phi" => {
                Architecture { tied_embeddings: Some(false), norms_per_layer: Some(1), ..Architecture::GPT_2 }
            }
            "t5" | "mt5" | "umt5" => Architecture {
                attention_bias: Some(false),
                ffn_factor: None,
                // If no field states otherwise, a T5 has two plain matrices.
                ..Architecture::GPT_2
            },
            "starcoder2" => Architecture { ffn_factor: None, ..Architecture::GPT_2 },
            _ => Architecture::default(),
        }
    }
}
