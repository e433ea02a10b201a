//! Compares device memory profiles with manual counts, with the results of prost and Python's gzip, and with each
//! other.

use crate::support::{cli, samples};
use crossprof::compare::{self, Subject};
use crossprof::memory::{HeapProfile, Problem};
use crossprof::table::Cell;
use crossprof::{Query, Session, Settings, Table, TableName, export};
use wire_writer::{Message, message};

/// Returns a profile of a program with two source lines that call a package. The profile contains arrays
/// `(bytes, line)` on `cuda:0`, and one executable.
fn profile(arrays: &[(i64, i64)]) -> Message {
    let texts = [
        "",
        "allocations",
        "count",
        "space",
        "bytes",
        "kind",
        "buffer",
        "executable",
        "device",
        "cuda:0",
        "train",
        "/home/me/train.py",
    ];
    let texts = texts.into_iter().chain(["asarray", "/venv/lib/python3.12/site-packages/jax/numpy.py"]);
    let mut profile = message().message(1, message().int(1, 1).int(2, 2)).message(1, message().int(1, 3).int(2, 4));
    let label = |key: i64, text: i64| message().int(1, key).int(2, text);
    for (at, &(bytes, _)) in arrays.iter().enumerate() {
        let sample = message().int(1, 100).int(1, at as i64 + 1).int(2, 1).int(2, bytes);
        profile = profile.message(2, sample.message(3, label(5, 6)).message(3, label(8, 9)));
    }
    profile = profile.message(2, message().int(1, 100).int(1, 1).int(2, 1).int(2, 7).message(3, label(5, 7)));
    for (at, &(_, line)) in arrays.iter().enumerate() {
        profile = profile.message(4, message().int(1, at as i64 + 1).message(4, message().int(1, 1).int(2, line)));
    }
    profile = profile.message(4, message().int(1, 100).message(4, message().int(1, 2).int(2, 50)));
    profile = profile
        .message(5, message().int(1, 1).int(2, 10).int(4, 11))
        .message(5, message().int(1, 2).int(2, 12).int(4, 13));
    texts.fold(profile, |profile, text| profile.bytes(6, text))
}

fn open(files: &[Vec<u8>]) -> Session {
    let mut session = Session::new();
    for (at, bytes) in files.iter().enumerate() {
        let file = session.begin(&format!("memory{at}.prof"), None);
        session.push(file, bytes);
        assert_eq!(session.finish(file).error, None);
    }
    assert_eq!(session.runs().len(), files.len());
    session
}

fn table(session: &mut Session, by: &str) -> Table {
    session.table(0, &Settings::default(), TableName::Heap, by, &Query::default()).unwrap()
}

/// Returns the sum of a column.
fn sum(table: &Table, key: &str) -> f64 {
    let column = table.columns.iter().position(|column| column.key == key).unwrap();
    let number = |cell: &Cell| match cell {
        Cell::Int(value) => *value as f64,
        Cell::Float(value) => *value,
        _ => 0.0,
    };
    table.rows.iter().map(|row| number(&row[column])).sum()
}

#[test]
fn lines_are_those_of_the_program() {
    let mut session = open(&[profile(&[(1000, 12), (24, 30), (76, 12)]).0]);
    let lines = table(&mut session, "");
    let row = |line: &str, bytes: u64, count: u64| (Cell::Text(line.to_owned()), Cell::Int(bytes), Cell::Int(count));
    let found: Vec<_> = lines.rows.iter().map(|row| (row[0].clone(), row[2].clone(), row[4].clone())).collect();
    assert_eq!(found, [row("/home/me/train.py:12", 1083, 3), row("/home/me/train.py:30", 24, 1)]);
    let stacks = table(&mut session, "stack");
    let Cell::Text(stack) = &stacks.rows[0][0] else { panic!("a stack is a text") };
    assert_eq!(stack, "train (/home/me/train.py:12) > asarray (jax/numpy.py:50)");
    let kinds = table(&mut session, "kind");
    assert_eq!((kinds.rows.len(), sum(&kinds, "bytes")), (2, 1107.0));
    assert_eq!(table(&mut session, "device").rows.len(), 2);
}

#[test]
fn two_profiles_are_a_difference() {
    let mut session = open(&[profile(&[(1000, 12), (24, 30)]).0, profile(&[(500, 12), (90, 41)]).0]);
    let found = session.table(1, &Settings::default(), TableName::Heap, "line", &Query::default()).unwrap();
    assert_eq!(
        (sum(&found, "bytes_change"), sum(&found, "bytes_before"), sum(&found, "bytes")),
        (-434.0, 1031.0, 597.0)
    );
    let changes: Vec<_> = found.rows.iter().map(|row| row[5].clone()).collect();
    assert_eq!(changes, [Cell::Float(-500.0), Cell::Int(90), Cell::Float(-24.0)]);
    let before = table(&mut session, "line");
    assert!(before.rows.iter().all(|row| row[5] == Cell::Absent), "nothing was read before it: {:?}", before.rows);
}

