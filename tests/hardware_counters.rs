//! Hardware counters of an H100, sampled every 500 us (tests/data/jax-h100). The truth is the sum of the raw samples, and
//! the number of bytes that the capture's programs must move at least.

use crate::support;

use crossprof::input::XPlaneDecoder;

#[test]
fn samples_of_counters_are_values_over_time() {
    let path = support::samples::root().join("tests/data/jax-h100/counters.xplane.pb.gz");
    let mut decoder = XPlaneDecoder::new("counters");
    decoder.push(&support::gunzip(&std::fs::read(path).unwrap())).unwrap();
    let trace = decoder.finish().unwrap();
    let sums: Vec<(&str, usize, f64)> = trace
        .counters
        .iter()
        .map(|track| (trace.text(track.name), track.values.len(), track.values.iter().sum::<f64>()))
        .collect();
    // Computed from the file by a script that uses JAX's own reader.
    let expected = [
        ("sm__cycles_active.avg", 47, 8651252.363636363),
        ("sm__inst_executed.sum", 47, 782904475.0),
        ("dram__bytes_read.sum", 47, 5588106496.0),
        ("dram__bytes_write.sum", 47, 4457114880.0),
    ];
    assert_eq!(sums, expected);
    for track in &trace.counters {
        assert!(track.times.is_sorted());
        assert_eq!(trace.text(trace.planes[track.plane.index()].name), "/device:GPU:0");
    }
    let samples = trace.events.iter().filter(|event| trace.text(event.name).contains("__")).count();
    assert_eq!(samples, 0, "samples are no events");
}
