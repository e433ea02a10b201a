//! Tests the trends of a lake. The page must show the numbers of the document that `crossprof lake export` wrote. For a
//! damaged document, it must show a part of the captures, or one sentence.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crossprof::document::{Block, Grid, Line, LineKind, Page, Scatter};
use crossprof::pages::{PageQuery, View};
use crossprof::session::snapshot::{Piece, Reader};
use crossprof::text::format;
use crossprof::{FileKind, Session, Settings};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde_json::Value;

use crate::support::{cli, open};
use crate::view::Server;

/// A trends document that tests/data/lake/make.py made with the Python package.
const TRENDS: &[u8] = include_bytes!("data/lake/trend.json.gz");
/// Numbers of the first slow and the first fast capture in tests/data/lake/make.py.
const SLOW: usize = 11;
const FAST: usize = 9;

fn document() -> Value {
    let mut text = String::new();
    GzDecoder::new(TRENDS).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn packed(text: &str) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(text.as_bytes()).unwrap();
    writer.finish().unwrap()
}

fn page(session: &mut Session, workload: &str) -> Page {
    let query = PageQuery { options: [("workload".to_owned(), workload.to_owned())].into(), ..PageQuery::default() };
    session.page(0, &Settings::default(), View::Overview, &query).unwrap()
}

fn charts(page: &Page) -> Vec<&Scatter> {
    page.blocks.iter().filter_map(|it| if let Block::Scatter(chart) = it { Some(chart) } else { None }).collect()
}

fn grids(page: &Page) -> Vec<&Grid> {
    page.blocks.iter().filter_map(|it| if let Block::Grid(grid) = it { Some(grid) } else { None }).collect()
}

fn lines(chart: &Scatter, kind: LineKind) -> Vec<&Line> {
    chart.lines.iter().filter(|line| line.kind == kind).collect()
}

fn captures(document: &Value, workload: usize) -> Vec<&Value> {
    document["captures"].as_array().unwrap().iter().filter(|it| it["workload"] == workload).collect()
}

/// Returns the key of the workload with a batch size, and its index.
fn workload(document: &Value, batch: u64) -> (String, usize) {
    let all = document["workloads"].as_array().unwrap();
    let at = all.iter().position(|it| it["batch_size"] == batch).unwrap();
    (all[at]["workload_key"].as_str().unwrap().to_owned(), at)
}

#[test]
fn the_numbers_of_the_page_are_those_of_the_document() {
    let document = document();
    let mut session = open("trend.json.gz", TRENDS);
    assert_eq!(session.runs().len(), 1);
    for (at, about) in document["workloads"].as_array().unwrap().iter().enumerate() {
        let page = page(&mut session, about["workload_key"].as_str().unwrap());
        let (charts, grids) = (charts(&page), grids(&page));
        let captures = captures(&document, at);
        // A single capture needs no chart.
        assert_eq!((charts.len(), grids.len()), (usize::from(captures.len() > 1), 1));
        let grid = grids[0];
        assert_eq!(grid.rows.len(), captures.len());
        let ms = |capture: &Value, field: &str| capture[field].as_f64().unwrap() / 1e9;
        let us = |capture: &Value, field: &str| capture[field].as_f64().unwrap() / 1e6;
        for (place, capture) in captures.iter().enumerate() {
            if let Some(chart) = charts.first() {
                let x = place as f64 + 1.0;
                assert_eq!((chart.points[place].x, chart.points[place].y), (x, ms(capture, "typical_step_ps")));
                let quartiles = ["p25_step_time_ps", "p75_step_time_ps"].map(|field| (x, ms(capture, field)));
                assert_eq!(lines(chart, LineKind::Interval)[place].points, quartiles);
            }
            let row = &grid.rows[captures.len() - 1 - place];
            let texts: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
            assert_eq!(texts[1], capture["run"]);
            assert_eq!(texts[2], capture["git_sha"].as_str().map_or("", |sha| &sha[..12]));
            assert_eq!(texts[3], format::time_us(us(capture, "typical_step_ps")));
            assert_eq!(texts[7], capture["path"]);
            assert!(row[3].note.ends_with(&format!("{} steps", capture["num_steps_counted"])), "{}", row[3].note);
            let compute = format::time_us(us(&capture["parts"], "compute_ps"));
            assert!(texts[5].contains(&format!("Compute {compute}")), "{}", texts[5]);
            assert_eq!(texts[6].is_empty(), capture["findings"].as_array().unwrap().is_empty());
        }
    }
}

