use super::*;
use metrics::{Devices, interval, self_times};
use std::sync::Arc;
use trace::{EventColumn, HloProto, LineId, TraceBuilder};

/// A loop that JAX compiled (see tests/data/hlo/make.py):
///
/// ```text
/// entry   copy.10, copy.11, wrapped_broadcast -> while.6
/// body    copy.5 -> ynn_fusion -> wrapped_tanh;   copy.4 -> wrapped_add;   copy.4, copy.5 -> bitcast_dynamic-update-slice_fusion
/// ```
const SCAN: &[u8] = include_bytes!("../../../../tests/data/hlo/jit_scan.pb");

const PROGRAM: i64 = 7;

fn devices_of(trace: &Trace) -> Devices {
    Devices::new(trace, Arc::new(trace::ByLine::new(trace)))
}

/// A run's threads and the ops on them, in microseconds.
struct Timeline {
    b: TraceBuilder,
    threads: [LineId; 2],
    next: i64,
}

impl Timeline {
    fn new() -> Timeline {
        let mut b = TraceBuilder::new();
        let threads = [b.line("/host:CPU", "tf_XLAPjRtCpuClient/1"), b.line("/host:CPU", "tf_XLAEigen/2")];
        let name = b.trace_mut().strings.intern("jit_scan(7)");
        // HloProto { hlo_module = 1 }
        let bytes = wire_writer::message().bytes(1, SCAN).0;
        b.trace_mut().hlo.push(HloProto { program_id: PROGRAM, name, host: 0, bytes: bytes.into() });
        Timeline { b, threads, next: 1 }
    }

    /// Adds an op of the run with this id to a thread, and returns the number of the op's marker.
    fn op(&mut self, run: i64, thread: usize, name: &str, start: i64, duration: i64) -> i64 {
        let flow = self.next;
        self.next += 1;
        let event = self
            .b
            .event(self.threads[thread], name, start, duration)
            .hlo_op(name)
            .run_id(run)
            .value(EventColumn::Producer, flow);
        drop(event.args(|args| (args.program_id, args.device_ordinal) = (Some(PROGRAM), Some(0))));
        flow
    }

    fn marker(&mut self, flow: i64, thread: usize, start: i64) {
        self.b.event(self.threads[thread], "end: it", start, 0).value(EventColumn::Consumer, flow);
    }

    fn complete(self) -> Trace {
        let mut trace = self.b.build();
        complete_all(&mut trace);
        trace
    }
}

fn complete_all(trace: &mut Trace) {
    let modules = Modules::new(trace);
    complete(trace, &modules);
}

/// Returns the ends of the events with this name in microseconds, in file order.
fn ends(trace: &Trace, name: &str) -> Vec<i64> {
    let named = trace.events.iter().filter(|event| trace.text(event.name) == name);
    named.map(|event| interval(&event).end.as_ps() / 1_000_000).collect()
}

#[test]
fn an_op_ends_where_its_result_is_first_used() {
    let mut t = Timeline::new();
    let dot = t.op(1, 0, "ynn_fusion", 10, 2);
    t.op(1, 1, "wrapped_add", 20, 1);
    t.op(1, 1, "wrapped_tanh", 30, 5);
    t.marker(dot, 1, 60);
    let trace = t.complete();
    assert_eq!(ends(&trace, "ynn_fusion"), [30], "wrapped_add does not use it, the marker is late");
    assert_eq!(
        (ends(&trace, "wrapped_add"), ends(&trace, "wrapped_tanh")),
        (vec![21], vec![35]),
        "they have no marker"
    );
    let codes: Vec<&str> = trace.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["cpu_op_ends_are_bounds"]);
}

/// The marker of a loop may come long after the loop's last op, because its thread first runs ops that became ready.
#[test]
fn a_loop_ends_with_the_last_op_that_it_runs() {
    let mut t = Timeline::new();
    let outer = t.op(1, 0, "while.6", 10, 3);
    let product = t.op(1, 1, "ynn_fusion", 20, 2);
    t.op(1, 1, "wrapped_tanh", 30, 5);
    t.marker(product, 1, 40);
    t.marker(outer, 1, 90);
    let trace = t.complete();
    assert_eq!((ends(&trace, "while.6"), ends(&trace, "ynn_fusion")), (vec![35], vec![30]));
    // Without ops inside, only the marker shows the end.
    let mut t = Timeline::new();
    let outer = t.op(1, 0, "while.6", 10, 3);
    t.marker(outer, 1, 90);
    assert_eq!(ends(&t.complete(), "while.6"), [90]);
}

