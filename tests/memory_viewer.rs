//! Compares the memory of compiled programs, field by field, with XProf's memory viewer, for every real profile that
//! has XProf's output.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::support::{samples, xprof};
use crossprof::hlo::Modules;
use crossprof::memory::{Category, MAIN, ProgramMemory, SpaceMemory, blocks};
use crossprof::{Settings, TableName};
use serde_json::Value;

/// Size in bytes below which XProf merges buffers.
const SMALL: u64 = 16384;

/// Returns XProf's outputs: `(folder, program, output)`.
fn outputs() -> Vec<(String, String, Value)> {
    let mut found = Vec::new();
    for path in samples::files(&samples::traces(), &[".json"]) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let Some(program) = name.strip_prefix("memory_viewer.") else { continue };
        let folder = |path: &PathBuf| Some(path.parent()?.parent()?.file_name()?.to_string_lossy().into_owned());
        let output = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        found.push((folder(&path).unwrap(), program.to_owned(), output));
    }
    assert!(found.len() >= 3, "only {} outputs of the memory viewer", found.len());
    found
}

/// Calls `look` with the program of this name in an xplane file.
fn with_program(xplane: &Path, name: &str, look: impl FnOnce(&ProgramMemory)) {
    let mut session = xprof::open(xplane);
    let looked = session.timeline(0, &Settings::default(), |context, _| {
        let modules = Modules::new(context.captured_trace());
        let (proto, ..) = modules.with_bytes().find(|(_, found, _)| *found == name).unwrap();
        look(&ProgramMemory::read(&proto.bytes).unwrap());
    });
    looked.unwrap();
}

/// Converts XProf's mebibytes, which are exact, to bytes. Fields with the value 0 are absent.
fn bytes(value: &Value) -> u64 {
    let bytes = value.as_f64().unwrap_or(0.0) * (1 << 20) as f64;
    assert_eq!(bytes.fract(), 0.0, "{value} MiB are no whole bytes");
    bytes as u64
}