#[test]
fn profiles_beside_a_trace_show_the_growth_of_its_run() {
    let folder = cli::scratch("heap", "beside");
    let trace =
        samples::files(&samples::root().join("tests/data/jax-cpu-train"), &[".xplane.pb", ".xplane.pb.gz"]).remove(0);
    let run = |name: &str| {
        let run = folder.join("plugins/profile").join(name);
        std::fs::create_dir_all(&run).unwrap();
        std::fs::copy(&trace, run.join(trace.file_name().unwrap())).unwrap();
    };
    run("2026_01_05_10_00_00");
    // The names determine the order: 2, 9, 10.
    for (name, megabytes) in [("memory_10.prof", 30), ("memory_9.prof", 500), ("memory_2.prof", 10)] {
        std::fs::write(folder.join(name), profile(&[(megabytes << 20, 12)]).0).unwrap();
    }
    let said = |arguments: &[&str]| {
        let output = cli::crossprof(&folder, arguments);
        assert!(output.status.success(), "{}", cli::stderr(&output));
        (cli::stdout(&output), cli::stderr(&output))
    };
    let (analysed, _) = said(&["analyze", "."]);
    assert!(analysed.contains("warning   Memory has grown by 200"), "{analysed}");
    for text in ["compared to 10.0 MiB in memory_2.prof", "train.py:12 (+20.0 MiB)", "Live memory", "Kernel time"] {
        assert!(analysed.contains(text), "{text}\n{analysed}");
    }
    let (table, _) = said(&["table", "heap", "."]);
    assert!(table.lines().nth(1).unwrap().contains("20.0 MiB"), "{table}");
    let (programs, _) = said(&["table", "program-memory", "."]);
    assert!(programs.contains("jit_train_step"), "the memory of the programs is still there\n{programs}");
    run("2026_01_05_11_00_00");
    let (several, _) = said(&["analyze", "."]);
    assert!(!several.contains("Memory has grown"), "{several}");
    assert_eq!(several.matches("These device memory profiles were not read").count(), 1, "{several}");
    assert!(several.contains("memory_2.prof"), "{several}");
    // Files that the user names are read.
    let (named, _) = said(&["analyze", "memory_2.prof", "memory_10.prof"]);
    assert!(named.contains("Memory has grown by 200"), "{named}");
}

#[test]
fn damage_costs_one_message() {
    let whole = profile(&[(1000, 12), (24, 30)]);
    let cut = HeapProfile::read(&whole.0[..whole.0.len() - 3]);
    assert_eq!((cut.samples.len(), cut.problems.count(Problem::Cut)), (3, 1));
    let bad = HeapProfile::read(&whole.clone().bytes(2, [0x0f]).0);
    assert_eq!((bad.samples.len(), bad.problems.count(Problem::Unreadable)), (3, 1));
    for end in 0..whole.0.len() {
        HeapProfile::read(&whole.0[..end]);
    }
}

#[test]
fn sums_that_overflow_and_locations_that_are_given_again_are_problems() {
    let huge: Vec<(i64, i64)> = std::iter::once((1000, 12)).chain((0..5).map(|_| (i64::MAX, 30))).collect();
    let found = HeapProfile::read(&profile(&huge).0);
    assert_eq!(found.problems.count(Problem::ImpossibleSize), 5);
    assert_eq!(found.samples.iter().map(|sample| sample.bytes).sum::<i64>(), 1007);
    // Each size is possible, but their sum is not.
    let halves = HeapProfile::read(&profile(&[(1 << 59, 12), (1 << 59, 30), (5, 30)]).0);
    assert_eq!(halves.problems.count(Problem::ImpossibleSize), 1);
    assert_eq!(halves.samples.iter().map(|sample| sample.bytes).sum::<i64>(), (1 << 59) + 12);
    let mut session = open(&[profile(&huge).0]);
    assert_eq!(sum(&table(&mut session, "device"), "bytes"), 1007.0);
    let said = session.report(0, &Settings::default()).unwrap().warnings.clone();
    assert!(said.iter().any(|it| it.code == "memory_profile_damaged" && it.message.contains("2^60")), "{said:?}");

    let again = |line: i64| message().int(1, 1).message(4, message().int(1, 1).int(2, line));
    let found = HeapProfile::read(&profile(&[(1000, 12)]).message(4, again(99)).message(4, again(98)).0);
    assert_eq!(found.problems.count(Problem::RepeatedId), 2);
    let line = found.own_frame(&found.samples[0]).unwrap().line;
    assert_eq!((line, found.samples.len()), (12, 2), "the first counts");
}

