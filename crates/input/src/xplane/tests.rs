//! Tests how the decoder reads and rejects files that these tests build.

use super::writer::{Message, event, message, sample};
use super::*;
use base::Severity;
use trace::{Args, Event, EventColumn, EventId, Framework, LineKind, StatValue, Trace};

pub(super) fn decode(bytes: &[u8], chunk: usize) -> Result<Trace, Error> {
    let mut decoder = XPlaneDecoder::new("some.xplane.pb");
    for part in bytes.chunks(chunk) {
        decoder.push(part)?;
    }
    decoder.finish()
}

fn read(space: Message) -> Trace {
    decode(&space.0, 4096).unwrap()
}

pub(super) fn events(trace: &Trace) -> Vec<Event> {
    trace.events.iter().collect()
}

/// Returns the index and the value of each event that has a value in this column.
pub(super) fn values(trace: &Trace, column: EventColumn) -> Vec<(u32, i64)> {
    trace.events.column(column).iter().map(|(id, value)| (id.get(), value)).collect()
}

fn rows(trace: &Trace) -> Vec<(&str, i64, i64)> {
    events(trace).into_iter().map(|e| (trace.text(e.name), e.start.as_ps(), e.duration.as_ps())).collect()
}

pub(super) fn codes(trace: &Trace) -> Vec<&str> {
    trace.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

/// Builds a host plane with one line, whose time is `timestamp_ns`.
fn one_line(timestamp_ns: i64, events: &[Message]) -> Message {
    let line = message().bytes(2, "line").int(3, timestamp_ns);
    let line = events.iter().fold(line, |line, event| line.message(4, event.clone()));
    message().message(1, message().bytes(2, "/host:CPU").message(3, line).event_metadata(1, "op"))
}

#[test]
fn a_whole_file_is_read() {
    let trace = decode(&sample(), usize::MAX).unwrap();
    let expected = [("gemm", 5_100, 2_000), ("fusion.2", 10_000, 2_000), ("MemcpyD2H", 14_000, 10), ("train", 50, 400)];
    assert_eq!(rows(&trace), expected);
    let lines: Vec<_> = trace.lines.iter().map(|line| (trace.text(line.name), line.kind)).collect();
    assert_eq!(lines, [("Stream #7(Compute)", LineKind::DeviceOps), ("python", LineKind::Host)]);
    assert_eq!(trace.complete_events, 4);
    assert_eq!(trace.framework, Framework::Jax);
    assert_eq!(trace.hosts, ["machine-1"]);
    assert_eq!(trace.capture.start_unix_ns, Some(1_700_000_000_000_000_000));
    assert_eq!(trace.capture.stop_unix_ns, Some(1_700_000_000_000_001_000));
    let gpu = &trace.planes[0];
    assert_eq!(trace.plane_stat(gpu, "memory_size"), Some(StatValue::Int(16 << 30)));
    assert_eq!(trace.plane_stat(gpu, "peak"), Some(StatValue::Double(1.5)));
}

#[test]
fn arguments_come_from_the_event_and_its_metadata() {
    let trace = decode(&sample(), usize::MAX).unwrap();
    let events = events(&trace);
    let args: Vec<Args> = events.iter().map(|event| trace.args_of(event)).collect();
    assert_eq!(trace.text(args[0].hlo_module), "jit_train_step");
    assert_eq!(trace.text(args[0].tf_op), "jit(train_step)/dot_general", "`name` stands in for `XlaModule:`");
    assert_eq!(args[0].program_id, Some(-7));
    assert_eq!(args[0].bytes_accessed, None);
    assert_eq!(args[1].bytes_accessed, Some(640), "a stat of the metadata");
    assert_eq!(trace.text(args[1].tf_op), "jit(train_step)/add");
    assert_eq!(trace.text(args[1].long_name), "%fusion.2 = f32[8] fusion(%p)");
    assert_eq!(trace.text(args[2].memcpy_details), "size:4 dest:0 async:1");
    assert_eq!(args[3], Args::default());
    assert_eq!(values(&trace, EventColumn::Correlation), [(0, 41), (1, 42)]);
    assert_eq!(trace.events.column(EventColumn::StepNum).get(EventId::new(3)), Some(6));
    assert_eq!(trace.events.column(EventColumn::RunId).get(EventId::new(3)), Some(3));
}

#[test]
fn the_profilers_own_complaints_are_warnings() {
    let trace = decode(&sample(), usize::MAX).unwrap();
    assert_eq!(codes(&trace), ["xplane_aggregated_events", "profiler_error", "profiler_dropped_events"]);
    assert!(trace.warnings.iter().all(|warning| warning.severity < Severity::Damage));
    assert!(trace.warnings.iter().all(|warning| warning.file.as_deref() == Some("some.xplane.pb")));
}

#[test]
fn an_event_overrides_its_metadata() {
    let own = event(1, 0, 5).message(4, message().int(1, 1).bytes(5, "all-reduce"));
    let line = message().message(4, event(1, 0, 5)).message(4, own).message(4, event(1, 0, 5));
    let metadata = message().bytes(2, "op").message(5, message().int(1, 1).bytes(5, "loop fusion"));
    let plane = message().bytes(2, "/device:TPU:0").message(3, line).entry(4, 1, metadata);
    let trace = read(message().message(1, plane.stat_metadata(1, "hlo_category")));
    let categories: Vec<_> = events(&trace).iter().map(|e| trace.text(trace.args_of(e).hlo_category)).collect();
    assert_eq!(categories, ["loop fusion", "all-reduce", "loop fusion"]);
}

#[test]
fn stalls_sizes_and_annotations_are_kept() {
    let own = event(1, 0, 5).message(4, message().int(1, 1).int(3, 4)).message(4, message().int(1, 2).int(3, 4096));
    let own = own.message(4, message().int(1, 3).bytes(5, "Mul:Mul#id=1#"));
    let line = message().message(4, own).message(4, event(1, 6, 5));
    let plane = message().bytes(2, "/device:TPU:0").message(3, line).event_metadata(1, "op");
    let plane = plane.stat_metadata(1, "dma_stall_duration_ps").stat_metadata(2, "size").stat_metadata(3, "annotation");
    let trace = read(message().message(1, plane));
    assert_eq!(values(&trace, EventColumn::DmaStall), [(0, 4)]);
    let args = trace.args_of(&events(&trace)[0]);
    assert_eq!((args.copy_bytes, trace.text(args.tf_op)), (Some(4096), "Mul:Mul"));
}

/// Events without own stats take a fast path, but events on a line with chip times must not take it.
#[test]
fn chip_times_win_and_events_without_one_follow_them() {
    const NS: i64 = 1_000;
    let clocked = |at: i64| {
        let chip = message().int(1, 1).int(4, 5_000_000 + at);
        event(1, at, 60 * NS).message(4, chip).message(4, message().int(1, 2).int(4, 40 * NS))
    };
    // Two events before the line is known to have chip times, and two after.
    let line = message().bytes(2, "XLA Ops").message(4, event(1, 0, 50 * NS)).message(4, event(1, 50 * NS, 50 * NS));
    let line = (1..20).fold(line, |line, n| line.message(4, clocked(100 * n * NS)));
    let line = line.message(4, event(1, 1_960 * NS, 30 * NS)).message(4, event(1, 1_990 * NS, 5 * NS));
    let modules = message().bytes(2, "XLA Modules").message(4, event(2, 100 * NS, 1_860 * NS));
    let plane = message().bytes(2, "/device:TPU:0").message(3, modules).message(3, line);
    let plane = plane.event_metadata(1, "op").event_metadata(2, "jit_f");
    let plane = plane.stat_metadata(1, "device_offset_ps").stat_metadata(2, "device_duration_ps");
    let trace = read(message().message(1, plane));
    // Events end 20 ns after their ops on the chip.
    let mut expected = vec![(100, 1_840), (0, 50), (50, 50)];
    expected.extend((1..20).map(|n| (100 * n, 40)));
    expected.extend([(1_940, 30), (1_970, 5)]);
    let found: Vec<(i64, i64)> =
        events(&trace).iter().map(|event| (event.start.as_ps() / NS, event.duration.as_ps() / NS)).collect();
    assert_eq!(found, expected);
    assert_eq!(trace.planes[0].clock.map(|clock| (clock.shift.as_ps(), clock.events)), Some((-5_000_000, 19)));
}

#[test]
fn messages_between_slices_record_their_length_and_bytes() {
    let own = event(1, 9_000_000, 0).message(4, message().int(1, 1).bytes(5, "all-reduce.273_312"));
    let own = own.message(4, message().int(1, 2).int(3, 50)).message(4, message().int(1, 3).int(3, 32_768));
    let plane = message().bytes(2, "/host:CPU").message(3, message().message(4, own));
    let plane = plane.event_metadata(1, "MegaScale: Communication Transport Receive");
    let plane =
        plane.stat_metadata(1, "dcn_label").stat_metadata(2, "duration_us").stat_metadata(3, "payload_size_bytes");
    let trace = read(message().message(1, plane));
    assert_eq!(values(&trace, EventColumn::MessageDuration), [(0, 50_000_000)]);
    let args = trace.args_of(&events(&trace)[0]);
    assert_eq!((args.bytes_transferred, trace.text(args.tf_op)), (Some(32_768), "all-reduce.273_312"));
}

#[test]
fn compressed_text_is_inflated() {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"jit(f)/mul").unwrap();
    let stat = message().int(1, 1).bytes(8, gzip.finish().unwrap());
    let bad = message().int(1, 1).bytes(8, "no gzip");
    let line = message().message(4, event(1, 0, 5).message(4, stat)).message(4, event(1, 0, 5).message(4, bad));
    let plane = message().bytes(2, "/host:CPU").message(3, line).event_metadata(1, "op").stat_metadata(1, "tf_op");
    let trace = read(message().message(1, plane));
    let paths: Vec<_> = events(&trace).iter().map(|e| trace.text(trace.args_of(e).tf_op)).collect();
    assert_eq!(paths, ["jit(f)/mul", ""]);
    assert_eq!(codes(&trace), ["xplane_corrupt"]);
}

