//! Several devices repeat the same computation: all arguments are replicated, and no data is exchanged.
//!
//! The program that takes the most time runs on several devices, which exchange no data. All arguments of the program
//! are replicated, and the program does not read the id of its device, so all devices compute the same values. The
//! impact is the busy share of the window that is spent on repeated work, `busy * (devices - 1) / devices`. Severity:
//! warning, critical from 50 %. Confidence: high. Remedy: shard the batch. The rule is not reported if the compiled
//! program is missing.

use super::draft::{Draft, lacks};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::format;
use hlo::{NamedRole, Outcome};
use metrics::Argument;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "replicated_work",
    title: "Several devices compute the same result",
    needs: Needs::Whole,
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (devices, ops) = (&numbers.context.analysis.devices.used, &numbers.context.analysis.ops);
    if devices.len() < 2 || numbers.communicates() {
        return Verdict::Irrelevant;
    }
    let Some(program_id) = ops.rows.first().and_then(|op| op.program_id) else { return Verdict::Irrelevant };
    let arguments: Vec<&Argument> =
        numbers.context.arguments().iter().filter(|argument| argument.program_id == program_id).collect();
    let Some(first) = arguments.first() else { return Verdict::Irrelevant };
    let Some(count) = first.devices.filter(|&count| count > 1) else { return Verdict::Fine };
    // Devices may compute different results if an argument is split, or if the program asks which device it runs on.
    let is_replicated = |argument: &&Argument| argument.copies() == Some(count);
    let asks = numbers.context.run.programs().modules.of_programs(|id| id == program_id).any(|module| {
        module.instructions().iter().any(|instruction| instruction.is("partition-id") || instruction.is("replica-id"))
    });
    if asks || !arguments.iter().all(is_replicated) {
        return Verdict::Fine;
    }
    let Some(window) = numbers.window() else {
        return lacks("too few device ops ran to measure how busy the devices are. Capture several steps.");
    };
    // One device could do this work alone. The other devices could compute other parts of the batch.
    let lost = window.busy_percent * (count - 1) as f64 / count as f64;
    let severity = if lost >= OVERHEAD_PERCENT.bad { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let module = first.program.split('(').next().unwrap_or(&first.program);
    let message = format!(
        "{} runs on {} devices. All of its {} are replicated, and the devices exchange no data. So each device computes the same \
         result, and more devices save no time.{}",
        shown(module),
        format::count(count),
        format::counted(arguments.len() as u64, "argument"),
        inputs(numbers, program_id),
    );
    Draft::new(severity, Confidence::High, &format!("All {} devices compute the same result", format::count(count)), message)
        .remedy(
            "Split the batch over the devices: jax.device_put(batch, NamedSharding(mesh, PartitionSpec(\"data\"))), with the batch \
             as its first dimension. Parameters may stay replicated. jax.debug.visualize_array_sharding shows the result.",
        )
        .evidence("devices", count as f64)
        .evidence("arguments", arguments.len() as f64)
        .at_stake(lost)
        .link(View::Devices, "")
        .fires()
}

/// Names the largest inputs of a program, as a sentence that starts with a space. An input is an argument that the program
/// does not return, and whose name does not mark it as a parameter or as state of an optimizer. Empty if there is none.
fn inputs(numbers: &Numbers<'_>, program_id: i64) -> String {
    let Some(module) = numbers.module(program_id) else { return String::new() };
    let all = hlo::arguments(module);
    let is_input = |it: &&hlo::Argument<'_>| {
        let is_array = !it.name.is_empty() && !it.shape.dimensions.is_empty();
        let may_be_input = matches!(NamedRole::of(it.name), None | Some(NamedRole::Inputs));
        is_array && may_be_input && it.outcome == Outcome::NotReturned
    };
    let mut inputs: Vec<&hlo::Argument<'_>> = all.iter().filter(is_input).collect();
    inputs.sort_by(|a, b| b.shape.bytes().total_cmp(&a.shape.bytes()).then(a.number.cmp(&b.number)));
    match inputs.as_slice() {
        [] => String::new(),
        [only] => format!(" Its input is {}.", shown(only.name)),
        [one, other] => format!(" Its inputs are {} and {}.", shown(one.name), shown(other.name)),
        [one, other, ..] => format!(" Its largest inputs are {} and {}.", shown(one.name), shown(other.name)),
    }
}
