//! Compares dependencies between events, and their arrows, with traces that were written by hand and with the raw files
//! of real profiles.

use crate::support;
use std::collections::{BTreeMap, BTreeSet};

use crate::support::{open, samples};
use crossprof::pages::PageQuery;
use crossprof::pages::timeline::{Action, Outcome, act, scene};
use crossprof::timeline::{Arrangement, Arrow, EventRef, LinkKind, Sight, Stage, Step};
use crossprof::trace::{EventColumn, EventId, Trace};
use crossprof::{Session, Settings};
use serde_json::{Value, json};

/// On thread 1, a launch [0, 4) of the kernel [10, 20) on stream 1, inside `outer` [0, 30). A flow leads from the launch to
/// `next` [6, 8) on thread 2, through `step` [5, 6) on the same thread. Another flow arrives at the next event to start.
fn hand_made() -> Vec<u8> {
    let process = |pid: u32, name: &str| json!({"ph":"M","pid":pid,"name":"process_name","args":{"name":name}});
    let thread = |pid: u32, tid: u32, name: &str| json!({"ph":"M","pid":pid,"tid":tid,"name":"thread_name","args":{"name":name}});
    let event = |pid: u32, tid: u32, name: &str, start: f64, length: f64, args: Value| json!({"ph":"X","pid":pid,"tid":tid,"name":name,"ts":start,"dur":length,"args":args});
    let flow = |phase: &str, pid: u32, tid: u32, time: f64, id: u32, binding: &str| json!({"ph":phase,"pid":pid,"tid":tid,"ts":time,"id":id,"cat":"c","name":"hand over","bp":binding});
    let events = json!({"traceEvents": [
        process(1, "/device:GPU:0"), process(2, "/host:CPU"),
        thread(1, 1, "Stream #1(Compute)"), thread(2, 1, "python"), thread(2, 2, "worker"),
        event(2, 1, "outer", 0.0, 30.0, json!({})),
        event(2, 1, "cuLaunchKernel", 0.0, 4.0, json!({"correlation_id": "7"})),
        event(1, 1, "kernel", 10.0, 10.0, json!({"correlation_id": "7"})),
        event(2, 2, "step", 5.0, 1.0, json!({})), event(2, 2, "next", 6.0, 2.0, json!({})), event(2, 2, "last", 40.0, 2.0, json!({})),
        flow("s", 2, 1, 2.0, 1, "e"), flow("t", 2, 2, 5.5, 1, "e"), flow("f", 2, 2, 8.0, 1, "e"),
        // The end has the earlier time.
        flow("f", 2, 2, 7.0, 2, "e"), flow("s", 2, 2, 40.0, 2, "e"),
        flow("s", 2, 1, 20.0, 3, "e"), flow("f", 2, 2, 20.0, 3, ""),
        // Links two events that the correlation id already links.
        flow("s", 2, 1, 1.0, 4, "e"), flow("f", 1, 1, 10.0, 4, "e"),
    ]});
    events.to_string().into_bytes()
}

fn open_real(path: &str) -> Session {
    let path = samples::real(path);
    open(path.to_str().unwrap(), &std::fs::read(&path).unwrap())
}

fn named(trace: &Trace, name: &str) -> EventId {
    trace.events.ids().find(|id| trace.text(trace.events.get(*id).unwrap().name) == name).unwrap()
}

/// Returns `(name, follows, kind, microseconds)` for each event that an event is linked with.
fn links(session: &mut Session, name: &str) -> Vec<(String, bool, &'static str, f64)> {
    let look = |context: crossprof::metrics::Context<'_>, kept: &crossprof::timeline::Timeline| {
        let trace = context.captured_trace();
        let linked = kept.linked(context, EventRef::captured(named(trace, name)));
        let row = |it: crossprof::timeline::Linked| {
            let kind = match it.kind {
                LinkKind::Launch => "launch",
                LinkKind::Flow(_) => "flow",
                LinkKind::Handover => "handover",
            };
            let name = trace.text(trace.events.get(it.event).unwrap().name).to_owned();
            (name, it.follows, kind, it.delay.as_us())
        };
        linked.into_iter().map(row).collect()
    };
    session.timeline(0, &Settings::default(), look).unwrap()
}

