//! Measures the time to decompress a gzip file with the library chosen at build time.
//!
//! ```text
//! cargo run -p input --release --example inflate_speed -- FILE.gz
//! cargo run -p input --release --example inflate_speed --no-default-features --features miniz -- FILE.gz
//! ```

use std::time::Instant;

use input::{Unpacked, Unpacker};

/// Number of runs. The example reports the fastest run, because other processes slow down the others.
const RUNS: usize = 7;
/// Bytes per call, as in the `crossprof` command.
const READ_BYTES: usize = 1 << 20;

fn main() -> Result<(), std::io::Error> {
    let path = std::env::args().nth(1).ok_or_else(|| std::io::Error::other("give the path of a gzip file"))?;
    let stored = std::fs::read(&path)?;
    let mut best_secs = f64::INFINITY;
    let mut unpacked_bytes = 0;
    for _ in 0..RUNS {
        unpacked_bytes = 0;
        let start = Instant::now();
        let mut unpacker = Unpacker::new(&path);
        let mut sink = |piece: Unpacked<'_>| {
            if let Unpacked::Data(bytes) = piece {
                unpacked_bytes += bytes.len();
            }
        };
        stored.chunks(READ_BYTES).for_each(|chunk| unpacker.push(chunk, &mut sink));
        unpacker.finish(&mut sink);
        best_secs = best_secs.min(start.elapsed().as_secs_f64());
    }
    let inflater = if cfg!(feature = "zlib-rs") { "zlib-rs" } else { "miniz_oxide" };
    let mib = unpacked_bytes as f64 / f64::from(1 << 20);
    println!("{inflater}: {mib:.0} MiB in {:.0} ms, {:.0} MiB/s", best_secs * 1e3, mib / best_secs);
    Ok(())
}
