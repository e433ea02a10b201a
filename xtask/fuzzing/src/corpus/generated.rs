//! Samples that come from the generators of the tests and of the benchmark.

use crate::Format;

// These generators are included as files, because their packages are not libraries.
#[allow(dead_code, missing_docs, unreachable_pub)]
#[path = "../../../../tests/support"]
mod tests {
    pub(super) mod chrome;
    pub(super) mod gpu;
    pub(super) mod tpu;
}

#[allow(dead_code, unreachable_pub)]
#[path = "../../../../xtask/src/bench"]
mod bench {
    pub(super) mod generate;
    pub(super) mod json;
    pub(super) mod random;
    pub(super) mod shapes;
    pub(super) mod xplane;
}

/// Number of events of a generated run, which cover one and a half steps.
const EVENTS: u64 = 400;

/// Returns traces, each with its format, name and content.
pub(super) fn traces() -> Vec<(Format, String, Vec<u8>)> {
    use bench::generate::{Platform, run};
    use bench::{json::JsonSink, shapes, xplane::XplaneSink};
    let mut found = vec![
        (Format::ChromeJson, "gpu.trace.json".to_owned(), tests::gpu::trace().0.into_bytes()),
        (Format::ChromeJson, "tpu.trace.json".to_owned(), tests::tpu::trace().0.into_bytes()),
    ];
    // Writing to memory cannot fail.
    for (platform, name) in [(Platform::Gpu, "gpu"), (Platform::Tpu, "tpu")] {
        if let Ok(mut sink) = JsonSink::new(Vec::new())
            && run(platform, EVENTS, &mut sink).is_ok()
        {
            found.push((Format::ChromeJson, format!("bench-{name}.trace.json"), sink.finish().unwrap_or_default()));
        }
        found.push((Format::Xplane, format!("bench-{name}.xplane.pb"), xplane(|sink| run(platform, EVENTS, sink))));
    }
    found.push((Format::Xplane, "annotations.xplane.pb".to_owned(), xplane(|sink| shapes::annotations(EVENTS, sink))));
    found.push((Format::Xplane, "ops.xplane.pb".to_owned(), xplane(|sink| shapes::distinct_ops(EVENTS, sink))));
    return found;

    fn xplane(fill: impl FnOnce(&mut XplaneSink) -> std::io::Result<()>) -> Vec<u8> {
        let (mut sink, mut out) = (XplaneSink::default(), Vec::new());
        let _ = fill(&mut sink).and_then(|()| sink.write(&mut out));
        out
    }
}
