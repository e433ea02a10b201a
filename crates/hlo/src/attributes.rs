//! Attributes of instructions that only some opcodes have.

use super::shape::Shape;

/// Attributes of one instruction. A field is empty, 0 or `None` if the instruction lacks the attribute.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Attributes {
    /// Position of a parameter among the parameters of its computation.
    pub parameter_number: Option<i64>,
    /// Index of the element that a get-tuple-element takes.
    pub tuple_index: i64,
    /// Dimensions of a broadcast, reduce, concatenate, transpose, sort, collective or similar instruction.
    pub dimensions: Vec<i64>,
    /// Window of a convolution, reduce-window or select-and-scatter.
    pub window: Vec<WindowDimension>,
    /// Dimension numbers of a convolution.
    pub convolution: Option<Box<ConvolutionDimensions>>,
    /// Number of feature groups of a convolution. Zero if unset.
    pub feature_group_count: i64,
    /// Number of batch groups of a convolution. Zero if unset.
    pub batch_group_count: i64,
    /// Ranges of a slice, one per dimension.
    pub slices: Vec<SliceDimension>,
    /// Sizes of a dynamic-slice.
    pub dynamic_slice_sizes: Vec<i64>,
    /// Padding of a pad: `(low, high, interior)` per dimension.
    pub padding: Vec<(i64, i64, i64)>,
    /// Dimension numbers of a dot.
    pub dot: Option<Box<DotDimensions>>,
    /// Ragged dimensions of the left operand of a ragged dot.
    pub ragged_dimensions: Vec<i64>,
    /// Group dimensions of the right operand of a ragged dot.
    pub group_dimensions: Vec<i64>,
    /// Type of an FFT: 0 FFT, 1 IFFT, 2 RFFT, 3 IRFFT.
    pub fft_type: i64,
    /// Lengths of an FFT.
    pub fft_length: Vec<i64>,
    /// Sizes of the slices that a gather takes.
    pub gather_slice_sizes: Vec<i64>,
    /// Dimension numbers of a gather or scatter.
    pub gather: Option<Box<GatherDimensions>>,
    /// Target of a custom call.
    pub custom_call_target: String,
    /// The backend's own configuration: JSON on GPUs and CPUs. Empty if it is not text.
    pub backend_config: String,
    /// Device groups of a collective. `None` if the file does not record them.
    pub replica_groups: Option<ReplicaGroups>,
    /// Channel of a collective, send or recv. Zero if the instruction has no channel.
    pub channel_id: i64,
    /// True if the ids in `replica_groups` are device ids instead of replica ids.
    pub use_global_device_ids: bool,
    /// `(source, target)` pairs of a collective-permute.
    pub source_target_pairs: Vec<(i64, i64)>,
    /// Kind of a fusion: `kLoop`, `kInput`, `kOutput` or `kCustom`.
    pub fusion_kind: String,
    /// Sharding of the instruction's value over devices, as HLO text.
    pub sharding: String,
    /// Attributes that the frontend set, by name.
    pub frontend_attributes: Vec<(String, String)>,
    /// Direction of a compare (`LT`).
    pub comparison_direction: String,
    /// True if a send or recv transfers to or from the host.
    pub is_host_transfer: bool,
    /// Thread of an async computation. Empty for the main thread.
    pub async_thread: String,
    /// Precision of each operand of a dot or convolution: 0 default, 1 high, 2 highest.
    pub operand_precision: Vec<i64>,
    /// Algorithm of a dot (`xla.PrecisionConfig.Algorithm`). Zero if unset.
    pub dot_algorithm: i64,
    /// Number of values that a top-k returns.
    pub k: i64,
    /// True if a sort keeps equal elements in order.
    pub is_stable: bool,
    /// True if no two indices of a gather or scatter are equal.
    pub unique_indices: bool,
    /// True if the indices of a gather or scatter are sorted.
    pub indices_are_sorted: bool,
    /// Bits of exponent and mantissa that a reduce-precision keeps.
    pub reduced_precision: Option<(i64, i64)>,
    /// Options of a triangular-solve.
    pub triangular_solve: Option<TriangularSolve>,
    /// True if a cholesky returns the lower factor.
    pub lower: bool,
    /// Distribution of an rng: 1 uniform, 2 normal. Zero if unset.
    pub distribution: i64,
    /// Algorithm of an rng-bit-generator: 0 default, 1 three-fry, 2 philox.
    pub random_algorithm: i64,
    /// Value of a constant with one element, as HLO text.
    pub literal: String,
    /// Layouts that a custom call requires for its operands.
    pub operand_layouts: Vec<Shape>,
    /// `(output index, operand, operand index)` of results that share the memory of an operand.
    pub aliasing: Vec<(Vec<i64>, i64, Vec<i64>)>,
    /// Version of a custom call's interface. Version 4 is the typed FFI.
    pub api_version: i64,
}

