//! Measures the decoder of Chrome trace JSON on a plain (unpacked) file, without reading the disk in the measured time:
//! `cargo run --release --example chrome_json_speed -- trace.json [chunk bytes]`.

use std::time::Instant;

use crossprof::input::ChromeJsonDecoder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: chrome_json_speed trace.json [chunk bytes]")?;
    let chunk = arguments.next().map_or(Ok(1 << 20), |bytes| bytes.parse::<usize>())?.max(1);
    let text = std::fs::read(&path)?;
    for _ in 0..5 {
        let start = Instant::now();
        let mut decoder = ChromeJsonDecoder::new(&path);
        text.chunks(chunk).try_for_each(|piece| decoder.push(piece))?;
        let trace = decoder.finish()?;
        let seconds = start.elapsed().as_secs_f64();
        let memory = trace.events.memory_bytes() + trace.strings.memory_bytes() + trace.args.memory_bytes();
        println!(
            "{:.3} s, {:.0} MB/s, {} events, {} strings, {} argument sets, {:.1} bytes an event",
            seconds,
            text.len() as f64 / 1e6 / seconds,
            trace.events.len(),
            trace.strings.len(),
            trace.args.len(),
            memory as f64 / trace.events.len() as f64
        );
    }
    Ok(())
}
