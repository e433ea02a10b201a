//! Which parameters a training step trains, told by what its compiled program does to its arguments ([`hlo::arguments`]).
//!
//! ```text
//! params['embed']['table']       comes back unchanged          frozen
//! params['head']['w']            comes back updated            trained
//! frozen['block']['w']           does not come back            frozen: called a parameter by its name
//! opt_state[0].mu['head']['w']   an optimizer's                no parameter
//! x, y                           do not come back, no group    input
//! ```
//!
//! Only programs that compute gradients are looked at, and of these the one that trains most arrays. Names are those of JAX's
//! arguments; where a program has none, nothing is told.

use std::collections::BTreeSet;

use base::sort;
use hlo::{Argument, Module, Modules, Outcome, arguments, has_gradients};
use report::LayerFreezing;

/// Names of arguments, or of what is inside them, that hold parameters.
const PARAMETERS: [&str; 9] =
    ["params", "parameters", "param", "weights", "model", "variables", "trainable", "trainable_params", "frozen"];
/// The same by their beginning: `frozen_params`, `params_frozen`, `model_params`.
const PART_OF_NAME: [&str; 3] = ["params", "frozen", "trainable"];
/// Names of what changes in a step and is no parameter.
const OTHERS: [&str; 22] = [
    "opt_state",
    "opt",
    "optimizer",
    "optimizer_state",
    "opt_states",
    "mu",
    "nu",
    "momentum",
    "velocity",
    "trace",
    "ema",
    "ema_params",
    "batch_stats",
    "cache",
    "batch",
    "inputs",
    "inner_state",
    "inner_states",
    "loss_scale",
    "metrics",
    "rng",
    "grad_accum",
];

/// Names that are listed.
const MOST_NAMES: usize = 100;

/// What the training step of a run freezes; `None` where no program says so.
pub fn layer_freezing(modules: &Modules<'_>, ran: &BTreeSet<i64>) -> Option<LayerFreezing> {
    let is_known = |program: i64| ran.is_empty() || ran.contains(&program);
    let found = modules.of_programs(is_known).filter_map(of_module);
    // Of equals the first.
    found.reduce(|most, it| if it.trained_arrays > most.trained_arrays { it } else { most })
}

/// What one program freezes; `None` where it computes no gradients or changes no parameter that its arguments' names tell.
pub fn of_module(module: &Module) -> Option<LayerFreezing> {
    if !has_gradients(module) {
        return None;
    }
    let arguments = arguments(module);
    let floats: Vec<(&Argument<'_>, Vec<&str>)> = arguments
        .iter()
        .filter(|it| it.shape.data_type.is_floating() && !it.name.is_empty())
        .map(|it| (it, parts(it.name)))
        .filter(|(_, parts)| !parts.iter().any(|part| OTHERS.contains(part)))
        .collect();
    let updated = |argument: &Argument<'_>| argument.outcome == Outcome::Updated;
    // Where any argument is called parameters, only such ones are.
    let named = floats.iter().any(|(argument, parts)| updated(argument) && group(parts).is_some());
    let groups: BTreeSet<&str> = floats
        .iter()
        .filter(|(argument, _)| updated(argument))
        .filter_map(|(_, parts)| if named { group(parts) } else { parts.first().copied() })
        .collect();
    let is_parameter = |parts: &Vec<&str>| match group(parts) {
        Some(_) => named || parts.first().is_some_and(|first| groups.contains(first)),
        None => !named && parts.first().is_some_and(|first| groups.contains(first)),
    };
    let parameters: Vec<&(&Argument<'_>, Vec<&str>)> = floats.iter().filter(|it| is_parameter(&it.1)).collect();
    let trained: Vec<&Argument<'_>> = parameters.iter().map(|it| it.0).filter(|it| updated(it)).collect();
    let is_whole = module.devices().is_none_or(|(_, partitions)| partitions == 1)
        || parameters.iter().all(|it| it.0.sharding == "{replicated}");
    // The new value of a part may be computed from the parts of others: then nothing is known of what does not come back.
    let is_frozen =
        |it: &&Argument<'_>| it.outcome == Outcome::Unchanged || (is_whole && it.outcome != Outcome::Updated);
    let frozen: Vec<&Argument<'_>> = parameters.iter().map(|it| it.0).filter(is_frozen).collect();
    if trained.is_empty() {
        return None;
    }
    let elements = |of: &[&Argument<'_>]| {
        let product =
            |it: &&Argument<'_>| it.shape.dimensions.iter().try_fold(1u64, |all, size| all.checked_mul(*size));
        let sum = of.iter().try_fold(0u64, |sum, it| sum.checked_add(product(it)?));
        sum.filter(|_| is_whole)
    };
    let others: Vec<&Argument<'_>> = parameters.iter().map(|it| it.0).filter(|it| !is_frozen(it)).collect();
    let comes_back = parameters.iter().all(|it| it.0.outcome != Outcome::NotReturned);
    Some(LayerFreezing {
        program: module.name().to_owned(),
        confidence: if comes_back && named { "high" } else { "medium" }.to_owned(),
        trained_arrays: trained.len() as u64,
        frozen_arrays: frozen.len() as u64,
        trained_params: elements(&trained),
        frozen_params: elements(&frozen),
        frozen: scopes(&frozen, &others),
    })
}

/// The part of a name that says that parameters are below it.
fn group<'n>(parts: &[&'n str]) -> Option<&'n str> {
    let is_group = |part: &&&str| {
        PARAMETERS.contains(*part) || PART_OF_NAME.iter().any(|of| part.starts_with(of) || part.ends_with(of))
    };
    parts.iter().find(is_group).copied()
}

/// `state`, `params`, `Dense_0`, `kernel` of `state.params['Dense_0']['kernel']`.
fn parts(name: &str) -> Vec<&str> {
    name.split(['.', '[', ']', '\'', '"']).filter(|part| !part.is_empty()).collect()
}

/// Names of the frozen arrays; the longest scopes that hold frozen arrays only stand for their arrays.
fn scopes(frozen: &[&Argument<'_>], others: &[&Argument<'_>]) -> Vec<String> {
    // Every beginning of another name holds an array that is not frozen.
    let mut has_others: BTreeSet<&str> = BTreeSet::new();
    for argument in others {
        has_others.extend(beginnings(argument.name));
    }
    let scope = |argument: &&Argument<'_>| {
        let free = beginnings(argument.name).into_iter().find(|scope| !has_others.contains(scope));
        free.unwrap_or(argument.name).to_owned()
    };
    let names = sort::map(frozen.iter().map(|argument| (scope(argument), ())));
    names.into_keys().take(MOST_NAMES).collect()
}

/// `state`, `state.params`, `state.params['a']` of `state.params['a']`: shortest first.
fn beginnings(name: &str) -> Vec<&str> {
    let mut ends: Vec<usize> = Vec::new();
    for (at, byte) in name.bytes().enumerate() {
        if matches!(byte, b'.' | b'[') && at > 0 {
            ends.push(at);
        }
    }
    ends.push(name.len());
    ends.into_iter().filter_map(|end| name.get(..end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(parts("state.params['Dense_0']['kernel']"), ["state", "params", "Dense_0", "kernel"]);
        assert_eq!(parts("args[0]['w'].value"), ["args", "0", "w", "value"]);
        assert_eq!(beginnings("s.p['a'][0]"), ["s", "s.p", "s.p['a']", "s.p['a'][0]"]);
        assert_eq!(group(&["state", "params", "w"]), Some("params"));
        assert_eq!((group(&["frozen_params", "w"]), group(&["x"])), (Some("frozen_params"), None));
    }
}
