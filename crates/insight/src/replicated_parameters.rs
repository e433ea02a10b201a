//! Every device keeps the same parameters.

use super::draft::Draft;
use super::memory::{LEAST_BYTES, VIEW, largest_program, name, of_peak};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "replicated_parameters", title: "Devices hold the same parameters", check };

/// Share of the peak that sharding would save (ours: below, the communication that it adds costs more than it is worth).
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
        format!("; the largest is {argument} ({})", format::bytes(*bytes))
    });
    let message = format!(
        "{} arguments of {} with {} are there on several of its {} devices, with the same content{largest}. Sharded, each device would hold \
         {} less.",
        format::count(found.arguments),
        name(program),
        format::bytes(found.bytes),
        format::count(found.devices),
        format::bytes(found.saved_bytes)
    );
    Draft::new(
        FindingSeverity::Note,
        Confidence::Medium,
        &format!("Copies of parameters are {} of the peak", format::percent(percent)),
        message,
    )
    .remedy(
        "If memory is short, shard parameters and optimizer state over the axis of the batch (fully sharded data parallelism): give them a \
         jax.NamedSharding with that axis on a dimension that it divides. The program then gathers each parameter before it is used, which \
         costs communication. The table of arguments lists the copies of each.",
    )
    .passed("replicated_percent", percent, PERCENT)
    .evidence("saved_bytes", found.saved_bytes as f64)
    .evidence("replicated_bytes", found.bytes as f64)
    .evidence("devices", found.devices as f64)
    .link(VIEW, "")
    .fires()
}
