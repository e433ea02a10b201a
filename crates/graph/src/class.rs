//! Classes of instructions, which determine the colour of a node. XProf's graph viewer uses the same classes.

use serde::{Deserialize, Serialize};

/// Class of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A group of instructions.
    Group,
    /// Start or end of asynchronous work.
    Async,
    /// Communication between devices, and with the host.
    Collective,
    /// Matrix multiplications, convolutions and other linear algebra.
    Matrix,
    /// Calls, loops, conditionals and custom calls.
    Call,
    /// Fusions.
    Fusion,
    /// Copies, transposes, slices and other data movement.
    Movement,
    /// Parameters.
    Parameter,
    /// Reductions, gathers, scatters and sorts.
    Reduction,
    /// Broadcasts and in-place updates.
    Broadcast,
    /// All other instructions.
    #[default]
    Elementwise,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 11] = [
        Class::Group,
        Class::Async,
        Class::Collective,
        Class::Matrix,
        Class::Call,
        Class::Fusion,
        Class::Movement,
        Class::Parameter,
        Class::Reduction,
        Class::Broadcast,
        Class::Elementwise,
    ];

    /// Returns the class of an opcode.
    pub fn of_opcode(opcode: &str) -> Class {
        let base = opcode.strip_suffix("-start").or_else(|| opcode.strip_suffix("-done")).unwrap_or(opcode);
        match base {
            "all-gather"
            | "all-reduce"
            | "all-to-all"
            | "ragged-all-to-all"
            | "collective-broadcast"
            | "collective-permute"
            | "reduce-scatter"
            | "partition-id"
            | "replica-id"
            | "send"
            | "recv"
            | "infeed"
            | "outfeed" => Class::Collective,
            "dot" | "ragged-dot" | "scaled-dot" | "convolution" | "fft" | "triangular-solve" | "cholesky" => {
                Class::Matrix
            }
            "async" | "async-update" => Class::Async,
            _ if base.len() < opcode.len() => Class::Async,
            "call" | "conditional" | "custom-call" | "while" => Class::Call,
            "fusion" => Class::Fusion,
            "bitcast" | "bitcast-convert" | "concatenate" | "copy" | "dynamic-reshape" | "dynamic-slice" | "pad"
            | "reshape" | "reverse" | "slice" | "transpose" | "tuple" | "get-tuple-element" => Class::Movement,
            "parameter" => Class::Parameter,
            "gather"
            | "reduce"
            | "reduce-window"
            | "scatter"
            | "select-and-scatter"
            | "sort"
            | "topk"
            | "batch-norm-grad"
            | "batch-norm-inference"
            | "batch-norm-training" => Class::Reduction,
            "broadcast" | "dynamic-update-slice" => Class::Broadcast,
            _ => Class::Elementwise,
        }
    }

    /// Returns the name that style sheets and legends use.
    pub fn name(self) -> &'static str {
        match self {
            Class::Group => "group",
            Class::Async => "async",
            Class::Collective => "collective",
            Class::Matrix => "matrix",
            Class::Call => "call",
            Class::Fusion => "fusion",
            Class::Movement => "movement",
            Class::Parameter => "parameter",
            Class::Reduction => "reduction",
            Class::Broadcast => "broadcast",
            Class::Elementwise => "elementwise",
        }
    }

    /// Returns the fill and the border of a node on a light background.
    pub fn colours(self) -> (&'static str, &'static str) {
        match self {
            Class::Group => ("#f4f5f7", "#8a94a6"),
            Class::Async => ("#d6e9ff", "#3b82c4"),
            Class::Collective => ("#ecdfd3", "#8d5a2b"),
            Class::Matrix => ("#cdd8f0", "#1f3f8f"),
            Class::Call => ("#cfe8d6", "#1b6b3a"),
            Class::Fusion => ("#e6e6e6", "#6b6b6b"),
            Class::Movement => ("#e2f4da", "#5b9a3c"),
            Class::Parameter => ("#ffe3c2", "#c9761a"),
            Class::Reduction => ("#e8daf3", "#7d3fae"),
            Class::Broadcast => ("#fff3c4", "#b39415"),
            Class::Elementwise => ("#ffffff", "#7a7a7a"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_have_the_classes_of_xprof() {
        for (opcode, class) in [
            ("all-reduce-start", Class::Collective),
            ("copy-start", Class::Async),
            ("async-done", Class::Async),
            ("dot", Class::Matrix),
            ("while", Class::Call),
            ("fusion", Class::Fusion),
            ("transpose", Class::Movement),
            ("parameter", Class::Parameter),
            ("scatter", Class::Reduction),
            ("dynamic-update-slice", Class::Broadcast),
            ("tanh", Class::Elementwise),
        ] {
            assert_eq!(Class::of_opcode(opcode), class, "{opcode}");
        }
    }
}
