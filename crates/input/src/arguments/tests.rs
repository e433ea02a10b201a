//! Tests that the reader finds exactly the written arguments, for any surrounding text and any chunk sizes.

use std::io::Write as _;

use proptest::prelude::*;

use super::{ArgumentsReader, EventArguments};
use crate::Outliner;
use crate::xplane::writer::{event, message, sample};

/// Returns the index, the name and the arguments of each event found.
fn find(file: &str, member: &str, bytes: &[u8], events: &[u32], chunk: usize) -> Vec<EventArguments> {
    let mut reader = ArgumentsReader::new(file, member, events.to_vec());
    for piece in bytes.chunks(chunk) {
        reader.push(piece);
        if reader.is_done() {
            break;
        }
    }
    reader.finish()
}

fn of_file(bytes: &[u8], events: &[u32]) -> Vec<EventArguments> {
    find("file", "file", bytes, events, 4096)
}

fn said(found: &[EventArguments]) -> Vec<String> {
    let pair = |(name, value): &(String, String)| format!(" {name}={value}");
    found.iter().map(|it| format!("{}:{}", it.name, it.arguments.iter().map(pair).collect::<String>())).collect()
}

fn json(events: &str) -> Vec<u8> {
    format!("{{\"traceEvents\":[{events}]}}").into_bytes()
}

const KERNEL: &str = r#"{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":5,"dur":2,"args":{
    "External id": 18446744073709551615, "grid": [56, 2, 1], "est. achieved occupancy %": 1.50, "Trace name": "a\n\"b\"",
    "queued": null, "in": {"shapes": [[2, "x y"]], "deep": {}}},"id":9,"bp":"e"}"#;

