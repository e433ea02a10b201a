//! The user's batch size implies a throughput that needs more FLOPs than the devices can compute.
//!
//! The rule computes the needed FLOP rate as `tokens_per_sec` x parameters x 2 FLOPs for a forward pass, or 6 for
//! training (Kaplan et al. 2020). If `tokens_per_sec` is unknown, the rule uses `samples_per_sec`, because a sample has
//! at least one token. The rule compares the needed FLOP rate with the number of devices x the peak rate of a device's
//! fastest data type. The number of parameters excludes embeddings, because a program may look them up. Severity:
//! critical with high confidence if even a forward pass exceeds the peak, or warning with medium confidence if only
//! training does. Remedy: check the batch size, the sequence length, the steps and the model dimensions. The rule is
//! not reported if the batch size or the number of parameters is unknown. The rule is skipped if the peak is unknown.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use facts::Arithmetic;
use report::{Confidence, FindingSeverity, ModelConfig, View};

pub(super) static RULE: Rule = Rule {
    id: "impossible_throughput",
    title: "Batch, sequence length or model size cannot be right",
    ..Rule::checked_by(check)
};

/// FLOPs per parameter per token of a forward pass: a multiplication and an addition (Kaplan et al. 2020, scaling laws).
const FORWARD: f64 = 2.0;
/// FLOPs per parameter per token of a training step: the backward pass needs twice as many as the forward pass (same
/// source).
const TRAINING: f64 = 6.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let throughput = &numbers.profile.throughput;
    // A sample has at least one token.
    let (rate, what) = match (throughput.tokens_per_sec, throughput.samples_per_sec) {
        (Some(tokens), _) => (tokens, "tokens"),
        (None, Some(samples)) => (samples, "samples"),
        (None, None) => return Verdict::Irrelevant,
    };
    let Some(params) = multiplied(numbers) else { return Verdict::Irrelevant };
    let peaks = numbers.context.analysis.roofline.peaks.as_ref();
    let rates = peaks.map(|peaks| Arithmetic::ALL.into_iter().filter_map(|kind| peaks.rates.get(kind)));
    let Some(fastest) = rates.and_then(|rates| rates.reduce(f64::max)) else {
        return numbers.lacks_peaks();
    };
    let devices = numbers.profile.metadata.num_devices;
    let peak = fastest * devices as f64;
    let [forward, training] = [FORWARD, TRAINING].map(|flops| flops * params * rate);
    let cannot = match () {
        () if forward > peak => true,
        () if training > peak => false,
        () => return Verdict::Fine,
    };
    let message = format!(
        "{} {what}/s through {} parameters need {FORWARD} x {} x {} = {} for the forward pass alone ({} for training, 6 FLOPs \
         per parameter per token). {} of type {} reach at most {}, in {} fastest data type.{}",
        format::number(rate),
        format::si(params, ""),
        format::si(params, ""),
        format::number(rate),
        format::si(forward, "FLOP/s"),
        format::si(training, "FLOP/s"),
        super::numbers::plural(devices, "device"),
        peaks.map_or("", |peaks| peaks.device.as_str()),
        format::si(peak, "FLOP/s"),
        if devices == 1 { "its" } else { "their" },
        if cannot { "" } else { " Inference at this rate is possible, but training is not." },
    );
    let (severity, confidence) = match cannot {
        true => (FindingSeverity::Critical, Confidence::High),
        false => (FindingSeverity::Warning, Confidence::Medium),
    };
    let needed = if cannot { forward } else { training };
    let title = "The throughput exceeds the peak of the devices";
    Draft::new(severity, confidence, title, message)
        .remedy(
            "Check the batch size (samples per step over all devices), the sequence length, the number of steps and the model's \
             dimensions: one of them is too large. If the device was selected by hand, check it too.",
        )
        .passed("needed_tflops", needed * 1e-12, peak * 1e-12)
        .evidence(&format!("{what}_per_sec"), rate)
        .evidence("multiplied_params", params)
        .link(View::Overview, "")
        .fires()
}

/// Returns a lower bound for the number of parameters that each token is multiplied by. The number excludes embeddings:
/// the program looks up input embeddings, and may apply output embeddings only to the last token. `None` if the number
/// of parameters is unknown.
fn multiplied(numbers: &Numbers<'_>) -> Option<f64> {
    let counts = numbers.profile.parameter_counts.as_ref()?;
    let model = &numbers.profile.model_config;
    let experts = model.num_experts.is_some_and(|experts| experts > 1);
    let params = match counts.active_params {
        Some(active) => active,
        // The number of experts that process a token is unknown.
        None if experts => return None,
        None => counts.total_params,
    };
    let rest = params as f64 - looked_up(model);
    (rest > 0.0).then_some(rest)
}

fn looked_up(model: &ModelConfig) -> f64 {
    let product = |a: Option<u64>, b: Option<u64>| a.zip(b).map_or(0.0, |(a, b)| a as f64 * b as f64);
    let matrices = if model.tied_embeddings == Some(true) { 1.0 } else { 2.0 };
    matrices * product(model.vocab_size, model.model_dims)
        + product(model.num_items, model.item_embedding_dim)
        + product(model.num_clusters, model.model_dims)
}
