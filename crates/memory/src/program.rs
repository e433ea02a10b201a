//! The memory of a compiled program: what each memory space holds, how full it gets, and what is alive when it is fullest.

use std::sync::{Arc, OnceLock};

use hlo::{Instruction, Module};
use rustc_hash::FxHashSet;

use crate::assignment::{Allocation, Assignment, Buffer, BufferIndex, Category};
use crate::heap::{Heap, Lifetime};
use crate::paths::Paths;
use crate::problems::Problems;
use crate::space::MAIN;
use crate::unpadded::{part, unpadded_bytes};

/// A program with its buffer assignment.
#[derive(Clone, Debug)]
pub struct ProgramMemory {
    /// The program.
    pub module: Arc<Module>,
    /// Buffers of the program.
    pub assignment: Assignment,
    /// Memory spaces of the program, by number. The main one is always there.
    pub spaces: Vec<SpaceMemory>,
    /// Bytes of each buffer without the padding of its layout; its size where the shape is not known.
    unpadded: Vec<u64>,
    paths: OnceLock<Paths>,
}

/// What a program keeps in one memory space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpaceMemory {
    /// Number of the memory space; 0 is the device's main memory.
    pub space: i64,
    /// Bytes of all allocations but memory of calls, which XLA and XProf leave out of all sums but `fixed_bytes`, too.
    pub total_bytes: u64,
    /// Bytes of those that are there as long as the program runs.
    pub resident_bytes: u64,
    /// Bytes of those that hold arguments.
    pub parameter_bytes: u64,
    /// Bytes of those that hold results, arguments that are given back included.
    pub output_bytes: u64,
    /// Bytes of those that hold both: a result has the memory of an argument.
    pub aliased_bytes: u64,
    /// Bytes of those that hold constants.
    pub constant_bytes: u64,
    /// Bytes of those that each call has a copy of.
    pub thread_local_bytes: u64,
    /// Bytes of those whose memory cannot be given to other values.
    pub fixed_bytes: u64,
    /// Bytes of the rest, in which temporary values come and go.
    pub temporary_bytes: u64,
    /// Bytes of those of which no heap trace says when their buffers come and go: they are in no peak.
    pub untraced_bytes: u64,
    /// How many heap traces the temporary allocations have. Where there are several, the heap is the last one of the first allocation.
    pub traces: usize,
    /// The heap of temporary values; `None` where the program has none in this space.
    pub heap: Option<Heap>,
    /// Index of each allocation that is there as long as the program runs, with its largest buffer; those that hold nothing are left
    /// out.
    pub residents: Vec<(usize, BufferIndex)>,
    /// Bytes of these.
    listed_bytes: u64,
}

/// A buffer that is alive when a memory space is fullest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveBuffer {
    /// The buffer; of an allocation that is there as long as the program runs, its largest.
    pub buffer: BufferIndex,
    /// Bytes that the buffer takes: all that are alive add up to the peak.
    pub bytes: u64,
    /// Bytes of the buffer's value without padding.
    pub unpadded_bytes: u64,
    /// When the buffer comes and goes; `None` where it is there as long as the program runs.
    pub lifetime: Option<Lifetime>,
}

impl ProgramMemory {
    /// The memory of a program from its `xla.HloProto`; `None` where that holds no buffer assignment.
    pub fn read(hlo_proto: &[u8]) -> Option<ProgramMemory> {
        ProgramMemory::of(&Arc::new(hlo::read_proto(hlo_proto)), hlo_proto)
    }

