//! Builds XSpace messages for tests.

pub(crate) use wire_writer::{Message, message};

/// Builds an event without stats.
pub(crate) fn event(metadata_id: i64, offset_ps: i64, duration_ps: i64) -> Message {
    message().int(1, metadata_id).int(2, offset_ps).int(3, duration_ps)
}

/// Builds a file with a GPU plane that has two kernels, a copy and an aggregated event. The file also has a host plane,
/// the times of the capture and messages of the profiler.
pub(crate) fn sample() -> Vec<u8> {
    let kernel = |id, offset, correlation, op| {
        event(id, offset, 2_000)
            .message(4, message().int(1, 1).int(3, correlation))
            .message(4, message().int(1, 2).int(7, 11))
            .message(4, message().int(1, 3).int(7, op))
            .message(4, message().int(1, 4).bytes(5, "XlaModule:"))
            .message(4, message().int(1, 8).int(4, -7))
    };
    let stream = message()
        .int(1, 7)
        .bytes(2, "Stream #7(Compute)")
        .int(3, 5)
        .message(4, kernel(1, 100, 41, 12))
        .message(4, kernel(2, 5_000, 42, 13))
        .message(4, event(3, 9_000, 10).message(4, message().int(1, 6).bytes(5, "size:4 dest:0 async:1")))
        .message(4, message().int(1, 1).int(5, 99).int(3, 1_000));
    let gpu = message()
        .int(1, 1)
        .bytes(2, "/device:GPU:0")
        .message(3, stream)
        .event_metadata(1, "gemm")
        .entry(
            4,
            2,
            message()
                .bytes(2, "%fusion.2 = f32[8] fusion(%p)")
                .bytes(4, "fusion.2")
                .message(5, message().int(1, 9).int(4, 640)),
        )
        .event_metadata(3, "MemcpyD2H")
        .stat_metadata(1, "correlation_id")
        .stat_metadata(2, "hlo_module")
        .stat_metadata(3, "name")
        .stat_metadata(4, "tf_op")
        .stat_metadata(6, "memcpy_details")
        .stat_metadata(7, "memory_size")
        .stat_metadata(8, "program_id")
        .stat_metadata(9, "bytes_accessed")
        .stat_metadata(10, "peak")
        .stat_metadata(11, "jit_train_step")
        .stat_metadata(12, "jit(train_step)/dot_general")
        .stat_metadata(13, "jit(train_step)/add")
        .message(6, message().int(1, 7).int(3, 16 << 30))
        .message(6, message().int(1, 10).double(2, 1.5));
    let thread = message().int(1, 3).bytes(2, "100").bytes(11, "python").message(
        4,
        event(1, 50, 400).message(4, message().int(1, 1).int(4, 6)).message(4, message().int(1, 2).int(3, 3)),
    );
    let host = message()
        .bytes(2, "/host:CPU")
        .message(3, thread)
        .event_metadata(1, "train")
        .stat_metadata(1, "step_num")
        .stat_metadata(2, "run_id");
    let task = message()
        .bytes(2, "Task Environment")
        .stat_metadata(1, "profile_start_time")
        .stat_metadata(2, "profile_stop_time")
        .message(6, message().int(1, 1).int(3, 1_700_000_000_000_000_000))
        .message(6, message().int(1, 2).int(3, 1_700_000_000_000_001_000));
    let space = message().message(1, gpu).message(1, host).message(1, task);
    space.bytes(2, "CUPTI is busy").bytes(3, "12 GPU events were dropped").bytes(4, "machine-1").0
}