#[test]
fn absolute_times_are_counted_from_the_first_line() {
    let first = 1_700_000_000_000_000_000;
    let mut space = one_line(first, &[event(1, 7, 5)]);
    space.0.extend(one_line(first + 2, &[event(1, 0, 5)]).0);
    let trace = read(space.clone());
    assert_eq!(rows(&trace), [("op", 7, 5), ("op", 2_000, 5)]);
    assert_eq!(trace.capture.anchor_ns, first);
    assert_eq!(codes(&trace), [""; 0]);
    space.0.extend(one_line(3, &[event(1, 0, 5)]).0);
    let mixed = read(space);
    assert_eq!(rows(&mixed)[2], ("op", 3_000, 5));
    assert_eq!(codes(&mixed), ["xplane_mixed_clocks"]);
}

#[test]
fn impossible_times_are_skipped() {
    let odd = [event(1, i64::MAX, 5), event(1, 0, -5), event(1, i64::MAX - 5_000, 1), event(1, -3, 2)];
    let trace = read(one_line(5, &odd));
    assert_eq!(rows(&trace), [("op", 4_997, 2)]);
    assert_eq!((codes(&trace), trace.warnings[0].count), (vec!["xplane_bad_time"], Some(3)));
    let far = read(one_line(i64::MAX, &[event(1, 0, 1)]));
    assert_eq!(rows(&far), [("op", 0, 1)]);
    let before = read(one_line(i64::MIN, &[event(1, 0, 1)]));
    assert_eq!((rows(&before).len(), codes(&before)), (0, vec!["xplane_bad_time", "xplane_no_events"]));
}