#[test]
fn an_op_ends_at_its_marker_where_nothing_uses_it_before() {
    let mut t = Timeline::new();
    let (dot, add) = (t.op(1, 0, "ynn_fusion", 10, 2), t.op(1, 0, "wrapped_add", 13, 2));
    t.marker(dot, 1, 60);
    t.marker(add, 0, 14);
    t.op(1, 1, "wrapped_tanh", 61, 5);
    let trace = t.complete();
    assert_eq!(
        (ends(&trace, "ynn_fusion"), ends(&trace, "wrapped_add")),
        (vec![60], vec![15]),
        "never before its event"
    );
}

/// A thread runs a span after it has completed an op. The marker of the op directly follows this span.
#[test]
fn an_op_ended_before_the_next_span_of_its_thread() {
    for (between, end) in [(None, 40), (Some(55), 60)] {
        let mut t = Timeline::new();
        let dot = t.op(1, 0, "ynn_fusion", 10, 2);
        t.b.event(t.threads[1], "ThunkExecutor::Execute", 40, 14);
        if let Some(start) = between {
            t.b.event(t.threads[1], "ThreadpoolListener::StopRegion", start, 0);
        }
        t.marker(dot, 1, if between.is_some() { 60 } else { 55 });
        assert_eq!(ends(&t.complete(), "ynn_fusion"), [end]);
    }
}

#[test]
fn a_marker_long_after_the_executor_s_span_is_not_of_it() {
    let mut t = Timeline::new();
    let dot = t.op(1, 0, "ynn_fusion", 10, 2);
    t.b.event(t.threads[1], "ThunkExecutor::Execute", 40, 10);
    t.marker(dot, 1, 90);
    assert_eq!(ends(&t.complete(), "ynn_fusion"), [90]);
}

#[test]
fn runs_in_flight_do_not_end_each_other_s_ops() {
    let mut t = Timeline::new();
    let dots = [t.op(1, 0, "ynn_fusion", 10, 2), t.op(2, 0, "ynn_fusion", 14, 2)];
    t.op(2, 1, "wrapped_tanh", 40, 5);
    t.op(1, 1, "wrapped_tanh", 70, 5);
    t.marker(dots[0], 1, 90);
    t.marker(dots[1], 1, 91);
    assert_eq!(ends(&t.complete(), "ynn_fusion"), [70, 40]);
}

/// ```text
/// thread 0   [while.6)[copy.5)[ynn_fusion)                        100: while.6 ends
/// thread 1                     ..........[wrapped_tanh)...[add)   150: marker of the add
/// ```
#[test]
fn what_a_loop_runs_on_another_thread_runs_in_it() {
    let mut t = Timeline::new();
    let outer = t.op(1, 0, "while.6", 0, 5);
    t.op(1, 0, "copy.5", 6, 4);
    let dot = t.op(1, 0, "ynn_fusion", 20, 2);
    t.op(1, 1, "wrapped_tanh", 50, 20);
    let add = t.op(1, 1, "wrapped_add", 80, 1);
    t.op(1, 1, "copy.10", 82, 3);
    t.marker(dot, 1, 75);
    t.marker(add, 1, 150);
    t.marker(outer, 1, 100);
    let trace = t.complete();
    assert_eq!((ends(&trace, "while.6"), ends(&trace, "ynn_fusion")), (vec![100], vec![50]));
    assert_eq!(ends(&trace, "wrapped_add"), [100], "the loop waits for what it runs");
    let devices = devices_of(&trace);
    let device = &devices.used[0];
    let own: Vec<(String, i64)> = device
        .ops
        .iter()
        .zip(self_times(&trace, device))
        .map(|(&id, time)| (trace.text(trace.events.get(id).unwrap().name).to_owned(), time.as_ps() / 1_000_000))
        .collect();
    // The loop's own time is 0 to 6, 10 to 20 and 70 to 80. `copy.10` runs at the same time and does not belong to the loop.
    let expected =
        [("while.6", 26), ("copy.5", 4), ("ynn_fusion", 30), ("wrapped_tanh", 20), ("wrapped_add", 20), ("copy.10", 3)];
    assert_eq!(own, expected.map(|(name, time)| (name.to_owned(), time)));
    assert_eq!((device.busy.length().as_ps(), device.span.end.as_ps()), (100_000_000, 100_000_000));
}