#[test]
fn every_member_of_a_json_event_is_returned_as_written() {
    let text = json(&format!(r#"{{"ph":"M","name":"process_name","pid":0,"args":{{"name":"p"}}}},{KERNEL}"#));
    let expected = "gemm: External id=18446744073709551615 grid=[56,2,1] est. achieved occupancy %=1.50 \
                    Trace name=a\n\"b\" queued=null in.shapes=[[2,\"x y\"]] in.deep={} cat=kernel id=9 bp=e";
    assert_eq!(said(&of_file(&text, &[0])), [expected]);
}

#[test]
fn a_pair_has_the_arguments_of_its_begin_and_its_end() {
    let text = json(
        r#"{"ph":"B","name":"outer","pid":1,"tid":1,"ts":1,"args":{"a":1,"same":0}},
           {"ph":"B","name":"inner","pid":1,"tid":1,"ts":2,"args":{"b":2}},
           {"ph":"b","name":"async","cat":"c","id":7,"pid":1,"tid":1,"ts":2,"args":{"c":3}},
           {"ph":"E","pid":1,"tid":1,"ts":3,"args":{"b":4}},
           {"ph":"E","pid":1,"tid":1,"ts":4,"args":{"d":5,"same":0}},
           {"ph":"e","name":"async","cat":"c","id":7,"pid":1,"tid":1,"ts":5}"#,
    );
    let expected = ["inner: b=2 b (2)=4", "outer: a=1 same=0 d=5", "async: c=3 cat=c id=7"];
    assert_eq!(said(&of_file(&text, &[2, 1, 0, 1])), expected);
    assert_eq!(said(&of_file(&text, &[1])), expected[1..2]);
}

#[test]
fn an_xplane_gives_the_stats_of_the_event_and_of_its_metadata() {
    let kernel = "gemm: correlation_id=41 hlo_module=jit_train_step name=jit(train_step)/dot_general tf_op=XlaModule: \
                  program_id=-7";
    let fusion = "fusion.2: correlation_id=42 hlo_module=jit_train_step name=jit(train_step)/add tf_op=XlaModule: \
                  program_id=-7 long_name=%fusion.2 = f32[8] fusion(%p) bytes_accessed=640";
    let copy = "MemcpyD2H: memcpy_details=size:4 dest:0 async:1";
    for chunk in [1, 7, 4096] {
        let found = find("a.pb", "a.pb", &sample(), &[0, 1, 2, 3, 4], chunk);
        assert_eq!(said(&found), [kernel, fusion, copy, "train: step_num=6 run_id=3"]);
        assert_eq!(found.iter().map(|it| it.event).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }
}

#[test]
fn values_of_every_type_are_returned() {
    let stat = |id: i64| message().int(1, id);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"long text").unwrap();
    let shared = message()
        .bytes(2, "e")
        .bytes(3, [1, 2, 3])
        .message(5, stat(1).double(2, 9.0))
        .message(5, stat(8).bytes(8, packed.finish().unwrap()))
        .message(5, stat(9).bytes(8, "no gzip"));
    let own = event(5, 0, 1)
        .message(4, stat(1).double(2, 0.1))
        .message(4, stat(2).int(3, -1))
        .message(4, stat(3).int(4, -1))
        .message(4, stat(4).bytes(5, [b'a', 0xff]))
        .message(4, stat(5).bytes(6, [0; 12]))
        .message(4, stat(6).int(7, 1))
        .message(4, stat(7).int(7, 99))
        .message(4, stat(2).int(3, 7))
        .message(4, stat(70));
    let names = ["double", "unsigned", "signed", "text", "bytes", "reference", "lost", "packed", "broken"];
    let plane = message().bytes(2, "/host:CPU").message(3, message().bytes(2, "t").message(4, own));
    let plane = plane.entry(4, 5, shared);
    let plane = (1..).zip(names).fold(plane, |plane, (id, name)| plane.stat_metadata(id, name));
    let expected = "e: double=0.1 unsigned=18446744073709551615 signed=-1 text=a\u{fffd} bytes=12 bytes reference=double \
                    lost= unsigned (2)=7 stat metadata 70= metadata=3 bytes packed=long text broken=7 bytes";
    assert_eq!(said(&of_file(&message().message(1, plane).0, &[0])), [expected]);
}

#[test]
fn members_of_archives_and_packed_files_are_read() {
    let text = json(KERNEL);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&text).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(find("t.json.gz", "t.json.gz", &packed, &[0], 5).len(), 1);
    // Another member of the archive contains more events.
    let archive = [tar_member("run/b.xplane.pb", &sample()), tar_member("run/t.json.gz", &packed)].concat();
    assert_eq!(find("r.tar", "r.tar/run/b.xplane.pb", &archive, &[3], 700).len(), 1);
    assert_eq!(find("r.tar", "r.tar/run/t.json", &archive, &[3], 700), []);
    assert!(said(&find("r.tar", "r.tar/run/t.json", &archive, &[0], 700))[0].starts_with("gemm: External id"));
}

fn tar_member(path: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0u8; 512];
    header[..path.len()].copy_from_slice(path.as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[257..263].copy_from_slice(b"ustar\0");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
    let padding = vec![0; content.len().next_multiple_of(512) - content.len()];
    [&header[..], content, &padding].concat()
}

#[test]
fn outlined_planes_and_large_ones_give_the_same() {
    let stat = |number: i64| message().int(1, 1).int(4, number);
    let line = (0..9000).fold(message().bytes(2, "XLA Ops"), |line, at: i64| {
        line.message(4, event(1, at * 10, 5).message(4, stat(at)))
    });
    let plane = message().bytes(2, "/device:TPU:0").message(3, line).event_metadata(1, "op").stat_metadata(1, "number");
    let file = message().message(1, plane).0;
    let wanted = [0, 1, 2047, 2048, 5000, 8999];
    let expected: Vec<String> = wanted.iter().map(|at| format!("op: number={at}")).collect();
    for chunk in [13, 1 << 20] {
        assert_eq!(said(&find("a.pb", "a.pb", &file, &wanted, chunk)), expected);
        let mut outliner = Outliner::for_test(file.len() as u64, 1000, 64);
        while let Some(range) = outliner.wanted() {
            outliner.give(&file[range.start as usize..range.end as usize]);
        }
        let mut reader = ArgumentsReader::new("a.pb", "a.pb", wanted.to_vec());
        reader.set_outlines(outliner.outlines());
        file.chunks(chunk).for_each(|piece| reader.push(piece));
        assert_eq!(said(&reader.finish()), expected);
    }
}

#[test]
fn a_cut_file_gives_the_events_before_the_cut() {
    let text = json(&[KERNEL; 3].join(","));
    for (bytes, name, count) in [(text, "t.json", 3), (sample(), "a.pb", 4)] {
        let mut before = 0;
        for length in 0..bytes.len() {
            let found = find(name, name, &bytes[..length], &[0, 1, 2, 3], 64);
            assert!(found.len() >= before && found.len() <= count, "{name} cut at {length}");
            before = found.len();
        }
        assert_eq!(before, count);
    }
}

/// Writes an event of a JSON trace and returns the arguments that the reader must find for it.
fn json_event(phase: u8, start: u64, keys: &[(u8, u32)]) -> (String, Vec<(String, String)>) {
    let args = keys.iter().map(|(key, value)| (format!("k{key}"), value.to_string())).collect::<Vec<_>>();
    let text = args.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect::<Vec<_>>().join(",");
    let event = |phase, more: &str| {
        format!(r#"{{"ph":"{phase}","pid":1,"tid":{phase:?},"ts":{start}{more},"name":"e","args":{{{text}}}}}"#)
            .replace("'", "")
    };
    match phase % 4 {
        0 => (event("B", ""), args),
        1 => (r#"{"ph":"E","pid":1,"tid":"B","ts":1000000}"#.to_owned(), Vec::new()),
        2 => (event("X", r#","dur":-3"#), args),
        _ => (event("X", r#","dur":3"#), args),
    }
}

proptest! {
    #[test]
    fn the_same_events_as_the_decoder_counts(
        events in prop::collection::vec((any::<u8>(), 0..1000u64, prop::collection::btree_map(0..6u8, any::<u32>(), 0..4)), 1..60),
        repeats in 1..40usize,
        chunk in 1..5000usize,
        base in prop::sample::select(vec![0u64, 1_700_000_000_000_000]),
    ) {
        // Indices of open begin events, and the expected arguments of each complete or ended event.
        let (mut open, mut expected, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (phase, start, keys) in std::iter::repeat_n(events, repeats).flatten() {
            let keys: Vec<(u8, u32)> = keys.into_iter().collect();
            let (text, args) = json_event(phase, base + start, &keys);
            let text = text.replace(r#""ts":1000000"#, &format!(r#""ts":{}"#, base + 1_000_000));
            texts.push(text);
            match phase % 4 {
                0 => open.push(args),
                1 => expected.extend(open.pop()),
                2 => {}
                _ => expected.push(args),
            }
        }
        let text = json(&texts.join(","));
        let wanted: Vec<u32> = (0..expected.len() as u32).step_by(3).collect();
        let found = find("t.json", "t.json", &text, &wanted, chunk);
        let found: Vec<_> = found.into_iter().map(|it| (it.event, it.arguments)).collect();
        let expected: Vec<_> = wanted.iter().map(|&at| (at, expected[at as usize].clone())).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn damage_is_no_panic(at in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>(), kind: bool) {
        let mut bytes = if kind { sample() } else { json(&[KERNEL; 3].join(",")) };
        let place = at.index(bytes.len());
        bytes[place] = byte;
        let length = cut.index(bytes.len());
        for bytes in [&bytes[..], &bytes[..length]] {
            prop_assert!(of_file(bytes, &[0, 1, 2, 3]).len() <= 4);
        }
    }
}
