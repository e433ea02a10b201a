//! Measures the sums of timeline areas: `cargo run --release --example area_speed -- FILE`. FILE is an xplane or a
//! trace JSON.

use std::time::Instant;

use crossprof::input::{Decoded, Decoder, Unpacked, Unpacker};
use crossprof::pages::PageQuery;
use crossprof::pages::timeline::{Action, act};
use crossprof::run::Run;
use crossprof::table::Filter;
use crossprof::timeline::statistics::{Area, GroupBy, Grouping, groups, percentiles_of};
use crossprof::timeline::{Found, Origin, Sight, Stage, Timeline};
use crossprof::trace::Interval;
use crossprof::{Ps, Settings};

fn best_ms<T>(rounds: usize, mut work: impl FnMut() -> T) -> (f64, Option<T>) {
    let (mut best, mut made) = (f64::INFINITY, None);
    for _ in 0..rounds {
        let start = Instant::now();
        made = Some(work());
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    (best, made)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: area_speed FILE")?;
    let mut decoder = Decoder::new(&path);
    let mut failed = None;
    let mut unpacker = Unpacker::new(&path);
    let mut sink = |piece: Unpacked<'_>| {
        if let Unpacked::Data(bytes) = piece {
            failed = failed.take().or(decoder.push(bytes).err());
        }
    };
    unpacker.push(&std::fs::read(&path)?, &mut sink);
    unpacker.finish(&mut sink);
    let Decoded::Trace(trace) = decoder.finish().map_err(|error| format!("{error:?}"))? else {
        return Err("no trace".into());
    };
    let mut run = Run { trace: *trace, ..Run::default() };
    run.complete();
    let by_line = run.by_line();
    let trace = &run.trace;
    let count = trace.events.len();
    println!("{count} events, {} lines, {} kinds", trace.lines.len(), trace.events.kinds().len());
    let context = crossprof::insight::examine(&run, &Settings::default());
    let context = context.context(&run);
    let timeline = Timeline::default();
    let source = timeline.source(context, Origin::Captured);
    let (made, _) = best_ms(1, || while timeline.prepare(context) {});
    println!(
        "{made:7.1} ms  lanes, tracks and stretches, {:.1} bytes an event",
        timeline.memory_bytes() as f64 / count as f64
    );
    let derived = &timeline.source(context, Origin::Derived).trace.events;
    let bytes = derived.memory_bytes() as f64 / derived.len() as f64;
    println!("            {} derived events, {bytes:.1} bytes each without their lanes", derived.len());
    let extent = by_line.extent.ok_or("no events")?;
    let at = |share: i64| extent.start + Ps::new(extent.length().as_ps() / 1000 * share);
    let everything = Area::everything(trace);
    let middle = |from, to| Area { range: Interval::new(at(from), at(to)), ..everything.clone() };
    let areas =
        [("everything", everything.clone()), ("the middle half", middle(250, 750)), ("a thousandth", middle(500, 501))];
    for by in GroupBy::ALL {
        let (ms, grouping) = best_ms(3, || Grouping::new(&context, by));
        println!("{ms:7.1} ms  which kind is of which {}", by.key());
        let Some(grouping) = grouping else { continue };
        for (what, area) in &areas {
            let (ms, found) = best_ms(7, || groups(source, area, &grouping));
            let found = found.unwrap_or_default();
            let events: u64 = found.iter().map(|group| group.sums.count).sum();
            println!("{ms:7.1} ms  {what} by {}: {} groups of {events} events", by.key(), found.len());
            for shown in [100, found.len()] {
                let shown = found.get(..shown).unwrap_or(&found);
                let (ms, _) = best_ms(3, || percentiles_of(source, area, &grouping, shown));
                println!("{ms:7.1} ms      percentiles of {}", shown.len());
            }
        }
    }
    println!("as the page asks, all lines from the first event to the last:");
    let (mut stage, sight) = (Stage::default(), Sight { width: 1127, height: 690, ..Sight::default() });
    for (what, first_look) in [("what is in sight", true), ("the whole table", false)] {
        let range_ps = (0, extent.length().as_ps());
        let action = || Action::Area { range_ps, rows: None, first_look };
        let (ms, _) = best_ms(7, || act(context, &timeline, &mut stage, &sight, action(), &PageQuery::default()));
        println!("{ms:7.1} ms  {what}");
    }
    println!("finding:");
    let (ms, _) = best_ms(1, || source.counts().len());
    println!("{ms:7.1} ms  counts of kinds");
    for words in ["fusion", "a", "no such name", "42 -7"] {
        let filter = Filter::parse(words);
        let (ms, found) = best_ms(5, || Found::new(source, &|name| filter.passes_texts(&[name])));
        let Some(found) = found else { continue };
        println!("{ms:7.1} ms  {words:?}: {} events of {} names", found.events, found.names);
        let middle = at(500);
        let (first_ms, first) = best_ms(3, || found.first_from(source, middle));
        let (last_ms, _) = best_ms(3, || found.last_before(source, middle));
        let (place_ms, place) = best_ms(3, || found.place_of(source, first.flatten()?));
        let (nth_ms, _) = best_ms(3, || found.nth(source, found.events / 2));
        println!(
            "        first {first_ms:.1} ms, last {last_ms:.1} ms, place {place_ms:.1} ms ({place:?}), nth {nth_ms:.1} ms"
        );
    }
    Ok(())
}
