//! Writes XSpaces for tests: just the wire format, field numbers as the caller gives them.

/// A message being written.
#[derive(Clone, Default)]
pub(crate) struct Message(pub Vec<u8>);

impl Message {
    fn number(&mut self, mut value: u64) {
        while value > 127 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn int(mut self, field: u64, value: i64) -> Message {
        self.number(field << 3);
        self.number(value as u64);
        self
    }

    pub fn double(mut self, field: u64, value: f64) -> Message {
        self.number(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn bytes(mut self, field: u64, value: impl AsRef<[u8]>) -> Message {
        self.number(field << 3 | 2);
        self.number(value.as_ref().len() as u64);
        self.0.extend(value.as_ref());
        self
    }

    pub fn message(self, field: u64, value: Message) -> Message {
        self.bytes(field, value.0)
    }

    /// An entry of a plane's metadata: `field` 4 for events, 5 for stats; `body` is the metadata without its id.
    pub fn entry(self, field: u64, id: i64, body: Message) -> Message {
        let body = [message().int(1, id).0, body.0].concat();
        self.message(field, message().int(1, id).bytes(2, body))
    }

    pub fn event_metadata(self, id: i64, name: &str) -> Message {
        self.entry(4, id, message().bytes(2, name))
    }

    pub fn stat_metadata(self, id: i64, name: &str) -> Message {
        self.entry(5, id, message().bytes(2, name))
    }
}

/// An empty message.
pub(crate) fn message() -> Message {
    Message::default()
}

/// An event without stats.
pub(crate) fn event(metadata_id: i64, offset_ps: i64, duration_ps: i64) -> Message {
    message().int(1, metadata_id).int(2, offset_ps).int(3, duration_ps)
}

/// A GPU plane with two kernels, a copy and an aggregated event; a host; the capture's times; texts of the profiler.
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
