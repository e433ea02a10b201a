//! Finds the parameters that a training step trains, from the way in which the compiled program changes its arguments
//! ([`hlo::arguments`]).
//!
//! ```text
//! params['embed']['table']       comes back unchanged          frozen
//! params['head']['w']            comes back updated            trained
//! frozen['block']['w']           does not come back            frozen: its name marks it as a parameter
//! opt_state[0].mu['head']['w']   belongs to the optimizer      not a parameter
//! x, y                           do not come back, no group    input
//! ```
//!
//! Considers only programs that compute gradients, and uses the program that trains the most arrays. The names are JAX's names
//! of the arguments. If a program contains no names, the result is unknown.

use std::collections::BTreeSet;

use base::sort;
use hlo::{Argument, Module, Modules, NamedRole, Outcome, argument_parts, arguments, has_gradients};
use report::LayerFreezing;

const MOST_NAMES: usize = 100;

/// Finds the frozen parameters of a run's training step. Returns `None` if no program shows which parameters are
/// frozen.
pub(crate) fn layer_freezing(modules: &Modules, ran: &BTreeSet<i64>) -> Option<LayerFreezing> {
    let is_known = |program: i64| ran.is_empty() || ran.contains(&program);
    let found = modules.of_programs(is_known).filter_map(of_module);
    // If several programs train the same number of arrays, the first one is used.
    found.reduce(|most, it| if it.trained_arrays > most.trained_arrays { it } else { most })
}

/// Finds the frozen parameters of one program. Returns `None` if the program computes no gradients, or if it changes no
/// argument whose name identifies a parameter.
pub fn of_module(module: &Module) -> Option<LayerFreezing> {
    if !has_gradients(module) {
        return None;
    }
    let arguments = arguments(module);
    // Each argument, with the part of its name that marks it as a parameter.
    let floats: Vec<(&Argument<'_>, Option<&str>)> = arguments
        .iter()
        .filter(|it| it.shape.data_type.is_floating() && !it.name.is_empty())
        .map(|it| (it, NamedRole::of(it.name)))
        .filter_map(|(it, role)| match role {
            None => Some((it, None)),
            Some(NamedRole::Parameters(group)) => Some((it, Some(group))),
            Some(_) => None,
        })
        .collect();
    let updated = |argument: &Argument<'_>| argument.outcome == Outcome::Updated;
    // If the name of any updated argument identifies a parameter, only arguments with such names are parameters.
    let named = floats.iter().any(|(argument, group)| updated(argument) && group.is_some());
    let groups: BTreeSet<&str> = floats
        .iter()
        .filter(|(argument, _)| updated(argument))
        .filter_map(|(argument, group)| if named { *group } else { first_part(argument) })
        .collect();
    let is_parameter = |(argument, group): &(&Argument<'_>, Option<&str>)| {
        (named && group.is_some()) || (!named && first_part(argument).is_some_and(|first| groups.contains(first)))
    };
    let parameters: Vec<&(&Argument<'_>, Option<&str>)> = floats.iter().filter(|it| is_parameter(it)).collect();
    let trained: Vec<&Argument<'_>> = parameters.iter().map(|it| it.0).filter(|it| updated(it)).collect();
    let is_whole = module.devices().is_none_or(|(_, partitions)| partitions == 1)
        || parameters.iter().all(|it| it.0.sharding == "{replicated}");
    // If the program is partitioned, the new value of a part may be computed from other parts. So arguments that are
    // not returned may still be trained.
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

/// Returns the first part of the argument's name: `state` for `state.params['w']`.
fn first_part<'n>(argument: &Argument<'n>) -> Option<&'n str> {
    argument_parts(argument.name).into_iter().next()
}

/// Returns the names of the frozen arrays. Replaces each name with the shortest scope that contains only frozen arrays.
fn scopes(frozen: &[&Argument<'_>], others: &[&Argument<'_>]) -> Vec<String> {
    // Each prefix of a name in `others` contains an array that is not frozen.
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

/// Returns the prefixes of a name, shortest first: `state`, `state.params`, `state.params['a']` for
/// `state.params['a']`.
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
        assert_eq!(beginnings("s.p['a'][0]"), ["s", "s.p", "s.p['a']", "s.p['a'][0]"]);
    }
}
