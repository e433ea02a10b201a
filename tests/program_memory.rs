//! Compares the memory of JAX programs on a CPU, read from files that `--xla_dump_to` wrote, with XLA's own numbers
//! (`compiled.memory_analysis()`). Also tests how files of such a dump are handled.

use std::collections::BTreeMap;

use crate::support::samples;
use crossprof::hlo::Modules;
use crossprof::memory::{Assignment, MAIN, ProgramMemory, Recorded, SpaceMemory, xla_peak};
use crossprof::table::Cell;
use crossprof::{FileKind, Query, Session, Settings, TableName};
use serde_json::Value;

/// Number of the host's memory space.
const HOST: i64 = 5;

/// Returns the fixture's files, named as if the user had dropped the folder.
fn dump() -> Vec<(String, Vec<u8>)> {
    let files = samples::files(&samples::root().join("tests/data/jax-cpu-memory"), &[".hlo.pb.gz"]);
    assert_eq!(files.len(), 5);
    let named = |path: &std::path::PathBuf| {
        (format!("dump/{}", path.file_name().unwrap().to_string_lossy()), std::fs::read(path).unwrap())
    };
    files.iter().map(named).collect()
}

fn open(files: &[(String, Vec<u8>)]) -> Session {
    let mut session = Session::new();
    for (path, bytes) in files {
        let file = session.begin(path, Some(bytes.len() as u64));
        session.push(file, bytes);
        let result = session.finish(file);
        assert_eq!((result.error, result.members[0].kind), (None, FileKind::Program), "{path}");
    }
    session
}

/// Returns XLA's numbers by program.
fn expected() -> BTreeMap<String, BTreeMap<String, u64>> {
    let text = std::fs::read_to_string(samples::root().join("tests/data/jax-cpu-memory/expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn figures_are_those_of_xla() {
    let expected = expected();
    let mut session = open(&dump());
    assert_eq!(session.runs().len(), 1, "the programs of a folder are one run");
    let mut compared = 0;
    let look = session.timeline(0, &Settings::default(), |context, _| {
        let modules = Modules::new(context.captured_trace());
        for (proto, _, module) in modules.with_bytes() {
            let truth = &expected[module.name().strip_prefix("jit_").unwrap()];
            let program = ProgramMemory::read(&proto.bytes).unwrap();
            let sum = |of: fn(&SpaceMemory) -> u64| {
                program.spaces.iter().filter(|space| space.space != HOST).map(of).sum::<u64>()
            };
            for (field, ours) in [
                ("argument_size_in_bytes", sum(|space| space.parameter_bytes)),
                ("output_size_in_bytes", sum(|space| space.output_bytes)),
                ("alias_size_in_bytes", sum(|space| space.aliased_bytes)),
                ("temp_size_in_bytes", sum(|space| space.temporary_bytes)),
                // XLA omits the heap traces of its CPU backend's programs.
                ("peak_memory_in_bytes", xla_peak(&Assignment { traces: Vec::new(), ..program.assignment.clone() })),
            ] {
                assert_eq!(ours, truth[field], "{}: {field}", module.name());
                compared += 1;
            }
            let main = program.space(MAIN).unwrap();
            assert_eq!(main.untraced_bytes, 0, "{}", module.name());
            // The maximum of the live bytes, and the bytes that are always live.
            assert!(main.peak_bytes() <= main.total_bytes && main.peak_bytes() >= main.resident_bytes);
            assert_eq!(xla_peak(&program.assignment), main.peak_bytes(), "{}", module.name());
            assert_eq!(program.problems().to_string(), "");
        }
    });
    assert!(look.is_some() && compared == 25, "{compared}");
}

fn table(session: &mut Session, name: TableName, variant: &str) -> Vec<Value> {
    let table = session.table(0, &Settings::default(), name, variant, &Query::default()).unwrap();
    serde_json::to_value(&table).unwrap().as_array().unwrap().clone()
}

/// Memory data that is passed to another worker arrives unchanged.
#[test]
fn memory_data_survives_serialization() {
    let mut session = open(&dump());
    session.runs();
    let recorded = session.memory(0, &Settings::default()).unwrap();
    let bytes = recorded.to_bytes();
    let back = Recorded::from_bytes(&bytes).unwrap();
    assert_eq!((back.programs.len(), back.to_bytes()), (5, bytes.clone()));
    let rows = |of: &Recorded| {
        let rows = crossprof::tables::rows_of_memory(of, TableName::Buffers, "").unwrap();
        crossprof::table::query(&*rows, &Query::default())
    };
    assert_eq!(rows(&back), rows(recorded));
    assert!(rows(&back).rows.len() > 10);
    for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        assert!(Recorded::from_bytes(&bytes[..cut]).is_none(), "{cut} bytes");
    }
}

#[test]
fn tables_show_classes_and_sources() {
    let mut session = open(&dump());
    session.runs();
    let programs = table(&mut session, TableName::ProgramMemory, "");
    let donate = programs.iter().find(|row| row["module"].as_str().unwrap().starts_with("jit_donate(")).unwrap();
    assert_eq!(donate["aliased_bytes"], expected()["donate"]["alias_size_in_bytes"]);
    let buffers = table(&mut session, TableName::Buffers, "");
    let class = |program: &str, key: &str, value: &str| -> Vec<String> {
        let is_meant = |row: &&Value| {
            row["module"].as_str().unwrap().starts_with(program)
                && row[key].as_str().is_some_and(|it| it.contains(value))
        };
        let found = buffers.iter().filter(is_meant);
        found
            .map(|row| format!("{} {}", row["class"].as_str().unwrap(), row["class_confidence"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(class("jit_donate(", "tf_op_name", "params["), ["parameter high", "parameter high"]);
    assert_eq!(class("jit_constant(", "category", "Constant"), ["constant high"]);
    for form in ["class", "scope", "source"] {
        let groups = table(&mut session, TableName::Buffers, form);
        let sum = |rows: &[Value]| rows.iter().map(|row| row["bytes"].as_u64().unwrap()).sum::<u64>();
        assert_eq!(sum(&groups), sum(&buffers), "{form}");
        assert!(groups.len() < buffers.len() && groups.iter().all(|row| row["buffers"].as_u64() > Some(0)), "{form}");
    }
}

#[test]
fn copies_of_programs_are_passed_over() {
    let dump = dump();
    // Files that XProf writes next to a profile.
    let mut session = Session::new();
    let xplane =
        samples::files(&samples::root().join("tests/data/jax-cpu-train"), &[".xplane.pb", ".xplane.pb.gz"]).remove(0);
    for (path, bytes) in [
        ("plugins/profile/r/h.xplane.pb", &std::fs::read(xplane).unwrap()),
        ("plugins/profile/r/h.hlo_proto.pb", &dump[0].1),
    ] {
        let file = session.begin(path, None);
        session.push(file, bytes);
        assert_eq!(session.finish(file).error, None);
    }
    let runs = session.runs();
    assert_eq!((runs.len(), &runs[0].files), (1, &vec!["plugins/profile/r/h.xplane.pb".to_owned()]));
    // The report about programs without a trace has no events and no numbers about events.
    let mut session = open(&dump[..1]);
    session.runs();
    let report = session.report(0, &Settings::default()).unwrap();
    assert_eq!((report.metadata.num_events, report.provenance[0].format.as_str()), (Some(0), "hlo"));
    let cell = session.table(0, &Settings::default(), TableName::Ops, "", &Query::default()).unwrap().rows;
    assert_eq!(cell, Vec::<Vec<Cell>>::new());
}
