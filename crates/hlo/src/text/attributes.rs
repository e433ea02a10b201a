//! Reads the attributes after the operands of an instruction: `dimensions={0,1}, to_apply=%add, metadata={...}`.

use super::scan::{Scan, groups, inside, int, ints, numbers, text};
use super::shape::shapes;
use crate::MeshAxes;
use crate::attributes::{
    Attributes, ConvolutionDimensions, DotDimensions, GatherDimensions, ReplicaGroups, SliceDimension, TriangularSolve,
    WindowDimension,
};
use crate::instruction::Metadata;

/// Algorithms of a dot, by number in `xla.PrecisionConfig.Algorithm`.
const ALGORITHMS: [&[u8]; 14] = [
    b"unset",
    b"dot_any_f8_any_f8_f32",
    b"dot_any_f8_any_f8_f32_fast_accum",
    b"dot_f16_f16_f16",
    b"dot_f16_f16_f32",
    b"dot_bf16_bf16_bf16",
    b"dot_bf16_bf16_f32",
    b"dot_bf16_bf16_f32_x3",
    b"dot_bf16_bf16_f32_x6",
    b"dot_tf32_tf32_f32",
    b"dot_tf32_tf32_f32_x3",
    b"dot_f32_f32_f32",
    b"dot_f64_f64_f64",
    b"dot_bf16_bf16_f32_x9",
];

/// Names of the API versions, by number.
const API_VERSIONS: [&[u8]; 5] = [
    b"API_VERSION_UNSPECIFIED",
    b"API_VERSION_ORIGINAL",
    b"API_VERSION_STATUS_RETURNING",
    b"API_VERSION_STATUS_RETURNING_UNIFIED",
    b"API_VERSION_TYPED_FFI",
];
const FFT_TYPES: [&[u8]; 4] = [b"FFT", b"IFFT", b"RFFT", b"IRFFT"];
const TRANSPOSES: [&[u8]; 4] = [b"TRANSPOSE_INVALID", b"NO_TRANSPOSE", b"TRANSPOSE", b"ADJOINT"];
const DISTRIBUTIONS: [&[u8]; 3] = [b"rng_invalid", b"rng_uniform", b"rng_normal"];
const RANDOM_ALGORITHMS: [&[u8]; 3] = [b"rng_default", b"rng_three_fry", b"rng_philox"];
const PRECISIONS: [&[u8]; 4] = [b"default", b"high", b"highest", b"packed_nibble"];

/// Values of the attributes of one instruction.
#[derive(Default)]
pub(super) struct Read<'a> {
    pub own: Option<Box<Attributes>>,
    pub metadata: Metadata,
    /// Names of the called computations, in the order of the proto.
    pub called: Vec<&'a [u8]>,
}

impl<'a> Read<'a> {
    pub(super) fn own(&mut self) -> &mut Attributes {
        self.own.get_or_insert_with(|| Box::new(Attributes::NONE))
    }

    /// Reads the attributes up to the end of the text. Unknown attributes are skipped.
    pub(super) fn all(&mut self, scan: &mut Scan<'a>) {
        while let Some((key, value)) = scan.pair() {
            match key {
                b"metadata" => self.metadata = metadata(inside(value)),
                b"to_apply" | b"calls" | b"condition" | b"body" | b"true_computation" | b"false_computation"
                | b"select" | b"scatter" => self.called.push(value),
                b"branch_computations" | b"called_computations" => {
                    let mut list = Scan(inside(value));
                    self.called.extend(std::iter::from_fn(|| list.next()));
                }
                b"replica_groups" if value.starts_with(b"mesh") => {
                    let mesh = mesh(value, scan);
                    self.own().replica_groups = Some(ReplicaGroups::Mesh(Box::new(mesh)));
                }
                _ => self.attribute(key, value),
            }
            // The proto lists the body of a loop before its condition.
            if key == b"body" && self.called.len() == 2 {
                self.called.swap(0, 1);
            }
        }
    }