    /// The memory of a program that was read from this `xla.HloProto`; `None` where that holds no buffer assignment.
    pub fn of(module: &Arc<Module>, hlo_proto: &[u8]) -> Option<ProgramMemory> {
        let assignment = Assignment::read(hlo_proto, module)?;
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

    /// What the program keeps in a memory space; `None` where it keeps nothing there.
    pub fn space(&self, space: i64) -> Option<&SpaceMemory> {
        self.spaces.iter().find(|it| it.space == space)
    }

    /// The instruction that makes a buffer.
    pub fn instruction(&self, buffer: BufferIndex) -> Option<&Instruction> {
        self.module.at(self.assignment.buffers.get(buffer)?.instruction?)
    }

    /// The name of a buffer: that of its instruction, with which element it is (`copy-start{0}`). Its number where the instruction is
    /// not there.
    pub fn name(&self, buffer: BufferIndex) -> String {
        let Some(of) = self.assignment.buffers.get(buffer) else { return String::new() };
        let Some(instruction) = self.instruction(buffer) else { return format!("buffer {}", of.id) };
        if of.shape_index.is_empty() {
            return instruction.name.clone();
        }
        let index: Vec<String> = of.shape_index.iter().map(i64::to_string).collect();
        format!("{}{{{}}}", instruction.name, index.join(","))
    }

    /// The shape of a buffer's value as HLO text writes it; empty where it is not known.
    pub fn shape(&self, buffer: BufferIndex) -> String {
        let shape = self.assignment.buffers.get(buffer).and_then(|buffer| shape_of(&self.module, buffer));
        shape.map(|shape| shape.text(true)).unwrap_or_default()
    }

    /// What is alive when a memory space is fullest: what is there as long as the program runs, by allocation, then temporary
    /// values in the order in which they came.
    pub fn live_at_peak<'a>(&'a self, space: &'a SpaceMemory) -> impl Iterator<Item = LiveBuffer> + 'a {
        let temporaries = space.heap.iter().flat_map(Heap::at_peak).map(|&lifetime| self.live(lifetime));
        self.residents(space).chain(temporaries)
    }

    /// What is there as long as the program runs, by allocation.
    pub fn residents<'a>(&'a self, space: &'a SpaceMemory) -> impl Iterator<Item = LiveBuffer> + 'a {
        space.residents.iter().map(|&(allocation, buffer)| LiveBuffer {
            buffer,
            bytes: self.assignment.allocations.get(allocation).map_or(0, |allocation| allocation.size),
            unpadded_bytes: self.unpadded_bytes(buffer),
            lifetime: None,
        })
    }

    /// The buffer of a lifetime.
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

    /// What is wrong with the assignment and with the heap of any memory space.
    pub fn problems(&self) -> Problems {
        let mut all = self.assignment.problems.clone();
        self.spaces.iter().filter_map(|space| space.heap.as_ref()).for_each(|heap| all.extend(&heap.problems));
        all
    }
}

/// The shape of a buffer's value.
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
        // As XProf chooses: the first allocation that has any, of which the last.
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

    /// Bytes that are alive when the space is fullest: what is there as long as the program runs, and the peak of the
    /// heap.
    pub fn peak_bytes(&self) -> u64 {
        self.listed_bytes.saturating_add(self.heap.as_ref().map_or(0, |heap| heap.peak.bytes))
    }

    /// The peak, with temporary values counted without the padding of their layouts.
    pub fn peak_unpadded_bytes(&self) -> u64 {
        self.listed_bytes.saturating_add(self.heap.as_ref().map_or(0, |heap| heap.peak.unpadded_bytes))
    }

    /// Bytes that are alive before each event of the heap's trace, and after the last.
    pub fn bytes_over_program(&self) -> impl Iterator<Item = u64> {
        let points = self.heap.iter().flat_map(|heap| &heap.points);
        points.map(|point| point.bytes.saturating_add(self.listed_bytes))
    }

    /// How much of the memory for temporary values is free when the most of it is in use, percent: `(total - peak) / (total -
    /// resident)`. `None` where there is none, where it is not known when all of it is in use, or the figures contradict each other.
    pub fn fragmentation_percent(&self) -> Option<f64> {
        if self.untraced_bytes > 0 {
            return None;
        }
        let temporary = self.total_bytes.checked_sub(self.resident_bytes).filter(|&bytes| bytes > 0)?;
        let free = self.total_bytes.checked_sub(self.peak_bytes())?;
        Some(100.0 * free as f64 / temporary as f64)
    }
}
