//! Reads broken, unusual and hostile files. Each file gives a partial profile with precise warnings, or one clear
//! error. No file may cause a panic, a hang or unbounded memory use.

use crate::support::{gzip, load, samples};
use crossprof::{Error, FileResult, Session, Severity, UnifiedProfile};

const HEAD: &str = r#"{"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
{"ph":"M","pid":1,"tid":13,"name":"thread_name","args":{"name":"Stream #13(Compute)"}},
"#;
const EVENT: &str = r#"{"ph":"X","pid":1,"tid":13,"ts":1.5,"dur":2.25,"name":"fusion.1"}"#;

/// Returns a trace with one valid event, followed by `more`.
fn trace(more: &str) -> Vec<u8> {
    format!("{HEAD}{EVENT},{more}]}}").into_bytes()
}

fn damaged(result: &FileResult) -> bool {
    result.warnings.iter().any(|warning| warning.severity == Severity::Damage)
}

/// Requires that the file gives a profile with a warning that names a location.
fn partial(what: &str, bytes: &[u8]) -> UnifiedProfile {
    let (result, mut reports) = load("bad", bytes);
    assert_eq!(result.error, None, "{what}");
    assert!(damaged(&result), "{what}: {:?}", result.warnings);
    assert!(result.warnings.iter().any(|warning| warning.byte_offset.is_some()), "{what}: {:?}", result.warnings);
    reports.remove(0)
}

/// Requires that the file gives a profile with `ops` device ops, with or without warnings.
fn read(what: &str, bytes: &[u8], ops: u64) -> UnifiedProfile {
    let (result, mut reports) = load("odd", bytes);
    assert_eq!(result.error, None, "{what}");
    assert_eq!(reports[0].step_timing.total_kernels, ops, "{what}: {:?}", result.warnings);
    reports.remove(0)
}

/// Requires that the file is rejected with an error that contains `words`.
fn refused(what: &str, bytes: &[u8], words: &str) {
    let (result, reports) = load("bad", bytes);
    assert!(reports.is_empty(), "{what}: a report was made");
    let sentence = result.error.map(|error| error.to_string()).unwrap_or_default();
    assert!(sentence.contains(words), "{what}: {sentence:?}");
    assert!(sentence.ends_with('.') && sentence.len() < 400, "{what}: {sentence:?}");
}

