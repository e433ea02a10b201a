//! Sparse columns contain values that only some events have. These values differ from one occurrence of an event to the
//! next.
//!
//! `event_columns!` lists all sparse columns. Both decoders, [`Events`](super::Events), the [image](super::snapshot)
//! and [merging](mod@super::merge) all follow from this list. To add a column, add a line to the list.

/// Type of a number that belongs to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A quantity. A number with a fraction or an exponent is rounded.
    Count,
    /// An identifier that is the same in all captures of a run.
    Id,
    /// An identifier for which 0 means that there is none. Zeros are not stored.
    NonZeroId,
    /// An identifier that is unique only within one capture. When hosts are [merged](mod@super::merge), their
    /// identifiers are renumbered.
    CaptureId,
    /// A duration in picoseconds. Negative durations are not stored.
    Picoseconds,
    /// A duration that is in microseconds in the file and in picoseconds in the column. Only positive durations are
    /// stored.
    Microseconds,
    /// A real number, stored as its bits (see [`f64::from_bits`]).
    Real,
}

impl Holds {
    /// Converts a number from the file to the value in the column. Returns `None` if the number must not be stored.
    #[inline]
    pub fn kept(self, number: i64) -> Option<i64> {
        match self {
            Holds::Count | Holds::Id | Holds::CaptureId => Some(number),
            Holds::NonZeroId => (number != 0).then_some(number),
            Holds::Picoseconds => (number >= 0).then_some(number),
            Holds::Real => Some((number as f64).to_bits().cast_signed()),
            Holds::Microseconds => number.checked_mul(1_000_000).filter(|&ps| ps > 0),
        }
    }
}

/// [Producer type](EventColumn::ProducerType) of work that a thread pool schedules.
pub const POOL_CONTEXT: i64 = 15;

/// Declares [`EventColumn`]. Each line has the form `Variant type, xplane [names of the stat], json [keys of a Chrome
/// trace];`.
macro_rules! event_columns {
    ($(
        $(#[$doc:meta])*
        $Column:ident $holds:ident, xplane [$($stat:literal),*], json [$($key:literal),*];
    )*) => {
        /// A value that only some events have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum EventColumn { $($(#[$doc])* $Column,)* }

        impl EventColumn {
            /// All columns, in the order of their numbers.
            pub const ALL: &'static [EventColumn] = &[$(EventColumn::$Column,)*];

            /// Returns the type of the column's values.
            #[inline]
            pub fn holds(self) -> Holds {
                match self { $(EventColumn::$Column => Holds::$holds,)* }
            }

            /// Returns the names of the stats that contain this column in an xplane file. The list is empty if xplane
            /// files never contain this column.
            pub fn xplane_stats(self) -> &'static [&'static [u8]] {
                match self { $(EventColumn::$Column => &[$($stat),*],)* }
            }

            /// Returns the keys under which a Chrome trace stores this column. The list is empty if Chrome traces never
            /// contain this column.
            pub fn json_keys(self) -> &'static [&'static [u8]] {
                match self { $(EventColumn::$Column => &[$($key),*],)* }
            }

            pub(super) fn of_xplane(stat: &[u8]) -> Option<EventColumn> {
                match stat { $($($stat => Some(EventColumn::$Column),)*)* _ => None }
            }

            pub(super) fn of_json(key: &[u8]) -> Option<EventColumn> {
                match key { $($($key => Some(EventColumn::$Column),)*)* _ => None }
            }
        }
    };
}

