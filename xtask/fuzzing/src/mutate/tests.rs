use super::*;
use crate::wire;

/// Returns how many of 200 mutations keep a property.
fn kept(change: impl Fn(&mut Random) -> Vec<u8>, property: impl Fn(&[u8]) -> bool) -> usize {
    (0..200).filter(|number| property(&change(&mut Random::of_case(1, *number)))).count()
}

#[test]
fn changes_of_a_message_mostly_leave_one() {
    let inner = [wire::number(1, 7), wire::bytes(2, "name"), wire::number(3, 9)];
    let message = wire::write(&[wire::message(1, &inner), wire::message(1, &inner), wire::bytes(2, "text")]);
    let whole = kept(|random| protobuf::changed(&message, random), |bytes| wire::read(bytes).is_some());
    let same = kept(|random| protobuf::changed(&message, random), |bytes| bytes == message);
    assert!((100..200).contains(&whole) && same < 20, "{whole} {same}");
}

#[test]
fn changes_of_json_mostly_leave_json() {
    let text = br#"{"traceEvents":[{"ph":"X","ts":1.5,"dur":2,"name":"a","args":{"k":"v"}},{"ph":"M","name":"b"},{}]}"#;
    let is_json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).is_ok();
    let whole = kept(|random| json::changed(text, random), is_json);
    let same = kept(|random| json::changed(text, random), |bytes| bytes == text);
    assert!((60..195).contains(&whole) && same < 20, "{whole} {same}");
}

#[test]
fn changes_of_an_archive_keep_its_kind() {
    let members = [("a/t.trace.json", &b"{\"traceEvents\":[]}"[..]), ("b.json", b"{}")];
    for archive in [pack::zip(&members, true), pack::zip(&members, false), pack::gzip(&pack::tar(&members))] {
        let head = |bytes: &[u8]| bytes.starts_with(&archive[..2]);
        let whole = kept(|random| archive::changed(&archive, random), head);
        assert!(whole > 100, "{whole}");
    }
}

#[test]
fn a_case_depends_on_seed_and_number_alone() {
    let corpus: Vec<Sample> = Format::ALL
        .iter()
        .map(|&format| Sample { format, name: String::new(), bytes: br#"{"a": [1, 2], "b": "c"}"#.to_vec() })
        .collect();
    let cases: Vec<_> = (0..50).map(|number| case(&corpus, 3, number)).collect();
    assert_eq!(case(&corpus, 3, 30), cases[30]);
    assert_ne!(case(&corpus, 4, 30), cases[30]);
    for format in Format::ALL {
        assert!(cases.iter().any(|case| case.0 == format), "{format:?}");
    }
}
