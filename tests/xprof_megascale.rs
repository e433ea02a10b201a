//! Compares the `megascale` table with XProf's `megascale_stats`, for synthetic captures of a TPU with five collectives
//! between slices (tests/data/megascale). XProf truncates every time of a run to whole microseconds, and then truncates
//! the mean.

use crate::support::{samples, xprof};

use crossprof::{Settings, TableName};
use serde_json::Value;

/// XProf's columns in milliseconds, each with our column in microseconds.
const TIMES: [(&str, &str); 6] = [
    ("slack_time", "slack_time_us"),
    ("observed_duration", "observed_duration_us"),
    ("send_stall", "send_stall_us"),
    ("send_done_stall", "send_done_stall_us"),
    ("recv_done_stall", "recv_done_stall_us"),
    ("stall_duration", "stall_duration_us"),
];
/// Tolerated difference in microseconds. XProf's means may be smaller, because times are truncated twice, or larger,
/// because the start and the end are truncated separately.
const CUT: std::ops::Range<f64> = -1.0..3.0;

#[test]
fn collectives_between_slices_equal_xprofs() {
    for seed in ["1", "2"] {
        let root = samples::root().join("tests/data/megascale");
        let mut session = xprof::open(&root.join(format!("{seed}.xplane.pb.gz")));
        let ours = xprof::ours(&mut session, &Settings::default(), TableName::Megascale);
        let text = std::fs::read(root.join(format!("{seed}.megascale_stats.json"))).unwrap();
        let theirs: Value = serde_json::from_slice(&text).unwrap();
        let theirs = xprof::rows(&theirs[0]);
        assert_eq!((ours.len(), theirs.len()), (5, 5));
        for theirs in &theirs {
            let name = xprof::text(theirs, "rendezvous_name");
            let row = ours.iter().find(|row| xprof::text(row, "rendezvous_name") == name).unwrap();
            for key in ["recv_op_name", "send_op_name", "transfer_type"] {
                assert_eq!(xprof::text(row, key), xprof::text(theirs, key), "{name}");
            }
            for key in ["occurrences", "net_tx_bytes"] {
                assert_eq!(xprof::number(row, key), xprof::number(theirs, key), "{name}: {key}");
            }
            for (their_key, our_key) in TIMES {
                let more = xprof::number(row, our_key) - 1000.0 * xprof::number(theirs, their_key);
                assert!(CUT.contains(&more), "{name}: {our_key} {more}");
            }
            let runs = xprof::number(row, "occurrences");
            let more = (xprof::number(row, "total_stall_us") - 1000.0 * xprof::number(theirs, "total_stall")) / runs;
            assert!(CUT.contains(&more), "{name}: {more}");
            // XProf divides by its own slack, and shows bits.
            let slack = 1000.0 * xprof::number(theirs, "slack_time") / xprof::number(row, "slack_time_us");
            let rate = 8.0 * xprof::number(row, "required_gb_per_sec");
            let ratio = rate / (xprof::number(theirs, "required_bandwidth") * slack);
            assert!((ratio - 1.0).abs() < 1e-9, "{name}: {ratio}");
            // XProf divides the time in a recv by a further million.
            assert_eq!(xprof::number(theirs, "recv_stall"), 0.0);
            assert!((1.0..5.0).contains(&xprof::number(row, "recv_stall_us")));
            let percentiles = ["recv_done_p50_us", "recv_done_p90_us", "recv_done_p99_us"];
            assert!(percentiles.map(|key| xprof::number(row, key)).is_sorted(), "{name}");
        }
    }
}
