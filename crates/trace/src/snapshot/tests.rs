use super::*;
use crate::builder::TraceBuilder;
use crate::{
    ByLine, CounterTrack, Event, EventColumn, Events, FlowBinding, FlowPoint, FlowRole, Instant, InstantScope,
    StatValue,
};
use base::Ps;

fn trace() -> Trace {
    let mut builder = TraceBuilder::new();
    let ops = builder.line("/device:TPU:0", "XLA Ops");
    let host = builder.line("/host:CPU", "python");
    for at in 0..40_000 {
        builder.event(ops, &format!("fusion.{}", at % 700), at * 10, 7).hlo_category("loop fusion").run_id(at / 100);
    }
    builder.event(host, "é ünïcode", 3, 4).correlation(-1).step_num(i64::MIN).args(|args| {
        args.flops = Some(0);
        args.graph_node_id = Some(-5);
        args.memory = Some(crate::MemoryBytes { hbm_read: 1, vmem_write: i64::MAX, ..Default::default() });
    });
    builder.plane_stat("/device:TPU:0", "peak", StatValue::Double(f64::NAN));
    builder.plane_stat("/device:TPU:0", "cores", StatValue::Int(-2));
    let trace = builder.trace_mut();
    let [first, second] = [0, 1].map(EventId);
    trace.events.push_value(second, EventColumn::AllReduceId, 99);
    trace.events.push_value(second, EventColumn::DmaStall, 7);
    trace.events.push_value(first, EventColumn::MessageDuration, 8);
    let (plane, name) = (trace.lines[0].plane, trace.lines[0].name);
    let counter = |values: Vec<f64>| CounterTrack { plane, name, times: vec![Ps::new(-3); values.len()], values };
    trace.counters = vec![counter(vec![1.5, -0.0]), counter(Vec::new())];
    let scopes = [InstantScope::Trace, InstantScope::Plane(plane), InstantScope::Line(ops)];
    trace.instants = scopes.map(|scope| Instant { scope, name, time: Ps::new(9) }).into();
    let point = |flow: u32| FlowPoint {
        flow,
        role: [FlowRole::Start, FlowRole::Step, FlowRole::End][flow as usize % 3],
        binding: [FlowBinding::Enclosing, FlowBinding::Next][flow as usize % 2],
        line: ops,
        name,
        time: Ps::new(i64::from(flow)),
    };
    trace.flows = (0..20_000).map(point).collect();
    (trace.lines[1].id, trace.lines[1].start) = (Some(i64::MIN), Ps::new(-3));
    (trace.lines[1].display_id, trace.lines[0].order, trace.planes[1].order) = (Some(4), Some(-1), Some(0));
    trace.hosts = vec!["a".into(), String::new()];
    trace.far_off = vec![first, EventId(39_000)];
    trace.capture = Capture { anchor_ns: -7, start_unix_ns: Some(1), stop_unix_ns: None };
    let name = trace.strings.intern("jit_f(1)");
    trace.hlo.push(HloProto { program_id: i64::MAX, name, host: 1, bytes: vec![1, 2, 3].into() });
    let stage = trace.strings.intern("before_optimizations");
    let program = HloProto { program_id: 5, name, host: 1, bytes: vec![4].into() };
    trace.earlier_stages.push(EarlierStage { stage, program });
    builder.build()
}

fn events(trace: &Trace) -> Vec<Event> {
    trace.events.iter().collect()
}

fn image(trace: Trace, notes: &[u8]) -> (Vec<RowBlock>, Vec<Vec<u8>>) {
    let (mut rows, mut frames) = (Vec::new(), Vec::new());
    for piece in Writer::new(trace, notes.to_vec()) {
        match piece {
            Piece::Rows(block) => rows.push(block),
            Piece::Bytes(bytes) => frames.push(bytes),
        }
    }
    (rows, frames)
}

fn read(rows: &[RowBlock], bytes: &[u8], chunk: usize) -> Result<(Trace, Vec<u8>), Damaged> {
    let mut reader = Reader::new();
    for block in rows {
        let words = block.words();
        reader.push_rows(RowBlock::filled(words.len(), |slots| slots.copy_from_slice(words)).unwrap());
    }
    bytes.chunks(chunk).for_each(|piece| reader.push(piece));
    reader.finish()
}

