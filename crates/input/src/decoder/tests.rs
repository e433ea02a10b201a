use proptest::prelude::*;

use super::*;

fn decode(bytes: &[u8], chunk: usize) -> Result<Decoded, Error> {
    let mut decoder = Decoder::new("a");
    for piece in bytes.chunks(chunk) {
        if decoder.push(piece).is_err() {
            break;
        }
    }
    decoder.finish()
}

/// Returns a short description of the result, which must not depend on the chunk size.
fn described(bytes: &[u8]) -> String {
    let describe = |chunk| match decode(bytes, chunk) {
        Ok(Decoded::Trace(trace)) => format!("{} events", trace.events.len()),
        Ok(Decoded::Profiles(profiles)) => match profiles.runs.len() {
            1 => "profile".to_owned(),
            runs => format!("{runs} profiles"),
        },
        Ok(Decoded::Model(_)) => "model".to_owned(),
        Ok(Decoded::MemoryProfile(_)) => "memory profile".to_owned(),
        Ok(Decoded::MemoryError(text)) => format!("error of {} bytes", text.len()),
        Ok(Decoded::Program(bytes)) => format!("program of {} bytes", bytes.len()),
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
fn refusals_name_the_kind_of_file() {
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
