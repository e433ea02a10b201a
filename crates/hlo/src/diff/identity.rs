//! Identity of a single instruction: hashes of its parts. Names and numbers that differ between compilations are left
//! out.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::attributes::Attributes;
use crate::instruction::Instruction;
use crate::shape::{ArrayShape, Shape};

/// Hashes of the parts of an instruction. Identical parts have the same hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    /// Opcode and the target of a custom call.
    pub opcode: u64,
    /// Dimensions of the result.
    pub dimensions: u64,
    /// Data types of the result.
    pub data_types: u64,
    /// Layouts of the result, if the file records them.
    pub layout: u64,
    /// Sharding.
    pub sharding: u64,
    /// Other attributes.
    pub attributes: u64,
    /// Index of the tuple element that the instruction takes.
    pub element: i64,
    /// Framework path. Zero if unknown.
    pub path: u64,
    /// Framework path without its last part. Zero if unknown.
    pub scope: u64,
}

/// Mixes two hashes into one. The order matters.
pub(super) fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.rotate_left(23) ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns the hash of a value.
pub(super) fn hash(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    mix(hasher.finish(), 1)
}

impl Identity {
    /// Returns the identity of an instruction.
    pub(super) fn of(instruction: &Instruction) -> Identity {
        let own = instruction.attributes();
        let (path, scope) = paths(&instruction.metadata.op_name);
        let mut identity = Identity {
            opcode: hash((&instruction.opcode, instruction.custom_call_target())),
            sharding: sharding(own),
            attributes: attributes(instruction),
            element: own.tuple_index,
            path,
            scope,
            ..Identity::default()
        };
        identity.read_shape(&instruction.shape);
        identity
    }

    /// Adds a shape. The recursion is not deep, because the reader of modules limits the nesting of tuples.
    fn read_shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Array(ArrayShape { data_type, dimensions, dynamic, layout }) => {
                self.data_types = mix(self.data_types, hash(data_type));
                self.dimensions = mix(self.dimensions, hash((dimensions, dynamic)));
                self.layout = mix(self.layout, layout.as_ref().map_or(0, hash));
            }
            Shape::Tuple(shapes) => {
                for part in [&mut self.data_types, &mut self.dimensions] {
                    *part = mix(*part, shapes.len() as u64);
                }
                shapes.iter().for_each(|shape| self.read_shape(shape));
            }
            Shape::Token | Shape::Opaque | Shape::Unknown => {
                self.data_types = mix(self.data_types, hash(std::mem::discriminant(shape)));
            }
        }
    }
}

/// Returns true for instructions that return a tuple only to pass values on. The shape of such a tuple follows from values
/// elsewhere in the program, so it does not identify the instruction.
pub(super) fn passes_tuple(instruction: &Instruction) -> bool {
    let passes =
        ["tuple", "while", "parameter", "conditional", "call", "opt-barrier"].contains(&instruction.opcode.as_str());
    passes && matches!(instruction.shape, Shape::Tuple(_))
}

/// Returns true if the order of the operands does not matter.
pub(super) fn is_commutative(opcode: &str) -> bool {
    ["add", "multiply", "maximum", "minimum", "and", "or", "xor"].contains(&opcode)
}

/// Returns true for attributes that describe the sharding in the notation of Shardy.
pub(super) fn is_of_sharding(name: &str) -> bool {
    name.starts_with("xla.sdy")
}

fn sharding(own: &Attributes) -> u64 {
    let shardy = frontend(own, true);
    if own.sharding.is_empty() && shardy == 0 { 0 } else { mix(hash(&own.sharding), shardy) }
}

/// If `of_sharding` is true, returns the hash of the frontend attributes that describe the sharding. Otherwise, returns
/// the hash of all other frontend attributes. The order of the attributes does not matter.
fn frontend(own: &Attributes, of_sharding: bool) -> u64 {
    let chosen = own.frontend_attributes.iter().filter(|(name, _)| is_of_sharding(name) == of_sharding);
    chosen.fold(0, |sum, attribute| sum.wrapping_add(hash(attribute)))
}

/// Returns the hash of the attributes. Leaves out the sharding, and values that differ between compilations or follow
/// from operands: channels, parameter numbers, and indices of tuple elements. Values that some files omit are
/// normalised.
fn attributes(instruction: &Instruction) -> u64 {
    let own = instruction.attributes();
    let Attributes {
        parameter_number: _,
        tuple_index: _,
        dimensions,
        window,
        convolution,
        feature_group_count,
        batch_group_count,
        slices,
        dynamic_slice_sizes,
        padding,
        dot,
        ragged_dimensions,
        group_dimensions,
        fft_type,
        fft_length,
        gather_slice_sizes,
        gather,
        custom_call_target: _,
        backend_config,
        replica_groups,
        channel_id: _,
        use_global_device_ids,
        source_target_pairs,
        fusion_kind,
        sharding: _,
        frontend_attributes: _,
        comparison_direction,
        is_host_transfer,
        async_thread,
        operand_precision,
        dot_algorithm,
        k,
        is_stable,
        unique_indices,
        indices_are_sorted,
        reduced_precision,
        triangular_solve,
        lower,
        distribution,
        random_algorithm,
        literal,
        operand_layouts,
        aliasing,
        api_version,
    } = own;
    let precision: &[i64] = if operand_precision.iter().all(|&it| it == 0) { &[] } else { operand_precision };
    let version = if instruction.is("custom-call") { (*api_version).max(1) } else { *api_version };
    let of_shape = (dimensions, window, convolution, slices, dynamic_slice_sizes, padding, dot);
    let of_rare = (ragged_dimensions, group_dimensions, fft_type, fft_length, gather_slice_sizes, gather, k);
    let of_device = (replica_groups, use_global_device_ids, source_target_pairs, is_host_transfer, async_thread);
    let of_call = (backend_config, fusion_kind, operand_layouts, aliasing, version, frontend(own, false));
    let counts = ((*feature_group_count).max(1), (*batch_group_count).max(1), precision, dot_algorithm);
    let of_options = (is_stable, unique_indices, indices_are_sorted, reduced_precision, triangular_solve, lower);
    let of_random = (distribution, random_algorithm);
    hash((of_shape, of_rare, of_device, of_call, counts, of_options, of_random, (comparison_direction, literal)))
}

/// Returns the hashes of a framework path with and without its last part. Both hashes leave out the name of the
/// compiled function at the start of the path.
fn paths(op_name: &str) -> (u64, u64) {
    let of = |path: &str| if path.is_empty() { 0 } else { hash(path) };
    let path = match op_name.split_once('/') {
        Some((first, rest)) if first.starts_with("jit(") || first.starts_with("pjit(") => rest,
        _ => op_name,
    };
    (of(path), of(path.rsplit_once('/').map_or("", |(scope, _)| scope)))
}
