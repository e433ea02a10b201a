//! Values that only some events have and that differ from one occurrence to the next: each has a separate sparse column.
//!
//! `event_columns!` is the one list of them. Both decoders, [`Events`](super::Events), the [image](super::snapshot) and
//! [merging](mod@super::merge) follow from it: a new column is a new line there.

/// What a number that an event carries is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A quantity: text with a fraction or an exponent is rounded.
    Count,
    /// A number that identifies something, the same in all captures of a run.
    Id,
    /// A number that identifies something, of which 0 stands for nothing and is not kept.
    NonZeroId,
    /// A number that is unique in one capture only; [merging](mod@super::merge) moves those of different hosts apart.
    CaptureId,
    /// A duration in picoseconds; a negative one is not kept.
    Picoseconds,
    /// A duration that is in microseconds in the file and in picoseconds here; only one above 0 is kept.
    Microseconds,
    /// A real number, kept as its bits: [`f64::from_bits`] gives it back.
    Real,
}

impl Holds {
    /// What is kept of a number of the file.
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

/// The [type](EventColumn::ProducerType) of what a thread pool schedules.
pub const POOL_CONTEXT: i64 = 15;

/// Declares [`EventColumn`]. A line is `Variant what it holds, xplane [names of the stat], json [keys of a Chrome trace];`.
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

            /// What the column holds.
            #[inline]
            pub fn holds(self) -> Holds {
                match self { $(EventColumn::$Column => Holds::$holds,)* }
            }

            /// Stats of the column in an xplane, empty where it is in none.
            pub fn xplane_stats(self) -> &'static [&'static [u8]] {
                match self { $(EventColumn::$Column => &[$($stat),*],)* }
            }

            /// Keys of the column in a Chrome trace, empty where it is in none.
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
    /// Ties a launch on the host to its device event.
    Correlation CaptureId, xplane [b"correlation_id"], json [b"correlation_id", b"correlation"];
    /// The execution of a module.
    RunId Id, xplane [b"run_id"], json [b"run_id"];
    /// The step that an event belongs to, as XProf groups events: the same on the annotation and on what was launched in it.
    GroupId CaptureId, xplane [b"group_id"], json [b"group_id"];
    /// The number of a step, on its annotation or on events inside one.
    StepNum Id, xplane [b"step_num"], json [b"step_num"];
    /// Number that the same run of one collective has on all devices (TPU).
    AllReduceId Id,
        xplane [b"all_reduce_id", b"all_reduce_unique_id"], json [b"all_reduce_id", b"all_reduce_unique_id"];
    /// Time for which an op waited for a copy of its operands or results (TPU).
    DmaStall Picoseconds, xplane [b"dma_stall_duration_ps"], json [b"dma_stall_duration_ps"];
    /// Time that a message took, on an event that marks its end (megascale, between slices of TPUs).
    MessageDuration Microseconds, xplane [b"duration_us"], json [];
    /// Number that an event gives those that follow from it, unique among those of its [type](EventColumn::ProducerType).
    /// Left out where a [thread pool](POOL_CONTEXT) schedules work: nearly all of its events have one.
    Producer Id, xplane [b"_p"], json [];
    /// The [producer](EventColumn::Producer) that an event follows from, or whose end it marks (XLA's CPU backend); left out as there.
    Consumer Id, xplane [b"_c"], json [];
    /// What kind of work a [producer](EventColumn::Producer) hands on, as TSL numbers it (`ContextType`); absent for 0, the generic one.
    ProducerType NonZeroId, xplane [b"_pt"], json [];
    /// The type of a [consumer](EventColumn::Consumer).
    ConsumerType NonZeroId, xplane [b"_ct"], json [];
    /// Bytes that an allocator has given out, after an allocation or a release. So are the next four.
    InUseBytes Count, xplane [b"bytes_allocated"], json [];
    /// Bytes reserved for the stack of programs.
    ReservedBytes Count, xplane [b"bytes_reserved"], json [];
    /// Bytes that an allocator can still give out.
    AvailableBytes Count, xplane [b"bytes_available"], json [];
    /// The most bytes that were ever given out.
    PeakInUseBytes Count, xplane [b"peak_bytes_in_use"], json [];
    /// Share of an allocator's free memory that does not lie in its largest free piece.
    Fragmentation Real, xplane [b"fragmentation"], json [];
    /// Bytes that an allocation asked for.
    RequestedBytes Count, xplane [b"requested_bytes"], json [];
    /// Bytes that an allocation was given.
    AllocationBytes Count, xplane [b"allocation_bytes"], json [];
    /// Where memory lies that was given out or back.
    Address Id, xplane [b"addr"], json [];
}

/// The values of one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnValues {
    /// A bit for each column that has a value.
    given: u32,
    /// Value of each column; 0 where there is none.
    values: [i64; EventColumn::ALL.len()],
}

impl ColumnValues {
    /// Sets or removes the value of a column.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the array has one entry a column")]
    pub fn set(&mut self, column: EventColumn, value: Option<i64>) {
        let bit = 1 << column as u32;
        self.given = if value.is_some() { self.given | bit } else { self.given & !bit };
        self.values[column as usize] = value.unwrap_or(0);
    }

    /// The value of a column.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the array has one entry a column")]
    pub fn get(&self, column: EventColumn) -> Option<i64> {
        (self.given & 1 << column as u32 != 0).then_some(self.values[column as usize])
    }

    /// The columns that have a value, in their order. Most events have one or none.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the array has one entry a column")]
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