#[test]
fn files_without_a_profile_are_named() {
    assert_eq!(load("x", b"").0.error, Some(Error::Empty));
    assert_eq!(load("x", &gzip(b"")).0.error, Some(Error::Empty));
    refused("HTML", b"<!DOCTYPE html><html></html>", "HTML");
    refused("text", b"step 1 took 33 ms\nstep 2 took 34 ms\n", "not a profile");
    refused("other JSON", br#"{"name":"crossprof","version":"1"}"#, "not a profile");
    refused("PNG", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0", "not a profile");
}

#[test]
fn too_deep_nesting_is_reported() {
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    refused("a list", deep(200).as_bytes(), "nested too deeply");
    refused("an object", format!("{{\"a\":{}}}", deep(200)).as_bytes(), "nested too deeply");
    refused("a profile", format!("{{\"step_timing\":{}}}", deep(200)).as_bytes(), "nested too deeply");
    // The value is so long that the distinguishing key is beyond the inspected bytes.
    for inside in [deep(2 << 20), format!("\"{}\"", "x".repeat(2 << 20))] {
        let document = format!("{{\"metadata\":{inside},\"step_timing\":{{}}}}");
        refused("a late profile", document.as_bytes(), "This is a unified profile, but it cannot be read");
    }
}

/// Sums and ratios stay finite even for the largest numbers that can be imported.
#[test]
fn nothing_is_infinite() {
    fn all_numbers(value: &mut serde_json::Value, to: f64) {
        match value {
            serde_json::Value::Number(number) if number.is_f64() => *value = to.into(),
            serde_json::Value::Array(entries) => entries.iter_mut().for_each(|it| all_numbers(it, to)),
            serde_json::Value::Object(fields) => fields.values_mut().for_each(|it| all_numbers(it, to)),
            _ => {}
        }
    }
    let events: Vec<String> = (0..9)
        .map(|at| format!(r#"{{"ph":"X","pid":1,"tid":13,"ts":{at}.5,"dur":0.25,"name":"fusion.{}"}}"#, at % 2))
        .collect();
    let profile = read("a trace", &trace(&events.join(",")), 10);
    for size in [1e30, 1e-320] {
        let mut document = serde_json::to_value(&profile).expect("a document");
        all_numbers(&mut document, size);
        let (result, reports) = load("huge.json", document.to_string().as_bytes());
        assert_eq!(result.error, None);
        for name in crossprof::TableName::ALL {
            let Some(table) = crossprof::tables::of_report(&reports[0], name) else { continue };
            let csv = crossprof::export::csv::to_csv(&table);
            assert!(!csv.split([',', '\r']).any(|it| ["inf", "-inf", "NaN"].contains(&it)), "{name:?}: {csv}");
        }
        let page = crossprof::export::html::report(&reports[0]);
        assert!(!page.contains("NaN") && !page.contains("\"inf") && !page.contains(">inf"), "{size}");
    }
}

#[test]
fn truncated_files_give_everything_before_the_cut() {
    let whole = trace(&vec![EVENT; 5000].join(","));
    let report = partial("cut JSON", &whole[..whole.len() / 2]);
    assert!((2000..3000).contains(&report.step_timing.total_kernels));
    // The text compresses badly, so that the cut loses about half of it.
    let events: Vec<String> = (0..20_000u64)
        .map(|i| {
            format!(
                r#"{{"ph":"X","pid":1,"tid":13,"ts":{i},"dur":0.5,"name":"op.{:x}"}}"#,
                i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            )
        })
        .collect();
    let packed = gzip(&trace(&events.join(",")));
    let report = partial("cut gzip", &packed[..packed.len() / 2]);
    assert!((5_000..15_000).contains(&report.step_timing.total_kernels), "{}", report.step_timing.total_kernels);
    let xplane = samples::own().into_iter().find(|path| path.to_string_lossy().ends_with(".xplane.pb")).expect("one");
    let bytes = std::fs::read(xplane).expect("a readable sample");
    partial("cut xplane", &bytes[..bytes.len() * 2 / 3]);
}

#[test]
fn damaged_gzip_is_read_with_a_warning() {
    let good = gzip(&trace(EVENT));
    let mut trailing = good.clone();
    trailing.extend_from_slice(b"garbage after the stream");
    let (result, reports) = load("trailing", &trailing);
    assert_eq!((result.error.clone(), reports[0].step_timing.total_kernels), (None, 2));
    assert!(result.warnings.iter().any(|w| w.byte_offset == Some(good.len() as u64)), "{:?}", result.warnings);
    let mut wrong_crc = good.clone();
    let crc = good.len() - 8;
    wrong_crc[crc] ^= 1;
    let (result, reports) = load("crc", &wrong_crc);
    assert_eq!(reports[0].step_timing.total_kernels, 2);
    assert!(damaged(&result), "{:?}", result.warnings);
}

#[test]
fn a_gzip_bomb_stops_at_the_limit() {
    // 10 GB of zeros: one compressed megabyte of JSON white space, repeated as members of a 10 MB file.
    let megabyte = gzip(&vec![b' '; 1 << 20]);
    let mut session = Session::new();
    let file = session.begin("bomb.json.gz", None);
    session.push(file, &gzip(HEAD.as_bytes()));
    for _ in 0..10_000 {
        session.push(file, &megabyte);
    }
    let result = session.finish(file);
    let limited = result.warnings.iter().any(|warning| warning.message.contains("limit"))
        || matches!(result.error, Some(Error::LimitExceeded { .. }));
    assert!(limited, "{result:?}");
}

#[test]
fn nesting_and_strings_without_end_are_bounded() {
    let deep = format!(
        r#"{{"ph":"X","pid":1,"tid":13,"ts":5,"dur":1,"name":"deep","args":{}1{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let (result, reports) = load("deep", &trace(&deep));
    assert_eq!(result.error, None);
    assert!(reports[0].step_timing.total_kernels >= 1);
    let long = format!(r#"{{"ph":"X","pid":1,"tid":13,"ts":5,"dur":1,"name":"{}"}},{EVENT}"#, "a".repeat(100 << 20));
    let (result, reports) = load("long", &trace(&long));
    assert_eq!(result.error, None);
    assert!(reports[0].step_timing.total_kernels >= 2, "{:?}", result.warnings);
}

#[test]
fn impossible_times_are_dropped_and_counted() {
    for time in [
        r#""ts":NaN,"dur":1"#,
        r#""ts":1e300,"dur":1"#,
        r#""ts":1,"dur":-4"#,
        r#""ts":1,"dur":1e300"#,
        r#""ts":-1e300,"dur":1"#,
        r#""ts":99999999999999999999999999,"dur":1"#,
    ] {
        let bad = format!(r#"{{"ph":"X","pid":1,"tid":13,{time},"name":"bad"}},{EVENT}"#);
        let (result, reports) = load("times", &trace(&bad));
        assert_eq!(result.error, None, "{time}");
        assert_eq!(reports[0].step_timing.total_kernels, 2, "{time}");
        assert!(!result.warnings.is_empty(), "{time} without a word");
        let span = reports[0].metadata.capture_duration_us.expect("events have times");
        assert!(span < 1e9, "{time}: a capture of {span} us");
    }
}

#[test]
fn unusual_but_valid_files_are_read_completely() {
    let other = r#"{"ph":"X","pid":1,"tid":13,"ts":10,"dur":5,"name":"fusion.2"}"#;
    read("out of order", &trace(&format!(r#"{other},{{"ph":"X","pid":1,"tid":13,"ts":4,"dur":1,"name":"b"}}"#)), 3);
    read(
        "duplicate metadata",
        &trace(&format!("{},{other}", HEAD.lines().nth(1).unwrap_or("").trim_end_matches(','))),
        2,
    );
    read(
        "no references",
        &trace(r#"{"ph":"E","pid":1,"tid":13,"ts":3},{"ph":"f","id":9,"pid":1,"tid":13,"ts":3},{"ph":"X"}"#),
        1,
    );
    let name = r"\u00e9\ud83d\ude00";
    let report =
        read("escapes", &trace(&format!(r#"{{"ph":"X","pid":1,"tid":13,"ts":10,"dur":50,"name":"{name}"}}"#)), 2);
    assert_eq!(report.kernels.top_kernels[0].name, "é😀");
    let mut invalid = trace(r#"{"ph":"X","pid":1,"tid":13,"ts":10,"dur":50,"name":"??"}"#);
    let at = invalid.windows(2).position(|pair| pair == b"??").expect("the mark");
    invalid[at] = 0xff;
    invalid[at + 1] = 0xfe;
    read("invalid UTF-8", &invalid, 2);
}

#[test]
fn hostile_names_stay_text() {
    let names = [
        "<img src=x onerror=alert(1)>".to_owned(),
        "=HYPERLINK(1)".to_owned(),
        "\u{202e}gnp.exe".to_owned(),
        "| cell | **bold**".to_owned(),
        "x".repeat(1 << 20),
    ];
    let events: Vec<String> = names
        .iter()
        .map(|name| format!(r#"{{"ph":"X","pid":1,"tid":13,"ts":10,"dur":50,"name":{}}}"#, serde_json::json!(name)))
        .collect();
    let report = read("names", &trace(&events.join(",")), 6);
    let text = crossprof::export::text::report(&report);
    assert!(text.len() < 20_000 && !text.contains('\u{202e}'));
    let table = crossprof::tables::of_report(&report, crossprof::TableName::TopKernels).unwrap();
    assert!(crossprof::export::csv::to_csv(&table).contains("\r\n'=HYPERLINK(1),"));
    let markdown = crossprof::export::markdown::to_markdown(&table);
    assert!(!markdown.contains("<img") && !markdown.contains("| cell |"));
}

#[test]
fn other_files_of_a_drop_still_load() {
    let mut session = Session::new();
    for (path, bytes) in [("a.json", b"not json".to_vec()), ("b.json", trace(EVENT)), ("c.json", Vec::new())] {
        let file = session.begin(path, None);
        session.push(file, &bytes);
        let result = session.finish(file);
        assert_eq!(result.error.is_none(), path == "b.json", "{path}");
    }
    assert_eq!(session.runs().iter().map(|run| run.name.as_str()).collect::<Vec<_>>(), ["b"]);
}

/// Expected result of each file in the collection: the number of device ops, or a word of the error.
#[test]
#[ignore = "reads real profiles"]
fn the_collection_of_damaged_files() {
    let ops = |name: &str| match name {
        // Without metadata there is no device. In spaces.json, the device's name contains spaces.
        "array_only.json" | "array_unterminated.json" | "metadata_first.json" | "spaces.json" => Ok(0),
        "empty.json" | "empty.json.gz" => Err("empty"),
        "html.json" => Err("HTML"),
        "bad_utf8.json" | "ctrl_char.json" | "neg_ts.json" | "unicode.json" => Ok(3),
        _ => Ok(2),
    };
    let files = samples::files(&samples::traces().join("damaged"), &[".json", ".gz"]);
    assert_eq!(files.len(), 21);
    for path in files {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).expect("a readable sample");
        match ops(&name) {
            Err(word) => refused(&name, &bytes, word),
            Ok(ops) => {
                read(&name, &bytes, ops);
            }
        }
    }
}

#[test]
#[ignore = "reads real profiles"]
fn the_collection_of_broken_files() {
    for (name, words) in [
        ("utf8-mangled.xplane.pb", "decoded as text"),
        ("incomplete.json", "not a"),
        ("not-an-xspace.trace", "not a"),
        ("tensorflow_stats.pb", "not a"),
    ] {
        let bytes = samples::real_bytes(&format!("broken/{name}"));
        refused(name, &bytes, words);
    }
    for name in ["bad-world-bounds.json", "integer-over-2p53.json.gz"] {
        let bytes = samples::real_bytes(&format!("broken/{name}"));
        let (result, reports) = load(name, &bytes);
        assert_eq!((result.error, reports.len()), (None, 1), "{name}");
    }
}
