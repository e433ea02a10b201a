//! Compares memory over time with XProf's memory profile, for every real profile that has XProf's output.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{samples, xprof};
use crossprof::memory::allocator::{Activity, Allocator, AllocatorEvent, xprof as xprof_mode};
use crossprof::table::Cell;
use crossprof::tables::AreaQuery;
use crossprof::{Query, Settings, TableName};
use serde_json::Value;

/// For each counter in the timeline of a folder's xplane file, returns the number of samples and the largest value.
fn counters(folder: &str) -> BTreeMap<String, (u64, f64)> {
    let mut session = xprof::open(&xprof::xplane(folder));
    let (everything, query) = (AreaQuery::default(), Query::default());
    let table = session.table_of_area(0, &Settings::default(), TableName::Range, "counter", &everything, &query);
    let table = table.unwrap().unwrap();
    let at = |key: &str| table.columns.iter().position(|column| column.key == key).unwrap();
    let (name, samples, largest) = (at("name"), at("samples"), at("max_value"));
    let cells = |row: &Vec<Cell>| match (&row[name], &row[samples], &row[largest]) {
        (Cell::Text(name), Cell::Int(samples), Cell::Float(largest)) => (name.clone(), (*samples, *largest)),
        other => panic!("{folder}: {other:?}"),
    };
    table.rows.iter().map(cells).collect()
}

#[test]
#[ignore = "reads real profiles"]
fn the_timeline_counts_memory_as_xprof_does() {
    let mut compared = 0;
    for folder in xprof::folders("memory_profile") {
        let output = xprof::output(&folder, "memory_profile");
        let theirs = output["memoryProfilePerAllocator"].as_object().unwrap();
        let ours = counters(&folder);
        let mut titles = BTreeMap::new();
        with_allocators(&folder, |ours, _| {
            titles = ours.iter().map(|it| (it.name.clone(), it.title.clone())).collect()
        });
        for (name, profile) in theirs {
            let (samples, largest) = ours[&format!("Memory in use: {} (bytes)", titles[name])];
            assert_eq!(
                samples as usize,
                profile["sampledTimelineSnapshots"].as_array().unwrap().len(),
                "{folder} {name}"
            );
            let peak = &profile["profileSummary"]["peakStats"]["peakBytesInUse"];
            assert_eq!(largest, int(peak) as f64, "{folder} {name}");
            compared += 1;
        }
    }
    assert!(compared >= 3, "{compared} allocators");
}

/// Calls `look` with the allocators of a folder's xplane file, once with our times and once with XProf's times.
fn with_allocators(folder: &str, look: impl FnOnce(&[Allocator], &[Allocator])) {
    let mut session = xprof::open(&xprof::xplane(folder));
    let ours = &session.memory(0, &Settings::default()).unwrap().allocators;
    let as_xprof: Vec<Allocator> = ours.iter().map(xprof_mode::allocator).collect();
    look(ours, &as_xprof);
}

/// Reads a number. XProf writes 64-bit numbers as text.
fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

/// Returns the allocator statistics in an event.
fn stats(event: &AllocatorEvent) -> [i64; 4] {
    let all = [event.reserved_bytes, event.in_use_bytes, event.available_bytes, event.lifetime_peak_bytes];
    all.map(u64::cast_signed)
}

fn their_stats(of: &Value) -> [i64; 4] {
    ["stackReservedBytes", "heapAllocatedBytes", "freeMemoryBytes", "peakBytesInUse"].map(|key| int(&of[key]))
}