fn int(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

#[test]
#[ignore = "reads real profiles"]
fn figures_and_curves_are_those_of_xprof() {
    let mut points = 0;
    for (folder, name, output) in outputs() {
        with_program(&xprof::xplane(&folder), &name, |program| {
            let space = program.space(MAIN).unwrap();
            let ours = [
                ("peakHeapMib", space.peak_bytes()),
                ("peakUnpaddedHeapMib", space.peak_unpadded_bytes()),
                ("totalBufferAllocationMib", space.total_bytes),
                ("indefiniteBufferAllocationMib", space.resident_bytes),
                ("entryComputationParametersMib", space.parameter_bytes),
                ("maybeLiveOutMib", space.output_bytes),
                ("nonReusableMib", space.fixed_bytes),
            ];
            for (field, ours) in ours {
                assert_eq!(ours, bytes(&output[field]), "{name}: {field}");
            }
            let heap = space.heap.as_ref().unwrap();
            assert_eq!(heap.peak_event as u64, int(&output["peakHeapSizePosition"]), "{name}");
            let curve: Vec<u64> = output["heapSizes"].as_array().unwrap().iter().map(bytes).collect();
            assert_eq!(space.bytes_over_program().collect::<Vec<_>>(), curve, "{name}");
            let resident = space.peak_bytes() - heap.peak.bytes;
            let unpadded: Vec<u64> = heap.points.iter().map(|point| point.unpadded_bytes + resident).collect();
            let theirs: Vec<u64> = output["unpaddedHeapSizes"].as_array().unwrap().iter().map(bytes).collect();
            assert_eq!(unpadded, theirs, "{name}");
            let at = |event: &Option<u32>| event.map_or("", |index| program.module.at(index).unwrap().name.as_str());
            let instructions: Vec<&str> = heap.instructions.iter().map(at).chain([""]).collect();
            let theirs: Vec<&str> =
                output["hloInstructionNames"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            assert_eq!(instructions, theirs, "{name}");
            assert_eq!(program.problems().to_string(), "", "{name}");
            points += curve.len();
        });
    }
    assert!(points > 60, "{points}");
}

/// `(buffer, bytes, unpadded bytes, shape, group, opcode, framework op)`.
type Alive = (String, u64, u64, String, String, String, String);

fn alive(program: &ProgramMemory, space: &SpaceMemory) -> (BTreeSet<Alive>, u64) {
    let (mut found, mut small) = (BTreeSet::new(), 0);
    for live in program.live_at_peak(space) {
        let size = program.assignment.buffers[live.buffer].size;
        if size < SMALL {
            small += size;
            continue;
        }
        let allocation = program.assignment.allocation_of(live.buffer).unwrap();
        let instruction = program.instruction(live.buffer).unwrap();
        found.insert((
            program.name(live.buffer),
            size,
            live.unpadded_bytes,
            program.shape(live.buffer),
            allocation.category().name().to_owned(),
            instruction.opcode.clone(),
            instruction.metadata.op_name.clone(),
        ));
    }
    (found, small)
}

#[test]
#[ignore = "reads real profiles"]
fn live_buffers_at_the_peak_match_xprof() {
    let mut buffers = 0;
    for (folder, name, output) in outputs() {
        let (mut theirs, mut small) = (BTreeSet::new(), 0);
        for object in output["maxHeap"].as_array().unwrap() {
            let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
            let size = bytes(&object["logicalBufferSizeMib"]);
            if object["logicalBufferId"].as_i64() == Some(-1) {
                small += size;
                continue;
            }
            theirs.insert((
                text("instructionName"),
                size,
                bytes(&object["unpaddedShapeMib"]),
                text("shapeString"),
                text("groupName"),
                text("opCode"),
                text("tfOpName"),
            ));
        }
        with_program(&xprof::xplane(&folder), &name, |program| {
            assert_eq!(alive(program, program.space(MAIN).unwrap()), (theirs.clone(), small), "{name}");
        });
        buffers += theirs.len();
    }
    assert!(buffers > 20, "{buffers}");
}

#[test]
#[ignore = "reads real profiles"]
fn lifetimes_and_the_address_map_are_those_of_xprof() {
    let (mut spans, mut rectangles) = (0, 0);
    for (folder, name, output) in outputs() {
        with_program(&xprof::xplane(&folder), &name, |program| {
            let space = program.space(MAIN).unwrap();
            let heap = space.heap.as_ref().unwrap();
            let last = heap.instructions.len() - 1;
            let id = |buffer: usize| program.assignment.buffers[buffer].id.to_string();
            let ours: BTreeMap<String, (u64, u64)> = heap
                .lifetimes
                .iter()
                .map(|it| (id(it.buffer), (it.start as u64, it.end.unwrap_or(last) as u64)))
                .collect();
            let theirs: BTreeMap<String, (u64, u64)> = output["logicalBufferSpans"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(id, span)| (id.clone(), (int(&span["start"]), int(&span["limit"]))))
                .collect();
            assert_eq!(ours, theirs, "{name}");
            let ours: BTreeSet<_> = blocks(program, space)
                .map(|block| {
                    let id: u64 = id(block.lifetime.memory_of).parse().unwrap();
                    (
                        id,
                        program.name(block.lifetime.memory_of),
                        block.offset,
                        block.size,
                        block.start as u64,
                        block.end as u64,
                    )
                })
                .collect();
            let theirs: BTreeSet<_> = output["bufferBlocks"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|block| block["logicalBufferId"].as_i64() != Some(-1))
                .filter(|block| block["category"] == Category::Temporary.name())
                .map(|block| {
                    let text = block["name"].as_str().unwrap().to_owned();
                    let number = |key: &str| int(&block[key]);
                    let (start, end) = (number("startStep"), number("endStep"));
                    (number("logicalBufferId"), text, number("offset"), number("size"), start, end)
                })
                .collect();
            assert_eq!(ours, theirs, "{name}");
            spans += ours.len();
            rectangles += theirs.len();
        });
    }
    assert!(spans > 30 && rectangles > 30, "{spans} {rectangles}");
}

#[test]
#[ignore = "reads real profiles"]
fn the_tables_say_the_same() {
    let mut rows = 0;
    for (folder, name, output) in outputs() {
        let mut session = xprof::open(&xprof::xplane(&folder));
        let programs = xprof::ours(&mut session, &Settings::default(), TableName::ProgramMemory);
        let row = programs.iter().find(|row| row["module"] == name.as_str()).unwrap();
        assert_eq!(row["peak_heap_bytes"], bytes(&output["peakHeapMib"]), "{name}");
        assert_eq!(row["indefinite_bytes"], bytes(&output["indefiniteBufferAllocationMib"]), "{name}");
        let buffers = xprof::ours(&mut session, &Settings::default(), TableName::Buffers);
        let of_program =
            buffers.iter().filter(|it| it["module"] == row["module"] && it["memory_space"] == row["memory_space"]);
        let sum: u64 = of_program.map(|it| it["bytes"].as_u64().unwrap()).sum();
        assert_eq!(sum, bytes(&output["peakHeapMib"]), "{name}: the rows add up to the peak");
        rows += 1;
    }
    assert!(rows >= 3, "{rows}");
}
