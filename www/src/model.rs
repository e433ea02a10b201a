//! Fields of the model form, and functions that parse and set their values. This module does not access the browser.

use crossprof::report::ModelConfig;
use crossprof::session::Preset;
use crossprof::text::number::decimal;

/// An integer field of the model configuration.
pub struct FormField {
    /// Name of the field in the profile.
    pub key: &'static str,
    /// Label shown to the user.
    pub label: &'static str,
    /// Section of the form that contains the field.
    pub group: Group,
    access: fn(&mut ModelConfig) -> &mut Option<u64>,
}

/// Sections of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Batch size and sequence length. Rates are computed from these two numbers.
    Batch,
    /// Dimensions. The parameter count is computed from the dimensions.
    Dimensions,
    /// Parameter counts that the user enters.
    Parameters,
}

const fn field(
    key: &'static str,
    label: &'static str,
    group: Group,
    access: fn(&mut ModelConfig) -> &mut Option<u64>,
) -> FormField {
    FormField { key, label, group, access }
}

/// All number fields of the form.
pub const FIELDS: [FormField; 15] = [
    field("batch_size", "Batch size, all devices", Group::Batch, |model| &mut model.batch_size),
    field("seq_length", "Sequence length", Group::Batch, |model| &mut model.seq_length),
    field("model_dims", "Hidden size (hidden_size)", Group::Dimensions, |model| &mut model.model_dims),
    field("num_layers", "Layers", Group::Dimensions, |model| &mut model.num_layers),
    field("num_heads", "Query heads", Group::Dimensions, |model| &mut model.num_heads),
    field("num_kv_heads", "Key-value heads", Group::Dimensions, |model| &mut model.num_kv_heads),
    field("head_dim", "Head dimension (head_dim)", Group::Dimensions, |model| &mut model.head_dim),
    field("ffn_hidden_dims", "Feed-forward size", Group::Dimensions, |model| &mut model.ffn_hidden_dims),
    field("vocab_size", "Vocabulary size", Group::Dimensions, |model| &mut model.vocab_size),
    field("num_experts", "Experts", Group::Dimensions, |model| &mut model.num_experts),
    field("num_experts_per_token", "Experts per token", Group::Dimensions, |model| &mut model.num_experts_per_token),
    field("norms_per_layer", "Norms per layer", Group::Dimensions, |model| &mut model.norms_per_layer),
    field("total_params", "Total parameters", Group::Parameters, |model| &mut model.total_params),
    field("trainable_params", "Trainable parameters", Group::Parameters, |model| &mut model.trainable_params),
    field("frozen_params", "Frozen parameters", Group::Parameters, |model| &mut model.frozen_params),
];

/// A boolean field of the model configuration.
pub struct Flag {
    /// Name of the field in the profile.
    pub key: &'static str,
    /// Label shown to the user.
    pub label: &'static str,
    access: fn(&mut ModelConfig) -> &mut Option<bool>,
}

/// All boolean fields of the form.
pub const FLAGS: [Flag; 3] = [
    Flag { key: "gated_ffn", label: "Gated feed-forward", access: |model| &mut model.gated_ffn },
    Flag { key: "tied_embeddings", label: "Tied embeddings", access: |model| &mut model.tied_embeddings },
    Flag { key: "attention_bias", label: "Attention biases", access: |model| &mut model.attention_bias },
];

impl FormField {
    /// Returns the value of this field in a configuration.
    pub fn get(&self, model: &ModelConfig) -> Option<u64> {
        *(self.access)(&mut model.clone())
    }

    /// Sets the value of this field in a configuration.
    pub fn set(&self, model: &mut ModelConfig, value: Option<u64>) {
        *(self.access)(model) = value;
    }
}

impl Flag {
    /// Returns the value of this flag in a configuration.
    pub fn get(&self, model: &ModelConfig) -> Option<bool> {
        *(self.access)(&mut model.clone())
    }

    /// Sets the value of this flag in a configuration.
    pub fn set(&self, model: &mut ModelConfig, value: Option<bool>) {
        *(self.access)(model) = value;
    }
}

/// Error for text that is not an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotANumber;

/// Parses an integer as people write it: `4096`, `32 000`, `32,000`, `32k`, `8B`, `1.5M`. Returns `None` for empty
/// text.
pub fn parse(text: &str) -> Result<Option<u64>, NotANumber> {
    let text: String = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, ',' | '_' | '\'')).collect();
    if text.is_empty() {
        return Ok(None);
    }
    let (digits, scale) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        Some((at, 'm' | 'M')) => (&text[..at], 1e6),
        Some((at, 'b' | 'B' | 'g' | 'G')) => (&text[..at], 1e9),
        _ => return text.parse().map(Some).map_err(|_| NotANumber),
    };
    let value = decimal(digits).ok_or(NotANumber)?;
    let scaled = (value * scale).round();
    let whole = scaled.is_finite() && (0.0..9e15).contains(&scaled) && digits.starts_with(|c: char| c.is_ascii_digit());
    if whole { Ok(Some(scaled as u64)) } else { Err(NotANumber) }
}

/// Maximum power or price. Larger values could make sums and ratios infinite.
const MOST_AMOUNT: f64 = 1e12;

/// Message for text that [`amount`] does not accept.
pub const AMOUNT: &str = "Enter a number above 0, such as 700 or 2.50.";

/// Parses a number above 0. Returns `None` for any other text.
pub fn amount(text: &str) -> Option<f64> {
    decimal(text).filter(|number| *number > 0.0 && *number <= MOST_AMOUNT)
}

/// Sets the dimensions of a public model. Keeps the batch size and the sequence length.
pub fn apply(preset: &Preset, model: &mut ModelConfig) {
    *model = ModelConfig { batch_size: model.batch_size, seq_length: model.seq_length, ..preset.model.clone() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_amounts_above_zero_are_accepted() {
        assert_eq!(
            [amount("2.5"), amount("0"), amount("-1"), amount("1e13"), amount("x")],
            [Some(2.5), None, None, None, None]
        );
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let cases = [
            ("4096", 4096),
            ("32 000", 32_000),
            ("32,000", 32_000),
            ("32k", 32_000),
            ("8B", 8_000_000_000),
            ("1.5 M", 1_500_000),
        ];
        for (text, value) in cases {
            assert_eq!(parse(text), Ok(Some(value)), "{text}");
        }
        assert_eq!(parse("  "), Ok(None));
        for text in ["-1", "1e9x", "k", "1.5", "infk", "99999999999999999999", "é"] {
            assert_eq!(parse(text), Err(NotANumber), "{text}");
        }
    }

    #[test]
    fn each_field_sets_its_own_value() {
        let mut model = ModelConfig::default();
        for (index, field) in FIELDS.iter().enumerate() {
            field.set(&mut model, Some(index as u64));
        }
        for (index, field) in FIELDS.iter().enumerate() {
            assert_eq!(field.get(&model), Some(index as u64), "{}", field.key);
        }
        let json = serde_json::to_value(&model).unwrap();
        assert!(FIELDS.iter().all(|field| json.get(field.key).is_some()));
    }
}
