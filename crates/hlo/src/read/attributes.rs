//! Reads the messages of an instruction's attributes.

use std::cell::Cell;

use super::fields::{bytes, fields, int, ints, text};
use crate::attributes::{
    Attributes, ConvolutionDimensions, DotDimensions, GatherDimensions, ReplicaGroups, TriangularSolve, WindowDimension,
};

/// Reads `xla.Window`.
pub(super) fn window(message: &[u8], damaged: &Cell<bool>) -> Vec<WindowDimension> {
    let dimensions = fields(message, damaged).filter(|(number, _)| *number == 1);
    dimensions.map(|(_, value)| window_dimension(bytes(value), damaged)).collect()
}

fn window_dimension(message: &[u8], damaged: &Cell<bool>) -> WindowDimension {
    let mut window = WindowDimension {
        size: 0,
        stride: 1,
        padding_low: 0,
        padding_high: 0,
        window_dilation: 1,
        base_dilation: 1,
        reversal: false,
    };
    for (number, value) in fields(message, damaged) {
        let value = int(value);
        match number {
            1 => window.size = value,
            2 => window.stride = value,
            3 => window.padding_low = value,
            4 => window.padding_high = value,
            5 => window.window_dilation = value,
            6 => window.base_dilation = value,
            7 => window.reversal = value != 0,
            _ => {}
        }
    }
    window
}

/// Reads `xla.ConvolutionDimensionNumbers`.
pub(super) fn convolution(message: &[u8], damaged: &Cell<bool>) -> ConvolutionDimensions {
    let mut found = ConvolutionDimensions::default();
    for (number, value) in fields(message, damaged) {
        match number {
            3 => found.kernel_input_feature = int(value),
            4 => found.kernel_output_feature = int(value),
            6 => ints(value, &mut found.kernel_spatial),
            7 => found.input_batch = int(value),
            8 => found.input_feature = int(value),
            9 => found.output_batch = int(value),
            10 => found.output_feature = int(value),
            11 => ints(value, &mut found.input_spatial),
            12 => ints(value, &mut found.output_spatial),
            _ => {}
        }
    }
    found
}

/// Reads `xla.DotDimensionNumbers`.
pub(super) fn dot(message: &[u8], damaged: &Cell<bool>) -> DotDimensions {
    let mut found = DotDimensions::default();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => ints(value, &mut found.lhs_contracting),
            2 => ints(value, &mut found.rhs_contracting),
            3 => ints(value, &mut found.lhs_batch),
            4 => ints(value, &mut found.rhs_batch),
            _ => {}
        }
    }
    found
}

/// Reads `xla.RaggedDotDimensionNumbers`.
pub(super) fn ragged_dot(message: &[u8], damaged: &Cell<bool>, own: &mut Attributes) {
    for (number, value) in fields(message, damaged) {
        match number {
            1 => own.dot = Some(Box::new(dot(bytes(value), damaged))),
            2 => ints(value, &mut own.ragged_dimensions),
            3 => ints(value, &mut own.group_dimensions),
            _ => {}
        }
    }
}

/// Reads `xla.GatherDimensionNumbers` or `xla.ScatterDimensionNumbers`, which have the same field numbers.
pub(super) fn gather(message: &[u8], damaged: &Cell<bool>) -> GatherDimensions {
    let mut found = GatherDimensions::default();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => ints(value, &mut found.offset),
            2 => ints(value, &mut found.collapsed),
            3 => ints(value, &mut found.start_index_map),
            4 => found.index_vector = int(value),
            5 => ints(value, &mut found.operand_batching),
            6 => ints(value, &mut found.index_batching),
            _ => {}
        }
    }
    found
}

/// Reads `xla.TriangularSolveOptions`.
pub(super) fn triangular_solve(message: &[u8], damaged: &Cell<bool>) -> TriangularSolve {
    let mut found = TriangularSolve::default();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => found.left_side = int(value) != 0,
            2 => found.lower = int(value) != 0,
            3 => found.unit_diagonal = int(value) != 0,
            4 => found.transpose = int(value),
            _ => {}
        }
    }
    found
}

/// Reads `xla.CholeskyOptions`.
pub(super) fn lower(message: &[u8], damaged: &Cell<bool>) -> bool {
    fields(message, damaged).any(|(number, value)| number == 1 && int(value) != 0)
}

