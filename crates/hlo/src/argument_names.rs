//! Derives the role of an argument from its name: `state.params['w']` is a parameter, and `opt_state[0].mu['w']` is optimizer
//! state. JAX names arguments after the function's parameters and the paths inside them.

/// Names of arguments with parameters, and parts of such names.
const PARAMETERS: [&str; 9] =
    ["params", "parameters", "param", "weights", "model", "variables", "trainable", "trainable_params", "frozen"];
/// Prefixes and suffixes in the names of arguments with parameters: `frozen_params`, `params_frozen`, `model_params`.
const PART_OF_NAME: [&str; 3] = ["params", "frozen", "trainable"];
/// Names of optimizer state, which is passed from step to step.
const OPTIMIZER_STATE: [&str; 14] = [
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
    "inner_state",
    "inner_states",
];
/// Names of gradients that are accumulated over several steps.
const GRADIENTS: [&str; 1] = ["grad_accum"];
/// Names of a program's inputs.
const INPUTS: [&str; 2] = ["batch", "inputs"];
/// Names of other values that change in a step and are not parameters.
const OTHERS: [&str; 5] = ["batch_stats", "cache", "loss_scale", "metrics", "rng"];

/// Role of an argument according to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedRole<'n> {
    /// Parameters, with the part of the name that identifies them.
    Parameters(&'n str),
    /// Optimizer state, which is passed from step to step.
    OptimizerState,
    /// Gradients.
    Gradients,
    /// Inputs of the program.
    Inputs,
    /// Other values that are not parameters.
    Other,
}

impl NamedRole<'_> {
    /// Returns the role for a name, or `None` if the name does not reveal a role. An optimizer's copies of parameters are
    /// treated as optimizer state.
    pub fn of(name: &str) -> Option<NamedRole<'_>> {
        let parts = parts(name);
        let has = |names: &[&str]| parts.iter().any(|part| names.contains(part));
        if has(&OPTIMIZER_STATE) {
            Some(NamedRole::OptimizerState)
        } else if has(&GRADIENTS) {
            Some(NamedRole::Gradients)
        } else if has(&INPUTS) {
            Some(NamedRole::Inputs)
        } else if has(&OTHERS) {
            Some(NamedRole::Other)
        } else {
            parts.into_iter().find(|part| is_group(part)).map(NamedRole::Parameters)
        }
    }
}

/// Returns true if a part of a name indicates that everything nested in it is a parameter.
fn is_group(part: &str) -> bool {
    PARAMETERS.contains(&part) || PART_OF_NAME.iter().any(|of| part.starts_with(of) || part.ends_with(of))
}

/// Splits a name into its parts: `state`, `params`, `Dense_0`, `kernel` for `state.params['Dense_0']['kernel']`.
pub fn parts(name: &str) -> Vec<&str> {
    name.split(['.', '[', ']', '\'', '"']).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_roles() {
        for (name, role) in [
            ("state.params['w']", Some(NamedRole::Parameters("params"))),
            ("frozen_params['w']", Some(NamedRole::Parameters("frozen_params"))),
            ("opt_state[0].mu['params']['w']", Some(NamedRole::OptimizerState)),
            ("state.grad_accum['params']['w']", Some(NamedRole::Gradients)),
            ("batch['x']", Some(NamedRole::Inputs)),
            ("state.batch_stats['mean']", Some(NamedRole::Other)),
            ("x", None),
        ] {
            assert_eq!(NamedRole::of(name), role, "{name}");
        }
    }

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(parts("state.params['Dense_0']['kernel']"), ["state", "params", "Dense_0", "kernel"]);
        assert_eq!(parts("args[0]['w'].value"), ["args", "0", "w", "value"]);
    }
}