/// The cached kind of an event depends on its line, its name and its arguments.
#[test]
fn events_of_few_kinds_keep_line_name_and_arguments_apart() {
    let line = |name: &str, events: &[Message]| {
        events.iter().fold(message().bytes(2, name), |line, event| line.message(4, event.clone()))
    };
    let with =
        |id: i64, at: i64, stat: i64, value: i64| event(id, at, 1).message(4, message().int(1, stat).int(4, value));
    let first = [event(1, 0, 1), event(2, 1, 1), with(1, 2, 1, 7), event(1, 3, 1), with(1, 4, 2, 9), event(2, 5, 1)];
    let second = [event(2, 6, 1), event(1, 7, 1), event(1, 8, 1).int(5, 3), event(1, 9, -1), event(1, 10, 1)];
    let plane = message().bytes(2, "/host:CPU").message(3, line("a", &first)).message(3, line("b", &second));
    let plane = plane.event_metadata(1, "one").event_metadata(2, "two");
    let plane = plane.stat_metadata(1, "nothing of use").stat_metadata(2, "bytes_accessed");
    let trace = read(message().message(1, plane));
    let found: Vec<_> = events(&trace)
        .iter()
        .map(|e| {
            (
                trace.text(trace.lines[e.line.index()].name),
                trace.text(e.name),
                e.start.as_ps(),
                trace.args_of(e).bytes_accessed,
            )
        })
        .collect();
    let of_a = [("one", 0), ("two", 1), ("one", 2), ("one", 3), ("one", 4), ("two", 5)];
    let of_b = [("two", 6), ("one", 7), ("one", 10)];
    let expected = of_a.map(|(name, at)| ("a", name, at, (at == 4).then_some(9)));
    assert_eq!(found[..6], expected);
    assert_eq!(found[6..], of_b.map(|(name, at)| ("b", name, at, None)));
    assert_eq!(codes(&trace), ["xplane_aggregated_events", "xplane_bad_time"]);
}

