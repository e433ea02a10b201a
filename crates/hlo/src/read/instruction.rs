//! Reads `xla.HloInstructionProto`.

use std::cell::Cell;

use base::wire::{Reader, Value};

use super::attributes;
use super::fields::{bytes, fields, int, ints, text};
use super::{literal, mesh, shape, sharding};
use crate::attributes::{Attributes, ReplicaGroups, SliceDimension};
use crate::instruction::{ComputationIndex, Instruction, Metadata};

/// A field that only a few instructions have.
pub(super) type Rare<'a> = (u32, Value<'a>);

/// Reads one instruction of the computation with the index `computation`. Operands and called computations of the
/// result are still the [lower halves](low) of ids. `rare` is a buffer for the instruction's rare fields.
pub(super) fn read<'a>(
    message: &'a [u8],
    damaged: &Cell<bool>,
    computation: ComputationIndex,
    rare: &mut Vec<Rare<'a>>,
) -> Instruction {
    let mut instruction = Instruction { computation, ..Instruction::default() };
    let mut parameter_number = None;
    rare.clear();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => instruction.name = text(value),
            2 => instruction.opcode = text(value),
            3 => instruction.shape = shape::shape(bytes(value), damaged),
            7 => instruction.metadata = metadata(bytes(value), damaged),
            9 => parameter_number = Some(int(value)),
            35 => instruction.id = int(value),
            36 => ids(value, &mut instruction.operands),
            38 => ids(value, &mut instruction.called),
            _ => rare.push((number, value)),
        }
    }
    // Every instruction has this field, but it is meaningful only for parameters. The number 0 is not written.
    let parameter_number = (instruction.opcode == "parameter").then(|| parameter_number.unwrap_or(0));
    if parameter_number.is_some() || !rare.is_empty() {
        let own = Attributes { parameter_number, ..attributes_of(rare, damaged) };
        instruction.attributes = (own != Attributes::NONE).then(|| Box::new(own));
    }
    instruction
}

/// Appends the lower halves of a repeated field of ids, packed or not.
fn ids(value: Value<'_>, out: &mut Vec<u32>) {
    match value {
        Value::Varint(id) => out.push(low(id.cast_signed())),
        Value::Bytes(packed) => {
            let mut packed = Reader::new(packed);
            out.extend(std::iter::from_fn(|| packed.varint()).map(|id| low(id.cast_signed())));
        }
        _ => {}
    }
}

/// Returns the half of an id that is always present. Some writers put the computation's id into the upper half of an
/// instruction's id, but omit that half in references to the instruction.
pub(super) fn low(id: i64) -> u32 {
    id as u32
}

/// Reads the rare fields. This is a separate function, because its result is larger than all other parts of an
/// instruction together.
fn attributes_of(rare: &[Rare<'_>], damaged: &Cell<bool>) -> Attributes {
    let mut own = Attributes::NONE;
    for &(number, value) in rare {
        match number {
            8 => own.literal = literal::scalar(bytes(value), damaged).unwrap_or_default(),
            11 => own.fusion_kind = text(value),
            13 => own.tuple_index = int(value),
            14 => ints(value, &mut own.dimensions),
            15 => own.window = attributes::window(bytes(value), damaged),
            16 => own.convolution = Some(Box::new(attributes::convolution(bytes(value), damaged))),
            17 => own.slices.push(slice(bytes(value), damaged)),
            18 => own.reduced_precision.get_or_insert_default().0 = int(value),
            19 => own.reduced_precision.get_or_insert_default().1 = int(value),
            20 => ints(value, &mut own.dynamic_slice_sizes),
            21 => own.padding = attributes::padding(bytes(value), damaged),
            23 => own.distribution = int(value),
            26 => own.channel_id = int(value),
            28 => own.custom_call_target = text(value),
            30 => own.dot = Some(Box::new(attributes::dot(bytes(value), damaged))),
            31 => own.fft_type = int(value),
            32 => ints(value, &mut own.fft_length),
            33 | 48 => own.gather = Some(Box::new(attributes::gather(bytes(value), damaged))),
            34 => ints(value, &mut own.gather_slice_sizes),
            40 => own.sharding = sharding::text(bytes(value), damaged),
            43 => own.backend_config = std::str::from_utf8(bytes(value)).unwrap_or_default().to_owned(),
            45 if own.channel_id <= 0 => own.channel_id = int(value),
            47 => own.is_host_transfer = int(value) != 0,
            49 => attributes::replica_group(bytes(value), damaged, &mut own.replica_groups),
            50 => own.feature_group_count = int(value),
            51 => attributes::precision(bytes(value), damaged, &mut own),
            52 => own.source_target_pairs.push(attributes::pair(bytes(value), damaged)),
            57 => own.operand_layouts.push(shape::shape(bytes(value), damaged)),
            58 => own.batch_group_count = int(value),
            59 => own.triangular_solve = Some(attributes::triangular_solve(bytes(value), damaged)),
            60 => own.is_stable = int(value) != 0,
            62 => own.lower = attributes::lower(bytes(value), damaged),
            63 => own.comparison_direction = text(value),
            67 => own.indices_are_sorted = int(value) != 0,
            68 => own.frontend_attributes = attributes::frontend(bytes(value), damaged),
            69 => own.unique_indices = int(value) != 0,
            70 => own.random_algorithm = int(value),
            71 => own.use_global_device_ids = int(value) != 0,
            74 => own.aliasing.push(attributes::aliasing(bytes(value), damaged)),
            77 => own.api_version = int(value),
            79 => own.async_thread = text(value),
            81 => own.k = int(value),
            87 => attributes::device_list(bytes(value), damaged, &mut own.replica_groups),
            92 => own.replica_groups = Some(attributes::iota(bytes(value), damaged)),
            93 => own.replica_groups = Some(ReplicaGroups::Mesh(Box::new(mesh::axes(bytes(value), damaged)))),
            90 => attributes::ragged_dot(bytes(value), damaged, &mut own),
            _ => {}
        }
    }
    own
}

fn metadata(message: &[u8], damaged: &Cell<bool>) -> Metadata {
    let mut metadata = Metadata::default();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => metadata.op_type = text(value),
            2 => metadata.op_name = text(value),
            3 => metadata.source_file = text(value),
            4 => metadata.source_line = int(value),
            12 => metadata.deduplicated_name = text(value),
            15 => metadata.stack_frame = int(value),
            _ => {}
        }
    }
    metadata
}

fn slice(message: &[u8], damaged: &Cell<bool>) -> SliceDimension {
    let mut slice = SliceDimension::default();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => slice.start = int(value),
            2 => slice.limit = int(value),
            3 => slice.stride = int(value),
            _ => {}
        }
    }
    slice
}
