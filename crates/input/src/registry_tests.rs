//! Passes every event value in the registry through all code that stores it: both decoders, the image of a trace,
//! merging, and the removal of absurd events. The tests cover new columns and arguments automatically.

use crate::xplane::writer::{Message, event, message};
use crate::{ChromeJsonDecoder, XPlaneDecoder};
use trace::snapshot::{Piece, Reader, Writer};
use trace::{EventColumn, EventId, EventStat, Holds, NumberArg, TextArg, Trace, TraceBuilder, merge};

/// Name of the event in these tests. It is the name of an event that ends an op, because some values are stored only
/// for such events.
const NAME: &str = "end: dot.1";
const NUMBER: i64 = 7;

/// Builds an xplane event that is an op and has one additional stat.
fn xplane(stat: &[u8], value: Message) -> Trace {
    let said = event(1, 50, 400).message(4, message().int(1, 1).bytes(5, "dot.1")).message(4, value);
    let line = message().bytes(2, "python").message(4, said);
    let host = message().bytes(2, "/host:CPU").message(3, line).event_metadata(1, NAME);
    let host = host.stat_metadata(1, "hlo_op").stat_metadata(2, std::str::from_utf8(stat).unwrap());
    let mut decoder = XPlaneDecoder::new("host.xplane.pb");
    decoder.push(&message().message(1, host).0).unwrap();
    decoder.finish().unwrap()
}

/// Builds a JSON event that is an op and has one additional argument. The trace also has an event that is weeks
/// earlier, which the decoder removes.
fn json(key: &[u8], value: &str) -> Trace {
    let key = std::str::from_utf8(key).unwrap();
    let event = |name: &str, start: &str, args: &str| {
        format!(r#"{{"ph":"X","pid":1,"tid":2,"ts":{start},"dur":1,"name":"{name}","args":{{{args}}}}}"#)
    };
    let said = format!(r#""hlo_op":"dot.1","{key}":"{value}""#);
    let events = [event("far", "5000000000000", &said), event("first", "0", ""), event(NAME, "5000000", &said)];
    let mut decoder = ChromeJsonDecoder::new("host.trace.json");
    decoder.push(format!(r#"{{"traceEvents":[{}]}}"#, events.join(",")).as_bytes()).unwrap();
    let trace = decoder.finish().unwrap();
    assert_eq!(trace.events.len(), 2);
    trace
}

/// Transfers the trace to another program and back, and then merges it into a run as the second host.
fn carried(trace: Trace) -> Trace {
    let mut reader = Reader::new();
    for piece in Writer::new(trace, Vec::new()) {
        match piece {
            Piece::Rows(rows) => reader.push_rows(rows),
            Piece::Bytes(bytes) => reader.push(&bytes),
        }
    }
    let mut other = TraceBuilder::new();
    let line = other.line("/host:CPU", "main");
    other.event(line, "another", 0, 1).hlo_op("text that stands first").step_num(1);
    merge(vec![("a".into(), other.build()), ("b".into(), reader.finish().unwrap().0)])
}

/// Applies `find` to the event in the decoded trace and in the transferred trace.
fn both<T>(trace: Trace, find: impl Fn(&Trace, EventId) -> T) -> [T; 2] {
    [trace.clone(), carried(trace)].map(|trace| {
        let is_it = |id: &EventId| trace.events.get(*id).is_some_and(|event| trace.text(event.name) == NAME);
        find(&trace, trace.events.ids().filter(is_it).last().unwrap())
    })
}

#[test]
fn every_column_is_carried() {
    for &column in EventColumn::ALL {
        let check = |trace: Trace, name: &[u8]| {
            let [decoded, carried] = both(trace, |trace, id| trace.events.column(column).get(id));
            let expected = column.holds().kept(NUMBER);
            assert!(decoded.is_some() && decoded == expected, "{column:?} of {}: {decoded:?}", name.escape_ascii());
            let is_moved = column.holds() == Holds::CaptureId;
            assert!(carried.is_some() && (carried != expected) == is_moved, "{column:?}: {carried:?}");
        };
        for stat in column.xplane_stats() {
            assert_eq!(EventStat::of_xplane(stat), Some(EventStat::Column(column)));
            check(xplane(stat, message().int(1, 2).int(4, NUMBER)), stat);
        }
        for key in column.json_keys() {
            assert_eq!(EventStat::of_json(key), Some(EventStat::Column(column)));
            check(json(key, &NUMBER.to_string()), key);
        }
    }
}

#[test]
fn every_number_is_carried() {
    for &number in NumberArg::ALL {
        let check = |trace: Trace, name: &[u8]| {
            let found = both(trace, |trace, id| *trace.args_of(&trace.events.get(id).unwrap()).number_mut(number));
            assert_eq!(found, [Some(NUMBER); 2], "{number:?} of {}", name.escape_ascii());
        };
        number.xplane_stats().iter().for_each(|stat| check(xplane(stat, message().int(1, 2).int(4, NUMBER)), stat));
        number.json_keys().iter().for_each(|key| check(json(key, &NUMBER.to_string()), key));
    }
}

#[test]
fn every_text_is_carried() {
    for &text in TextArg::ALL {
        let check = |trace: Trace, name: &[u8]| {
            let found = both(trace, |trace, id| {
                let handle = *trace.args_of(&trace.events.get(id).unwrap()).text_mut(text);
                trace.text(handle).to_owned()
            });
            assert_eq!(found, ["said"; 2], "{text:?} of {}", name.escape_ascii());
        };
        text.xplane_stats().iter().for_each(|stat| check(xplane(stat, message().int(1, 2).bytes(5, "said")), stat));
        text.json_keys().iter().for_each(|key| check(json(key, "said"), key));
    }
}

/// This test includes arguments and values that no decoder sets.
#[test]
fn every_argument_and_value_comes_back_from_an_image_and_a_merge() {
    let mut b = TraceBuilder::new();
    let line = b.line("/host:CPU", "python");
    let texts: Vec<_> = TextArg::ALL.iter().map(|text| b.trace_mut().strings.intern(&format!("{text:?}"))).collect();
    let mut said = b.event(line, NAME, 0, 1);
    for (number, &column) in (NUMBER..).zip(EventColumn::ALL) {
        said = said.value(column, number);
    }
    drop(said.args(|args| {
        TextArg::ALL.iter().zip(texts).for_each(|(text, handle)| *args.text_mut(*text) = handle);
        (0..).zip(NumberArg::ALL).for_each(|(value, number)| *args.number_mut(*number) = Some(value));
    }));
    let said = both(b.build(), |trace, id| {
        let mut args = trace.args_of(&trace.events.get(id).unwrap());
        let texts = TextArg::ALL.iter().map(|text| trace.text(*args.text_mut(*text)).to_owned()).collect::<Vec<_>>();
        let numbers = NumberArg::ALL.iter().map(|number| *args.number_mut(*number)).collect::<Vec<_>>();
        let moved = |column: &&EventColumn| column.holds() != Holds::CaptureId;
        let columns = EventColumn::ALL.iter().filter(moved).map(|column| trace.events.column(*column).get(id));
        (texts, numbers, columns.collect::<Vec<_>>())
    });
    assert_eq!(said[0], said[1]);
    assert!(said[0].0.iter().zip(TextArg::ALL).all(|(said, text)| *said == format!("{text:?}")));
    assert!(said[0].1.iter().all(Option::is_some) && said[0].2.iter().all(Option::is_some));
}