#[test]
fn missing_names_are_replaced_by_their_numbers() {
    let trace = read(one_line(0, &[event(9, 0, 1), event(1, 2, 1), event(9, 3, 1)]));
    assert_eq!(rows(&trace), [("event metadata 9", 0, 1), ("op", 2, 1), ("event metadata 9", 3, 1)]);
    assert_eq!((codes(&trace), trace.warnings[0].count), (vec!["xplane_missing_metadata"], Some(2)));
}

#[test]
fn embedded_modules_are_counted_and_a_file_without_events_gives_a_warning() {
    let module = message().bytes(2, "f(1)").message(5, message().int(1, 1).bytes(6, [0u8; 100]));
    let plane = message().bytes(2, "/host:metadata").entry(4, -5, module).stat_metadata(1, "Hlo Proto");
    let trace = read(message().message(1, plane.event_metadata(2, "symbols")));
    assert_eq!((trace.hlo.len(), codes(&trace)), (1, vec!["xplane_no_events"]));
}

#[test]
fn a_known_length_changes_only_the_allocation() {
    let plane = message().bytes(2, "/host:CPU").message(3, message().bytes(2, "python").bytes(9, [7u8; 9000]));
    let file = message().message(1, plane).0;
    for expected in [0, 10, file.len() as u64, u64::MAX] {
        // The second file is truncated, so that the announced length is wrong.
        for length in [file.len(), file.len() / 2] {
            let mut decoder = XPlaneDecoder::new("some.xplane.pb").expecting(expected);
            file[..length].chunks(1000).for_each(|chunk| decoder.push(chunk).unwrap());
            let trace = decoder.finish().unwrap();
            assert_eq!(trace.text(trace.planes[0].name), "/host:CPU", "{expected} {length}");
        }
    }
}