#[test]
#[ignore = "reads real profiles"]
fn every_event_and_summary_is_that_of_xprof() {
    let (mut events, mut compared) = (0, 0);
    for folder in xprof::folders("memory_profile") {
        let output = xprof::output(&folder, "memory_profile");
        let theirs = output["memoryProfilePerAllocator"].as_object().unwrap();
        with_allocators(&folder, |ours, as_xprof| {
            let names: BTreeSet<&str> = as_xprof.iter().map(|it| it.name.as_str()).collect();
            assert_eq!(names, theirs.keys().map(String::as_str).collect::<BTreeSet<_>>(), "{folder}");
            for allocator in as_xprof {
                let (name, profile) = (&allocator.name, &theirs[&allocator.name]);
                let sampled = profile["sampledTimelineSnapshots"].as_array().unwrap();
                assert_eq!(sampled.len(), allocator.events.len(), "{folder} {name}: fewer than XProf samples");
                for (event, snapshot) in allocator.events.iter().zip(sampled) {
                    let metadata = &snapshot["activityMetadata"];
                    let is_allocation = metadata["memoryActivity"] == "ALLOCATION";
                    assert_eq!(event.activity == Activity::Allocation, is_allocation, "{folder} {name}");
                    assert_eq!(stats(event), their_stats(&snapshot["aggregationStats"]), "{folder} {name}");
                    let fragmentation = snapshot["aggregationStats"]["fragmentation"].as_f64().unwrap();
                    assert_eq!(event.fragmentation, Some(fragmentation), "{folder} {name}");
                    let bytes = |bytes: Option<u64>| bytes.unwrap_or(0).cast_signed();
                    assert_eq!(bytes(event.requested_bytes), int(&metadata["requestedBytes"]), "{folder} {name}");
                    assert_eq!(bytes(event.allocation_bytes), int(&metadata["allocationBytes"]), "{folder} {name}");
                    assert_eq!(event.address.cast_signed(), int(&metadata["address"]), "{folder} {name}");
                    let labels = allocator.labels_of(event).unwrap();
                    let texts = [&labels.op, &labels.region, &labels.shape];
                    let expected = ["tfOpName", "regionType", "tensorShape"].map(|key| metadata[key].as_str().unwrap());
                    assert_eq!(texts, expected, "{folder} {name}");
                    assert_eq!(event.time.as_ps(), int(&snapshot["timeOffsetPs"]), "{folder} {name}");
                    events += 1;
                }
                let summary = &profile["profileSummary"];
                let peak = xprof_mode::peak(allocator).unwrap();
                let at_peak = stats(&allocator.events[peak]);
                assert_eq!(at_peak[..3], their_stats(&summary["peakStats"])[..3], "{folder} {name}");
                let used = allocator.events[peak].used_bytes().cast_signed();
                assert_eq!(used, int(&summary["peakStats"]["peakBytesInUse"]), "{folder} {name}");
                assert_eq!(allocator.capacity_bytes(peak).unwrap().cast_signed(), int(&summary["memoryCapacity"]));
                let lifetime = allocator.lifetime_peak_bytes().unwrap().cast_signed();
                assert_eq!(lifetime, int(&summary["peakBytesUsageLifetime"]), "{folder} {name}");
                assert_eq!(allocator.events[peak].time.as_ps(), int(&summary["peakStatsTimePs"]), "{folder} {name}");
                compared += 1;
            }
            // The allocators of crossprof have the same events and peaks, but use the capture's times.
            assert_eq!(ours.len(), as_xprof.len(), "{folder}");
            for (own, theirs) in ours.iter().zip(as_xprof) {
                let (a, b) = (&own.events[own.peak().unwrap()], &theirs.events[xprof_mode::peak(theirs).unwrap()]);
                assert!(
                    a.used_bytes() == b.used_bytes() && own.events.len() == theirs.events.len(),
                    "{folder} {}",
                    own.name
                );
                assert!(own.events.iter().is_sorted_by_key(|event| event.time), "{folder} {}", own.name);
            }
        });
    }
    assert!(events > 1000 && compared >= 16, "{events} {compared}");
}

#[test]
#[ignore = "reads real profiles"]
fn buffers_listed_at_the_peak_match_xprof() {
    let mut rows = 0;
    for folder in xprof::folders("memory_profile") {
        let output = xprof::output(&folder, "memory_profile");
        with_allocators(&folder, |own, as_xprof| {
            for allocator in as_xprof {
                let profile = &output["memoryProfilePerAllocator"][&allocator.name];
                let row = |of: &Value, count: i64| {
                    (
                        int(&of["allocationBytes"]),
                        int(&of["requestedBytes"]),
                        of["tfOpName"].as_str().unwrap().to_owned(),
                        count,
                    )
                };
                let theirs: Vec<_> = profile["activeAllocations"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|active| {
                        let count = int(&active["numOccurrences"]);
                        match usize::try_from(int(&active["snapshotIndex"])) {
                            Ok(index) => row(&profile["memoryProfileSnapshots"][index]["activityMetadata"], count),
                            Err(_) => {
                                let special = usize::try_from(int(&active["specialIndex"])).unwrap();
                                row(&profile["specialAllocations"][special], count)
                            }
                        }
                    })
                    .collect();
                let listed = xprof_mode::listed(allocator);
                let of_event = |alive: &crossprof::memory::allocator::Alive| {
                    let event = &allocator.events[alive.event];
                    let bytes = |bytes: Option<u64>| bytes.unwrap_or(0).cast_signed();
                    let op = allocator.labels_of(event).unwrap().op.clone();
                    (bytes(event.allocation_bytes), bytes(event.requested_bytes), op, alive.count.cast_signed())
                };
                let special = |bytes: Option<u64>, name: &str| {
                    bytes.map(|bytes| (bytes.cast_signed(), bytes.cast_signed(), name.to_owned(), 1))
                };
                let unused = special(listed.unused_preallocated_bytes, "unused preallocated device memory");
                let mut found: Vec<_> = listed.alive.iter().map(of_event).chain(unused).collect();
                found.extend(special(listed.stack_bytes, "stack"));
                found.sort_by_key(|row| (-row.0, -row.1, row.2.clone()));
                assert_eq!(found, theirs, "{folder} {}", allocator.name);
                // Our numbers explain all memory in use.
                let allocator = own.iter().find(|it| (&it.name, it.host) == (&allocator.name, allocator.host)).unwrap();
                let peak = allocator.peak().unwrap();
                let contents = allocator.contents(peak);
                let size = |alive: &crossprof::memory::allocator::Alive| {
                    allocator.events[alive.event].allocation_bytes.unwrap_or(0) * alive.count
                };
                let sum = contents.alive.iter().map(size).sum::<u64>() + contents.before_capture_bytes;
                assert_eq!(sum, allocator.events[peak].in_use_bytes, "{folder} {}", allocator.name);
                rows += theirs.len();
            }
        });
    }
    assert!(rows > 40, "{rows}");
}

#[test]
fn captures_of_cpus_have_no_allocators() {
    let paths = samples::own();
    let mut session = xprof::open(paths.iter().find(|path| path.to_string_lossy().contains("jax-cpu-train")).unwrap());
    let found = session.memory(0, &Settings::default()).map(|recorded| recorded.allocators.len());
    assert_eq!(found, Some(0));
}