impl Attributes {
    /// Attributes of an instruction that has no attributes.
    pub const NONE: Attributes = Attributes {
        parameter_number: None,
        tuple_index: 0,
        dimensions: Vec::new(),
        window: Vec::new(),
        convolution: None,
        feature_group_count: 0,
        batch_group_count: 0,
        slices: Vec::new(),
        dynamic_slice_sizes: Vec::new(),
        padding: Vec::new(),
        dot: None,
        ragged_dimensions: Vec::new(),
        group_dimensions: Vec::new(),
        fft_type: 0,
        fft_length: Vec::new(),
        gather_slice_sizes: Vec::new(),
        gather: None,
        custom_call_target: String::new(),
        backend_config: String::new(),
        replica_groups: None,
        channel_id: 0,
        use_global_device_ids: false,
        source_target_pairs: Vec::new(),
        fusion_kind: String::new(),
        sharding: String::new(),
        frontend_attributes: Vec::new(),
        comparison_direction: String::new(),
        is_host_transfer: false,
        async_thread: String::new(),
        operand_precision: Vec::new(),
        dot_algorithm: 0,
        k: 0,
        is_stable: false,
        unique_indices: false,
        indices_are_sorted: false,
        reduced_precision: None,
        triangular_solve: None,
        lower: false,
        distribution: 0,
        random_algorithm: 0,
        literal: String::new(),
        operand_layouts: Vec::new(),
        aliasing: Vec::new(),
        api_version: 0,
    };
}

/// One dimension of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowDimension {
    /// Number of elements that the window covers.
    pub size: i64,
    /// Number of elements between two window positions.
    pub stride: i64,
    /// Number of elements added before the first element. Negative numbers remove elements.
    pub padding_low: i64,
    /// Number of elements added after the last element. Negative numbers remove elements.
    pub padding_high: i64,
    /// Distance between neighbouring elements of the window. 1 means dense.
    pub window_dilation: i64,
    /// Distance between neighbouring elements of the input. 1 means dense.
    pub base_dilation: i64,
    /// True if the window is applied in reverse.
    pub reversal: bool,
}

/// Range `start..limit` of a slice, and its stride.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SliceDimension {
    /// First index.
    pub start: i64,
    /// First index after the range.
    pub limit: i64,
    /// Distance between the selected indices.
    pub stride: i64,
}

/// Dimension numbers of a dot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DotDimensions {
    /// Dimensions of the left operand that are summed over.
    pub lhs_contracting: Vec<i64>,
    /// Dimensions of the right operand that are summed over.
    pub rhs_contracting: Vec<i64>,
    /// Batch dimensions of the left operand.
    pub lhs_batch: Vec<i64>,
    /// Batch dimensions of the right operand.
    pub rhs_batch: Vec<i64>,
}

/// Dimension numbers of a convolution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConvolutionDimensions {
    /// Batch dimension of the input.
    pub input_batch: i64,
    /// Feature dimension of the input.
    pub input_feature: i64,
    /// Spatial dimensions of the input.
    pub input_spatial: Vec<i64>,
    /// Input-feature dimension of the kernel.
    pub kernel_input_feature: i64,
    /// Output-feature dimension of the kernel.
    pub kernel_output_feature: i64,
    /// Spatial dimensions of the kernel.
    pub kernel_spatial: Vec<i64>,
    /// Batch dimension of the output.
    pub output_batch: i64,
    /// Feature dimension of the output.
    pub output_feature: i64,
    /// Spatial dimensions of the output.
    pub output_spatial: Vec<i64>,
}

/// Dimension numbers of a gather. A scatter has the same dimension numbers under other names, which are in parentheses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GatherDimensions {
    /// Offset dimensions (update window dimensions).
    pub offset: Vec<i64>,
    /// Collapsed slice dimensions (inserted window dimensions).
    pub collapsed: Vec<i64>,
    /// Start index map (scatter dimensions to operand dimensions).
    pub start_index_map: Vec<i64>,
    /// Dimension of the indices that contains the index vectors.
    pub index_vector: i64,
    /// Dimensions of the operand that the indices share.
    pub operand_batching: Vec<i64>,
    /// Dimensions of the indices that the operand shares, in the same order as `operand_batching`.
    pub index_batching: Vec<i64>,
}

/// Options of a triangular-solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TriangularSolve {
    /// True to solve `a x = b`, false to solve `x a = b`.
    pub left_side: bool,
    /// True if the matrix is lower triangular.
    pub lower: bool,
    /// True if the diagonal is assumed to contain ones.
    pub unit_diagonal: bool,
    /// 1 if the matrix is used as it is, 2 transposed, 3 adjoint.
    pub transpose: i64,
}

/// Device groups of a collective.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReplicaGroups {
    /// Members of each group. An empty list means one group of all devices.
    Lists(Vec<Vec<i64>>),
    /// The numbers `0..`, reshaped, transposed and cut into groups of the same size.
    Iota {
        /// Number of groups.
        groups: i64,
        /// Number of devices per group.
        group_size: i64,
        /// Dimensions that the numbers are reshaped to.
        reshape: Vec<i64>,
        /// Order of these dimensions after the transposition. Empty if they are not transposed.
        transpose: Vec<i64>,
    },
    /// Device groups along some axes of a mesh.
    Mesh(Box<MeshAxes>),
}

/// A mesh of devices, and the axes along which the devices are grouped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MeshAxes {
    /// Name and size of each axis, from major to minor.
    pub axes: Vec<(String, i64)>,
    /// Devices in the mesh's order. Empty if the devices are `0..`, or if `device_iota` gives them.
    pub device_ids: Vec<i64>,
    /// Dimensions to which `0..` is reshaped, and their order after a transposition. The result lists the devices of
    /// the mesh. Empty if the devices are `0..` or listed in `device_ids`.
    pub device_iota: (Vec<i64>, Vec<i64>),
    /// Axes that a group spans, major first. Each entry is the index of an axis. If the group spans only a part of the
    /// axis, the entry also contains two sizes: the size of the more major remainder and the size of the part.
    pub grouped: Vec<(i64, Option<(i64, i64)>)>,
}
