use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::unpack::{Unpacked, Unpacker};

fn decode(bytes: &[u8], chunk: usize) -> Result<Decoded, Error> {
    let mut decoder = Decoder::new("a");
    for piece in bytes.chunks(chunk) {
        if decoder.push(piece).is_err() {
            break;
        }
    }
    decoder.finish()
}

/// A short description of the result, the same for every chunk size.
fn described(bytes: &[u8]) -> String {
    let describe = |chunk| match decode(bytes, chunk) {
        Ok(Decoded::Trace(trace)) => format!("{} events", trace.events.len()),
        Ok(Decoded::Profiles(profiles)) => match profiles.runs.len() {
            1 => "profile".to_owned(),
            runs => format!("{runs} profiles"),
        },
        Ok(Decoded::Model(_)) => "model".to_owned(),
        Ok(Decoded::MemoryProfile) => "memory profile".to_owned(),
        Ok(Decoded::Ignored { reason }) => format!("ignored: {reason}"),
        Err(error) => error.to_string(),
    };
    let whole = describe(bytes.len().max(1));
    for chunk in [1, 7, 4096] {
        assert_eq!(describe(chunk), whole, "chunks of {chunk}");
    }
    whole
}

const TRACE: &str = r#"{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"name":"fusion"}"#;

#[test]
fn a_trace_whose_events_come_late() {
    for padding in [10, 5_000, 100_000, 3_000_000] {
        let text = format!("{{\"metadata\":{{\"note\":\"{}\"}},\"traceEvents\":[{TRACE}]}}", "x".repeat(padding));
        assert_eq!(described(text.as_bytes()), "1 events", "{padding}");
    }
}

#[test]
fn a_trace_as_a_list() {
    assert_eq!(described(format!("[{TRACE},{TRACE}]").as_bytes()), "2 events");
}

#[test]
fn documents_are_read_at_their_end() {
    assert_eq!(described(b"{\"step_timing\":{\"num_steps\":5}}"), "profile");
    assert_eq!(described(b"[{\"step_timing\":{}},{\"step_timing\":{}}]"), "2 profiles");
    assert_eq!(described(b"{\"a\":{\"execution_time\":1},\"b\":{\"execution_time\":2}}"), "2 profiles");
    assert_eq!(described(b"{\"model_type\":\"gpt2\",\"n_embd\":768}"), "model");
    assert_eq!(described(b"{\"batch_size\":16}"), "model");
}

#[test]
fn refusals_say_what_it_is() {
    assert!(described(b"").starts_with("The file is empty."));
    assert!(described(b"<html>not found</html>").starts_with("This is an HTML page, not a profile."));
    assert!(described(&b"plain words ".repeat(1000)).starts_with("This is plain text"));
    let nested = format!("{{\"a\":{}", "[".repeat(100_000));
    assert!(described(nested.as_bytes()).starts_with("This is a JSON object"));
}

#[test]
fn a_refusal_is_repeated() {
    let mut decoder = Decoder::new("a");
    let page = b"<html>".repeat(1000);
    let first = decoder.push(&page).expect_err("no profile");
    assert_eq!(decoder.push(b"more"), Err(first.clone()));
    assert_eq!(decoder.finish().map(|_| ()), Err(first));
}

#[test]
fn a_profile_of_any_size_is_bounded() {
    let mut decoder = Decoder::new("a");
    decoder.push(b"{\"step_timing\":{},\"x\":\"").expect("a profile");
    let filler = vec![b' '; 1 << 20];
    let refused = (0..70).find_map(|_| decoder.push(&filler).err()).expect("a limit");
    assert!(refused.to_string().contains("64 MiB"), "{refused}");
}

/// The folder of real profiles, if this machine has it.
fn traces() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces");
    let folder = std::env::var_os("CROSSPROF_TRACES").map_or(default, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no real profiles at {}", folder.display());
    None
}

/// What the one member of a file is, unpacked.
fn described_file(path: &Path) -> String {
    let bytes = std::fs::read(path).expect("readable");
    let mut unpacker = Unpacker::new("a");
    let mut content = Vec::new();
    let mut take = |item: Unpacked<'_>| {
        if let Unpacked::Data(bytes) = item {
            content.extend_from_slice(bytes);
        }
    };
    unpacker.push(&bytes, &mut take);
    unpacker.finish(&mut take);
    described(&content)
}

#[test]
fn broken_files_give_one_sentence() {
    let Some(traces) = traces() else { return };
    for (file, expected) in [
        ("broken/utf8-mangled.xplane.pb", "decoded as text"),
        ("broken/incomplete.json", "a speedscope profile"),
        ("broken/not-an-xspace.trace", "not a profile"),
        ("broken/tensorflow_stats.pb", "not a profile"),
        ("damaged/empty.json", "The file is empty"),
        ("damaged/empty.json.gz", "The file is empty"),
        ("damaged/html.json", "an HTML page"),
    ] {
        let described = described_file(&traces.join(file));
        assert!(described.contains(expected), "{file}: {described}");
    }
}

#[test]
fn damaged_traces_are_read_all_the_same() {
    let Some(traces) = traces() else { return };
    for entry in std::fs::read_dir(traces.join("damaged")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !["empty.json", "empty.json.gz", "html.json"].contains(&name.as_str()) {
            let described = described_file(&path);
            assert!(described.ends_with(" events") && !described.starts_with('0'), "{name}: {described}");
        }
    }
}

#[test]
fn memory_profiles_and_viewer_output_are_told() {
    let Some(traces) = traces() else { return };
    for (file, expected) in [
        ("memory-prof/cuda-led-getter.prof", "memory profile"),
        ("memory-prof/cuda-poscidyn.prof", "memory profile"),
        ("pascal-tf-laptop/LAPTOP.memory_profile.json.gz", "ignored: This is a memory profile"),
        ("tpu-v6e-4chip/xprof/overview_page.json", "ignored: This is a table"),
        ("tpu-v6e-4chip/xprof/op_profile.json", "ignored: This is an op profile"),
    ] {
        let described = described_file(&traces.join(file));
        assert!(described.starts_with(expected), "{file}: {described}");
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        described(&bytes);
    }

    #[test]
    fn random_json_never_panics(text in r#"[\[{]{1,3}(("[a-zA-Z_\\"]{0,12}")|[\[\]{},: 0-9]){0,60}"#) {
        described(text.as_bytes());
    }
}
