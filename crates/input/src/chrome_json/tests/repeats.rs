//! Tests of repeated events: an event must give the same result as if it were alone in its file.

use proptest::prelude::*;

use super::{decode, decode_in, events};
use trace::{Args, EventColumn, EventId, Trace};

fn said(trace: &Trace, id: EventId) -> String {
    let event = trace.events.get(id).unwrap();
    let args = trace.args_of(&event);
    let texts = [
        args.hlo_op,
        args.hlo_category,
        args.tf_op,
        args.long_name,
        args.cat,
        args.source_stack,
        event.name,
        args.kernel_details,
    ];
    let numbers = Args {
        hlo_op: Default::default(),
        hlo_category: Default::default(),
        tf_op: Default::default(),
        long_name: Default::default(),
        cat: Default::default(),
        source_stack: Default::default(),
        kernel_details: Default::default(),
        ..args
    };
    let events = &trace.events;
    let columns = [
        events.column(EventColumn::Correlation),
        events.column(EventColumn::RunId),
        events.column(EventColumn::StepNum),
        events.column(EventColumn::AllReduceId),
        events.column(EventColumn::DmaStall),
    ];
    let ids = columns.map(|column| column.get(id));
    format!("{:?} {numbers:?} {ids:?} {:?} {:?}", texts.map(|text| trace.text(text)), event.start, event.duration)
}

/// Generates an event from only a few names, threads and arguments, so that many generated events differ in only one
/// place. Returns the event twice: as profilers write it, and with its keys in another order.
fn event() -> impl Strategy<Value = [String; 2]> {
    let names = prop::sample::select(vec!["fusion.1", "fusion.2", r"a\\b", "ProfilerStep#3"]);
    let cats = prop::sample::select(vec!["", r#""cat":"kernel","#, r#""cat":"cpu_op","#]);
    let keys = prop::sample::select(vec![
        "correlation_id",
        "run_id",
        "step_num",
        "hlo_op",
        "hlo_category",
        "bytes_accessed",
        "model_flops",
        "External id",
        "device",
        "name",
        "tf_op",
        "source_stack",
        "shape_with_layout",
        "device_duration_ps",
        "all_reduce_unique_id",
        "dma_stall_duration_ps",
        "annotation",
        "registers per thread",
        "Collective name",
    ]);
    let values = prop::sample::select(vec![
        r#""1""#,
        "1",
        r#""22""#,
        "22",
        "1.5",
        r#""-7""#,
        r#""""#,
        r#""9007199254740993""#,
        "10159970886766084423",
        r#""fusion""#,
        r#""fusion\n""#,
        r#""XlaModule:""#,
        "null",
        "[1,{}]",
    ]);
    let args = prop::collection::vec((keys, values), 0..4);
    (names, cats, args, 1..3, 0..4).prop_map(|(name, cat, args, tid, shape)| {
        let args: Vec<String> = args.into_iter().map(|(key, value)| format!(r#""{key}":{value}"#)).collect();
        let args = args.join(",");
        let usual = match shape {
            0 => format!(r#"{{"ph":"X",{cat}"pid":1,"tid":{tid},"ts":1,"dur":2,"name":"{name}","args":{{{args}}}}}"#),
            1 => format!(r#"{{"ph":"X","pid":1,"tid":{tid},"ts":1,"dur":2,"name":"{name}","args":{{{args}}}}}"#),
            2 => format!(r#"{{"ph":"X","pid":1,"tid":{tid},"ts":1,"dur":2,"name":"{name}"}}"#),
            _ => format!(r#"{{"ph":"X","pid":1,"tid":{tid},"name":"{name}",{cat}"ts":1,"dur":2}}"#),
        };
        let cat = if matches!(shape, 1 | 2) { "" } else { cat };
        let args = if shape < 2 { format!(r#""args" : {{{args}}},"#) } else { String::new() };
        let reversed = format!(r#"{{ {args}"dur" : 2,"ts":1,{cat}"name":"{name}","tid":{tid}, "pid":1,"ph":"X"}}"#);
        [usual, reversed]
    })
}

proptest! {
    #[test]
    fn an_event_says_the_same_among_others_as_alone(
        list in prop::collection::vec((event(), any::<prop::sample::Index>()), 1..60),
    ) {
        let texts: Vec<&str> = list.iter().map(|(forms, form)| form.get(forms).as_str()).collect();
        let together = decode_in(format!("[{}]", texts.join(",")).as_bytes(), 1 << 20).unwrap();
        prop_assert_eq!(together.events.len(), list.len());
        for (id, (forms, _)) in together.events.ids().zip(&list) {
            for form in forms {
                let alone = decode_in(format!("[{form}]").as_bytes(), 1 << 20).unwrap();
                prop_assert_eq!(said(&together, id), said(&alone, EventId::new(0)), "{}", form);
            }
        }
    }
}

#[test]
fn the_last_of_repeated_keys_counts() {
    let event = |name: &str, more: &str| {
        format!(r#"{{"ph":"X","tid":1,"ts":1,"dur":1,"name":"{name}","args":{{"hlo_op":"x","run_id":"5"}}{more}}}"#)
    };
    let trace = decode(format!(
        "[{},{},{},{}]",
        event("a", ""),
        event("a", r#","name":"b""#),
        event("b", ""),
        event("a", r#","args":{"hlo_op":"y"}"#)
    ))
    .unwrap();
    let found: Vec<_> = trace
        .events
        .ids()
        .map(|id| {
            let event = trace.events.get(id).unwrap();
            (
                trace.text(event.name),
                trace.text(trace.args_of(&event).hlo_op),
                trace.events.column(EventColumn::RunId).get(id),
            )
        })
        .collect();
    assert_eq!(found, [("a", "x", Some(5)), ("b", "x", Some(5)), ("b", "x", Some(5)), ("a", "y", None)]);
}

#[test]
fn more_names_than_are_remembered_lose_nothing() {
    // The names are used in two rounds. There are far more names than slots, so each name is often replaced by others.
    let count = 20_000;
    let text: String = (0..2 * count)
        .map(|index| {
            let op = index % count;
            format!(r#"{{"ph":"X","tid":1,"ts":{index},"dur":1,"name":"op.{op}","args":{{"hlo_op":"op.{op}","run_id":"{index}"}}}},"#)
        })
        .collect();
    let trace = decode_in(format!("[{text}]").as_bytes(), 65_536).unwrap();
    for (id, (name, _, _)) in trace.events.ids().zip(events(&trace)) {
        assert_eq!(name, format!("op.{}", id.get() % count));
        assert_eq!(trace.text(trace.args_of(&trace.events.get(id).unwrap()).hlo_op), name);
        assert_eq!(trace.events.column(EventColumn::RunId).get(id), Some(i64::from(id.get())));
    }
    assert_eq!(trace.events.len(), 2 * count as usize);
}