event_columns! {
    /// Number that connects a launch on the host to the event on the device.
    Correlation CaptureId, xplane [b"correlation_id"], json [b"correlation_id", b"correlation"];
    /// Id of a module execution.
    RunId Id, xplane [b"run_id"], json [b"run_id"];
    /// Number of the step to which an event belongs, according to XProf's grouping of events. An annotation has the
    /// same number as the work that was launched in it.
    GroupId CaptureId, xplane [b"group_id"], json [b"group_id"];
    /// Number of a step. The step's annotation has this number, and events inside the step may have it too.
    StepNum Id, xplane [b"step_num"], json [b"step_num"];
    /// Id of one execution of a collective. This id is the same on all devices (TPU).
    AllReduceId Id,
        xplane [b"all_reduce_id", b"all_reduce_unique_id"], json [b"all_reduce_id", b"all_reduce_unique_id"];
    /// Time that an op waited for a copy of its operands or results (TPU).
    DmaStall Picoseconds, xplane [b"dma_stall_duration_ps"], json [b"dma_stall_duration_ps"];
    /// Duration of a message between TPU slices (megascale). The column belongs to the event that marks the end of the
    /// message.
    MessageDuration Microseconds, xplane [b"duration_us"], json [];
    /// Number by which consumers refer to an event. This number is unique among the events of one
    /// [type](EventColumn::ProducerType). The number is not stored if a [thread pool](POOL_CONTEXT) schedules the work,
    /// because nearly all events of a thread pool have such a number.
    Producer Id, xplane [b"_p"], json [];
    /// Number of the [producer](EventColumn::Producer) that caused an event. In XLA's CPU backend, it is also the
    /// number of the op whose end an event marks. The number is not stored if a thread pool schedules the work.
    Consumer Id, xplane [b"_c"], json [];
    /// Type of the work that a [producer](EventColumn::Producer) passes on, according to TSL's numbering
    /// (`ContextType`). The generic type, which is 0, is not stored.
    ProducerType NonZeroId, xplane [b"_pt"], json [];
    /// Type of the work that a [consumer](EventColumn::Consumer) receives, according to TSL's numbering.
    ConsumerType NonZeroId, xplane [b"_ct"], json [];
    /// Id of one execution of a TensorFlow function. The call and the executor's work for the call have this id.
    /// Iterators use the same stat name for a different number.
    FunctionId Id, xplane [b"id"], json [];
    /// Bytes that an allocator has in use after an allocation or a release.
    InUseBytes Count, xplane [b"bytes_allocated"], json [];
    /// Bytes reserved for the stack of programs, after an allocation or a release.
    ReservedBytes Count, xplane [b"bytes_reserved"], json [];
    /// Bytes that an allocator still has available, after an allocation or a release.
    AvailableBytes Count, xplane [b"bytes_available"], json [];
    /// Peak of the bytes that an allocator had in use, up to an allocation or a release.
    PeakInUseBytes Count, xplane [b"peak_bytes_in_use"], json [];
    /// Fraction of an allocator's free memory that is outside its largest free block.
    Fragmentation Real, xplane [b"fragmentation"], json [];
    /// Bytes that an allocation requested.
    RequestedBytes Count, xplane [b"requested_bytes"], json [];
    /// Bytes that an allocation received.
    AllocationBytes Count, xplane [b"allocation_bytes"], json [];
    /// Address of memory that was allocated or freed.
    Address Id, xplane [b"addr"], json [];
    /// Value of a hardware counter of a chip. An event with this value is a reading of the counter.
    CounterValue Count, xplane [b"counter_value"], json [];
}

/// Values of all columns for one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnValues {
    /// Bit mask of the columns that have a value.
    given: u32,
    /// Value of each column, or zero for a column without a value.
    values: [i64; EventColumn::ALL.len()],
}

impl ColumnValues {
    /// Sets or removes the value of a column.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the array has one entry per column")]
    pub fn set(&mut self, column: EventColumn, value: Option<i64>) {
        let bit = 1 << column as u32;
        self.given = if value.is_some() { self.given | bit } else { self.given & !bit };
        self.values[column as usize] = value.unwrap_or(0);
    }

    /// Returns the value of a column.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the array has one entry per column")]
    pub fn get(&self, column: EventColumn) -> Option<i64> {
        (self.given & 1 << column as u32 != 0).then_some(self.values[column as usize])
    }

    /// Returns each column that has a value, with its value, in order. Most events have at most one value.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the array has one entry per column")]
    pub fn iter(&self) -> impl Iterator<Item = (EventColumn, i64)> {
        let mut given = self.given;
        std::iter::from_fn(move || {
            let column = *EventColumn::ALL.get(given.trailing_zeros() as usize)?;
            given &= given - 1;
            Some((column, self.values[column as usize]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_apart() {
        let mut values = ColumnValues::default();
        assert_eq!(values.iter().next(), None);
        for (at, &column) in EventColumn::ALL.iter().enumerate() {
            assert_eq!(column as usize, at);
            values.set(column, Some(at as i64 - 1));
        }
        values.set(EventColumn::StepNum, None);
        assert_eq!((values.get(EventColumn::StepNum), values.get(EventColumn::RunId)), (None, Some(0)));
        let all = EventColumn::ALL.iter().map(|&column| (column, column as i64 - 1));
        assert!(values.iter().eq(all.filter(|(column, _)| *column != EventColumn::StepNum)));
    }

    #[test]
    fn impossible_durations_are_not_kept() {
        assert_eq!([-1, 0, 1].map(|number| Holds::Picoseconds.kept(number)), [None, Some(0), Some(1)]);
        assert_eq!([-1, 0, 1].map(|number| Holds::Microseconds.kept(number)), [None, None, Some(1_000_000)]);
        assert_eq!(Holds::Microseconds.kept(i64::MAX), None);
        assert_eq!(Holds::Id.kept(i64::MIN), Some(i64::MIN));
    }
}
