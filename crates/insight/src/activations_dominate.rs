//! Activations, the values that the forward pass keeps for the backward pass, fill the memory.
//!
//! `activation_percent` is the share of the largest program's peak memory that activations take: values of the forward
//! pass that are alive at the peak and that the backward pass frees. Severity: note from 50 % (ours: more than
//! everything else together) with at least 1 MiB, warning if the memory is also nearly full (see `near_memory_limit`).
//! Confidence: high. The message names the scopes that keep the most bytes. Remedy: put `jax.checkpoint` around the
//! largest scopes, or use smaller batches. The rule is skipped if the file contains no program with its buffers.

use super::draft::Draft;
use super::limits::NEARLY_FULL_PERCENT;
use super::memory::{LEAST_BYTES, fullest_device, largest_program, name, of_peak};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use memory::{Class, ScopeSum};
use report::{Confidence, FindingSeverity, View};
use trace::Framework;

pub(super) static RULE: Rule =
    Rule { id: "activations_dominate", title: "Activations fill the memory", ..Rule::checked_by(check) };

/// Activations dominate from this share of the peak: they then take more than everything else together.
const PERCENT: f64 = 50.0;
/// Number of scopes that the message names.
const NAMED: usize = 3;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let program = match largest_program(numbers) {
        Ok(program) => program,
        Err(verdict) => return verdict,
    };
    let bytes = program.summary.class_bytes(Class::Activation);
    let percent = of_peak(bytes, program);
    if percent < PERCENT || bytes < LEAST_BYTES {
        return Verdict::Fine;
    }
    let is_near_limit = fullest_device(numbers).is_ok_and(|(_, used)| used >= NEARLY_FULL_PERCENT);
    let scopes: Vec<String> = program.summary.activations.iter().take(NAMED).map(scope).collect();
    let message = format!(
        "At the peak of {}, activations kept for the backward pass take {} of {}. The largest come from: {}.",
        name(program),
        format::bytes(bytes),
        format::bytes(program.figures.peak_heap_bytes),
        scopes.join(", ")
    );
    let largest = program.summary.activations.first();
    Draft::new(
        if is_near_limit { FindingSeverity::Warning } else { FindingSeverity::Note },
        Confidence::High,
        &format!("Activations take {} of the peak memory", format::percent(percent)),
        message,
    )
    .remedy(&format!(
        "If memory is short, recompute activations in the backward pass: put {} around {}{}. \"What if\" on the Memory page \
         estimates the savings of each scope. Alternatively, accumulate gradients over smaller batches.",
        numbers.words().checkpoint,
        largest.filter(|it| !it.scope.is_empty()).map_or("the blocks of the model".to_owned(), |it| format!("the function with the scope {}", format::printable(&it.scope))),
        match numbers.trace.framework {
            Framework::Jax | Framework::Unknown =>
                " (a policy such as jax.checkpoint_policies.dots_with_no_batch_dims_saveable keeps the expensive ones)",
            Framework::TensorFlow | Framework::PyTorch => "",
        }
    ))
    .passed("activation_percent", percent, PERCENT)
    .evidence("activation_bytes", bytes as f64)
    .evidence("largest_scope_bytes", largest.map_or(0.0, |it| it.bytes as f64))
    .link(View::Memory, "")
    .fires()
}

fn scope(scope: &ScopeSum) -> String {
    let name = if scope.scope.is_empty() { "outside any scope".to_owned() } else { format::printable(&scope.scope) };
    format!("{name} {}", format::bytes(scope.bytes))
}
