//! Measures the timeline of a profile natively: `cargo run --release --example timeline_speed -- FILE`.
//!
//! Prints the milliseconds for the first picture and for pictures at several zooms, and the bytes per event that the
//! timeline stores in addition to the trace. `cargo xtask bench` measures these values in a browser.

use std::error::Error;
use std::time::Instant;

use crossprof::timeline::{Canvas, Raster, Sight, Stage, Viewport};
use crossprof::{Session, Settings};

const WIDTH: u32 = 1400;
const HEIGHT: u32 = 900;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: timeline_speed FILE")?;
    let bytes = std::fs::read(&path)?;
    let mut session = Session::new();
    let file = session.begin(&path, Some(bytes.len() as u64));
    session.push(file, &bytes);
    session.finish(file);
    drop(bytes);
    session.runs();
    let settings = Settings::default();
    session.report(0, &settings).ok_or("no run")?;
    session.timeline(0, &settings, |context, kept| {
        let timed = |what: &str, work: &mut dyn FnMut()| {
            let start = Instant::now();
            work();
            println!("{what:40} {:8.1} ms", start.elapsed().as_secs_f64() * 1e3);
        };
        timed("lanes, colours, tracks", &mut || while kept.prepare(context) {});
        let (mut stage, mut raster) = (Stage::default(), Raster::default());
        let mut sight = Sight { width: WIDTH, height: HEIGHT, scale: 1.0, ..Sight::default() };
        let all = Viewport::new(crossprof::timeline::extent(context));
        for zoom in [1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5] {
            let range = all.zoom(0.5, zoom).range;
            sight.range_ps = Some((range.start.as_ps(), range.end.as_ps()));
            for attempt in 0..3 {
                let start = Instant::now();
                let scene = stage.scene(kept, context, &sight, &|_, _| true);
                raster.clear(WIDTH, HEIGHT, scene.background());
                scene.draw(&mut raster as &mut dyn Canvas);
                let ms = start.elapsed().as_secs_f64() * 1e3;
                if attempt == 2 {
                    println!("picture of {zoom:<8} of the capture {:13.1} ms, {} texts", ms, raster.letterings.len());
                }
            }
        }
        let events = context.captured_trace().events.len();
        println!("{} events, {:.1} bytes each beyond the trace", events, kept.memory_bytes() as f64 / events as f64);
    });
    Ok(())
}