#[test]
fn damage_is_reported() {
    let damaged = profile(&[(1000, 12)]).bytes(2, [0x0f]).0;
    let mut session = open(&[damaged, profile(&[(1000, 12)]).0]);
    let mut codes = |run: u32| -> Vec<String> {
        let profile = session.report(run, &Settings::default()).unwrap();
        profile.warnings.iter().map(|warning| format!("{} {}", warning.code, warning.message)).collect()
    };
    let said = codes(0);
    assert!(
        said.iter().any(|it| it.starts_with("memory_profile_damaged ") && it.contains("unreadable parts: 1")),
        "{said:?}"
    );
    assert!(!codes(1).iter().any(|it| it.starts_with("memory_profile_damaged")), "a whole one");
}

/// The numbers come from a short Python script.
#[test]
#[ignore = "reads real profiles"]
fn real_profiles_add_up() {
    for (name, samples, buffers, executables, count) in [
        ("cuda-led-getter", 481, 17_870_202.0, 3_454_404.0, 626.0),
        ("cuda-poscidyn", 262, 17_223_775.0, 584_432.0, 272.0),
    ] {
        let mut session = open(&[samples::real_bytes(&format!("memory-prof/{name}.prof"))]);
        let recorded = session.memory(0, &Settings::default()).unwrap();
        assert_eq!(recorded.heap_profile().unwrap().samples.len(), samples, "{name}");
        for by in ["line", "stack", "kind", "device"] {
            let table = table(&mut session, by);
            assert_eq!((sum(&table, "bytes"), sum(&table, "count")), (buffers + executables, count), "{name} by {by}");
        }
        let kinds = table(&mut session, "kind");
        let of = |kind: &str| kinds.rows.iter().find(|row| row[0] == Cell::Text(kind.to_owned())).unwrap()[1].clone();
        assert_eq!(of("buffer"), Cell::Int(buffers as u64), "{name}");
        assert_eq!(of("executable"), Cell::Int(executables as u64), "{name}");
    }
}

/// The expected values were counted by hand: 1,000 + 76 + 7 bytes on line 12 (the 7 bytes are a compiled program), and
/// 24 bytes on line 30.
#[test]
fn reports_lead_with_the_memory() {
    let mut session = open(&[profile(&[(1000, 12), (24, 30), (76, 12)]).0]);
    let report = session.report(0, &Settings::default()).unwrap();
    let live = report.memory.as_ref().unwrap().live.as_ref().unwrap();
    let kinds: Vec<_> = live.kinds.iter().map(|it| (it.kind.as_str(), it.count, it.bytes)).collect();
    assert_eq!((live.total_bytes, kinds), (1107, vec![("buffer", 3, 1100), ("executable", 1, 7)]));
    let lines: Vec<_> = live.lines.iter().map(|it| (it.line.as_str(), it.count, it.bytes)).collect();
    assert_eq!(lines, [("/home/me/train.py:12", 3, 1083), ("/home/me/train.py:30", 1, 24)]);
    assert_eq!(live.lines[0].stack, "train (/home/me/train.py:12) > asarray (jax/numpy.py:50)");
    let text = export::text::report(&report);
    for said in [
        "Live memory  1.08 KiB  arrays and programs on all devices",
        "Arrays       1.07 KiB  3 of them, 99.4 % of the memory",
        "Programs     7 B  1 of them, 0.6 % of the memory",
        "cuda:0       1.07 KiB  in arrays when the profile was saved",
        "Not included A device memory profile contains no compiled programs",
        "~/train.py:12  train     1.06 KiB  97.8 %",
        "Largest call stack of ~/train.py:12",
        "train (~/train.py:12) > asarray (jax/numpy.py:50)",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    for report in [export::markdown::report(&report), export::html::report(&report)] {
        assert!(report.contains("Memory by line of code") && report.contains("1.06 KiB"), "{report}");
    }
}

#[test]
fn a_comparison_of_two_shows_the_growth() {
    let files = [profile(&[(1000, 12), (24, 30)]).0, profile(&[(500, 12), (90, 41)]).0];
    let mut session = open(&files);
    let profiles = [0, 1].map(|run| session.report(run, &Settings::default()).unwrap());
    let subjects = profiles.map(Subject::new);
    let comparison = compare::compare(&subjects, &compare::Options::default());
    assert_eq!(
        comparison.summary,
        [
            "memory1.prof has live memory of 597 B against 1.01 KiB in memory0.prof (\u{2212}42.1 %).",
            "Largest change by line of code: -500 B, at train (/home/me/train.py:12)."
        ]
    );
    let text = export::comparison::text(&comparison);
    for said in ["Live memory", "+90 B, 1 more, at train (~/train.py:41)", "-24 B, 1 fewer, at train"] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    for absent in ["Fairness", "step", "device ops"] {
        assert!(!text.contains(absent), "{absent}\n{text}");
    }
    assert!(export::comparison::html(&comparison, &subjects).contains("+90 B, 1 more"));
    assert!(export::comparison::markdown(&comparison).contains("Live memory"));
}