#[test]
fn a_trace_comes_back_whatever_the_chunks() {
    let before = trace();
    let (rows, frames) = image(before.clone(), b"notes");
    for chunk in [7, 4096, 1 << 30] {
        let (after, notes) = read(&rows, &frames.concat(), chunk).unwrap();
        assert_eq!(notes, b"notes");
        assert_eq!(events(&after), events(&before));
        assert!(after.strings.iter().eq(before.strings.iter()));
        assert_eq!(after.strings.find("fusion.699"), before.strings.find("fusion.699"));
        assert!((0..=before.args.len()).all(|index| after.args.set(index) == before.args.set(index)));
        // Compares debug text, in which NaN equals NaN.
        let small = |trace: &Trace| {
            let marks = (&trace.counters, &trace.instants, &trace.flows, &trace.far_off);
            format!(
                "{:?}",
                (&trace.planes, &trace.lines, &trace.capture, &trace.hosts, &trace.hlo, &trace.earlier_stages, marks)
            )
        };
        assert_eq!(small(&after), small(&before));
        let sparse = |events: &Events| {
            let values = |column: &EventColumn| events.column(*column).iter().collect::<Vec<_>>();
            EventColumn::ALL.iter().map(values).collect::<Vec<_>>()
        };
        assert_eq!(sparse(&after.events), sparse(&before.events));
        assert_eq!((after.format, after.complete_events), (before.format, before.complete_events));
    }
}

#[test]
fn no_column_is_lost_at_a_block_s_edge() {
    for count in [0, 1, 32_767, 32_768, 32_769] {
        let mut builder = TraceBuilder::new();
        let line = builder.line("p", "l");
        (0..count).for_each(|at| drop(builder.event(line, "e", at, 1)));
        let (rows, frames) = image(builder.build(), b"");
        assert_eq!(read(&rows, &frames.concat(), 999).unwrap().0.events.len() as i64, count);
    }
}

#[test]
fn events_may_go_before_the_rest_is_known() {
    let before = trace();
    let mut sent = before.clone();
    let mut rows: Vec<RowBlock> = sent.events.take_full_blocks().collect();
    assert_eq!((rows.len(), sent.events.len()), (1, before.events.len()));
    let (rest, frames) = image(sent, b"");
    rows.extend(rest);
    assert_eq!(events(&read(&rows, &frames.concat(), 1 << 20).unwrap().0), events(&before));
    assert!(read(&rows[1..], &frames.concat(), 1 << 20).is_err());
}

#[test]
fn a_part_of_an_event_is_no_event() {
    assert_eq!(RowBlock::filled(6, |_| unreachable!()), None);
}

#[test]
fn a_cut_image_is_refused() {
    let (rows, frames) = image(trace(), b"");
    for missing in 0..frames.len() {
        let image: Vec<u8> =
            frames.iter().enumerate().filter(|(at, _)| *at != missing).flat_map(|(_, f)| f.clone()).collect();
        assert!(read(&rows, &image, 1 << 20).is_err(), "frame {missing}");
    }
    let image: Vec<u8> = frames.concat();
    for length in [0, 5, 100, image.len() - 1] {
        assert_eq!(read(&rows, &image[..length], 1000).err(), Some(Damaged));
    }
    assert!(read(&rows, &[image.as_slice(), b"x"].concat(), 1000).is_err());
    assert!(read(&rows[1..], &image, 1000).is_err());
}

#[test]
fn damage_never_panics() {
    let mut builder = TraceBuilder::new();
    let line = builder.line("/device:GPU:0", "Stream #1");
    builder.event(line, "kernel", 0, 5).correlation(3).hlo_op("dot.1");
    let (rows, frames) = image(builder.build(), b"");
    let image = frames.concat();
    for at in 0..image.len() {
        for flip in [1u8, 0x80, 0xff] {
            let mut bad = image.clone();
            bad[at] ^= flip;
            if let Ok((trace, _)) = read(&rows, &bad, 64) {
                // Every trace that the reader accepts can be traversed.
                let by_line = ByLine::new(&trace).events;
                let all = by_line.iter().flat_map(|events| events.iter()).filter_map(|id| trace.events.get(id));
                all.for_each(|event| assert!(trace.text(event.name).len() < image.len()));
            }
        }
    }
}