    fn attribute(&mut self, key: &[u8], value: &[u8]) {
        let own = self.own();
        match key {
            b"dimensions" | b"iota_dimension" | b"inferred_dimension" => own.dimensions = ints(value),
            b"index" => own.tuple_index = int(value),
            b"kind" => own.fusion_kind = text(value),
            b"direction" => own.comparison_direction = text(value),
            b"custom_call_target" => own.custom_call_target = text(value),
            b"backend_config" => own.backend_config = text(value),
            b"async_execution_thread" => own.async_thread = text(value),
            b"sharding" => own.sharding = without_comments(value),
            b"channel_id" => own.channel_id = int(value),
            b"feature_group_count" => own.feature_group_count = int(value),
            b"batch_group_count" => own.batch_group_count = int(value),
            b"k" => own.k = int(value),
            b"use_global_device_ids" => own.use_global_device_ids = value == b"true",
            b"is_host_transfer" => own.is_host_transfer = value == b"true",
            b"dynamic_slice_sizes" => own.dynamic_slice_sizes = ints(value),
            b"fft_length" => own.fft_length = ints(value),
            b"slice_sizes" => own.gather_slice_sizes = ints(value),
            b"lhs_ragged_dims" => own.ragged_dimensions = ints(value),
            b"rhs_group_dims" => own.group_dimensions = ints(value),
            b"lhs_contracting_dims" => dot(own).lhs_contracting = ints(value),
            b"rhs_contracting_dims" => dot(own).rhs_contracting = ints(value),
            b"lhs_batch_dims" => dot(own).lhs_batch = ints(value),
            b"rhs_batch_dims" => dot(own).rhs_batch = ints(value),
            b"offset_dims" | b"update_window_dims" => gathered(own).offset = ints(value),
            b"collapsed_slice_dims" | b"inserted_window_dims" => gathered(own).collapsed = ints(value),
            b"start_index_map" | b"scatter_dims_to_operand_dims" => gathered(own).start_index_map = ints(value),
            b"index_vector_dim" => gathered(own).index_vector = int(value),
            b"operand_batching_dims" | b"input_batching_dims" => gathered(own).operand_batching = ints(value),
            b"start_indices_batching_dims" | b"scatter_indices_batching_dims" => {
                gathered(own).index_batching = ints(value);
            }
            b"is_stable" => own.is_stable = value == b"true",
            b"unique_indices" => own.unique_indices = value == b"true",
            b"indices_are_sorted" => own.indices_are_sorted = value == b"true",
            b"exponent_bits" => own.reduced_precision.get_or_insert_default().0 = int(value),
            b"mantissa_bits" => own.reduced_precision.get_or_insert_default().1 = int(value),
            b"distribution" => own.distribution = place(&DISTRIBUTIONS, value),
            b"lower" => own.lower = value == b"true",
            b"left_side" => triangular(own).left_side = value == b"true",
            b"unit_diagonal" => triangular(own).unit_diagonal = value == b"true",
            b"transpose_a" => triangular(own).transpose = place(&TRANSPOSES, value),
            b"window" => own.window = window(inside(value)),
            b"dim_labels" => own.convolution = Some(Box::new(dim_labels(value))),
            b"slice" => own.slices = groups(inside(value)).map(slice).collect(),
            b"padding" => own.padding = value.split(|&byte| byte == b'x').map(padding).collect(),
            b"fft_type" => own.fft_type = place(&FFT_TYPES, value),
            b"api_version" => own.api_version = place(&API_VERSIONS, value),
            b"algorithm" if value.starts_with(b"rng_") => own.random_algorithm = place(&RANDOM_ALGORITHMS, value),
            b"algorithm" => own.dot_algorithm = place(&ALGORITHMS, value),
            b"operand_precision" => {
                let names = inside(value).split(|&byte| byte == b',');
                own.operand_precision = names.map(|name| place(&PRECISIONS, name)).collect();
            }
            b"operand_layout_constraints" => own.operand_layouts = shapes(inside(value)),
            b"output_to_operand_aliasing" => own.aliasing = aliasing(inside(value)).collect(),
            b"source_target_pairs" => own.source_target_pairs = groups(inside(value)).map(pair).collect(),
            b"replica_groups" => own.replica_groups = Some(replica_groups(value)),
            b"frontend_attributes" => {
                let mut list = Scan(inside(value));
                let pairs = std::iter::from_fn(|| list.pair());
                own.frontend_attributes = pairs.map(|(key, value)| (text(key), text(value))).collect();
            }
            _ => {}
        }
    }
}

