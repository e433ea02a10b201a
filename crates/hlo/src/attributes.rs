//! Attributes that only some opcodes have.

use super::shape::Shape;

/// Attributes of one instruction; empty, 0 or `None` where it has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Attributes {
    /// Number of a parameter.
    pub parameter_number: Option<i64>,
    /// Index that a get-tuple-element takes.
    pub tuple_index: i64,
    /// Dimensions of a broadcast, reduce, concatenate, transpose, sort, collective ...
    pub dimensions: Vec<i64>,
    /// Window of a convolution, reduce-window or select-and-scatter.
    pub window: Vec<WindowDimension>,
    /// Dimension numbers of a convolution.
    pub convolution: Option<Box<ConvolutionDimensions>>,
    /// Groups of features of a convolution, 0 where unset.
    pub feature_group_count: i64,
    /// Groups of batches of a convolution, 0 where unset.
    pub batch_group_count: i64,
    /// Ranges of a slice, one a dimension.
    pub slices: Vec<SliceDimension>,
    /// Sizes of a dynamic-slice.
    pub dynamic_slice_sizes: Vec<i64>,
    /// Padding of a pad: `(low, high, interior)`, one a dimension.
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
    /// Numbers of a gather or scatter, as [`GatherDimensions`] names them.
    pub gather: Option<Box<GatherDimensions>>,
    /// Target of a custom call.
    pub custom_call_target: String,
    /// The backend's own configuration: JSON on GPUs and CPUs; bytes that are no text are left out.
    pub backend_config: String,
    /// How the devices of a collective are grouped, `None` where the file does not say it.
    pub replica_groups: Option<ReplicaGroups>,
    /// Channel of a collective, send or recv; 0 when it has none.
    pub channel_id: i64,
    /// Are the ids in the groups those of devices rather than of replicas?
    pub use_global_device_ids: bool,
    /// `(source, target)` of a collective-permute.
    pub source_target_pairs: Vec<(i64, i64)>,
    /// `kLoop`, `kInput`, `kOutput` or `kCustom`.
    pub fusion_kind: String,
    /// How the value is spread over devices, as HLO text.
    pub sharding: String,
    /// Attributes that the frontend set, by name.
    pub frontend_attributes: Vec<(String, String)>,
    /// Comparison of a compare (`LT`).
    pub comparison_direction: String,
    /// Is a send or recv one to or from the host?
    pub is_host_transfer: bool,
    /// Thread of an async computation, empty for the main one.
    pub async_thread: String,
    /// Precision of each operand of a dot or convolution: 0 default, 1 high, 2 highest.
    pub operand_precision: Vec<i64>,
    /// Algorithm of a dot (`xla.PrecisionConfig.Algorithm`), 0 unset.
    pub dot_algorithm: i64,
    /// K of a top-k.
    pub k: i64,
    /// Value of a constant that has one element, as HLO text.
    pub literal: String,
    /// Layouts that a custom call asks of its operands.
    pub operand_layouts: Vec<Shape>,
    /// `(output index, operand, operand index)` of results that share an operand's memory.
    pub aliasing: Vec<(Vec<i64>, i64, Vec<i64>)>,
    /// Version of a custom call's interface: 4 is the typed FFI.
    pub api_version: i64,
}

impl Attributes {
    /// Attributes of which none is set.
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
        literal: String::new(),
        operand_layouts: Vec::new(),
        aliasing: Vec::new(),
        api_version: 0,
    };
}

/// One dimension of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowDimension {
    /// Elements that the window covers.
    pub size: i64,
    /// Elements from one position to the next.
    pub stride: i64,
    /// Elements added before the first; negative ones are taken away.
    pub padding_low: i64,
    /// Elements added after the last; negative ones are taken away.
    pub padding_high: i64,
    /// Distance of the window's elements: 1 is dense.
    pub window_dilation: i64,
    /// Distance of the input's elements: 1 is dense.
    pub base_dilation: i64,
    /// Is the window applied from its end?
    pub reversal: bool,
}

/// The range `start..limit` of a slice and the step in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceDimension {
    /// First index.
    pub start: i64,
    /// First index that is not taken.
    pub limit: i64,
    /// Step.
    pub stride: i64,
}

/// What the dimensions of a dot's operands are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// What the dimensions of a convolution's input, kernel and output are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// Dimension numbers of a gather; a scatter's in brackets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatherDimensions {
    /// Offset dimensions (update window dimensions).
    pub offset: Vec<i64>,
    /// Collapsed slice dimensions (inserted window dimensions).
    pub collapsed: Vec<i64>,
    /// Start index map (scatter dimensions to operand dimensions).
    pub start_index_map: Vec<i64>,
    /// Dimension of the indices that holds one index vector.
    pub index_vector: i64,
}

/// How the devices of a collective are grouped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaGroups {
    /// The members of each group; no group at all means one group of all devices.
    Lists(Vec<Vec<i64>>),
    /// The numbers `0..` reshaped, transposed and cut into equal groups.
    Iota {
        /// Groups.
        groups: i64,
        /// Devices of a group.
        group_size: i64,
        /// Dimensions into which the numbers are reshaped.
        reshape: Vec<i64>,
        /// Order of these dimensions; empty keeps them.
        transpose: Vec<i64>,
    },
    /// Devices that lie along some axes of a mesh.
    Mesh(Box<MeshAxes>),
}

/// A mesh of devices, and the axes along which they are grouped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshAxes {
    /// Name and size of each axis, from major to minor.
    pub axes: Vec<(String, i64)>,
    /// The devices in the mesh's order; empty where that is `0..`, or an iota says it.
    pub device_ids: Vec<i64>,
    /// Dimensions and their order that make the devices of the mesh out of `0..`; empty where it needs none.
    pub device_iota: (Vec<i64>, Vec<i64>),
    /// The axes that a group spans, major first: index of the axis, and for part of one the size of what is more major than
    /// the part and the part's own.
    pub grouped: Vec<(i64, Option<(i64, i64)>)>,
}
