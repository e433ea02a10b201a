//! Tests configurations that the authors of models published.

use super::*;

fn hugging_face(text: &str) -> ModelConfig {
    read_hugging_face(text.as_bytes()).expect("a configuration")
}

#[test]
fn llama_3_8b() {
    let config = hugging_face(
        r#"{"architectures":["LlamaForCausalLM"],"attention_bias":false,"hidden_act":"silu","hidden_size":4096,
        "intermediate_size":14336,"max_position_embeddings":8192,"model_type":"llama","num_attention_heads":32,
        "num_hidden_layers":32,"num_key_value_heads":8,"tie_word_embeddings":false,"vocab_size":128256}"#,
    );
    let expected = ModelConfig {
        model_dims: Some(4096),
        num_layers: Some(32),
        num_heads: Some(32),
        num_kv_heads: Some(8),
        ffn_hidden_dims: Some(14336),
        vocab_size: Some(128_256),
        gated_ffn: Some(true),
        tied_embeddings: Some(false),
        attention_bias: Some(false),
        norms_per_layer: Some(2),
        ..ModelConfig::default()
    };
    assert_eq!(config, expected);
    // The longest possible sequence length is not the profiled one.
    assert_eq!(config.seq_length, None);
}

#[test]
fn gemma_2b_ties_its_embeddings_by_default() {
    let config = hugging_face(
        r#"{"architectures":["GemmaForCausalLM"],"head_dim":256,"hidden_act":"gelu","hidden_size":2048,
        "intermediate_size":16384,"model_type":"gemma","num_attention_heads":8,"num_hidden_layers":18,
        "num_key_value_heads":1,"vocab_size":256000}"#,
    );
    assert_eq!(config.tied_embeddings, Some(true));
    assert_eq!(config.gated_ffn, Some(true));
    assert_eq!((config.num_kv_heads, config.head_dim, config.ffn_hidden_dims), (Some(1), Some(256), Some(16384)));
}

#[test]
fn llama_without_the_key_does_not_tie() {
    let config = hugging_face(r#"{"model_type":"llama","hidden_size":8}"#);
    assert_eq!(config.tied_embeddings, Some(false));
    let config = hugging_face(r#"{"model_type":"llama","hidden_size":8,"tie_word_embeddings":true}"#);
    assert_eq!(config.tied_embeddings, Some(true));
    let config = hugging_face(r#"{"model_type":"something_new","hidden_size":8}"#);
    assert_eq!((config.tied_embeddings, config.gated_ffn), (None, None));
}

#[test]
fn gemma_3_keeps_its_text_model_inside() {
    let config = hugging_face(
        r#"{"architectures":["Gemma3ForConditionalGeneration"],"model_type":"gemma3","text_config":{"hidden_size":2560,
        "intermediate_size":10240,"model_type":"gemma3_text","num_hidden_layers":34,"sliding_window":1024},
        "vision_config":{"hidden_size":1152,"num_hidden_layers":27}}"#,
    );
    assert_eq!((config.model_dims, config.num_layers), (Some(2560), Some(34)));
    assert_eq!((config.num_heads, config.num_kv_heads, config.head_dim), (Some(8), Some(4), Some(256)));
    assert_eq!((config.vocab_size, config.norms_per_layer), (Some(262_208), Some(4)));
}

#[test]
fn mixtral_routes_to_two_of_eight() {
    let config = hugging_face(
        r#"{"hidden_size":4096,"intermediate_size":14336,"model_type":"mixtral","num_attention_heads":32,
        "num_experts_per_tok":2,"num_hidden_layers":32,"num_key_value_heads":8,"num_local_experts":8,
        "tie_word_embeddings":false,"vocab_size":32000}"#,
    );
    assert_eq!((config.num_experts, config.num_experts_per_token), (Some(8), Some(2)));
}

#[test]
fn qwen_3_moe_has_narrow_experts() {
    let config = hugging_face(
        r#"{"head_dim":128,"hidden_size":2048,"intermediate_size":6144,"model_type":"qwen3_moe",
        "moe_intermediate_size":768,"num_attention_heads":32,"num_experts":128,"num_experts_per_tok":8,
        "num_hidden_layers":48,"num_key_value_heads":4,"tie_word_embeddings":false,"vocab_size":151936}"#,
    );
    assert_eq!((config.ffn_hidden_dims, config.num_experts), (Some(768), Some(128)));
}

#[test]
fn qwen_2_has_biases_by_default() {
    let config = hugging_face(r#"{"hidden_size":896,"model_type":"qwen2","tie_word_embeddings":true}"#);
    assert_eq!((config.attention_bias, config.tied_embeddings), (Some(true), Some(true)));
}

#[test]
fn gpt_2_uses_other_field_names() {
    let config = hugging_face(
        r#"{"activation_function":"gelu_new","model_type":"gpt2","n_ctx":1024,"n_embd":768,"n_head":12,"n_layer":12,
        "n_positions":1024,"n_inner":null,"vocab_size":50257}"#,
    );
    assert_eq!((config.model_dims, config.num_layers, config.num_heads), (Some(768), Some(12), Some(12)));
    assert_eq!(config.ffn_hidden_dims, Some(3072));
    assert_eq!(
        (config.gated_ffn, config.tied_embeddings, config.attention_bias),
        (Some(false), Some(true), Some(true))
    );
}

#[test]
fn t5_records_whether_it_is_gated() {
    let config = hugging_face(
        r#"{"d_ff":2048,"d_kv":64,"d_model":768,"feed_forward_proj":"gated-gelu","model_type":"t5","num_heads":12,
        "num_layers":12,"tie_word_embeddings":false,"vocab_size":32128}"#,
    );
    assert_eq!((config.gated_ffn, config.ffn_hidden_dims, config.head_dim), (Some(true), Some(2048), Some(64)));
}

