//! Computes the bytes that compiled programs keep in the main memory of a device.

use std::sync::Arc;

use crate::{Classifier, MAIN, ProgramMemory, Summary, UnsharedArgument, space_name, unshared_arguments, xla_peak};
use base::sort;
use hlo::{Module, Modules, Placement};
use report::{MemoryBuffers, MemoryClass};
use rustc_hash::FxHashMap;
use trace::Platform;

use crate::share::share;

/// The memory of a program.
#[derive(Clone, Debug)]
pub struct ProgramUse {
    /// Index of the host whose file contains the program.
    pub host: u16,
    /// Id of the program.
    pub program_id: i64,
    /// Figures of the program, as in the report.
    pub figures: report::ProgramMemory,
    /// Sums of the buffers that are live at the program's peak.
    pub summary: Summary,
    /// Arguments whose memory no result shares, although a result could use it.
    pub unshared: Vec<UnsharedArgument>,
    /// Arguments that are replicated on several devices, and their bytes.
    pub replicated: Replicated,
}

/// XLA's memory space for host memory.
const HOST: i64 = 5;

/// Arguments that are replicated: several devices hold the same part of the array.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replicated {
    /// Number of devices that the program runs on.
    pub devices: u64,
    /// Number of replicated arguments.
    pub arguments: u64,
    /// Bytes of these arguments on one device.
    pub bytes: u64,
    /// Bytes that one device would save if each device held a different part.
    pub saved_bytes: u64,
    /// Bytes of replicated arguments in host memory, for one device. The other sums exclude these bytes.
    pub offloaded_bytes: u64,
    /// Name and bytes of the largest replicated argument.
    pub largest: Option<(String, u64)>,
}

/// Returns the programs with a buffer assignment, largest peak first. Buffer assignments are decoded only here, once
/// for all hosts that embed the same program.
pub fn program_uses(modules: &Modules, platform: Option<Platform>) -> Vec<ProgramUse> {
    let mut known: FxHashMap<*const Module, Option<ProgramUse>> = FxHashMap::default();
    let mut found = Vec::new();
    for (proto, name, module) in modules.with_bytes() {
        let read = || program(module, &proto.bytes, platform);
        let Some(of_module) = known.entry(Arc::as_ptr(module)).or_insert_with(read) else { continue };
        let figures = report::ProgramMemory { module: name.to_owned(), ..of_module.figures.clone() };
        found.push(ProgramUse { host: proto.host, program_id: proto.program_id, figures, ..of_module.clone() });
    }
    let size = |program: &ProgramUse| program.figures.peak_heap_bytes;
    sort::sort_by(&mut found, |a, b| size(b).cmp(&size(a)).then_with(|| a.figures.module.cmp(&b.figures.module)));
    found
}

/// Reads the memory of a program. The caller sets the host and the id. Returns `None` if the file has no buffer
/// assignment.
fn program(module: &Arc<Module>, bytes: &[u8], platform: Option<Platform>) -> Option<ProgramUse> {
    let memory = Arc::new(ProgramMemory::of(module, bytes)?);
    let main = memory.space(MAIN)?;
    let classifier = Classifier::new(&memory);
    let summary = Summary::of(memory.peak_buffers(main, &classifier));
    let figures = report::ProgramMemory {
        module: String::new(),
        memory_space: space_name(MAIN, platform.map_or("", Platform::label)),
        peak_heap_bytes: main.peak_bytes(),
        peak_unpadded_heap_bytes: Some(main.peak_unpadded_bytes()),
        xla_peak_bytes: Some(xla_peak(&memory.assignment)),
        total_allocation_bytes: Some(main.total_bytes),
        indefinite_bytes: Some(main.resident_bytes),
        parameter_bytes: Some(main.parameter_bytes),
        output_bytes: Some(main.output_bytes),
        aliased_bytes: Some(main.aliased_bytes),
        constant_bytes: Some(main.constant_bytes),
        temporary_bytes: Some(main.temporary_bytes),
        fragmentation_percent: main.fragmentation_percent(),
        padding_bytes: Some(summary.padding_bytes),
        by_class: memory_classes(&summary),
        buffers: buffer_groups(&summary),
    };
    let unshared = unshared_arguments(&memory, bytes);
    Some(ProgramUse { host: 0, program_id: 0, figures, summary, unshared, replicated: replicated(module) })
}

/// Returns a summary's groups of buffers.
pub fn buffer_groups(summary: &Summary) -> Vec<MemoryBuffers> {
    let buffers = |group: &crate::BufferGroup| MemoryBuffers {
        class: group.class.label().to_owned(),
        scope: group.scope.clone(),
        shape: group.shape.clone(),
        count: group.buffers,
        bytes: group.bytes,
    };
    summary.groups.iter().map(buffers).collect()
}

/// Returns the classes of a summary with their shares.
pub fn memory_classes(summary: &Summary) -> Vec<MemoryClass> {
    let class = |class: &crate::ClassSum| MemoryClass {
        class: class.class.label().to_owned(),
        bytes: class.bytes,
        percent: share(class.bytes, summary.bytes),
    };
    summary.classes.iter().filter(|class| class.bytes > 0).map(class).collect()
}

/// Finds the replicated arguments by the sharding in the program.
fn replicated(module: &hlo::Module) -> Replicated {
    let mut found = Replicated::default();
    let Some(devices) =
        module.devices().and_then(|(replicas, partitions)| u64::try_from(replicas.checked_mul(partitions)?).ok())
    else {
        return found;
    };
    found.devices = devices;
    for argument in hlo::arguments(module) {
        let copies = match Placement::parse(argument.sharding, argument.shape.dimensions.len()) {
            Some(Placement::Replicated) => devices,
            Some(Placement::Sharded { copies, .. }) => copies,
            _ => continue,
        };
        // Arguments in host memory take no device memory.
        let memory_space = argument.shape.layout.as_ref().map_or(MAIN, |layout| layout.memory_space);
        // If the name of an argument shows that it is not a parameter, state or gradient, its replication is intended.
        let is_state =
            !matches!(hlo::NamedRole::of(argument.name), Some(hlo::NamedRole::Inputs | hlo::NamedRole::Other));
        let bytes = argument.shape.bytes() as u64;
        if copies < 2 || !is_state {
            continue;
        }
        if memory_space != MAIN {
            found.offloaded_bytes += if memory_space == HOST { bytes } else { 0 };
            continue;
        }
        found.arguments += 1;
        found.bytes = found.bytes.saturating_add(bytes);
        found.saved_bytes = found.saved_bytes.saturating_add(bytes - bytes / copies);
        if found.largest.as_ref().is_none_or(|(_, most)| bytes > *most) {
            found.largest = Some((argument.name.to_owned(), bytes));
        }
    }
    found
}
