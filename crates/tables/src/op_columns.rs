//! Columns that op tables share, so that each number has the same definition in all of them.

use table::{Column, Unit, column};

pub(super) const DMA_STALL: Column = column(
    "dma_stall_percent",
    "Stalled by copies",
    Unit::Percent,
    "Time during which the op waited for a copy of its operands or results (`dma_stall_duration_ps` of its events), \
        as a share of its total time.",
)
.caveat(
    "Absent if no event in the trace records the stalls. XProf shows a fraction instead of a percentage, and 0 \
        instead of an absent value.",
)
.xprof("dma_stall_percent");

pub(super) const MODEL_FLOP_RATE: Column = column(
    "model_flop_rate_gflops",
    "Model FLOP/s",
    Unit::GigaflopsPerSecond,
    "Model FLOPs divided by total time, if the profile records model FLOPs separately.",
)
.xprof("model_flop_rate");

pub(super) const MEMORY_BANDWIDTH: Column = column(
    "measured_memory_bw_gibps",
    "Memory",
    Unit::GibibytesPerSecond,
    "All bytes read and written divided by total time, in 2^30 bytes per second.",
)
.caveat("For asynchronous pairs, the time from start to end is used.")
.xprof("measured_memory_bw");

pub(super) const HBM_BANDWIDTH: Column = column(
    "hbm_bw_gibps",
    "HBM",
    Unit::GibibytesPerSecond,
    "Bytes to and from main memory divided by total time. If the profile does not split bytes by memory, all bytes \
        are included.",
)
.xprof("hbm_bw");

pub(super) const CMEM_READ_BANDWIDTH: Column = column(
    "cmem_read_bw_gibps",
    "CMEM read",
    Unit::GibibytesPerSecond,
    "Bytes read from the common memory of a TPU divided by total time.",
)
.xprof("cmem_read_bw");

pub(super) const CMEM_WRITE_BANDWIDTH: Column = column(
    "cmem_write_bw_gibps",
    "CMEM write",
    Unit::GibibytesPerSecond,
    "Bytes written to the common memory of a TPU divided by total time.",
)
.xprof("cmem_write_bw");

pub(super) const VMEM_READ_BANDWIDTH: Column = column(
    "vmem_read_bw_gibps",
    "VMEM read",
    Unit::GibibytesPerSecond,
    "Bytes read from the vector memory of a TPU divided by total time.",
);

pub(super) const VMEM_WRITE_BANDWIDTH: Column = column(
    "vmem_write_bw_gibps",
    "VMEM write",
    Unit::GibibytesPerSecond,
    "Bytes written to the vector memory of a TPU divided by total time.",
);

pub(super) const INTENSITY: Column =
    column("operational_intensity", "FLOPs/byte", Unit::FlopsPerByte, "FLOPs divided by all bytes read and written.")
        .xprof("operational_intensity");

pub(super) const DATA_TYPE: Column = column(
    "data_type",
    "Type",
    Unit::Text,
    "Data type of the operands of the main arithmetic. If there is none, \
        the data type of the result.",
)
.source("HLO.");

pub(super) const COST_SOURCE: Column =
    column("cost_source", "Cost from", Unit::Text, "Source of FLOPs and bytes: `profile`, `hlo` or `from shapes`.");

pub(super) const SOURCE: Column = column(
    "source_info",
    "Source",
    Unit::Text,
    "Source file and line: the innermost frame of the call stack outside libraries. Empty for ops that XLA added \
        without a source line, such as copies.",
)
.caveat("See [Source lines](#source-lines). XProf shows the line that XLA records, which may be in a library.")
.xprof("source_info");
