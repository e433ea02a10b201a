//! The heap over the order of a program: how full it is, when it is fullest, and when each buffer lives.

use hlo::InstructionIndex;

use crate::assignment::{Assignment, BufferIndex, HeapEventKind, HeapTrace};
use crate::problems::{Problem, Problems};
use crate::references::References;

/// How full the heap is at a point of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapPoint {
    /// Bytes of the buffers that live.
    pub bytes: u64,
    /// Bytes without the padding of their layouts.
    pub unpadded_bytes: u64,
}

/// From when to when memory belongs to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// The buffer: the one that was allocated, or the one that took over memory that was free.
    pub buffer: BufferIndex,
    /// The buffer whose memory it is: the same, or the one that it shares with.
    pub memory_of: BufferIndex,
    /// Index of the event that allocates it.
    pub start: usize,
    /// Index of the event that frees it; `None` where nothing does.
    pub end: Option<usize>,
}

/// The heap of a memory space while the program runs. Where several buffers share memory, it is counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Before each event of the trace, and after the last.
    pub points: Vec<HeapPoint>,
    /// The instruction that each event names: of an allocation the one that makes the value, of a release that one again, not the one that
    /// uses the value last.
    pub instructions: Vec<Option<InstructionIndex>>,
    /// The instruction that the program has reached at each event: the last one that got memory.
    pub reached: Vec<Option<InstructionIndex>>,
    /// Bytes where the heap is fullest, at the first of equal points.
    pub peak: HeapPoint,
    /// Index of the event after which the heap is fullest.
    pub peak_event: usize,
    /// Every lifetime, in the order of their starts.
    pub lifetimes: Vec<Lifetime>,
    /// What is wrong with the order.
    pub problems: Problems,
}

impl Heap {
    /// Plays a trace. `unpadded` holds the bytes of each buffer without padding.
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

    /// The lifetimes that include the peak, in the order of their starts.
    pub fn at_peak(&self) -> impl Iterator<Item = &Lifetime> {
        let at = self.peak_event;
        self.lifetimes.iter().filter(move |it| it.start <= at && it.end.is_none_or(|end| end > at))
    }
}

/// A heap while its trace is played. Sums of sizes are wider than sizes, so that none is lost.
struct Player {
    heap: Heap,
    /// The lifetime that is open, by the buffer whose memory it is.
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