#[test]
fn a_config_without_dimensions_is_refused() {
    let error = read_hugging_face(br#"{"model_type":"clip","projection_dim":512}"#).expect_err("no dimensions");
    assert!(error.to_string().contains("contains no hidden size"), "{error}");
    assert!(read_hugging_face(b"{\"model_type\":").is_err());
}

#[test]
fn a_sidecar_has_our_names() {
    let config = read_sidecar(b"\xef\xbb\xbf{\"batch_size\":16,\"seq_length\":128,\"_note\":\"v4-8\"}").expect("valid");
    let expected = ModelConfig { batch_size: Some(16), seq_length: Some(128), ..ModelConfig::default() };
    assert_eq!(config, Sidecar::from(expected));
    let sidecar = read_sidecar(br#"{"device":"TPU v4-8"}"#).expect("valid");
    assert_eq!((sidecar.device.as_deref(), sidecar.model), (Some("TPU v4-8"), ModelConfig::default()));
    let error = read_sidecar(br#"{"device":4}"#).expect_err("a number").to_string();
    assert!(error.contains("\"device\" is not a text"), "{error}");
}

#[test]
fn a_sidecar_describes_the_capture() {
    let written = br#"{"batch_size":16,"total_params":4111,"capture":{"session":"2026_01_05_10_00_00","git_commit":"ab12",
        "argv":["/home/jo/train.py","--steps","30"],"versions":{"jax":"0.10.2","jax-cuda13-plugin":"0.10.2"},"mesh":{"data":8,"model":2},
        "environment":{"XLA_FLAGS":"--xla_a=1 --xla_b"},"advanced_options":{},"python":null,"devices":{"places":["4 0 0,1,0",7,"5 0 1,1,0"]},"steps":{"first":11,"last":15,"count":5},
        "slowdown":{"untraced_step_s":0.5,"untraced_steps":4,"traced_step_s":0.75,"traced_steps":5,"ratio":1.5}}}"#;
    let sidecar = read_sidecar(written).expect("valid");
    let expected = ModelConfig { batch_size: Some(16), total_params: Some(4111), ..ModelConfig::default() };
    assert_eq!(sidecar.model, expected);
    let measured = Tracing {
        slowdown: 1.5,
        traced_step_time_us: 750_000.0,
        untraced_step_time_us: 500_000.0,
        traced_steps: 5,
        untraced_steps: 4,
    };
    assert_eq!(sidecar.tracing, Some(measured));
    let notes: Vec<(&str, &str)> =
        sidecar.capture_notes.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let expected = [
        ("XLA_FLAGS", "--xla_a=1 --xla_b"),
        ("argv", "~/train.py --steps ***"),
        ("device_places", "4 0 0,1,0;5 0 1,1,0"),
        ("git_commit", "ab12"),
        ("jax_cuda13_plugin_version", "0.10.2"),
        ("jax_version", "0.10.2"),
        ("mesh", "data=8 model=2"),
        ("steps", "count=5 first=11 last=15"),
    ];
    assert_eq!(notes, expected);
    let error = read_sidecar(br#"{"capture":"yes"}"#).expect_err("a text").to_string();
    assert!(error.contains("\"capture\" is not an object"), "{error}");
}

#[test]
fn a_slowdown_that_was_not_measured_is_none() {
    for slowdown in [r#"{"not_measured":"why"}"#, r#"{"ratio":1.5}"#, r#"[1]"#, r#"{"ratio":"x","traced_step_s":1}"#] {
        let sidecar =
            read_sidecar(format!(r#"{{"capture":{{"slowdown":{slowdown},"mesh":7}}}}"#).as_bytes()).expect("valid");
        assert_eq!(sidecar.tracing, None);
        assert_eq!(sidecar.capture_notes.get("mesh").map(String::as_str), Some("7"));
    }
}

#[test]
fn a_nearer_sidecar_takes_precedence() {
    let far =
        read_sidecar(br#"{"batch_size":1,"seq_length":2,"device":"TPU v4","capture":{"git_commit":"a","argv":["b"]}}"#);
    let near = read_sidecar(br#"{"batch_size":3,"capture":{"git_commit":"c"}}"#).expect("valid");
    let both = far.expect("valid").overridden_by(&near);
    assert_eq!(
        (both.model.batch_size, both.model.seq_length, both.device.as_deref()),
        (Some(3), Some(2), Some("TPU v4"))
    );
    let notes: Vec<&str> = both.capture_notes.values().map(String::as_str).collect();
    assert_eq!(notes, ["b", "c"]);
}

#[test]
fn a_misspelt_field_of_a_sidecar_is_named() {
    let error = read_sidecar(br#"{"batch_size":16,"seq_len":128}"#).expect_err("misspelt").to_string();
    assert!(error.contains("unknown field \"seq_len\"") && error.contains("seq_length"), "{error}");
    let error = read_sidecar(br#"{"batch_size":"16"}"#).expect_err("a text").to_string();
    assert!(error.contains("invalid type"), "{error}");
}

#[test]
fn the_sidecars_fields_are_those_of_the_model_config() {
    let schema = serde_json::to_value(schemars::schema_for!(ModelConfig)).expect("a schema");
    let mut properties: Vec<_> = schema["properties"].as_object().expect("properties").keys().cloned().collect();
    let mut fields: Vec<_> = SIDECAR_FIELDS.iter().map(|field| (*field).to_owned()).collect();
    properties.sort();
    fields.sort();
    assert_eq!(properties, fields);
}
