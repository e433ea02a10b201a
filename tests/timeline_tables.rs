//! Compares the tables of an area of the timeline (`events`, `range`) with a trace whose events were counted by hand.
//! Over the whole capture, these tables must match the other tables.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::cli::{crossprof, scratch, stderr, stdout};
use crate::support::{open, samples};
use crossprof::run::WindowChoice;
use crossprof::tables::{AreaError, AreaQuery, LineQuery};
use crossprof::trace::{IntervalSet, LineKind, PlaneKind, Platform};
use crossprof::{Cell, Ps, Query, Settings, Table, TableName};
use serde_json::{Value, json};

/// Writes a trace with two streams and a host thread. In microseconds, from the first event:
///
/// ```text
/// Stream #1   a [0, 10)  with b [2, 5);  a [20, 30);  c at 30, of length zero
/// Stream #2   b [8, 12)
/// python      f [0, 40)
/// ```
fn hand_made(folder: &Path) {
    let meta = |pid: u32, tid: u32, name: &str| json!({"ph":"M","pid":pid,"tid":tid,"name":"thread_name","args":{"name":name}});
    let process = |pid: u32, name: &str| json!({"ph":"M","pid":pid,"name":"process_name","args":{"name":name}});
    let event = |pid: u32, tid: u32, name: &str, start: f64, length: f64| json!({"ph":"X","pid":pid,"tid":tid,"name":name,"ts":100.0 + start,"dur":length});
    let events = json!({"traceEvents": [
        process(1, "/device:GPU:0"), process(2, "/host:CPU"),
        meta(1, 1, "Stream #1(Compute)"), meta(1, 2, "Stream #2(Compute)"), meta(2, 1, "python"),
        event(1, 1, "a", 0.0, 10.0), event(1, 1, "b", 2.0, 3.0), event(1, 1, "a", 20.0, 10.0), event(1, 1, "c", 30.0, 0.0),
        event(1, 2, "b", 8.0, 4.0), event(2, 1, "f", 0.0, 40.0),
        {"ph":"i","pid":2,"tid":1,"name":"mark","ts":105.0,"s":"t"},
        {}
    ]});
    std::fs::write(folder.join("hand.trace.json"), events.to_string()).unwrap();
}