#[test]
fn an_event_is_linked_both_ways() {
    let mut session = open("hand.trace.json", &hand_made());
    let found = |rows: &[(&str, bool, &'static str, f64)]| {
        rows.iter().map(|&(name, follows, kind, us)| (name.to_owned(), follows, kind, us)).collect::<Vec<_>>()
    };
    let launch = links(&mut session, "cuLaunchKernel");
    assert_eq!(launch, found(&[("step", true, "flow", 5.0), ("kernel", true, "launch", 10.0)]));
    assert_eq!(links(&mut session, "kernel"), found(&[("cuLaunchKernel", false, "launch", 10.0)]));
    assert_eq!(
        links(&mut session, "step"),
        found(&[("next", true, "flow", 1.0), ("cuLaunchKernel", false, "flow", 5.0)])
    );
    assert_eq!(links(&mut session, "next"), found(&[("step", false, "flow", 1.0), ("last", false, "flow", -34.0)]));
    assert_eq!(links(&mut session, "outer"), found(&[("last", true, "flow", 40.0)]));
}

/// Returns the arrows in a viewport of 1,000 by 400 pixels with an event selected.
fn look(session: &mut Session, name: &str, range_us: Option<(i64, i64)>, change: impl Fn(&mut Sight)) -> Vec<Arrow> {
    let range_ps = range_us.map(|(from, to)| (from * 1_000_000, to * 1_000_000));
    let mut sight = Sight { width: 1_000, height: 400, scale: 1.0, range_ps, ..Sight::default() };
    change(&mut sight);
    session
        .timeline(0, &Settings::default(), |context, kept| {
            sight.selected = Some(EventRef::captured(named(context.captured_trace(), name)));
            let mut stage = Stage::default();
            let scene = scene(context, kept, &mut stage, &sight);
            scene.arrows()
        })
        .unwrap()
}

#[test]
fn arrows_go_from_the_end_of_one_event_to_the_start_of_the_other() {
    let mut session = open("hand.trace.json", &hand_made());
    // 42 microseconds are 1,000 pixels.
    let ends = |arrow: &Arrow| (arrow.points[0].0, arrow.points[3].0);
    let arrows = look(&mut session, "kernel", None, |_| {});
    assert_eq!(arrows.iter().map(ends).collect::<Vec<_>>(), [(4 * 1_000 / 42, 10 * 1_000 / 42)]);
    let [start, after, before, end] = arrows[0].points;
    assert_eq!(after, (start.0 + 30, start.1));
    assert_eq!(before, (end.0 - 30, end.1));
    assert!(end.1 != start.1 && arrows[0].head > 0);
    // Both events have the same arrow.
    assert!(look(&mut session, "cuLaunchKernel", None, |_| {}).contains(&arrows[0]));
    // If one event starts before the other ends, the arrow begins at its start.
    let back = look(&mut session, "next", None, |_| {});
    assert!(back.iter().map(ends).any(|ends| ends == (40 * 1_000 / 42, 6 * 1_000 / 42)), "{back:?}");
}

#[test]
fn an_end_out_of_sight_is_at_the_edge_and_a_folded_one_at_its_heading() {
    let mut session = open("hand.trace.json", &hand_made());
    let [arrow] = look(&mut session, "kernel", Some((9, 21)), |_| {})[..] else { panic!("one arrow") };
    assert_eq!((arrow.points[0].0, arrow.points[3].0), (0, 1_000 / 12));
    let [arrow] = look(&mut session, "cuLaunchKernel", Some((0, 8)), |_| {})[..1] else { panic!("an arrow") };
    assert!(arrow.points.iter().all(|(x, y)| (0..=1_000).contains(x) && (24..=400).contains(y)), "{arrow:?}");
    assert!(look(&mut session, "kernel", Some((30, 40)), |_| {}).is_empty());
    let open_host = look(&mut session, "kernel", None, |_| {})[0];
    for host in [0, 1] {
        let folded = look(&mut session, "kernel", None, |sight| {
            sight.arrangement = Arrangement { turned: vec![host], ..Arrangement::default() }.to_string();
        });
        assert_eq!(folded.len(), 1);
        assert_ne!(folded[0].points, open_host.points);
    }
    // The target is far below, so the arrow leaves through the lower edge, without a head.
    let low = look(&mut session, "kernel", None, |sight| sight.height = 60);
    assert!(low.iter().all(|arrow| arrow.points.iter().all(|(_, y)| *y <= 60)));
}

#[test]
fn keys_go_along_the_links_and_the_details_list_them() {
    let mut session = open("hand.trace.json", &hand_made());
    let mut go = |from: &str, action: Action| -> Option<(String, Outcome)> {
        session
            .timeline(0, &Settings::default(), |context, kept| {
                let trace = context.captured_trace();
                let selected = Some(EventRef::captured(named(trace, from)));
                let sight = Sight { width: 1_000, height: 400, scale: 1.0, selected, ..Sight::default() };
                let outcome = act(context, kept, &mut Stage::default(), &sight, action, &PageQuery::default());
                let name = trace.text(trace.events.get(outcome.event?.id())?.name);
                Some((name.to_owned(), outcome))
            })
            .unwrap()
    };
    assert_eq!(go("kernel", Action::Step(Step::Cause)).unwrap().0, "cuLaunchKernel");
    assert_eq!(go("kernel", Action::Step(Step::Effect)).unwrap().0, "kernel");
    assert_eq!(go("cuLaunchKernel", Action::Step(Step::Effect)).unwrap().0, "step");
    let (_, outcome) = go("cuLaunchKernel", Action::Show).unwrap();
    let page = serde_json::to_value(&outcome.page).unwrap().to_string();
    for said in [
        "Linked events",
        "flow hand over to it",
        "launched by the selected event",
        "\"choice\":[\"event\",\"c2\"]",
        "10.0 µs",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
}

/// Returns the source and target `X` events of each flow, computed event by event. A flow point belongs to the innermost
/// event that runs at its time.
fn flows_of_file(text: &[u8]) -> BTreeSet<(String, String)> {
    let document: Value = serde_json::from_slice(text).unwrap();
    let events = document.as_array().or_else(|| document["traceEvents"].as_array()).unwrap();
    let key = |event: &Value, keys: &[&str]| keys.iter().map(|key| event[key].to_string()).collect::<Vec<_>>();
    let mut running: BTreeMap<Vec<String>, Vec<(f64, f64, String)>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let start = event["ts"].as_f64().unwrap();
        let name = format!("{} at {}", event["name"].as_str().unwrap(), event["ts"]);
        let end = start + event["dur"].as_f64().unwrap_or(0.0);
        running.entry(key(event, &["pid", "tid"])).or_default().push((start, end, name));
    }
    let around = |point: &Value| {
        let time = point["ts"].as_f64().unwrap();
        let there = running.get(&key(point, &["pid", "tid"]))?;
        let runs = there.iter().filter(|(start, end, _)| *start <= time && time < *end);
        runs.max_by(|a, b| a.0.partial_cmp(&b.0).unwrap()).map(|(.., name)| name.clone())
    };
    let identity = ["cat", "name", "id"];
    let starts: BTreeMap<_, _> =
        events.iter().filter(|event| event["ph"] == "s").map(|event| (key(event, &identity), event)).collect();
    let ends = events.iter().filter(|event| event["ph"] == "f");
    ends.filter_map(|end| Some((around(starts.get(&key(end, &identity))?)?, around(end)?))).collect()
}

#[test]
#[ignore = "reads real profiles"]
fn flows_of_a_real_capture_link_what_its_file_links() {
    let path = "kineto/h100-owlv2.json.gz";
    let truth = flows_of_file(&support::gunzip(&samples::real_bytes(path)));
    let mut session = open_real(path);
    let found = session.timeline(0, &Settings::default(), |context, kept| {
        let trace = context.captured_trace();
        let anchor = trace.capture.anchor_ns;
        let mut found = 0;
        let mut names = BTreeSet::new();
        for id in trace.events.ids() {
            let name = |id: EventId| {
                let event = trace.events.get(id).unwrap();
                (trace.text(event.name).to_owned(), event.start.as_ps() / 1_000 + anchor)
            };
            for linked in kept.linked(context, EventRef::captured(id)).iter().filter(|it| it.follows) {
                found += 1;
                names.insert((name(id), name(linked.event)));
                // The link is also visible from the other end.
                let back = kept.linked(context, EventRef::captured(linked.event));
                assert!(back.iter().any(|it| !it.follows && it.event == id));
            }
        }
        (found, names)
    });
    let (found, names) = found.unwrap();
    assert!(found >= truth.len(), "{found} of {}", truth.len());
    // By name and nanosecond.
    let ns = |text: &str| {
        let (name, ts) = text.rsplit_once(" at ").unwrap();
        let (whole, part) = ts.split_once('.').unwrap_or((ts, ""));
        let part: String = format!("{part}000").chars().take(3).collect();
        (name.to_owned(), format!("{whole}{part}").parse::<i64>().unwrap())
    };
    let missing: Vec<_> = truth.iter().filter(|(from, to)| !names.contains(&(ns(from), ns(to)))).collect();
    assert!(missing.is_empty(), "{} of {} are missing: {:?}", missing.len(), truth.len(), missing.first());
    assert!(truth.len() > 5_000, "{}", truth.len());
}

/// The numbers come from `inspect_trace.py`. This script counts consumers that have a producer with the same type and
/// number in the file, except consumers of thread pools.
#[test]
#[ignore = "reads real profiles"]
fn consumers_of_a_real_xplane_are_linked_with_their_producers() {
    for (path, consumers) in [
        ("tpu-v6e-4chip/*.xplane.pb", 2_189),
        ("mi300x-8gpu-conv/*.xplane.pb", 120),
        ("mi300x-elementwise/*.xplane.pb", 115),
        ("gfx950-te-attention/*.xplane.pb", 10),
    ] {
        let mut session = open_real(path);
        let linked = session.timeline(0, &Settings::default(), |context, kept| {
            let consumers = context.captured_trace().events.column(EventColumn::Consumer);
            let is_linked = |id: EventId| kept.linked(context, EventRef::captured(id)).iter().any(|it| !it.follows);
            consumers.iter().filter(|(id, _)| is_linked(*id)).count()
        });
        assert_eq!(linked, Some(consumers), "{path}");
    }
}