fn dot(own: &mut Attributes) -> &mut DotDimensions {
    own.dot.get_or_insert_default()
}

fn gathered(own: &mut Attributes) -> &mut GatherDimensions {
    own.gather.get_or_insert_default()
}

fn triangular(own: &mut Attributes) -> &mut TriangularSolve {
    own.triangular_solve.get_or_insert_default()
}

/// Returns the position of a name in a list, or 0.
fn place(names: &[&[u8]], name: &[u8]) -> i64 {
    (0..).zip(names).find(|(_, it)| **it == name).map_or(0, |(place, _)| place)
}

fn metadata(list: &[u8]) -> Metadata {
    let mut metadata = Metadata::default();
    let mut scan = Scan(list);
    while let Some((key, value)) = scan.pair() {
        match key {
            b"op_type" => metadata.op_type = text(value),
            b"op_name" => metadata.op_name = text(value),
            b"source_file" => metadata.source_file = text(value),
            b"source_line" => metadata.source_line = int(value),
            b"deduplicated_name" => metadata.deduplicated_name = text(value),
            b"stack_frame_id" => metadata.stack_frame = int(value),
            _ => {}
        }
    }
    metadata
}

fn without_comments(value: &[u8]) -> String {
    let mut out = text(value);
    while let Some((before, rest)) = out.split_once("/*") {
        let after = rest.split_once("*/").map_or("", |(_, after)| after);
        out = format!("{before}{after}");
    }
    out
}

/// Reads `{0}: (3, {1}, may-alias), ...`: index in the output, operand, and index in the operand.
pub(super) fn aliasing(list: &[u8]) -> impl Iterator<Item = (Vec<i64>, i64, Vec<i64>)> {
    let mut groups = groups(list);
    std::iter::from_fn(move || {
        let (output, operand) = (groups.next()?, groups.next()?);
        let index = self::groups(operand).next().map(ints).unwrap_or_default();
        Some((ints(output), int(operand), index))
    })
}

fn pair(group: &[u8]) -> (i64, i64) {
    let mut numbers = numbers(group);
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Reads `0:8:2`.
fn slice(group: &[u8]) -> SliceDimension {
    let mut numbers = numbers(group);
    let mut next = |default| numbers.next().unwrap_or(default);
    SliceDimension { start: next(0), limit: next(0), stride: next(1) }
}

/// Reads `0_1_0`: low, high and interior padding.
fn padding(text: &[u8]) -> (i64, i64, i64) {
    let mut numbers = numbers(text);
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next())
}

/// Reads `size=1x2 stride=2x2 pad=0_1x1_0 lhs_dilate=1x2 rhs_dilate=2x1 rhs_reversal=1x0`.
fn window(list: &[u8]) -> Vec<WindowDimension> {
    let mut out: Vec<WindowDimension> = Vec::new();
    let mut scan = Scan(list);
    while let Some((key, value)) = scan.pair() {
        for (at, part) in value.split(|&byte| byte == b'x').enumerate() {
            if at == out.len() {
                out.push(WindowDimension {
                    size: 0,
                    stride: 1,
                    padding_low: 0,
                    padding_high: 0,
                    window_dilation: 1,
                    base_dilation: 1,
                    reversal: false,
                });
            }
            let Some(dimension) = out.get_mut(at) else { break };
            match key {
                b"size" => dimension.size = int(part),
                b"stride" => dimension.stride = int(part),
                b"pad" => (dimension.padding_low, dimension.padding_high) = pair(part),
                b"lhs_dilate" => dimension.base_dilation = int(part),
                b"rhs_dilate" => dimension.window_dilation = int(part),
                b"rhs_reversal" => dimension.reversal = int(part) != 0,
                _ => {}
            }
        }
    }
    out
}