#[test]
fn ops_that_run_in_parallel_keep_their_times() {
    let mut t = Timeline::new();
    let dot = t.op(1, 0, "ynn_fusion", 10, 2);
    t.op(1, 0, "wrapped_add", 20, 30);
    t.marker(dot, 1, 60);
    let trace = t.complete();
    let devices = devices_of(&trace);
    assert_eq!(self_times(&trace, &devices.used[0]), [Ps::new(50_000_000), Ps::new(30_000_000)]);
}

#[test]
fn the_thread_is_free_after_the_event() {
    let mut t = Timeline::new();
    let dot = t.op(1, 0, "ynn_fusion", 10, 2);
    t.b.event(t.threads[0], "Await", 0, 50);
    t.marker(dot, 1, 60);
    let trace = t.complete();
    let devices = devices_of(&trace);
    let ops = metrics::HostOps::new(&trace, &devices, |_| devices.capture.unwrap());
    let wait = ops.rows.iter().find(|row| trace.text(row.name) == "Await").unwrap();
    assert_eq!(wait.tally.self_time, Ps::new(48_000_000));
}

/// An op of the entry computation runs once per run. All ops in a loop run as often as the op that has the fewest
/// events in this loop.
#[test]
fn several_events_of_one_execution_are_one() {
    let mut t = Timeline::new();
    for start in [0, 2] {
        t.op(1, 0, "copy.10", start, 1);
    }
    t.op(1, 0, "while.6", 4, 90);
    for start in [10, 40] {
        t.op(1, 0, "ynn_fusion", start, 5);
        t.op(1, 0, "ynn_fusion", start + 6, 5);
        t.op(1, 0, "wrapped_tanh", start + 12, 5);
    }
    let trace = t.complete();
    let parts = trace.cpu_ops.as_ref().unwrap().part_of.iter();
    let parts: Vec<(u32, i64)> = parts.map(|(id, first)| (id.get(), first)).collect();
    assert_eq!(parts, [(1, 0), (4, 3), (7, 6)]);
}

/// Markers in a JSON trace have no numbers, so the report warns if a marker is outside its op's event.
#[test]
fn a_json_warns_that_ends_are_unknown() {
    for (marker, warned) in [(11, false), (12, false), (60, true)] {
        let mut t = Timeline::new();
        t.op(1, 0, "ynn_fusion", 10, 2);
        t.b.event(t.threads[0], "end: ynn_fusion", marker, 0);
        t.b.trace_mut().format = Some(SourceFormat::ChromeJson);
        let trace = t.complete();
        assert_eq!(ends(&trace, "ynn_fusion"), [12]);
        let codes: Vec<&str> = trace.warnings.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes, if warned { vec!["cpu_op_ends_unknown"] } else { vec![] });
    }
}

#[test]
fn it_is_done_once_and_costs_nothing_without_such_ops() {
    let mut t = Timeline::new();
    let dot = t.op(1, 0, "ynn_fusion", 10, 2);
    t.marker(dot, 1, 60);
    let mut trace = t.complete();
    complete_all(&mut trace);
    assert_eq!((ends(&trace, "ynn_fusion"), trace.warnings.len()), (vec![60], 1));
    undo(&mut trace);
    assert_eq!((ends(&trace, "ynn_fusion"), trace.warnings.len()), (vec![12], 0));
    complete_all(&mut trace);
    assert_eq!((ends(&trace, "ynn_fusion"), trace.warnings.len()), (vec![60], 1));
    let mut b = TraceBuilder::new();
    let stream = b.line("/device:GPU:0", "Stream #1");
    let host = b.line("/host:CPU", "python");
    b.event(stream, "gemm", 0, 5).hlo_op("dot.1");
    b.event(host, "dot.1", 0, 5).hlo_op("dot.1").value(EventColumn::Producer, 1);
    b.event(host, "end: dot.1", 9, 0).value(EventColumn::Consumer, 1);
    let mut trace = b.build();
    complete_all(&mut trace);
    assert_eq!(ends(&trace, "dot.1"), [5]);
}
