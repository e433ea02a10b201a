//! Tests that counters, instants, flows and the order of threads are kept on the trace's clock, and that they affect
//! nothing else.

use super::decode;
use base::Ps;
use trace::{FlowBinding, FlowRole, InstantScope};

const MARKS: &str = r#"
{"ph":"C","pid":1,"ts":30,"name":"memory","args":{"used":3,"free":"5.5","what":"text"}},
{"ph":"C","pid":1,"ts":10,"name":"memory","args":{"used":1}},
{"ph":"C","pid":1,"ts":20,"name":"load","id":"0x7","args":{"value":-1e3}},
{"ph":"C","pid":9,"ts":20,"name":"of nobody","args":{"value":1}},
{"ph":"C","pid":1,"name":"never","args":{"value":1}},
{"ph":"i","pid":1,"tid":2,"ts":15,"s":"t","name":"on a thread"},
{"ph":"I","pid":1,"tid":3,"ts":16,"name":"on no known thread"},
{"ph":"i","pid":1,"tid":2,"ts":17,"s":"p","name":"of the process"},
{"ph":"i","pid":"","tid":"","ts":18,"s":"g","name":"of all"},
{"ph":"s","pid":1,"tid":2,"ts":12,"cat":"ac2g","name":"launch","id":5},
{"ph":"s","pid":1,"tid":2,"ts":12,"cat":"fwdbwd","name":"launch","id":5},
{"ph":"t","pid":1,"tid":2,"ts":12.5,"cat":"ac2g","name":"launch","id":"5"},
{"ph":"f","pid":1,"tid":2,"ts":13,"cat":"ac2g","name":"launch","id":5,"bp":"e"},
{"ph":"f","pid":1,"tid":2,"ts":14,"cat":"fwdbwd","name":"launch","id":5},
{"ph":"s","pid":1,"tid":2,"ts":12,"cat":"ac2g","name":"launch","id2":{"local":"5"}},
{"ph":"f","pid":9,"tid":2,"ts":12,"cat":"ac2g","name":"launch","id":5},
{"ph":"f","pid":1,"tid":2,"cat":"ac2g","name":"launch","id":5},
{"ph":"M","pid":1,"tid":4,"name":"thread_sort_index","args":{"sort_index":1}},
{"ph":"M","pid":1,"tid":2,"name":"thread_sort_index","args":{"sort_index":-5}},
{"ph":"M","pid":1,"name":"process_sort_index","args":{"sort_index":8}},"#;

fn file(marks: &str) -> String {
    format!(r#"{{"traceEvents":[{marks}{{"ph":"X","pid":1,"tid":2,"ts":12,"dur":1,"name":"f"}}]}}"#)
}

#[test]
fn counters_and_instants_are_kept() {
    let trace = decode(file(MARKS)).unwrap();
    let us = |times: &[i64]| times.iter().map(|us| Ps::new(us * 1_000_000)).collect::<Vec<_>>();
    let tracks: Vec<_> = trace.counters.iter().map(|it| (trace.text(it.name), it.times.clone(), &*it.values)).collect();
    let expected = [
        ("memory used", us(&[10, 30]), &[1.0, 3.0][..]),
        ("memory free", us(&[30]), &[5.5]),
        ("load 0x7", us(&[20]), &[-1000.0]),
    ];
    assert_eq!(tracks, expected);
    assert!(trace.counters.iter().all(|track| track.plane == trace.lines[0].plane));
    let line = trace.events.iter().next().unwrap().line;
    let plane = InstantScope::Plane(trace.lines[0].plane);
    let instants: Vec<_> = trace.instants.iter().map(|it| (trace.text(it.name), it.scope, it.time)).collect();
    let expected = [
        ("on a thread", InstantScope::Line(line), Ps::new(15_000_000)),
        ("on no known thread", plane, Ps::new(16_000_000)),
        ("of the process", plane, Ps::new(17_000_000)),
        ("of all", InstantScope::Trace, Ps::new(18_000_000)),
    ];
    assert_eq!(instants, expected);
    assert_eq!((trace.lines[0].id, trace.lines[0].order, trace.planes[0].order), (Some(2), Some(-5), Some(8)));
}

#[test]
fn points_of_flows_are_joined_by_category_name_and_id() {
    let trace = decode(file(MARKS)).unwrap();
    let line = trace.events.iter().next().unwrap().line;
    assert!(trace.flows.iter().all(|it| (it.line, trace.text(it.name)) == (line, "launch")));
    let points: Vec<_> = trace.flows.iter().map(|it| (it.flow, it.role, it.binding, it.time.as_ps())).collect();
    let expected = [
        (0, FlowRole::Start, FlowBinding::Enclosing, 12_000_000),
        (1, FlowRole::Start, FlowBinding::Enclosing, 12_000_000),
        (0, FlowRole::Step, FlowBinding::Enclosing, 12_500_000),
        (0, FlowRole::End, FlowBinding::Enclosing, 13_000_000),
        (1, FlowRole::End, FlowBinding::Next, 14_000_000),
        (2, FlowRole::Start, FlowBinding::Enclosing, 12_000_000),
    ];
    assert_eq!(points, expected);
}

#[test]
fn marks_add_nothing_else() {
    let [with, without] = [MARKS, ""].map(|marks| decode(file(marks)).unwrap());
    let rest =
        |trace: &trace::Trace| (trace.planes.len(), trace.lines.len(), trace.events.len(), trace.warnings.clone());
    assert_eq!(rest(&with), rest(&without));
}
