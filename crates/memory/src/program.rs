//! Memory of a compiled program: contents of each memory space, its peak, and the buffers alive at the peak.

use std::sync::{Arc, OnceLock};

use hlo::{Instruction, Module};
use rustc_hash::FxHashSet;

use crate::assignment::{Allocation, Assignment, Buffer, BufferIndex, Category};
use crate::heap::{Heap, Lifetime};
use crate::paths::Paths;
use crate::problems::Problems;
use crate::space::MAIN;
use crate::text;
use crate::unpadded::{part, unpadded_bytes};

/// A program with its buffer assignment.
#[derive(Clone, Debug)]
pub struct ProgramMemory {
    /// Compiled module of the program.
    pub module: Arc<Module>,
    /// Buffer assignment of the program.
    pub assignment: Assignment,
    /// Memory spaces of the program, by number. The main memory is always present.
    pub spaces: Vec<SpaceMemory>,
    /// Bytes of each buffer without the padding of its layout. If the shape is unknown, the size includes padding.
    unpadded: Vec<u64>,
    paths: OnceLock<Paths>,
}

/// Memory of a program in one memory space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpaceMemory {
    /// Number of the memory space. Zero is the device's main memory.
    pub space: i64,
    /// Bytes of all allocations except the memory of calls. XLA and XProf exclude the memory of calls from all sums
    /// except `fixed_bytes`.
    pub total_bytes: u64,
    /// Bytes of allocations that exist as long as the program runs.
    pub resident_bytes: u64,
    /// Bytes of allocations that hold arguments.
    pub parameter_bytes: u64,
    /// Bytes of allocations that hold results, including arguments that are returned.
    pub output_bytes: u64,
    /// Bytes of allocations that hold both an argument and a result.
    pub aliased_bytes: u64,
    /// Bytes of allocations that hold constants.
    pub constant_bytes: u64,
    /// Bytes of allocations that are copied for each call.
    pub thread_local_bytes: u64,
    /// Bytes of allocations whose memory cannot be reused for other values.
    pub fixed_bytes: u64,
    /// Bytes of the remaining allocations, which hold temporary values.
    pub temporary_bytes: u64,
    /// Bytes of temporary allocations without a heap trace. The buffers of these allocations have no known lifetimes,
    /// so they are not in any peak.
    pub untraced_bytes: u64,
    /// Number of heap traces of the temporary allocations. If there are several, `heap` comes from the last trace of the first
    /// allocation.
    pub traces: usize,
    /// Heap of temporary values. `None` if the program has no temporary values in this space.
    pub heap: Option<Heap>,
    /// Index of each allocation that exists as long as the program runs, with its largest buffer. Empty allocations
    /// are left out.
    pub residents: Vec<(usize, BufferIndex)>,
    /// Total bytes of `residents`.
    listed_bytes: u64,
}

/// A buffer alive at the peak of a memory space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveBuffer {
    /// The buffer. An allocation that exists as long as the program runs is represented by its largest buffer.
    pub buffer: BufferIndex,
    /// Bytes that the buffer takes. The bytes of all live buffers add up to the peak.
    pub bytes: u64,
    /// Bytes of the buffer's value without padding.
    pub unpadded_bytes: u64,
    /// Lifetime of the buffer. `None` if the buffer exists as long as the program runs.
    pub lifetime: Option<Lifetime>,
}

impl ProgramMemory {
    /// Reads the memory of a program from its `xla.HloProto`. Returns `None` if the file contains no buffer assignment.
    pub fn read(hlo_proto: &[u8]) -> Option<ProgramMemory> {
        ProgramMemory::of(&Arc::new(hlo::read_proto(hlo_proto)), hlo_proto)
    }

