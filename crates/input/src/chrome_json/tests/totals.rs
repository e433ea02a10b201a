//! Tests the decoder with a synthetic JAX trace whose durations are known. The decoded durations must have the same
//! totals to the picosecond.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{decode, decode_in, warnings};
use trace::{EventColumn, Trace};

/// Formats microseconds as XLA's writer prints them, with 17 significant digits.
fn us(ps: i64) -> String {
    let text = format!("{:.16e}", ps as f64 / 1e6);
    let (digits, exponent) = text.split_once('e').unwrap();
    match exponent.parse::<i32>().unwrap() {
        small if small < -4 => format!("{digits}e{small:03}"),
        exponent => {
            let decimals = usize::try_from(16 - exponent).unwrap();
            let fixed = format!("{:.*}", decimals, ps as f64 / 1e6);
            fixed.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// Writes `count` op events on a few lines, with all kinds of ids. Returns the text, and the total duration of each op
/// in picoseconds.
fn synthetic(count: i64) -> (String, BTreeMap<String, i64>) {
    let mut text = String::from(r#"{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":["#);
    let mut totals = BTreeMap::new();
    let (mut clock, mut seed) = (5_000_000_000i64, 1u64);
    for index in 0..count {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let duration = 1 + (seed >> 40) as i64 % 90_000_000;
        let op = format!("fusion.{}", index * 7 % 240);
        let category = ["loop fusion", "custom-call"][(index * 7 % 240 % 2) as usize];
        write!(
            text,
            r#"{{"ph":"X","pid":{},"tid":3,"ts":{},"dur":{},"name":"{op}","args":{{"bytes_accessed":"{}","correlation_id":"{index}","device_offset_ps":"{clock}","hlo_category":"{category}","long_name":"%{op} = f32[8]{{0}} \"{op}\"","run_id":"{}","step_num":"{}"}}}},"#,
            3 + index % 2, us(clock), us(duration), index * 7 % 240, index / 240, index / 480
        )
        .unwrap();
        *totals.entry(op).or_default() += duration;
        clock += duration + 1 + (seed >> 50) as i64;
    }
    (text + "{}]}", totals)
}

fn totals(trace: &Trace) -> BTreeMap<String, i64> {
    let mut totals = BTreeMap::new();
    for event in trace.events.iter() {
        *totals.entry(trace.text(event.name).to_owned()).or_default() += event.duration.as_ps();
    }
    totals
}

#[test]
fn op_totals_are_exact_and_ids_stay_with_their_events() {
    let (text, expected) = synthetic(3_000);
    let trace = decode(&text).unwrap();
    assert_eq!(totals(&trace), expected);
    assert_eq!(warnings(&trace), []);
    assert_eq!((trace.complete_events, trace.capture.anchor_ns), (3_000, 0));
    assert_eq!(trace.args.len(), 241, "what varies from event to event is in no argument set");
    for id in trace.events.ids() {
        let index = i64::from(id.get());
        let (op, args) = (index * 7 % 240, trace.args_of(&trace.events.get(id).unwrap()));
        assert_eq!(trace.events.column(EventColumn::Correlation).get(id), Some(index));
        assert_eq!(trace.events.column(EventColumn::RunId).get(id), Some(index / 240));
        assert_eq!(trace.events.column(EventColumn::StepNum).get(id), Some(index / 480));
        assert_eq!(args.bytes_accessed, Some(op));
        assert_eq!(trace.text(args.long_name), format!("%fusion.{op} = f32[8]{{0}} \"fusion.{op}\""));
    }
}

#[test]
fn memory_is_bounded_by_the_events() {
    let (text, _) = synthetic(64_000);
    let trace = decode_in(text.as_bytes(), 65_536).unwrap();
    let bytes = trace.events.memory_bytes() + trace.args.memory_bytes() + trace.strings.memory_bytes();
    assert!(bytes < 100 * trace.events.len(), "{} bytes an event", bytes / trace.events.len());
}

#[test]
fn the_limit_of_the_writer_is_recognised() {
    let event = r#"{"ph":"X","ts":1,"dur":1},"#;
    let file = |count: usize| format!(r#"{{"traceEvents":[{}{{}}]}}"#, event.repeat(count));
    let codes = |text: String| {
        let trace = decode_in(text.as_bytes(), 1 << 20).unwrap();
        trace.warnings.iter().map(|warning| warning.code.clone()).collect::<Vec<_>>()
    };
    assert_eq!(codes(file(1_000_000)), ["json_truncated"]);
    assert!(codes(file(999_999)).is_empty());
}
