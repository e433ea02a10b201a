//! What the name of an argument says it holds: `state.params['w']` parameters, `opt_state[0].mu['w']` an optimizer's state. Names
//! are those that JAX gives to arguments: the function's own names and the paths inside them.

/// Names of arguments, or of what is inside them, that hold parameters.
const PARAMETERS: [&str; 9] =
    ["params", "parameters", "param", "weights", "model", "variables", "trainable", "trainable_params", "frozen"];
/// Beginnings and ends of names that hold parameters: `frozen_params`, `params_frozen`, `model_params`.
const PART_OF_NAME: [&str; 3] = ["params", "frozen", "trainable"];
/// Names of what an optimizer keeps from step to step.
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
/// Names of gradients that are summed over several steps.
const GRADIENTS: [&str; 1] = ["grad_accum"];
/// Names of what a program is given to work on.
const INPUTS: [&str; 2] = ["batch", "inputs"];
/// Names of what else changes in a step and is no parameter.
const OTHERS: [&str; 5] = ["batch_stats", "cache", "loss_scale", "metrics", "rng"];

/// What an argument's name says it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedRole<'n> {
    /// Parameters; with the part of the name that says so.
    Parameters(&'n str),
    /// What an optimizer keeps from step to step.
    OptimizerState,
    /// Gradients.
    Gradients,
    /// What the program is given to work on.
    Inputs,
    /// Something else that is no parameter.
    Other,
}

impl NamedRole<'_> {
    /// The role that a name says; `None` where it says none. What an optimizer keeps of parameters is the optimizer's.
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

/// Does a part of a name say that parameters are below it?
fn is_group(part: &str) -> bool {
    PARAMETERS.contains(&part) || PART_OF_NAME.iter().any(|of| part.starts_with(of) || part.ends_with(of))
}

/// `state`, `params`, `Dense_0`, `kernel` of `state.params['Dense_0']['kernel']`.
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