/// Reads `xla.PaddingConfig`.
pub(super) fn padding(message: &[u8], damaged: &Cell<bool>) -> Vec<(i64, i64, i64)> {
    let dimensions = fields(message, damaged).filter(|(number, _)| *number == 1);
    let dimension = |message| {
        let mut padding = (0, 0, 0);
        for (number, value) in fields(message, damaged) {
            match number {
                1 => padding.0 = int(value),
                2 => padding.1 = int(value),
                3 => padding.2 = int(value),
                _ => {}
            }
        }
        padding
    };
    dimensions.map(|(_, value)| dimension(bytes(value))).collect()
}

/// Reads `xla.PrecisionConfig`.
pub(super) fn precision(message: &[u8], damaged: &Cell<bool>, own: &mut Attributes) {
    for (number, value) in fields(message, damaged) {
        match number {
            1 => ints(value, &mut own.operand_precision),
            2 => own.dot_algorithm = int(value),
            _ => {}
        }
    }
}

/// Reads `xla.SourceTarget`.
pub(super) fn pair(message: &[u8], damaged: &Cell<bool>) -> (i64, i64) {
    let mut pair = (0, 0);
    for (number, value) in fields(message, damaged) {
        match number {
            1 => pair.0 = int(value),
            2 => pair.1 = int(value),
            _ => {}
        }
    }
    pair
}

/// Reads `xla.OutputOperandAliasing`.
pub(super) fn aliasing(message: &[u8], damaged: &Cell<bool>) -> (Vec<i64>, i64, Vec<i64>) {
    let mut found = (Vec::new(), 0, Vec::new());
    for (number, value) in fields(message, damaged) {
        match number {
            1 => ints(value, &mut found.0),
            2 => found.1 = int(value),
            3 => ints(value, &mut found.2),
            _ => {}
        }
    }
    found
}

/// Reads `xla.FrontendAttributes`, a map of texts.
pub(super) fn frontend(message: &[u8], damaged: &Cell<bool>) -> Vec<(String, String)> {
    let entries = fields(message, damaged).filter(|(number, _)| *number == 1);
    let entry = |message| {
        let mut entry = (String::new(), String::new());
        for (number, value) in fields(message, damaged) {
            match number {
                1 => entry.0 = text(value),
                2 => entry.1 = text(value),
                _ => {}
            }
        }
        entry
    };
    entries.map(|(_, value)| entry(bytes(value))).collect()
}

/// Appends one `xla.ReplicaGroup`.
pub(super) fn replica_group(message: &[u8], damaged: &Cell<bool>, groups: &mut Option<ReplicaGroups>) {
    let mut members = Vec::new();
    fields(message, damaged).filter(|(number, _)| *number == 1).for_each(|(_, value)| ints(value, &mut members));
    match groups.get_or_insert_with(|| ReplicaGroups::Lists(Vec::new())) {
        ReplicaGroups::Lists(lists) => lists.push(members),
        // Newer writers write both forms. The compact form is complete.
        ReplicaGroups::Iota { .. } | ReplicaGroups::Mesh(_) => {}
    }
}

/// Reads `xla.CollectiveDeviceListProto`. An empty list means that all devices form one group.
pub(super) fn device_list(message: &[u8], damaged: &Cell<bool>, groups: &mut Option<ReplicaGroups>) {
    let (mut lists, mut iota) = (None, None);
    for (number, value) in fields(message, damaged) {
        match number {
            1 => replica_group(bytes(value), damaged, &mut lists),
            2 => iota = Some(self::iota(bytes(value), damaged)),
            _ => {}
        }
    }
    *groups = Some(iota.or(lists).unwrap_or(ReplicaGroups::Lists(Vec::new())));
}

/// Reads `xla.IotaReplicaGroupListProto`, which is inside the list's message or, in newer instructions, a separate message.
pub(super) fn iota(message: &[u8], damaged: &Cell<bool>) -> ReplicaGroups {
    let (mut groups, mut group_size, mut reshape, mut transpose) = (0, 0, Vec::new(), Vec::new());
    for (number, value) in fields(message, damaged) {
        match number {
            1 => groups = int(value),
            2 => group_size = int(value),
            3 => ints(value, &mut reshape),
            4 => ints(value, &mut transpose),
            _ => {}
        }
    }
    ReplicaGroups::Iota { groups, group_size, reshape, transpose }
}