fn rows(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let arguments = [&["table"], arguments, &["hand.trace.json", "--format", "json"]].concat();
    let output = crossprof(folder, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn a_range_matches_a_hand_count() {
    let folder = scratch("timeline_tables", "range");
    hand_made(&folder);
    // In [4, 25), `a` has 6 + 5 µs, of which the nested `b` takes 1 µs. `b` has 1 and 4 µs, and `f` has 21 µs.
    let found = rows(&folder, &["range", "--from", "4us", "--to", "0.025ms"]);
    let row = |name: &str, count: u64, [total, own, mean, p50, p95, min, max]: [f64; 7], percent: f64| {
        json!({"name":name,"count":count,"total_us":total,"self_us":own,"mean_us":mean,"p50_us":p50,"p95_us":p95,"min_us":min,
            "max_us":max,"percent_of_range":percent})
    };
    let expected = [
        row("f", 1, [21.0, 21.0, 21.0, 21.0, 21.0, 21.0, 21.0], 100.0),
        row("a", 2, [11.0, 10.0, 5.5, 5.5, 6.0, 5.0, 6.0], 100.0 * 11.0 / 21.0),
        row("b", 2, [5.0, 5.0, 2.5, 2.5, 4.0, 1.0, 4.0], 100.0 * 5.0 / 21.0),
    ];
    assert_eq!(found, expected);
    let counts = |arguments: &[&str]| -> Vec<(String, u64)> {
        let found = rows(&folder, arguments);
        found.iter().map(|row| (row["name"].as_str().unwrap().to_owned(), row["count"].as_u64().unwrap())).collect()
    };
    let named = |pairs: &[(&str, u64)]| pairs.iter().map(|&(name, count)| (name.to_owned(), count)).collect::<Vec<_>>();
    // An event of zero length is included at the start of the range, but not at the end. Without a range, all such events
    // are included. Instants are never included.
    assert_eq!(counts(&["range", "--line", "GPU:0"]), named(&[("a", 2), ("b", 2), ("c", 1)]));
    assert_eq!(counts(&["range", "--line", "Stream #1*", "--from", "30", "--to", "31"]), named(&[("c", 1)]));
    assert_eq!(counts(&["range", "--line", "Stream #1*", "--from", "20", "--to", "30"]), named(&[("a", 1)]));
    let of_lines =
        [("/host:CPU/python", 1), ("/device:GPU:0/Stream #1(Compute)", 4), ("/device:GPU:0/Stream #2(Compute)", 1)];
    assert_eq!(counts(&["range", "--by", "line"]), named(&of_lines));
    assert_eq!(counts(&["range", "--filter", "b", "--sort", "-p50_us"]), named(&[("b", 2)]));
    assert_eq!(counts(&["range", "--sort", "p95_us", "--top", "2"]), named(&[("c", 1), ("b", 2)]));
}

#[test]
fn counters_of_a_range_match_a_hand_count() {
    let folder = scratch("timeline_tables", "counters");
    let counter = |pid: u32, time: f64, used: f64| json!({"ph":"C","pid":pid,"name":"memory","ts":100.0 + time,"args":{"used":used}});
    let name = |pid: u32, name: &str| json!({"ph":"M","pid":pid,"name":"process_name","args":{"name":name}});
    let event = |pid: u32| json!({"ph":"X","pid":pid,"tid":1,"name":"f","ts":100,"dur":40});
    let events = json!({"traceEvents": [
        name(1, "/device:GPU:0"), name(2, "/host:CPU"), event(1), event(2),
        counter(1, 10.0, 4.0), counter(1, 20.0, 8.0), counter(1, 35.0, 2.0), counter(2, 50.0, 7.0), {}
    ]});
    std::fs::write(folder.join("hand.trace.json"), events.to_string()).unwrap();
    let row = |process: &str, samples: u64, [mean, min, max, first, last]: [f64; 5]| {
        json!({"name":"memory used","process":process,"samples":samples,"mean_value":mean,"min_value":min,"max_value":max,
            "first_value":first,"last_value":last})
    };
    let by_counter = |more: &[&str]| rows(&folder, &[&["range", "--by", "counter"], more].concat());
    // In [15, 40), the value is 4 for 5 µs, 8 for 15 µs and 2 for 5 µs.
    let gpu = row("/device:GPU:0", 2, [6.0, 2.0, 8.0, 4.0, 2.0]);
    assert_eq!(by_counter(&["--from", "15", "--to", "40"]), std::slice::from_ref(&gpu));
    assert_eq!(by_counter(&["--from", "15", "--to", "40", "--line", "GPU:0"]), [gpu]);
    assert!(by_counter(&["--from", "15", "--to", "40", "--line", "CPU"]).is_empty());
    // Without limits, the range is from the first sample to the end of the capture, or to the last sample if that is later.
    let all = [
        row("/device:GPU:0", 3, [(40.0 + 120.0 + 10.0) / 30.0, 2.0, 8.0, 4.0, 2.0]),
        row("/host:CPU", 1, [7.0, 7.0, 7.0, 7.0, 7.0]),
    ];
    assert_eq!(by_counter(&[]), all);
}

#[test]
fn events_are_listed_whole() {
    let folder = scratch("timeline_tables", "events");
    hand_made(&folder);
    let row = |process: &str, line: &str, name: &str, [start, duration, own]: [f64; 3], depth: u64| json!({"line":line,"process":process,"name":name,"start_us":start,"duration_us":duration,"self_us":own,"depth":depth});
    let (gpu, one, two) = ("/device:GPU:0", "Stream #1(Compute)", "Stream #2(Compute)");
    let found = rows(&folder, &["events", "--from", "4", "--to", "9"]);
    let expected = [
        row("/host:CPU", "python", "f", [0.0, 40.0, 40.0], 0),
        row(gpu, one, "a", [0.0, 10.0, 7.0], 0),
        row(gpu, one, "b", [2.0, 3.0, 3.0], 1),
        row(gpu, two, "b", [8.0, 4.0, 4.0], 0),
    ];
    assert_eq!(found, expected);
    assert_eq!(rows(&folder, &["events"]).len(), 6);
    assert_eq!(rows(&folder, &["events", "--line", "python", "--line", "*#2*"]).len(), 2);
}

#[test]
fn a_session_explains_a_wrong_area() {
    let folder = scratch("timeline_tables", "session");
    hand_made(&folder);
    let mut session = open("hand.trace.json", &std::fs::read(folder.join("hand.trace.json")).unwrap());
    let mut ask = |from_ps, to_ps, lines: LineQuery| {
        let area = AreaQuery { from_ps, to_ps, lines, counters: None };
        let asked = session.table_of_area(0, &Settings::default(), TableName::Range, "", &area, &Query::default());
        asked.unwrap().map(|table| table.rows.len())
    };
    assert_eq!(ask(None, None, LineQuery::All), Ok(4));
    assert_eq!(ask(Some(4_000_000), None, LineQuery::Indices(vec![1, 1, 900])), Ok(1));
    assert_eq!(ask(None, Some(-5), LineQuery::All), Ok(0));
    assert_eq!(ask(Some(i64::MIN), Some(i64::MAX), LineQuery::All), Ok(4));
    assert_eq!(ask(None, None, LineQuery::Indices(Vec::new())), Ok(0));
    assert_eq!(ask(Some(7), Some(7), LineQuery::All), Err(AreaError::EndsBeforeStart));
    let Err(AreaError::NoLine(error)) = ask(None, None, LineQuery::Patterns(vec!["TPU".to_owned()])) else {
        panic!("a line matches TPU")
    };
    assert!(
        error.pattern == "TPU" && error.to_string().starts_with("no line matches TPU; the capture has "),
        "{error}"
    );
}

#[test]
fn wrong_arguments_give_one_sentence() {
    let folder = scratch("timeline_tables", "wrong");
    hand_made(&folder);
    for (arguments, expected) in [
        (&["range", "--from", "2s", "--to", "1s"][..], "crossprof: --from must be before --to\n"),
        (&["events", "--from", "1us", "--to", "1000ns"], "crossprof: --from must be before --to\n"),
        (
            &["ops", "--from", "1us"],
            "crossprof: --from: the table ops takes no range. To choose the part that is measured, use --window\n",
        ),
        (
            &["range", "--line", "TPU:0"],
            "crossprof: --line: no line matches TPU:0; the capture has /device:GPU:0/Stream #1(Compute), \
             /device:GPU:0/Stream #2(Compute), /host:CPU/python. Did you mean GPU:0?\n",
        ),
        (
            &["range", "--by", "thread"],
            "crossprof: --by: the table range cannot be grouped by thread; it has name, op, category, scope, line, counter\n",
        ),
    ] {
        let output = crossprof(&folder, &[&["table"], arguments, &["hand.trace.json"]].concat());
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{arguments:?}");
        assert!(stderr(&output).ends_with(expected), "{}", stderr(&output));
    }
    let nothing = crossprof(&folder, &["table", "events", "hand.trace.json", "--from", "1s"]);
    assert_eq!((nothing.status.code(), stdout(&nothing).as_str()), (Some(0), "No events in this range.\n"));
}

/// Sums by the text in the first column.
type Sums = BTreeMap<String, (u64, f64, f64)>;

fn sums(table: &Table, [name, count, total, own]: [&str; 4]) -> Sums {
    let place = |key: &str| table.columns.iter().position(|column| column.key == key).unwrap();
    let number = |cell: &Cell| match cell {
        Cell::Int(value) => *value as f64,
        Cell::Float(value) => *value,
        other => panic!("{other:?}"),
    };
    let mut found = Sums::new();
    for row in &table.rows {
        let Cell::Text(text) = &row[place(name)] else { continue };
        let sums = found.entry(text.clone()).or_default();
        sums.0 += number(&row[place(count)]) as u64;
        sums.1 += number(&row[place(total)]);
        sums.2 += number(&row[place(own)]);
    }
    found
}

/// Checks that the tables agree. Returns the number of compared lines and the number of compared ops.
fn agree(path: &Path) -> (usize, usize) {
    let mut session = open(&path.to_string_lossy(), &std::fs::read(path).unwrap());
    let settings = Settings { window: WindowChoice::All, ..Settings::default() };
    let (mut lines_compared, mut ops_compared) = (0, 0);
    for run in 0..session.runs().len() as u32 {
        // The time during which anything runs on a line, computed as the union of the line's events.
        let known = session.timeline(run, &settings, |context, _| {
            let (trace, by_line) = (context.captured_trace(), context.run.by_line());
            let covered = by_line.events.iter().map(|events| {
                let at = events.iter().filter_map(|id| Some(trace.occupied(id)?.1));
                (events.len() as u64, IntervalSet::union_of(at).length())
            });
            let is_op = |line: &crossprof::trace::Line| {
                let of_device =
                    trace.plane_of(line).is_some_and(|plane| matches!(plane.kind, PlaneKind::Device { .. }));
                of_device && line.kind == LineKind::DeviceOps
            };
            let ops: Vec<u32> = (0..).zip(&trace.lines).filter(|(_, line)| is_op(line)).map(|(at, _)| at).collect();
            (covered.collect::<Vec<(u64, Ps)>>(), ops, context.analysis.devices.platform)
        });
        let Some((covered, ops, platform)) = known else { continue };
        let query = Query::default();
        let mut range = |lines: LineQuery, by: &str| {
            let area = AreaQuery { lines, ..AreaQuery::default() };
            session.table_of_area(run, &settings, TableName::Range, by, &area, &query).unwrap().unwrap()
        };
        for (line, (count, covered)) in (0..).zip(covered).filter(|(_, (count, _))| *count > 0) {
            let of_line =
                sums(&range(LineQuery::Indices(vec![line]), "line"), ["name", "count", "total_us", "self_us"]);
            let found = of_line.values().next().copied().unwrap();
            assert_eq!(
                (of_line.len(), found.0, found.2),
                (1, count, covered.as_us()),
                "{} line {line}",
                path.display()
            );
            lines_compared += 1;
        }
        if ops.is_empty() || platform.is_none_or(|platform| platform == Platform::Cpu) {
            continue;
        }
        // In that table, self time is defined differently: overlapping kernels keep their own time.
        let places = ["name", "count", "total_us", "self_us"];
        let forms = [("op", "hlo_op_name"), ("category", "category"), ("scope", "tf_op_name")];
        let found = forms.map(|(by, _)| sums(&range(LineQuery::Indices(ops.clone()), by), places));
        let table = session.table(run, &settings, TableName::Ops, "", &query).unwrap();
        for ((_, column), found) in forms.into_iter().zip(found) {
            let expected = sums(&table, [column, "occurrences", "total_time_us", "total_self_time_us"]);
            for (name, (count, total, _)) in expected {
                let (known, time, _) = found.get(&name).copied().unwrap_or_default();
                let is_near = (time - total).abs() <= 1e-6 * total.max(1e-3);
                assert!(known == count && is_near, "{} {name}: {known} {time} {count} {total}", path.display());
                ops_compared += 1;
            }
        }
    }
    (lines_compared, ops_compared)
}

fn compared(paths: &[std::path::PathBuf]) -> (usize, usize) {
    paths.iter().map(|path| agree(path)).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

#[test]
fn everything_of_own_profiles_is_in_the_other_tables_too() {
    let (lines, ops) = compared(&samples::own());
    assert!(lines > 100 && ops > 20, "{lines} lines, {ops} ops");
}

#[test]
#[ignore = "reads real profiles"]
fn everything_of_real_profiles_is_in_the_other_tables_too() {
    let mut paths = samples::files(&samples::traces(), &[".xplane.pb", ".trace.json.gz"]);
    paths.retain(|path| !path.to_string_lossy().contains("broken"));
    let (lines, ops) = compared(&paths);
    assert!(lines > 300 && ops > 300, "{lines} lines, {ops} ops");
    println!("{lines} lines and {ops} ops compared");
}
