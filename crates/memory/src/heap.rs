//! The heap in program order: its fill level, its peak, and the lifetime of each buffer.

use hlo::InstructionIndex;

use crate::assignment::{Assignment, BufferIndex, HeapEventKind, HeapTrace};
use crate::problems::{Problem, Problems};
use crate::references::References;

/// Fill level of the heap at a point of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapPoint {
    /// Bytes of the live buffers.
    pub bytes: u64,
    /// Bytes of the live buffers without the padding of their layouts.
    pub unpadded_bytes: u64,
}

/// Time during which memory belongs to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Buffer that was allocated, or that took over free memory.
    pub buffer: BufferIndex,
    /// Buffer that owns the memory: `buffer` itself, or the buffer that it shares memory with.
    pub memory_of: BufferIndex,
    /// Index of the event that allocates the memory.
    pub start: usize,
    /// Index of the event that frees the memory. `None` if no event frees it.
    pub end: Option<usize>,
}

/// Heap of a memory space while the program runs. Memory that several buffers share is counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Fill level before each event of the trace, and after the last event.
    pub points: Vec<HeapPoint>,
    /// Instruction of each event. For an allocation, this is the instruction that makes the value. For a release, it is
    /// the same instruction, not the last one that uses the value.
    pub instructions: Vec<Option<InstructionIndex>>,
    /// Instruction that the program has reached at each event: the last instruction that allocated memory.
    pub reached: Vec<Option<InstructionIndex>>,
    /// Fill level at the peak. If several points have the same level, the first one is used.
    pub peak: HeapPoint,
    /// Index of the event after which the heap reaches its peak.
    pub peak_event: usize,
    /// All lifetimes, in the order of their starts.
    pub lifetimes: Vec<Lifetime>,
    /// Inconsistencies in the order of events.
    pub problems: Problems,
}

impl Heap {
    /// Replays a trace. `unpadded` contains the bytes of each buffer without padding.
    pub(crate) fn play(assignment: &Assignment, trace: &HeapTrace, unpadded: &[u64]) -> Heap {
        let size = |buffer: BufferIndex| assignment.buffers.get(buffer).map_or(0, |buffer| buffer.size);
        let bare = |buffer: BufferIndex| unpadded.get(buffer).copied().unwrap_or_default();
        let mut player = Player {
            heap: Heap { points: Vec::with_capacity(trace.events.len() + 1), ..Heap::default() },
            open: vec![None; assignment.buffers.len()],
            bytes: 0,
            unpadded: 0,
        };
        let mut references = References::new(assignment.buffers.len());
        let mut reached = None;
        for (at, event) in trace.events.iter().enumerate() {
            player.point();
            player.heap.instructions.push(event.instruction);
            if matches!(event.kind, HeapEventKind::Allocate | HeapEventKind::Share(_)) {
                reached = event.instruction;
            }
            player.heap.reached.push(reached);
            let Some(buffer) = event.buffer else { continue };
            let changed = match event.kind {
                HeapEventKind::Allocate => references.allocate(buffer).map(|()| Some((true, buffer))),
                HeapEventKind::Free => references.free(buffer).map(|freed| freed.map(|it| (false, it))),
                HeapEventKind::Share(None) => Ok(None),
                HeapEventKind::Share(Some(with)) => references.share(buffer, with).map(|it| it.map(|it| (true, it))),
                HeapEventKind::Unknown => Err(Problem::UnknownEvent),
            };
            match changed {
                Ok(None) => {}
                Ok(Some((true, memory_of))) => {
                    player.open(Lifetime { buffer, memory_of, start: at, end: None }, size(memory_of), bare(memory_of));
                }
                Ok(Some((false, memory_of))) => player.close(memory_of, at, size(memory_of), bare(memory_of)),
                Err(problem) => player.heap.problems.add(problem),
            }
        }
        player.point();
        player.heap
    }

    /// Returns the lifetimes that include the peak, in the order of their starts.
    pub fn at_peak(&self) -> impl Iterator<Item = &Lifetime> {
        let at = self.peak_event;
        self.lifetimes.iter().filter(move |it| it.start <= at && it.end.is_none_or(|end| end > at))
    }
}

/// Heap during the replay of its trace. Sums have more bits than sizes, so that the sums cannot overflow.
struct Player {
    heap: Heap,
    /// Index of the open lifetime of each buffer that owns memory.
    open: Vec<Option<usize>>,
    bytes: u128,
    unpadded: u128,
}

impl Player {
    fn now(&self) -> HeapPoint {
        let narrow = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
        HeapPoint { bytes: narrow(self.bytes), unpadded_bytes: narrow(self.unpadded) }
    }

    fn point(&mut self) {
        self.heap.points.push(self.now());
    }

    fn open(&mut self, lifetime: Lifetime, size: u64, unpadded: u64) {
        self.bytes += u128::from(size);
        self.unpadded += u128::from(unpadded);
        if let Some(open) = self.open.get_mut(lifetime.memory_of) {
            *open = Some(self.heap.lifetimes.len());
        }
        self.heap.lifetimes.push(lifetime);
        let now = self.now();
        if now.bytes > self.heap.peak.bytes {
            (self.heap.peak, self.heap.peak_event) = (now, lifetime.start);
        }
    }

    fn close(&mut self, memory_of: BufferIndex, at: usize, size: u64, unpadded: u64) {
        self.bytes = self.bytes.saturating_sub(u128::from(size));
        self.unpadded = self.unpadded.saturating_sub(u128::from(unpadded));
        let open = self.open.get_mut(memory_of).and_then(Option::take);
        if let Some(lifetime) = open.and_then(|open| self.heap.lifetimes.get_mut(open)) {
            lifetime.end = Some(at);
        }
    }
}
