//! Measures queries on the ops tables, and the search of `Ctrl K`: `cargo run --release --example table_speed -- FILE`.

use std::time::Instant;

use crossprof::pages::{PageQuery, View, search};
use crossprof::{Query, Session, Settings, Sort, TableName};

/// Filter and order; `{name}` is the column that names the rows of a table.
const QUESTIONS: [(&str, &str); 9] = [
    ("", "-{time}"),
    ("", "{name}"),
    ("fusion", ""),
    ("layer_42 -copy", "-{time}"),
    ("f", "-{name}"),
    ("occurrences>0 {name}:fusion", "-{time}"),
    ("{name}=fusion.4", ""),
    ("-no such op", "-{time}"),
    ("no such op", "-{time}"),
];

/// The tables, and their columns of names and times.
const TABLES: [(TableName, &str, &str); 5] = [
    (TableName::Ops, "hlo_op_name", "total_self_time_us"),
    (TableName::Roofline, "operation", "total_self_time_us"),
    (TableName::Kernels, "kernel_name", "total_duration_us"),
    (TableName::OpTree, "name", "total_self_time_us"),
    (TableName::Layers, "path", "total_self_time_us"),
];

/// Texts that are searched.
const SEARCHES: [&str; 5] = ["fusion", "layer_42", "fusion.999999", "f", "no such name"];

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
    for (table, name, time) in TABLES {
        println!("{}:", table.key());
        for (filter, sort) in QUESTIONS {
            let named = |text: &str| text.replace("{name}", name).replace("{time}", time);
            let sort_by = (!sort.is_empty()).then(|| Sort::parse(&named(sort)));
            let query = Query { filter: named(filter), sort: sort_by, top: Some(1000) };
            let mut best_ms = f64::INFINITY;
            let mut found = (0, 0);
            for _ in 0..3 {
                let start = Instant::now();
                let table = session.table(0, &settings, table, "", &query).ok_or("no run")?;
                best_ms = best_ms.min(start.elapsed().as_secs_f64() * 1e3);
                found = (table.matched_rows, table.total_rows);
            }
            let (filter, sort) = (named(filter), named(sort));
            println!("{best_ms:7.1} ms  {} of {} rows  filter {filter:?} sort {sort:?}", found.0, found.1);
        }
    }
    println!("layers:");
    for by in ["layer", "each-layer", "phase", "source"] {
        let options = [("layers".to_owned(), by.to_owned())].into();
        let query = PageQuery { options, ..PageQuery::default() };
        // The first page includes the sums over all ops.
        for which in ["first page", "next page"] {
            let start = Instant::now();
            let page = session.page(0, &settings, View::Layers, &query).ok_or("no run")?;
            println!("{:7.1} ms  {which} by {by}, {} blocks", start.elapsed().as_secs_f64() * 1e3, page.blocks.len());
        }
    }
    println!("search:");
    for text in SEARCHES {
        let mut best_ms = f64::INFINITY;
        let mut found = 0;
        for _ in 0..3 {
            let start = Instant::now();
            found = session.timeline(0, &settings, |context, _| search(context, text)).ok_or("no run")?.len();
            best_ms = best_ms.min(start.elapsed().as_secs_f64() * 1e3);
        }
        println!("{best_ms:7.1} ms  {found} results  {text:?}");
    }
    Ok(())
}
