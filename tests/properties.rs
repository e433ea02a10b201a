//! Checks that no bytes cause a panic, and that the same bytes always give the same report.

use crate::support;
use crate::support::{load, load_chunked, samples};
use proptest::prelude::*;

fn cases(number: u32) -> ProptestConfig {
    ProptestConfig { cases: number, ..ProptestConfig::default() }
}

/// Returns small profiles of each format, to be cut and scrambled.
fn seeds() -> Vec<Vec<u8>> {
    let json = br#"{"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0"}},
{"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Ops"}},
{"ph":"X","pid":3,"tid":1,"ts":0,"dur":60,"name":"fusion.1","args":{"hlo_category":"loop fusion"}},
{"ph":"B","pid":"a","tid":"b","ts":"80","name":"copy.2"},{"ph":"E","pid":"a","tid":"b","ts":"90"},{}]}"#
        .to_vec();
    let mut seeds = vec![support::gzip(&json), json];
    for path in samples::own() {
        let bytes = std::fs::read(path).expect("a readable sample");
        if bytes.len() < 64_000 {
            seeds.push(bytes);
        }
    }
    seeds
}

proptest! {
    #![proptest_config(cases(256))]
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000), chunk in 1usize..64) {
        load_chunked("random", &bytes, chunk);
    }

    #[test]
    fn random_text_never_panics(text in r#"[\[\]{}":,0-9a-zX.eE+\\ -]{0,300}"#, chunk in 1usize..64) {
        load_chunked("random.json", format!("{{\"traceEvents\":[{text}").as_bytes(), chunk);
    }
}

proptest! {
    #![proptest_config(cases(48))]
    #[test]
    fn cut_and_scrambled_profiles_never_panic(
        seed in any::<proptest::sample::Index>(),
        cut in any::<proptest::sample::Index>(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let mut bytes = seed.get(&seeds()).clone();
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let (whole, reports) = load("damaged", &bytes);
        let (chunked, chunked_reports) = load_chunked("damaged", &bytes, 977);
        prop_assert_eq!(whole, chunked);
        prop_assert_eq!(reports, chunked_reports);
    }
}
