//! Subset of `xla/service/hlo.proto` for buffer assignments, with XLA's field numbers. Names are stored as bytes, so
//! that an invalid UTF-8 name does not make the message unreadable.

use prost::Message;

/// `xla.LogicalBufferProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct LogicalBuffer {
    #[prost(int64, tag = "1")]
    pub id: i64,
    #[prost(int64, tag = "2")]
    pub size: i64,
    #[prost(message, optional, tag = "3")]
    pub defined_at: Option<Location>,
    #[prost(int64, tag = "4")]
    pub color: i64,
}

/// `xla.LogicalBufferProto.Location`. Older writers store the instruction's name, and newer writers store its id.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Location {
    #[prost(bytes = "vec", tag = "2")]
    pub instruction_name: Vec<u8>,
    #[prost(int64, repeated, tag = "3")]
    pub shape_index: Vec<i64>,
    #[prost(int64, tag = "4")]
    pub instruction_id: i64,
}

/// `xla.BufferAllocationProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct BufferAllocation {
    #[prost(int64, tag = "1")]
    pub index: i64,
    #[prost(int64, tag = "2")]
    pub size: i64,
    #[prost(bool, tag = "3")]
    pub is_thread_local: bool,
    #[prost(bool, tag = "5")]
    pub is_entry_computation_parameter: bool,
    #[prost(int64, tag = "6")]
    pub parameter_number: i64,
    #[prost(bool, tag = "7")]
    pub maybe_live_out: bool,
    #[prost(int64, tag = "8")]
    pub color: i64,
    #[prost(message, repeated, tag = "9")]
    pub assigned: Vec<Assigned>,
    #[prost(int64, repeated, tag = "10")]
    pub parameter_shape_index: Vec<i64>,
    #[prost(bool, tag = "11")]
    pub is_tuple: bool,
    #[prost(bool, tag = "12")]
    pub is_constant: bool,
}

/// `xla.BufferAllocationProto.Assigned`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Assigned {
    #[prost(int64, tag = "1")]
    pub logical_buffer_id: i64,
    #[prost(int64, tag = "2")]
    pub offset: i64,
}

/// `xla.HeapSimulatorTrace.Event`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Event {
    #[prost(int32, tag = "1")]
    pub kind: i32,
    #[prost(int64, tag = "2")]
    pub buffer_id: i64,
    #[prost(bytes = "vec", tag = "4")]
    pub instruction_name: Vec<u8>,
    #[prost(int64, tag = "5")]
    pub share_with_canonical_id: i64,
}

/// `xla.HloBufferDonorProto.BufferDonorEntryProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Donor {
    #[prost(int64, tag = "1")]
    pub parameter_number: i64,
}