/// Reads `b01f_01io->b01f`: the dimensions of input, kernel and output.
fn dim_labels(value: &[u8]) -> ConvolutionDimensions {
    let mut parts =
        value.split(|&byte| matches!(byte, b'_' | b'>')).map(|part| part.strip_suffix(b"-").unwrap_or(part));
    let mut next = |letters: [u8; 2]| {
        let part = parts.next().unwrap_or_default();
        let at = |label: u8| part.iter().position(|&it| it == label).and_then(|at| i64::try_from(at).ok());
        let spatial: Vec<i64> = (b'0'..=b'9').map_while(at).collect();
        let [first, second] = letters.map(|letter| at(letter).unwrap_or(0));
        (first, second, spatial)
    };
    let (input_batch, input_feature, input_spatial) = next([b'b', b'f']);
    let (kernel_input_feature, kernel_output_feature, kernel_spatial) = next([b'i', b'o']);
    let (output_batch, output_feature, output_spatial) = next([b'b', b'f']);
    ConvolutionDimensions {
        input_batch,
        input_feature,
        input_spatial,
        kernel_input_feature,
        kernel_output_feature,
        kernel_spatial,
        output_batch,
        output_feature,
        output_spatial,
    }
}

/// Reads `{{0,1},{2,3}}` or `[2,4]<=[4,2]T(1,0)`.
fn replica_groups(value: &[u8]) -> ReplicaGroups {
    if value.starts_with(b"{") {
        return ReplicaGroups::Lists(groups(inside(value)).map(ints).collect());
    }
    let mut parts = groups(value);
    let mut next = || parts.next().map(ints).unwrap_or_default();
    let (counts, reshape, mut transpose) = (next(), next(), next());
    if transpose.is_empty() {
        transpose = (0..).take(reshape.len()).collect();
    }
    let count = |at| counts.get(at).copied().unwrap_or(0);
    ReplicaGroups::Iota { groups: count(0), group_size: count(1), reshape, transpose }
}

/// Reads `mesh['a'=2,'b'=4]`, and `, device_ids=([4,2]T(1,0)) {'a','b':(1)2}` after it.
fn mesh(value: &[u8], scan: &mut Scan<'_>) -> MeshAxes {
    let unquoted = |name: &[u8]| String::from_utf8_lossy(name).trim_matches('\'').to_owned();
    let mut found = MeshAxes::default();
    let axes = groups(value).next().unwrap_or_default();
    for axis in axes.split(|&byte| byte == b',').filter(|axis| !axis.is_empty()) {
        let mut parts = axis.rsplitn(2, |&byte| byte == b'=');
        let size = parts.next().map_or(0, int);
        found.axes.push((unquoted(parts.next().unwrap_or_default()), size));
    }
    scan.blanks();
    if scan.eat(b", device_ids=") {
        let ids = scan.group().unwrap_or_default();
        let mut iota = groups(ids);
        match iota.next() {
            Some(reshape) => found.device_iota = (ints(reshape), iota.next().map(ints).unwrap_or_default()),
            None => found.device_ids = ints(ids),
        }
        if found.device_iota.1.is_empty() {
            found.device_iota.1 = (0..).take(found.device_iota.0.len()).collect();
        }
    }
    scan.blanks();
    let mut grouped = Scan(scan.group().unwrap_or_default());
    while let Some(item) = grouped.next() {
        let mut parts = item.splitn(2, |&byte| byte == b':');
        let name = unquoted(parts.next().unwrap_or_default());
        let axis = found.axes.iter().position(|axis| axis.0 == name).and_then(|at| i64::try_from(at).ok());
        found.grouped.push((axis.unwrap_or(-1), parts.next().map(pair)));
    }
    found
}
