//! Every device stores a copy of the same parameters.
//!
//! Several devices store the same part of an argument of the largest program. Inputs are excluded. `replicated_percent`
//! is the share of the peak memory that each device would save if every device stored only its own part, `bytes * (1 -
//! 1 / copies)`. Severity: note from 25 % (ours: below this share, the added communication costs more). Confidence:
//! medium. Remedy: use fully sharded data parallelism. The rule is not reported for a single device.

use super::draft::Draft;
use super::memory::{LEAST_BYTES, largest_program, name, of_peak};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "replicated_parameters",
    title: "Devices store copies of the same parameters",
    ..Rule::checked_by(check)
};

/// Minimum share of the peak that sharding must save for the rule to fire. Below this share, the added communication
/// costs more.
const PERCENT: f64 = 25.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let program = match largest_program(numbers) {
        Ok(program) => program,
        Err(verdict) => return verdict,
    };
    let found = &program.replicated;
    if found.devices < 2 {
        return Verdict::Irrelevant;
    }
    let percent = of_peak(found.saved_bytes, program);
    if percent < PERCENT || found.saved_bytes < LEAST_BYTES {
        return Verdict::Fine;
    }
    let largest = found.largest.as_ref().map_or_else(String::new, |(argument, bytes)| {
        let argument = if argument.is_empty() { "unnamed".to_owned() } else { format::printable(argument) };
        format!(" The largest is {argument} ({}).", format::bytes(*bytes))
    });
    let message = format!(
        "{} arguments ({}) of {} are replicated on several of the {} devices. Sharding them would save {} on each \
         device.{largest}",
        format::count(found.arguments),
        format::bytes(found.bytes),
        name(program),
        format::count(found.devices),
        format::bytes(found.saved_bytes)
    );
    Draft::new(
        FindingSeverity::Note,
        Confidence::Medium,
        &format!("Sharding the replicated parameters would save {} of the peak memory", format::percent(percent)),
        message,
    )
    .remedy(
        "If memory is short, shard parameters and optimizer state over the batch axis (fully sharded data \
         parallelism): give them a jax.NamedSharding with that axis on a dimension that its size divides. The program \
         then gathers each parameter before use, which costs communication. The table of arguments lists the copies \
         of each argument.",
    )
    .passed("replicated_percent", percent, PERCENT)
    .evidence("saved_bytes", found.saved_bytes as f64)
    .evidence("replicated_bytes", found.bytes as f64)
    .evidence("devices", found.devices as f64)
    .link(View::Memory, "")
    .fires()
}
