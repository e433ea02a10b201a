//! Measures the peak memory use and the capacity of each device.

use std::collections::BTreeSet;

use base::Ps;
use facts::devices as facts;
use memory::HeapProfile;
use memory::allocator::{Allocator, allocators};
use report::{DeviceMemory, MemoryClass};
use trace::StatValue;

use crate::profile::metadata;
use crate::{Device, Devices};
use memory::{ProgramUse, share};
use run::Run;

/// Class of the memory that a device uses outside of its program.
pub const OUTSIDE: &str = "outside the program";

/// Number of bytes in a vendor's gigabyte of device memory.
const GIGABYTE: f64 = (1u64 << 30) as f64;

/// Measures the memory of devices that ran an op or whose allocator recorded events.
pub(super) fn devices(
    run: &Run,
    devices: &Devices,
    programs: &[ProgramUse],
    ran: &BTreeSet<i64>,
    named: Option<&str>,
) -> Vec<DeviceMemory> {
    // Only sizes are needed here, so the times of events may be relative to any origin.
    let mut of_allocators = allocators(&run.trace, Ps::ZERO);
    let mut found = Vec::new();
    for device in &devices.used {
        let own =
            of_allocators.iter().position(|it| it.host == device.host && it.device_ordinal() == Some(device.ordinal));
        let ran_here = |program: &&ProgramUse| {
            program.host == device.host && (ran.is_empty() || ran.contains(&program.program_id))
        };
        let programs: Vec<&ProgramUse> = programs.iter().filter(ran_here).collect();
        let usage = match own {
            Some(index) => of_allocator(&of_allocators.remove(index)),
            None => of_programs(&programs),
        };
        let Some(usage) = usage else { continue };
        let usage = DeviceMemory { device_name: device.name.clone(), ..usage };
        found.push(finished(usage, &programs, || capacity(run, device, named)));
    }
    let others = of_allocators.iter().filter_map(|allocator| {
        Some(finished(DeviceMemory { device_name: allocator.title.clone(), ..of_allocator(allocator)? }, &[], || None))
    });
    found.extend(others);
    found
}

fn of_allocator(allocator: &Allocator) -> Option<DeviceMemory> {
    let index = allocator.peak()?;
    let peak = allocator.events.get(index)?;
    Some(DeviceMemory {
        source: "allocator".to_owned(),
        peak_bytes: Some(peak.used_bytes()),
        capacity_bytes: allocator.capacity_bytes(index).filter(|&bytes| bytes > 0),
        capacity_source: Some("allocator".to_owned()),
        lifetime_peak_bytes: allocator.lifetime_peak_bytes().filter(|&bytes| bytes > 0),
        fragmentation_percent: peak.fragmentation_percent(),
        is_preallocated: allocator.is_preallocated(),
        ..DeviceMemory::default()
    })
}

fn of_programs(programs: &[&ProgramUse]) -> Option<DeviceMemory> {
    let peak_bytes = programs.iter().map(|program| program.figures.peak_heap_bytes).max();
    peak_bytes.is_some().then(|| DeviceMemory { source: "programs".to_owned(), peak_bytes, ..DeviceMemory::default() })
}

/// Completes the memory of a device. Adds the capacity, if it is unknown, and the classes of the largest program that
/// fits.
fn finished(
    mut usage: DeviceMemory,
    programs: &[&ProgramUse],
    capacity: impl FnOnce() -> Option<(u64, &'static str)>,
) -> DeviceMemory {
    if usage.capacity_bytes.is_none() {
        let known = capacity();
        usage.capacity_bytes = known.map(|(bytes, _)| bytes);
        usage.capacity_source = known.map(|(_, source)| source.to_owned());
    }
    let Some(peak) = usage.peak_bytes else { return usage };
    usage.peak_percent = usage.capacity_bytes.map(|capacity| share(peak, capacity));
    // Programs are sorted by descending peak.
    let Some(program) = programs.iter().find(|program| program.figures.peak_heap_bytes <= peak) else { return usage };
    usage.program = Some(program.figures.module.clone());
    let outside = peak.saturating_sub(program.figures.peak_heap_bytes);
    let of_program = program.figures.by_class.iter();
    let mut classes: Vec<MemoryClass> =
        of_program.map(|class| MemoryClass { percent: share(class.bytes, peak), ..class.clone() }).collect();
    if outside > 0 {
        classes.push(MemoryClass { class: OUTSIDE.to_owned(), bytes: outside, percent: share(outside, peak) });
    }
    base::sort::sort_by(&mut classes, |a, b| b.bytes.cmp(&a.bytes));
    usage.by_class = classes;
    usage
}

/// Returns the size of a device's memory and its source: the profile, or the vendor of the device. Unknown for CPUs.
fn capacity(run: &Run, device: &Device, named: Option<&str>) -> Option<(u64, &'static str)> {
    let plane = run.trace.planes.get(device.plane)?;
    let stated = match run.trace.plane_stat(plane, "memory_size") {
        Some(StatValue::Int(bytes)) => u64::try_from(bytes).ok(),
        Some(StatValue::Text(text)) => run.trace.text(text).parse().ok(),
        _ => None,
    };
    if let Some(bytes) = stated.filter(|&bytes| bytes > 0) {
        return Some((bytes, "profile"));
    }
    let of_model = || facts::find(&metadata::device_model(&run.trace, plane)?);
    let known = named.and_then(facts::chosen).map(|chosen| chosen.device).or_else(of_model)?;
    Some(((known.hbm_gb? * GIGABYTE) as u64, "facts"))
}

/// Returns the devices that appear in the labels of a device memory profile, with the bytes of their arrays.
pub(super) fn of_heap_profile(profile: &HeapProfile) -> Vec<DeviceMemory> {
    let mut bytes = std::collections::BTreeMap::<&str, u64>::new();
    for sample in profile.samples.iter().filter(|sample| !sample.device.is_empty()) {
        let sum = bytes.entry(&sample.device).or_default();
        *sum = sum.saturating_add(u64::try_from(sample.bytes).unwrap_or(0));
    }
    let device = |(name, bytes): (&str, u64)| DeviceMemory {
        device_name: name.to_owned(),
        source: "memory_profile".to_owned(),
        live_bytes: Some(bytes),
        by_class: vec![MemoryClass { class: "array".to_owned(), bytes, percent: share(bytes, bytes) }],
        ..DeviceMemory::default()
    };
    bytes.into_iter().map(device).collect()
}
