//! Tests which events and warnings odd and damaged files give.

use proptest::prelude::*;

use super::{ChromeJsonDecoder, decode, decode_in, describe, events, warnings};
use base::{Error, Severity};

const HEAD: &str = r#"{"displayTimeUnit":"ns","traceEvents":["#;
const OP: &str = r#"{"ph":"X","pid":1,"tid":13,"ts":1.5,"dur":2.25,"name":"fusion.1","args":{"hlo_op":"fusion.1"}}"#;
const FUSION: (&str, i64, i64) = ("fusion.1", 1_500_000, 2_250_000);

type Times = Vec<(String, i64, i64)>;
type Counts = Vec<(String, Option<u64>)>;

/// Decodes a file with a valid event and `event`. Returns the events and warnings of the trace.
fn beside(event: &str) -> (Times, Counts) {
    let trace = decode(format!("{HEAD}{event},{OP}]}}")).unwrap();
    let owned = events(&trace).into_iter().map(|(name, start, duration)| (name.to_owned(), start, duration)).collect();
    (owned, warnings(&trace).into_iter().map(|(code, count)| (code.to_owned(), count)).collect())
}

#[test]
fn complete_lists_of_any_form_raise_no_warning() {
    let shapes = [
        format!("{HEAD}{OP}]}}"),
        format!("{HEAD}{OP},{{}}]}}"),
        format!("{HEAD}{OP},]}}"),
        format!("{HEAD}{OP}]}}garbage {{[\""),
        format!("\u{feff}{HEAD}{OP}]}}"),
        format!("[{OP}]"),
        format!("[{OP}]]}} trailing"),
        format!(" \r\n\t[ {} ] \n", OP.replace(',', " ,\n ").replace(':', "\t: ")),
        format!(r#"{{"a":[[["]}}\""]]],"traceEvents":[{OP}],"b":{{"traceEvents":[1]}},"c":-1.5e3,"d":null}}"#),
        format!(r#"{{"traceEvents":null,"traceEvents":[],"traceEvents":[{OP}]}}"#),
        format!(
            "[{}]",
            r#"{"args":{"hlo_op":"fusion.1"},"dur":"2.25","ts":"1.5","name":"fusion.1","tid":"13","pid":"1","ph":"X"}"#
        ),
        format!("[{}]", OP.replace("\"ts\":1.5", "\"ts\":9,\"ts\":1.5")),
    ];
    for shape in shapes {
        let trace = decode(&shape).unwrap();
        assert_eq!((events(&trace), warnings(&trace)), (vec![FUSION], vec![]), "{shape}");
        let event = trace.events.iter().next().unwrap();
        assert_eq!(trace.text(trace.args_of(&event).hlo_op), "fusion.1", "{shape}");
    }
}

#[test]
fn a_list_without_its_end_is_kept() {
    let unterminated = decode(format!("[{OP},{OP},")).unwrap();
    assert_eq!(warnings(&unterminated), [("json_unterminated", None)]);
    assert_eq!(unterminated.warnings.first().map(|warning| warning.severity), Some(Severity::Note));
    assert_eq!(unterminated.events.len(), 2);
    let closed = decode(format!("{HEAD}{OP}]")).unwrap();
    assert_eq!((events(&closed), warnings(&closed)), (vec![FUSION], vec![("json_unterminated", None)]));
    for cut in ["", ",", ",{\"ph\":\"X\",\"ts\":7", ",{\"name\":\"abc"] {
        let text = format!("{HEAD}{OP}{cut}");
        let trace = decode(&text).unwrap();
        assert_eq!((events(&trace), warnings(&trace)), (vec![FUSION], vec![("json_cut_off", None)]), "{text}");
        let offset = trace.warnings.first().and_then(|warning| warning.byte_offset).unwrap();
        assert_eq!(text.as_bytes().get(offset as usize), cut.as_bytes().get(1), "{text}");
    }
}

#[test]
fn every_truncation_keeps_the_events_before_it() {
    let text = format!(r#"{HEAD}{OP},{OP},{{}}],"metadata":{{"highres-ticks":true}}}}"#);
    for length in 0..text.len() {
        let whole = text.as_bytes().get(..length).unwrap();
        let complete = text.get(..length).unwrap().matches("}}").count().min(2);
        match decode(whole) {
            Ok(trace) => {
                assert_eq!(trace.events.len(), complete);
                let codes = warnings(&trace);
                let told = codes.iter().any(|(code, _)| matches!(*code, "json_cut_off" | "json_unterminated"));
                assert!(told, "cut at {length}: {codes:?}");
            }
            Err(Error::Empty) => assert_eq!(length, 0),
            Err(_) => assert!(length < HEAD.len(), "cut at {length}"),
        }
    }
}

#[test]
fn invalid_times_are_counted() {
    let cases = [
        (r#"{"ph":"X","ts":NaN,"dur":1,"name":"a"}"#, "time_not_a_number"),
        (r#"{"ph":"X","ts":1,"dur":Infinity,"name":"a"}"#, "time_not_a_number"),
        (r#"{"ph":"X","ts":1,"name":"a"}"#, "time_not_a_number"),
        (r#"{"ph":"X","ts":{"a":1},"dur":1}"#, "time_not_a_number"),
        (r#"{"ph":"X","ts":1e30,"dur":1}"#, "time_out_of_range"),
        (r#"{"ph":"X","ts":1,"dur":9300000000000}"#, "time_out_of_range"),
        (r#"{"ph":"X","ts":1,"dur":-4,"name":"neg"}"#, "negative_duration"),
        (r#"{"ph":"B","ts":1,"name":"open"}"#, "unmatched_begin"),
        (r#"{"ph":"E","ts":1}"#, "unmatched_end"),
        (r#"{"ph":"e","ts":1,"id":3,"cat":"x"}"#, "unmatched_end"),
        (r#"{"ph":"?","ts":1}"#, "unknown_phase"),
        (r#"{"ph":"XX","ts":1}"#, "unknown_phase"),
        (r#"{"ts":1,"dur":1}"#, "event_unreadable"),
        (r#"{"ph":"X","ts":1 "dur":1}"#, "event_unreadable"),
        (r#"{"ph":"X","args":[}"#, "event_unreadable"),
        (r#"{"ph":"X","args":{"a":1]}"#, "event_unreadable"),
        ("null", "event_unreadable"),
        (r#"["nested"]"#, "event_unreadable"),
    ];
    for (event, code) in cases {
        let (events, warnings) = beside(event);
        let lost_too = event == r#"{"ph":"X","args":[}"#;
        assert_eq!(events.len(), usize::from(!lost_too), "{event}");
        let warnings: Vec<_> =
            warnings.iter().filter(|(code, _)| code != "no_events" && code != "json_cut_off").collect();
        assert!(lost_too || warnings == [&(code.to_owned(), Some(1))], "{event}: {warnings:?}");
    }
}

#[test]
fn irrelevant_events_are_skipped_without_a_warning() {
    for event in [
        r#"{"ph":"i","ts":1,"s":"t","name":"x"}"#,
        r#"{"ph":"C","ts":1,"name":"x","args":{"a":1}}"#,
        r#"{"ph":"s","ts":1,"id":1}"#,
        r#"{"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{"sort_index":1}}"#,
        r#"{"ph":"M","name":"process_name","pid":7}"#,
        "{}",
    ] {
        let (events, warnings) = beside(event);
        assert_eq!((events.len(), warnings.len()), (1, 0), "{event}");
    }
}

#[test]
fn times_are_kept_to_the_picosecond_and_may_be_negative() {
    let cases = [
        // XLA writes zero in this way.
        (r#"{"ph":"X","ts":1.0000001,"dur":9.9999999999999995e-07,"name":"a"}"#, (1_000_000, 0)),
        (r#"{"ph":"X","ts":1.0000001,"dur":2.0000000000000001e-06,"name":"a"}"#, (1_000_000, 2)),
        (r#"{"ph":"X","ts":2,"dur":0.0006,"name":"a"}"#, (2_000_000, 600)),
        (r#"{"ph":"X","ts":-100,"dur":4,"name":"a"}"#, (-100_000_000, 4_000_000)),
        (r#"{"ph":"X","ts":96487413.736328006,"dur":0,"name":"a"}"#, (96_487_413_736_328, 0)),
    ];
    for (event, (start, duration)) in cases {
        let (events, warnings) = beside(event);
        assert_eq!(events.first(), Some(&("a".to_owned(), start, duration)), "{event}");
        assert!(warnings.is_empty(), "{event}");
    }
}

#[test]
fn text_is_decoded_and_bad_bytes_replaced() {
    let cases: [(&[u8], &str); 5] = [
        (br"\u00e9\ud83d\ude00 \\", "é😀 \\"),
        (b"raw \xff\xfe", "raw \u{fffd}\u{fffd}"),
        (b"a\x01b", "a\u{1}b"),
        (br"<img src=x onerror=alert\u00281\u0029>", "<img src=x onerror=alert(1)>"),
        (br"lone \ud800", "lone \u{fffd}"),
    ];
    for (raw, expected) in cases {
        let mut text = br#"[{"ph":"X","ts":1,"dur":1,"name":""#.to_vec();
        text.extend_from_slice(raw);
        text.extend_from_slice(br#""}]"#);
        let trace = decode(&text).unwrap();
        assert_eq!(events(&trace), [(expected, 1_000_000, 1_000_000)]);
        assert!(trace.warnings.is_empty());
    }
}

#[test]
fn one_broken_event_does_not_hide_the_next_ones() {
    // A missing quote swaps the inside and the outside of strings. The next event is lost too, but the third one is
    // found again.
    let broken = OP.replace("\"fusion.1\",\"args", "\"fusion.1,\"args");
    let trace = decode(format!("{HEAD}{broken},{OP},{OP},{OP}]}}")).unwrap();
    assert!(trace.events.len() >= 2, "{} events", trace.events.len());
    assert_eq!(warnings(&trace), [("event_unreadable", Some(1))]);
}

#[test]
fn other_files_are_refused_with_their_kind() {
    let cases = [
        ("<html>not found</html>", "neither a JSON object nor a JSON array"),
        ("   \n", "an empty text"),
        ("{}", "an empty JSON object"),
        ("[]", "a JSON array without trace events"),
        (r#"[1,2,{"a":1}]"#, "a JSON array without trace events"),
        (
            r#"{"$schema":"x","shared":{"frames":[{"name":"A"}]},"profiles":[]}"#,
            "\"$schema\", \"shared\", \"profiles\"",
        ),
        (r#"{"shared":{"frames":["#, "truncated"),
        (r#"{"traceEvents":7}"#, "without \"traceEvents\""),
    ];
    for (text, part) in cases {
        let error = decode(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    assert_eq!(decode("").unwrap_err(), Error::Empty);
    let empty = decode(r#"{"traceEvents":[]}"#).unwrap();
    assert_eq!(warnings(&empty), [("no_events", None)]);
}

#[test]
fn one_absurd_time_does_not_stretch_the_capture() {
    let absurd = r#"{"ph":"X","pid":1,"tid":13,"ts":8640000000000,"dur":1,"name":"far"}"#;
    for text in [format!("[{absurd},{OP},{OP}]"), format!("[{OP},{OP},{absurd}]")] {
        let trace = decode(text).unwrap();
        assert_eq!(events(&trace), [FUSION, FUSION]);
        assert_eq!(warnings(&trace), [("time_far_off", Some(1))]);
    }
}

#[test]
fn a_broken_last_event_is_one_loss_and_not_a_cut() {
    let trace = decode(format!(r#"{HEAD}{OP},{{"ph":"X" "ts":1}}]}}"#)).unwrap();
    assert_eq!((events(&trace), warnings(&trace)), (vec![FUSION], vec![("event_unreadable", Some(1))]));
    let cut = decode(format!(r#"{HEAD}{OP},{{"ph":"X" "ts":1}},{{"na"#)).unwrap();
    assert_eq!(
        (events(&cut), warnings(&cut)),
        (vec![FUSION], vec![("json_cut_off", None), ("event_unreadable", Some(1))])
    );
}

#[test]
fn irrelevant_text_is_not_buffered() {
    let mut decoder = ChromeJsonDecoder::new("test.json");
    let push = |decoder: &mut ChromeJsonDecoder, piece: &str| {
        for _ in 0..1000 {
            decoder.push(piece.as_bytes()).unwrap();
        }
        assert!(decoder.tail.capacity() <= 4 * piece.len(), "{} bytes held", decoder.tail.capacity());
    };
    let spaces = " \n".repeat(5_000);
    push(&mut decoder, &spaces);
    decoder.push(b"{\"other\":[\"").unwrap();
    push(&mut decoder, &"x".repeat(10_000));
    decoder.push(b"\"],\"traceEvents\":[").unwrap();
    push(&mut decoder, &spaces);
    push(&mut decoder, &format!("{OP},").repeat(100));
    decoder.push(b"!").unwrap();
    push(&mut decoder, &"\"{,[:".repeat(2_000));
    assert_eq!(decoder.finish().unwrap().events.len(), 100_000);
}

#[test]
fn ids_that_occur_once_are_dropped() {
    let pair = |id: u32| {
        format!(
            r#"{{"ph":"b","cat":"c","id":{id},"ts":{id},"name":"a"}},{{"ph":"e","cat":"c","id":{id},"ts":{id}.5}},"#
        )
    };
    let mut decoder = ChromeJsonDecoder::new("test.json");
    decoder.push(HEAD.as_bytes()).unwrap();
    (0..10_000).for_each(|id| decoder.push(pair(id).as_bytes()).unwrap());
    // The end of the last pair may still be in the tail.
    assert!(decoder.events() > 9_000 && decoder.scanner.store.pairs.open_tracks() <= 1);
    assert_eq!(decoder.finish().unwrap().events.len(), 10_000);
}

#[test]
fn nesting_and_length_are_unlimited() {
    let deep = format!("{}{}", "[{\"a\":".repeat(100_000), "}]".repeat(100_000));
    let long = "x".repeat(super::super::scanner::MAX_EVENT + 10);
    let event = |args: &str| OP.replace(r#"{"hlo_op":"fusion.1"}"#, args);
    let text = format!("{{\"deep\":{deep},\"traceEvents\":[{},{OP}]}}", event(&format!("{{\"a\":{deep}}}")));
    let trace = decode_in(text.as_bytes(), 65_536).unwrap();
    assert_eq!((trace.events.len(), trace.warnings.len()), (2, 0));
    let text = format!("{HEAD}{},{OP}]}}", event(&format!("{{\"a\":\"{long}\"}}")));
    let in_chunks = decode_in(text.as_bytes(), 65_536).unwrap();
    assert_eq!((events(&in_chunks), warnings(&in_chunks)), (vec![FUSION], vec![("event_too_large", Some(1))]));
    assert_eq!(describe(&in_chunks), describe(&decode_in(text.as_bytes(), text.len()).unwrap()));
    let unclosed = format!("{HEAD}{OP},{}", "{\"a\":[".repeat(200_000));
    assert_eq!(warnings(&decode_in(unclosed.as_bytes(), 4096).unwrap()), [("json_cut_off", None)]);
}

/// Returns a trace with several shapes of events, which the tests mutate.
fn specimen() -> String {
    let mut text = String::from(HEAD);
    for step in 0..6 {
        text += &format!(
            r#"{{"ph":"M","pid":1,"name":"process_name","args":{{"name":"/device:GPU:0"}}}},
            {{"ph":"X","pid":1,"tid":13,"ts":{step}.5,"dur":0.25,"name":"k","args":{{"correlation_id":"{step}","tf_op":"a\\b"}}}},
            {{"ph":"B","pid":2,"tid":"x","ts":{step},"name":"b"}},{{"ph":"E","pid":2,"tid":"x","ts":{step}.75}},
            {{"ph":"b","cat":"c","id":"0x{step}","pid":2,"ts":{step}}},{{"ph":"e","cat":"c","id":{step},"pid":2,"ts":9}},"#
        );
    }
    text + "{}]}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_damage_gives_the_same_in_any_chunks(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0usize..3), 0..6),
        cut in any::<prop::sample::Index>(),
        size in 1usize..300,
    ) {
        let mut bytes = specimen().into_bytes();
        let structural = b"{}[]\",:\\ ";
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            let byte = if kind == 0 { byte } else { structural[usize::from(byte) % structural.len()] };
            if kind == 2 { bytes.insert(at, byte) } else { bytes[at] = byte }
        }
        bytes.truncate(bytes.len() - cut.index(bytes.len()) / 4);
        match (decode_in(&bytes, bytes.len().max(1)), decode_in(&bytes, size)) {
            (Ok(whole), Ok(pieces)) => prop_assert_eq!(describe(&whole), describe(&pieces)),
            (whole, pieces) => prop_assert_eq!(whole.err(), pieces.err()),
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), size in 1usize..50) {
        let list = [HEAD.as_bytes(), &bytes].concat();
        let _ = decode_in(&bytes, size);
        let _ = decode_in(&list, size);
    }
}