    /// Reads the memory of a program whose module was read from this `xla.HloProto`. Returns `None` if the file
    /// contains no buffer assignment.
    pub fn of(module: &Arc<Module>, hlo_proto: &[u8]) -> Option<ProgramMemory> {
        let assignment = match hlo::is_text(hlo_proto) {
            true => text::assignment(hlo_proto, module)?,
            false => Assignment::of_proto(hlo_proto, module)?,
        };
        let unpadded: Vec<u64> = assignment
            .buffers
            .iter()
            .map(|buffer| shape_of(module, buffer).and_then(unpadded_bytes).unwrap_or(buffer.size))
            .collect();
        let mut numbers: Vec<i64> = assignment.allocations.iter().map(|it| it.space).chain([MAIN]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let spaces = numbers.into_iter().map(|space| SpaceMemory::new(&assignment, space, &unpadded)).collect();
        let module = Arc::clone(module);
        Some(ProgramMemory { module, assignment, spaces, unpadded, paths: OnceLock::new() })
    }

    pub(crate) fn paths(&self) -> &Paths {
        self.paths.get_or_init(|| Paths::of(&self.module))
    }

    /// Returns the memory of the program in a memory space, or `None` if the program uses no memory there.
    pub fn space(&self, space: i64) -> Option<&SpaceMemory> {
        self.spaces.iter().find(|it| it.space == space)
    }

    /// Returns the instruction that makes a buffer.
    pub fn instruction(&self, buffer: BufferIndex) -> Option<&Instruction> {
        self.module.at(self.assignment.buffers.get(buffer)?.instruction?)
    }

    /// Returns the name of a buffer: the name of its instruction, with the index of the element (`copy-start{0}`).
    /// Returns the buffer's id if the instruction is missing.
    pub fn name(&self, buffer: BufferIndex) -> String {
        let Some(of) = self.assignment.buffers.get(buffer) else { return String::new() };
        let Some(instruction) = self.instruction(buffer) else { return format!("buffer {}", of.id) };
        if of.shape_index.is_empty() {
            return instruction.name.clone();
        }
        let index: Vec<String> = of.shape_index.iter().map(i64::to_string).collect();
        format!("{}{{{}}}", instruction.name, index.join(","))
    }

    /// Returns the shape of a buffer's value as HLO text. Empty if unknown.
    pub fn shape(&self, buffer: BufferIndex) -> String {
        let shape = self.assignment.buffers.get(buffer).and_then(|buffer| shape_of(&self.module, buffer));
        shape.map(|shape| shape.text(true)).unwrap_or_default()
    }

    /// Returns the buffers alive at the peak of a memory space: first the buffers that exist as long as the program
    /// runs, by allocation, then temporary values in the order of their allocation.
    pub fn live_at_peak<'a>(&'a self, space: &'a SpaceMemory) -> impl Iterator<Item = LiveBuffer> + 'a {
        let temporaries = space.heap.iter().flat_map(Heap::at_peak).map(|&lifetime| self.live(lifetime));
        self.residents(space).chain(temporaries)
    }

    /// Returns the buffers that exist as long as the program runs, by allocation.
    pub fn residents<'a>(&'a self, space: &'a SpaceMemory) -> impl Iterator<Item = LiveBuffer> + 'a {
        space.residents.iter().map(|&(allocation, buffer)| LiveBuffer {
            buffer,
            bytes: self.assignment.allocations.get(allocation).map_or(0, |allocation| allocation.size),
            unpadded_bytes: self.unpadded_bytes(buffer),
            lifetime: None,
        })
    }

    /// Returns the buffer of a lifetime.
    pub fn live(&self, lifetime: Lifetime) -> LiveBuffer {
        LiveBuffer {
            buffer: lifetime.buffer,
            bytes: self.assignment.buffers.get(lifetime.memory_of).map_or(0, |buffer| buffer.size),
            unpadded_bytes: self.unpadded_bytes(lifetime.memory_of),
            lifetime: Some(lifetime),
        }
    }

    fn unpadded_bytes(&self, buffer: BufferIndex) -> u64 {
        self.unpadded.get(buffer).copied().unwrap_or_default()
    }

    /// Returns the problems of the assignment and of the heaps of all memory spaces.
    pub fn problems(&self) -> Problems {
        let mut all = self.assignment.problems.clone();
        self.spaces.iter().filter_map(|space| space.heap.as_ref()).for_each(|heap| all.extend(&heap.problems));
        all
    }
}

fn shape_of<'m>(module: &'m Module, buffer: &Buffer) -> Option<&'m hlo::Shape> {
    Some(part(&module.at(buffer.instruction?)?.shape, &buffer.shape_index))
}

