//! Category of an instruction, in XLA's terms.

use super::cost::elementwise::is_elementwise;
use super::{Instruction, Module};

/// Returns the category of an instruction in XLA's terms: `loop fusion`, `data formatting`, `non-fusion elementwise`,
/// `convolution window-dilated` and so on. Returns the opcode if XLA defines no category.
pub fn category(module: &Module, instruction: &Instruction) -> String {
    let named = match instruction.opcode.as_str() {
        "transpose" | "copy" | "reshape" | "dynamic-reshape" => "data formatting",
        "fusion" => match instruction.attributes().fusion_kind.as_str() {
            "kLoop" => "loop fusion",
            "kInput" => "input fusion",
            "kOutput" => "output fusion",
            "kCustom" => "custom fusion",
            _ => "fusion",
        },
        "convolution" => convolution(instruction),
        _ if is_elementwise(module, instruction) => "non-fusion elementwise",
        opcode => opcode,
    };
    named.to_owned()
}

fn convolution(instruction: &Instruction) -> &'static str {
    let window = &instruction.attributes().window;
    let base = window.iter().any(|dimension| dimension.base_dilation != 1);
    let dilated = window.iter().any(|dimension| dimension.window_dilation != 1);
    match (base, dilated) {
        (false, false) => "convolution",
        (true, false) => "convolution base-dilated",
        (false, true) => "convolution window-dilated",
        (true, true) => "convolution base-dilated window-dilated",
    }
}
