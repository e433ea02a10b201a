//! Measures questions to the table of ops: `cargo run --release --example table_speed -- FILE`.

use std::time::Instant;

use crossprof::{Query, Session, Settings, Sort, TableName};

/// Filter and order.
const QUESTIONS: [(&str, &str); 6] = [
    ("", "-total_self_time_us"),
    ("", "hlo_op_name"),
    ("fusion", ""),
    ("layer_42 -copy", "-total_self_time_us"),
    ("occurrences>0 category:loop", "-bytes_accessed"),
    ("no such op", "-total_time_us"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: table_speed FILE")?;
    let mut session = Session::new();
    let file = session.begin(&path, None);
    session.push(file, &std::fs::read(&path)?);
    session.finish(file);
    session.runs();
    let settings = Settings::default();
    let start = Instant::now();
    session.report(0, &settings);
    println!("analysis: {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    for (filter, sort) in QUESTIONS {
        let sort_by = (!sort.is_empty()).then(|| Sort::parse(sort));
        let query = Query { filter: filter.to_owned(), sort: sort_by, top: Some(1000) };
        let mut best_ms = f64::INFINITY;
        let mut found = (0, 0);
        for _ in 0..5 {
            let start = Instant::now();
            let table = session.table(0, &settings, TableName::Ops, "", &query).ok_or("no run")?;
            best_ms = best_ms.min(start.elapsed().as_secs_f64() * 1e3);
            found = (table.matched_rows, table.total_rows);
        }
        println!("{best_ms:7.1} ms  {} of {} rows  filter {filter:?} sort {sort:?}", found.0, found.1);
    }
    Ok(())
}