impl SpaceMemory {
    fn new(assignment: &Assignment, space: i64, unpadded: &[u64]) -> SpaceMemory {
        let mut found = SpaceMemory { space, ..SpaceMemory::default() };
        for (index, allocation) in assignment.allocations.iter().enumerate().filter(|(_, it)| it.space == space) {
            found.count(allocation);
            if !allocation.is_resident() {
                continue;
            }
            if let Some(largest) = assignment.largest(allocation) {
                found.residents.push((index, largest));
                found.listed_bytes = found.listed_bytes.saturating_add(allocation.size);
            }
        }
        let traces = || assignment.traces.iter().map(|trace| (trace, trace.allocation(&assignment.buffers)));
        let is_temporary = |index: usize| {
            assignment
                .allocations
                .get(index)
                .is_some_and(|it| it.space == space && it.category() == Category::Temporary)
        };
        found.traces = traces().filter(|(_, of)| of.is_some_and(is_temporary)).count();
        let is_traced: FxHashSet<usize> = traces().filter_map(|(_, of)| of).collect();
        for (index, allocation) in assignment.allocations.iter().enumerate() {
            if is_temporary(index) && !is_traced.contains(&index) {
                found.untraced_bytes = found.untraced_bytes.saturating_add(allocation.size);
            }
        }
        // As in XProf, uses the first allocation with a trace, and its last trace.
        let first = traces().filter_map(|(_, of)| of.filter(|&it| is_temporary(it))).min();
        let chosen = traces().rfind(|(_, of)| first.is_some() && *of == first);
        let by_buffers = || {
            let of_space = |trace: &crate::HeapTrace| {
                let buffers = trace.events.iter().filter_map(|event| assignment.buffers.get(event.buffer?));
                buffers.filter(|buffer| buffer.space == space).count()
            };
            let counted =
                assignment.traces.iter().map(|trace| (trace, of_space(trace))).filter(|(_, count)| *count > 0);
            counted.reduce(|most, it| if it.1 > most.1 { it } else { most }).map(|(trace, _)| trace)
        };
        let chosen = chosen.map(|(trace, _)| trace).or_else(by_buffers);
        found.heap = chosen.map(|trace| Heap::play(assignment, trace, unpadded));
        found
    }

    fn count(&mut self, allocation: &Allocation) {
        let Allocation { size, is_output, is_thread_local, is_constant, .. } = *allocation;
        let is_parameter = allocation.parameter.is_some();
        for (sum, counts) in [
            (&mut self.total_bytes, !is_thread_local),
            (&mut self.resident_bytes, allocation.is_resident()),
            (&mut self.parameter_bytes, is_parameter),
            (&mut self.output_bytes, is_output),
            (&mut self.aliased_bytes, is_parameter && is_output),
            (&mut self.constant_bytes, is_constant),
            (&mut self.thread_local_bytes, is_thread_local),
            (&mut self.fixed_bytes, allocation.is_fixed()),
            (&mut self.temporary_bytes, allocation.category() == Category::Temporary),
        ] {
            *sum = sum.saturating_add(if counts { size } else { 0 });
        }
    }

    /// Returns the peak in bytes: allocations that exist as long as the program runs, plus the peak of the heap.
    pub fn peak_bytes(&self) -> u64 {
        self.listed_bytes.saturating_add(self.heap.as_ref().map_or(0, |heap| heap.peak.bytes))
    }

    /// Returns the peak in bytes, excluding the padding in the layouts of temporary values.
    pub fn peak_unpadded_bytes(&self) -> u64 {
        self.listed_bytes.saturating_add(self.heap.as_ref().map_or(0, |heap| heap.peak.unpadded_bytes))
    }

    /// Returns the bytes in use before each event of the heap's trace, and after the last event.
    pub fn bytes_over_program(&self) -> impl Iterator<Item = u64> {
        let points = self.heap.iter().flat_map(|heap| &heap.points);
        points.map(|point| point.bytes.saturating_add(self.listed_bytes))
    }

    /// Returns the share of the memory for temporary values that is free at the peak, in percent: `(total - peak) /
    /// (total - resident)`. Returns `None` if there is no memory for temporary values, if lifetimes are incomplete, or
    /// if the figures contradict each other.
    pub fn fragmentation_percent(&self) -> Option<f64> {
        if self.untraced_bytes > 0 {
            return None;
        }
        let temporary = self.total_bytes.checked_sub(self.resident_bytes).filter(|&bytes| bytes > 0)?;
        let free = self.total_bytes.checked_sub(self.peak_bytes())?;
        Some(100.0 * free as f64 / temporary as f64)
    }
}
