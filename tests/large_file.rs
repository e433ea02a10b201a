//! Reads a file that is so large that its metadata is read before its events. The result must be the same as for an
//! archive with the same bytes, although an archive can be read only from start to end.

use std::io::Write;
use std::path::Path;

use crate::support::cli::{crossprof, scratch, stdout};
use wire_writer::{Message, message};

/// Builds one GPU with two streams of kernels, and a host thread with the same number of annotations. In each plane, the event
/// names are stored after the lines.
fn profile(events: i64) -> Vec<u8> {
    let line = |name: &str, every_ps: i64, correlated: bool| {
        let mut line = message().bytes(2, name).int(3, 1_700_000_000_000_000_000);
        for at in 0..events {
            let mut event = message().int(1, 1 + at % 3).int(2, at * every_ps).int(3, every_ps / 2 + at % 97);
            if correlated {
                event = event.message(4, message().int(1, 1).int(3, at));
            }
            line = line.message(4, event);
        }
        line
    };
    let plane = |name: &str, lines: Vec<Message>, names: [&str; 3]| {
        let plane = message().bytes(2, name);
        let plane = lines.into_iter().fold(plane, |plane, line| plane.message(3, line));
        let plane = (1..).zip(names).fold(plane, |plane, (id, name)| plane.event_metadata(id, name));
        plane.stat_metadata(1, "correlation_id")
    };
    let streams = vec![line("Stream #7(Compute)", 3_000_000, true), line("Stream #8(Compute)", 4_000_000, true)];
    let gpu = plane("/device:GPU:0", streams, ["gemm_fp16", "loop_add_fusion", "MemcpyD2D"]);
    let host = plane("/host:CPU", vec![line("python", 2_500_000, false)], ["train", "PjitFunction(f)", "load"]);
    message().message(1, gpu).message(1, host).0
}

fn report(folder: &Path, file: &str) -> serde_json::Value {
    let output = crossprof(folder, &["analyze", "--format", "json", file]);
    serde_json::from_str(&stdout(&output)).expect("a profile")
}

#[test]
fn the_report_is_the_same_however_the_file_can_be_read() {
    let folder = scratch("large_file", "both_ways");
    let file = profile(600_000);
    assert!(file.len() > 24 << 20, "{} bytes", file.len());
    std::fs::write(folder.join("host.xplane.pb"), &file).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&file).unwrap();
    std::fs::write(folder.join("host.xplane.pb.gz"), packed.finish().unwrap()).unwrap();
    let (mut plain, mut unpacked) = (report(&folder, "host.xplane.pb"), report(&folder, "host.xplane.pb.gz"));
    assert_eq!(plain["metadata"]["num_events"], 1_800_000);
    for report in [&mut plain, &mut unpacked] {
        let provenance = report["provenance"].as_array_mut().unwrap();
        assert_eq!((provenance.len(), &provenance[0]["num_events"]), (1, &serde_json::json!(1_800_000)));
        provenance.clear();
        report["metadata"]["trace_file"] = serde_json::Value::Null;
    }
    let differing: Vec<_> = plain.as_object().unwrap().iter().filter(|&(key, value)| unpacked[key] != *value).collect();
    assert!(differing.is_empty() && plain == unpacked, "{differing:?}");
    // The cut file is half as long. Both results report where it ends, and keep everything before the end.
    std::fs::write(folder.join("cut.xplane.pb"), &file[..file.len() / 2]).unwrap();
    let cut = report(&folder, "cut.xplane.pb");
    let warning = cut["warnings"].as_array().unwrap().iter().find(|it| it["code"] == "xplane_truncated").unwrap();
    assert_eq!(warning["byte_offset"], file.len() / 2);
    assert!(cut["metadata"]["num_events"].as_u64().unwrap() > 600_000);
}
