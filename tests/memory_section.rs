//! Compares the `memory` section of the unified profile with XProf's memory profile and with XLA, and reads it back
//! from JSON.

use crate::support::{load, samples, xprof};
use crossprof::{Session, Settings, UnifiedProfile, export};
use serde_json::Value;

fn report(files: &[(String, Vec<u8>)]) -> UnifiedProfile {
    let mut session = Session::new();
    for (path, bytes) in files {
        let file = session.begin(path, Some(bytes.len() as u64));
        session.push(file, bytes);
        assert_eq!(session.finish(file).error, None, "{path}");
    }
    session.runs();
    session.report(0, &Settings::default()).unwrap()
}

fn dump(folder: &str) -> UnifiedProfile {
    let files = samples::files(&samples::root().join("tests/data").join(folder), &[".hlo.pb.gz"]);
    let named = |path: &std::path::PathBuf| {
        (format!("dump/{}", path.file_name().unwrap().to_string_lossy()), std::fs::read(path).unwrap())
    };
    report(&files.iter().map(named).collect::<Vec<_>>())
}

fn absent(profile: &UnifiedProfile) -> Vec<&str> {
    profile.not_measured.iter().map(|it| it.field.as_str()).filter(|field| field.starts_with("memory.")).collect()
}

#[test]
fn figures_of_programs_are_those_of_xla() {
    for (folder, programs) in [("jax-cpu-memory", 5), ("jax-cpu-memory-findings", 9)] {
        let path = samples::root().join("tests/data").join(folder).join("expected.json");
        let expected: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let profile = dump(folder);
        let memory = profile.memory.as_ref().unwrap();
        assert_eq!((memory.programs.len(), memory.devices.len()), (programs, 0), "{folder}");
        for program in &memory.programs {
            let name = program.module.strip_prefix("jit_").unwrap().split('(').next().unwrap();
            let figures = [
                ("argument_size_in_bytes", program.parameter_bytes),
                ("output_size_in_bytes", program.output_bytes),
                ("alias_size_in_bytes", program.aliased_bytes),
                ("temp_size_in_bytes", program.temporary_bytes),
            ];
            for (field, ours) in figures {
                assert_eq!(ours, expected[name][field].as_u64(), "{name}: {field}");
            }
            let sum: u64 = program.by_class.iter().map(|class| class.bytes).sum();
            assert_eq!(sum, program.peak_heap_bytes, "{name}: classes add up");
        }
        assert!(memory.programs.is_sorted_by(|a, b| a.peak_heap_bytes >= b.peak_heap_bytes));
        assert_eq!(absent(&profile), ["memory.devices[].peak_bytes"], "{folder}");
    }
}

#[test]
fn a_training_step_keeps_activations() {
    let profile = dump("jax-cpu-memory-findings");
    let programs = &profile.memory.as_ref().unwrap().programs;
    let train = programs.iter().find(|program| program.module.starts_with("jit_train(")).unwrap();
    let class = |name: &str| train.by_class.iter().find(|class| class.class == name).map_or(0, |class| class.bytes);
    // Eight matrices of 256 x 1024 numbers, their new values, a scalar that XLA rounds to 64 bytes, and 2048 rows of input.
    assert_eq!((class("parameter"), class("input")), (8 << 20, 2 << 20));
    // Each of four blocks keeps the result of tanh, 2048 x 1024 numbers, for its gradient.
    assert!(class("activation") >= 4 * (8 << 20), "{:?}", train.by_class);
}

#[test]
fn it_is_read_back_as_it_was_written() {
    let profile = dump("jax-cpu-memory");
    let json = export::json::profile(&profile);
    assert!(json.contains("\"peak_heap_bytes\""));
    let (result, imported) = load("result.json", json.as_bytes());
    assert_eq!((result.error, imported.as_slice()), (None, [profile].as_slice()));
}

#[test]
fn absent_data_comes_with_advice_on_recording_it() {
    let cpu =
        samples::files(&samples::root().join("tests/data/jax-cpu-train"), &[".xplane.pb", ".xplane.pb.gz"]).remove(0);
    let profile = report(&[("a.xplane.pb".to_owned(), std::fs::read(cpu).unwrap())]);
    let [device] = profile.memory.as_ref().unwrap().devices.as_slice() else { panic!("one device") };
    assert_eq!((device.source.as_str(), device.capacity_bytes), ("programs", None));
    let [lacking] = profile.not_measured.iter().filter(|it| it.field.starts_with("memory.")).collect::<Vec<_>>()[..]
    else {
        panic!("one figure is absent")
    };
    assert!(lacking.remedy.as_ref().unwrap().contains("jax.profiler.save_device_memory_profile("), "{lacking:?}");
    let json = br#"{"traceEvents":[{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0"}},
        {"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Ops"}},
        {"ph":"X","pid":3,"tid":1,"ts":0,"dur":60,"name":"fusion.1"},{}]}"#;
    let profile = report(&[("a.trace.json".to_owned(), json.to_vec())]);
    assert_eq!(
        (profile.memory.as_ref(), absent(&profile)),
        (None, vec!["memory.programs", "memory.devices[].peak_bytes"])
    );
}

/// The expected values come from XProf's snapshots: the maximum of the sum of heap and stack, and the free memory at
/// that time.
#[test]
#[ignore = "reads real profiles"]
fn peaks_of_devices_are_those_of_xprof() {
    let mut compared = 0;
    for folder in xprof::folders("memory_profile") {
        let output = xprof::output(&folder, "memory_profile");
        let theirs = output["memoryProfilePerAllocator"].as_object().unwrap();
        let mut session = xprof::open(&xprof::xplane(&folder));
        let profile = session.report(0, &Settings::default()).unwrap();
        let int = |value: &Value| value.as_u64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap());
        let mut peaks: Vec<(u64, u64)> = theirs
            .values()
            .map(|allocator| {
                let summary = &allocator["profileSummary"];
                let stats = &summary["peakStats"];
                let peak = int(&stats["stackReservedBytes"]) + int(&stats["heapAllocatedBytes"]);
                (peak, int(&summary["memoryCapacity"]))
            })
            .collect();
        let devices = &profile.memory.as_ref().unwrap().devices;
        let mut ours: Vec<(u64, u64)> =
            devices.iter().map(|device| (device.peak_bytes.unwrap(), device.capacity_bytes.unwrap())).collect();
        peaks.sort_unstable();
        ours.sort_unstable();
        assert_eq!(ours, peaks, "{folder}");
        for device in devices.iter().filter(|device| device.program.is_some()) {
            let sum: u64 = device.by_class.iter().map(|class| class.bytes).sum();
            assert_eq!(Some(sum), device.peak_bytes, "{folder}: classes add up");
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared}");
}