#[test]
fn changes_are_marked_where_they_began_and_the_slower_workload_is_first() {
    let document = document();
    let mut session = open("trend.json.gz", TRENDS);
    let all = page(&mut session, "");
    let (slow, at) = workload(&document, 16);
    let table = grids(&all)[0];
    assert_eq!((table.rows.len(), table.rows[0][0].choice.as_ref().unwrap().1.as_str()), (5, slow.as_str()));
    let verdict = document["verdicts"].as_array().unwrap().iter().find(|it| it["workload"] == at).unwrap();
    let percent = format::percent(verdict["change_percent"].as_f64().unwrap());
    assert_eq!(table.rows[0][2].text, format!("▼ +{percent}"));
    for (batch, place, sign) in [(16, SLOW, "▼ +"), (32, FAST, "▲ -")] {
        let page = page(&mut session, &workload(&document, batch).0);
        let marks = lines(charts(&page)[0], LineKind::Mark);
        assert_eq!((marks.len(), marks[0].points[0].0), (1, place as f64 + 1.0), "batch {batch}");
        assert!(marks[0].label.starts_with(sign), "{}", marks[0].label);
        let rows = &grids(&page)[0].rows;
        let marked: Vec<usize> = (0..rows.len()).filter(|row| !rows[*row][4].text.is_empty()).collect();
        assert_eq!(marked, [rows.len() - 1 - place]);
    }
    let page = page(&mut session, &slow);
    let texts: Vec<&str> = page
        .blocks
        .iter()
        .filter_map(|it| if let Block::Note { text } = it { Some(text.as_str()) } else { None })
        .collect();
    let text = texts.join("\n");
    // The script makes this op slower, at this commit.
    for word in
        ["op custom-call.2", "of commit 0b0b0b0b0b0b", "of commit 0a0a0a0a0a0a", "crossprof compare runs/a/run_010/"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(lines(charts(&self::page(&mut session, &workload(&document, 64).0))[0], LineKind::Mark).is_empty());
}

#[test]
fn every_view_shows_the_trends_and_a_handover_keeps_them() {
    let mut session = open("lake/trend.json.gz", TRENDS);
    let before = page(&mut session, "");
    let ops = session.page(0, &Settings::default(), View::Ops, &PageQuery::default()).unwrap();
    assert_eq!(ops, before);
    let mut other = Session::new();
    let mut reader = Reader::new();
    session.hand_over().unwrap().for_each(|piece| match piece {
        Piece::Rows(rows) => reader.push_rows(rows),
        Piece::Bytes(bytes) => reader.push(&bytes),
    });
    other.take_over(reader).unwrap();
    assert_eq!(page(&mut other, ""), before);
    let report = other.report(0, &Settings::default()).unwrap();
    assert_eq!(report.provenance[0].format, "lake_trends");
    assert_eq!(report.provenance[0].size_bytes, TRENDS.len() as u64);
}

#[test]
fn damaged_documents_give_a_part_or_one_sentence() {
    let whole = captures_of(&page(&mut open("t.json.gz", TRENDS), ""));
    let (mut parts, mut sentences) = (0, 0);
    let reason = |page: &Page| match page.blocks.as_slice() {
        [Block::Empty { reason, .. }] => Some(reason.clone()),
        _ => None,
    };
    for end in (1..TRENDS.len()).step_by(31) {
        let mut session = Session::new();
        let file = session.begin("t.json.gz", None);
        session.push(file, &TRENDS[..end]);
        let result = session.finish(file);
        if result.error.is_some() {
            sentences += 1;
            continue;
        }
        session.runs();
        assert!(result.warnings.iter().any(|it| it.code == "gzip_truncated"), "{end}");
        let page = page(&mut session, "");
        match reason(&page) {
            Some(reason) => {
                assert!(
                    reason.starts_with("This is a lake export, but it cannot be read") && reason.ends_with('.'),
                    "{reason}"
                );
                sentences += 1;
            }
            None => {
                let report = session.report(0, &Settings::default()).unwrap();
                // Only the last bytes of the file contain no capture.
                let is_cut = report.warnings.iter().any(|it| it.code == "lake_truncated");
                assert!(is_cut || end + 40 > TRENDS.len(), "{end}: {:?}", report.warnings);
                assert!(captures_of(&page) <= whole);
                parts += 1;
            }
        }
    }
    assert!(parts > 50 && sentences > 2, "{parts} {sentences}");
    let text = document().to_string();
    for (from, to, expected) in [
        (":1,", ":2,", "A lake export of version 2 cannot be read."),
        ("crossprof-lake", "crossprof-lake-2", "its format is not crossprof-lake"),
        ("\"version\":1", "\"version\":null", "version"),
    ] {
        let reason = reason(&page(&mut open("t.json", text.replace(from, to).as_bytes()), "")).unwrap();
        assert!(reason.contains(expected), "{reason}");
    }
}

fn captures_of(page: &Page) -> usize {
    charts(page).iter().map(|chart| chart.points.len()).sum()
}

/// Writes a document of `workloads` with `captures` each.
fn made(workloads: usize, captures: usize, name: &str) -> String {
    let name = serde_json::to_string(name).unwrap();
    let about = |key: usize| {
        format!(r#"{{"workload_key":"{key:016x}","program":{name},"device_kind":{name},"num_devices":8}}"#)
    };
    let capture = |at: usize| {
        let (of, number) = (at / captures, at % captures);
        let ps = 6_000_000_000 + (at as u64 * 7_919) % 90_000_000;
        format!(
            r#"{{"workload":{of},"capture_id":"{at:032x}","run":{name},"path":{name},"time":"2026-11-02T{:02}:{:02}:00Z","git_sha":{name},"typical_step_ps":{ps},"median_step_time_ps":{ps},"p25_step_time_ps":{},"p75_step_time_ps":{},"num_steps_counted":8,"parts":{{"compute_ps":{ps}}},"findings":[{{"id":{name},"severity":"critical"}}]}}"#,
            number / 60 % 24,
            number % 60,
            ps - 1_000_000,
            ps + 1_000_000
        )
    };
    let all = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(",\n");
    format!(
        "{{\"format\":\"crossprof-lake\",\"version\":1,\"workloads\":[{}],\"captures\":[{}],\"verdicts\":[{{\"workload\":0,\"verdict\":\"slower\",\"capture_id\":\"x\",\"cause_op\":{name}}}]}}",
        all(workloads, &about),
        all(workloads * captures, &capture)
    )
}

#[test]
fn hundred_thousand_captures_make_a_small_page() {
    let bytes = packed(&made(1_000, 100, "jit_step"));
    let mut session = open("trend.json.gz", &bytes);
    let page = page(&mut session, "");
    assert!(captures_of(&page) <= 1_000);
    let text = serde_json::to_string(&page).unwrap();
    assert!(text.len() < 2 << 20, "{}", text.len());
    let rows: usize = grids(&page).iter().map(|grid| grid.rows.len()).sum();
    assert!(rows <= 600, "{rows}");
    let one = packed(&made(1, 50_000, "jit_step"));
    let page = self::page(&mut open("trend.json.gz", &one), "");
    assert_eq!((captures_of(&page), grids(&page)[0].rows.len()), (500, 500));
}

#[test]
fn hostile_names_are_text() {
    let name = "<img src=x onerror=alert(1)>\u{202e}\u{1b}[31m\n| `x` |";
    let bytes = made(3, 2, name);
    let mut session = open("trend.json", bytes.as_bytes());
    let page = page(&mut session, "");
    let titles =
        page.blocks.iter().filter_map(|it| if let Block::Heading { text, .. } = it { Some(text) } else { None });
    let titles: Vec<&String> = titles.collect();
    assert_eq!(titles.len(), 3);
    assert!(titles.iter().all(|it| !it.contains(['\u{202e}', '\u{1b}', '\n'])), "{titles:?}");
    // The workloads have the same program and devices, so their names contain the key.
    assert!(titles[0].contains("(0000000000000000)"), "{titles:?}");
    let folder = cli::scratch("lake_trends", "hostile");
    fs::write(folder.join("trend.json"), &bytes).unwrap();
    for format in ["text", "markdown"] {
        let text = cli::stdout(&cli::crossprof(&folder, &["analyze", "--format", format, "trend.json"]));
        assert!(text.contains("onerror") && !text.contains(['\u{202e}', '\u{1b}']), "{text}");
        assert!(format == "text" || !text.contains("<img"), "{text}");
    }
}

#[test]
fn the_command_line_prints_the_trends_and_other_commands_name_it() {
    let folder = cli::scratch("lake_trends", "commands");
    fs::write(folder.join("trend.json.gz"), TRENDS).unwrap();
    let printed = cli::crossprof(&folder, &["trend.json.gz"]);
    let text = cli::stdout(&printed);
    assert!(
        printed.status.success() && text.contains("44 captures of 5 workloads. 1 workload became slower."),
        "{text}"
    );
    assert!(text.contains("▼ +3.0 %") && !text.contains("--format json"), "{text}");
    let markdown = cli::stdout(&cli::crossprof(&folder, &["analyze", "--format", "markdown", "trend.json.gz"]));
    assert!(markdown.contains("| ▼ +3.0 %"), "{markdown}");
    for words in [
        &["analyze", "--format", "json", "trend.json.gz"][..],
        &["table", "ops", "trend.json.gz"],
        &["compare", "trend.json.gz", "trend.json.gz"],
        &["digest", "trend.json.gz"],
        &["hlo", "trend.json.gz"],
    ] {
        let refused = cli::crossprof(&folder, words);
        let message = cli::stderr(&refused);
        assert!(!refused.status.success() && message.lines().count() <= 3, "{words:?}: {message}");
        assert!(message.contains("lake") || message.contains("error:"), "{words:?}: {message}");
    }
}

#[test]
fn a_lake_is_served_by_its_export_or_refused_with_the_command_that_writes_it() {
    let folder = cli::scratch("lake_trends", "served");
    let lake = folder.join("lake");
    fs::create_dir_all(lake.join("schema=1/table=captures")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossprof"));
    command.args(crate::view::arguments(&lake)).arg("--no-browser").stdin(Stdio::null());
    let refused = command.output().unwrap();
    let message = cli::stderr(&refused);
    assert!(!refused.status.success() && message.contains("crossprof lake export"), "{message}");
    fs::write(lake.join("trend.json.gz"), TRENDS).unwrap();
    crate::view::grow_old(&lake.join("trend.json.gz"), 60);
    let server = Server::start(&lake);
    assert_eq!(server.opened, "app/?open=trend%2Ejson%2Egz");
    assert_eq!(server.names(), ["trend"]);
}

#[test]
fn the_kind_is_detected_from_the_content() {
    assert_eq!(crossprof::session::peek("any", TRENDS, true), FileKind::LakeTrends);
    let text = document().to_string();
    assert_eq!(crossprof::session::peek("any", text.as_bytes(), true), FileKind::LakeTrends);
    assert_ne!(crossprof::session::peek("any", br#"{"format":"other","version":1}"#, true), FileKind::LakeTrends);
}