#[test]
fn a_module_has_the_number_of_its_program() {
    let proto = message().int(1, 1).bytes(6, [0u8; 100]);
    let numbered = message().bytes(2, "f(8)").message(5, proto).message(5, message().int(1, 2).int(3, 8));
    let plane = message().bytes(2, "/host:metadata").entry(4, 5, numbered);
    let plane = plane.stat_metadata(1, "Hlo Proto").stat_metadata(2, "program_id");
    let trace = read(message().message(1, plane));
    assert_eq!(trace.hlo.iter().map(|module| module.program_id).collect::<Vec<_>>(), [8]);
}

#[test]
fn unknown_fields_are_skipped() {
    let mut space = message().bytes(9, "later").int(10, 5).double(11, 1.0);
    space.0.splice(0..0, one_line(0, &[event(1, 0, 1).bytes(20, "later").double(21, 0.5)]).0);
    space.0.extend(one_line(0, &[event(1, 3, 1)]).0);
    let trace = read(space);
    assert_eq!((rows(&trace).len(), codes(&trace).len()), (2, 0));
}

#[test]
fn an_xspace_is_detected_by_its_first_bytes() {
    let file = sample();
    assert!(looks_like_xspace(&file));
    for length in 8..200 {
        assert!(looks_like_xspace(&file[..length]), "{length} bytes");
    }
    assert!(looks_like_xspace(&message().bytes(4, "machine-1").message(1, message().bytes(2, "p")).0));
    let others: [&[u8]; 9] = [
        b"",
        b"\x0a",
        b"{\"traceEvents\": []}",
        b"\n\n{\"a\": 1}",
        b"\n   text",
        b"\"text\"",
        b"\x1f\x8b\x08",
        b"PK\x03\x04",
        &[0; 64],
    ];
    for other in others {
        assert!(!looks_like_xspace(other), "{other:?}");
        assert!(decode(other, 7).is_err());
    }
    assert_eq!(decode(b"", 1).unwrap_err(), Error::Empty);
}

#[test]
fn similar_files_are_named() {
    let device = message().int(1, 0).message(2, message().bytes(2, "/host:CPU").bytes(3, "resources"));
    let record = message().int(1, 1).bytes(2, "Device").bytes(3, "IDLE");
    let mangled: Vec<u8> = String::from_utf8_lossy(&sample().repeat(40)).into_owned().into_bytes();
    let sentences = [
        (message().message(1, device).0, "trace viewer"),
        (message().message(4, message().message(1, record)).0, "TensorFlow op statistics"),
        (mangled, "decoded as text"),
    ];
    for (file, part) in sentences {
        let sentence = decode(&file, 100).unwrap_err().to_string();
        assert!(sentence.contains(part), "{sentence}");
    }
}

#[test]
fn a_time_after_the_events_is_reported_and_not_used() {
    let line = message().bytes(2, "python").message(4, event(1, 50, 5)).int(3, 7).message(4, event(1, 90, 5));
    let plane = message().bytes(2, "/host:CPU").message(3, line).event_metadata(1, "step");
    let trace = decode(&message().message(1, plane).0, 64).unwrap();
    assert_eq!(events(&trace).iter().map(|event| event.start.as_ps()).collect::<Vec<_>>(), [50, 90]);
    assert_eq!(codes(&trace), ["xplane_late_time"]);
}

#[test]
fn lines_keep_their_numbers() {
    let numbered = message().int(1, 3).bytes(2, "a").message(4, event(1, 0, 1)).int(10, -9);
    let plane = message().bytes(2, "/host:CPU").message(3, numbered).message(3, message().bytes(2, "b"));
    let trace = decode(&message().message(1, plane.event_metadata(1, "e")).0, 7).unwrap();
    let numbers: Vec<_> = trace.lines.iter().map(|line| (line.id, line.display_id, line.order)).collect();
    assert_eq!(numbers, [(Some(3), Some(-9), None), (None, None, None)]);
}
