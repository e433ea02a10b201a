//! Defines the parts of a step.

use base::Ps;
use report::STEP_PARTS;

/// Activity of a device at an instant or, if the device is idle, the cause. Every instant of a step belongs to exactly
/// one part.
///
/// Legends and columns list the parts in the order of this enum. The same order decides precedence: if several kinds of
/// work run at the same time, the time belongs to the first of their parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepPart {
    /// At least one op computes.
    Compute,
    /// Collectives, sends and receives that do not overlap with computation.
    Communication,
    /// Copies from the host that overlap with neither computation nor communication.
    HostToDevice,
    /// Copies to the host that do not overlap with a part of higher precedence.
    DeviceToHost,
    /// Copies from one device to another that do not overlap with a part of higher precedence.
    PeerToPeer,
    /// Copies within the device that do not overlap with a part of higher precedence.
    DeviceToDevice,
    /// Infeed and outfeed that do not overlap with a part of higher precedence (TPU).
    InfeedOutfeed,
    /// Fills, changes of layout and copies of unknown direction that do not overlap with a part of higher precedence.
    DataMovement,
    /// Idle: the program waits on the device for other devices or for its inputs (TPU).
    Barrier,
    /// Idle before a launch: the host compiled.
    Compile,
    /// Idle before a launch: the host was in the input pipeline.
    InputBound,
    /// Idle: the next op was launched after the previous op had ended, but the host neither compiled nor was in the input
    /// pipeline.
    HostBound,
    /// Idle for a short time although the next op was already launched: the cost of switching from one op to the next.
    KernelWait,
    /// Idle for any other reason: the next op was launched long before, or the trace does not show the reason.
    OtherIdle,
}

impl StepPart {
    /// Parts during which the device waits for input.
    pub const WAITS_FOR_INPUT: [StepPart; 2] = [StepPart::InputBound, StepPart::InfeedOutfeed];

    /// Parts during which the device waits for the host to launch or to compile.
    pub const WAITS_FOR_HOST: [StepPart; 2] = [StepPart::Compile, StepPart::HostBound];

    /// Number of parts.
    pub const COUNT: usize = STEP_PARTS.len();

    /// Number of parts that are work. These parts come first, in the order of precedence.
    pub const NUM_WORK: usize = StepPart::Barrier as usize;

    /// All parts, in the order of precedence.
    pub const ALL: [StepPart; StepPart::COUNT] = [
        StepPart::Compute,
        StepPart::Communication,
        StepPart::HostToDevice,
        StepPart::DeviceToHost,
        StepPart::PeerToPeer,
        StepPart::DeviceToDevice,
        StepPart::InfeedOutfeed,
        StepPart::DataMovement,
        StepPart::Barrier,
        StepPart::Compile,
        StepPart::InputBound,
        StepPart::HostBound,
        StepPart::KernelWait,
        StepPart::OtherIdle,
    ];

    /// Returns the name that the report and the colours use: `compute`, `communication`, `h2d`, ..., `other_idle`.
    pub fn label(self) -> &'static str {
        self.names().0
    }

    /// Returns the name that the page shows.
    pub fn title(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        STEP_PARTS.get(self as usize).copied().unwrap_or_default()
    }

    /// Returns true if the device is idle.
    pub fn is_idle(self) -> bool {
        self >= StepPart::Barrier
    }
}

/// A time for each part. The parts do not overlap and add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([Ps; StepPart::COUNT]);

impl Parts {
    /// Returns the time of one part.
    pub fn get(&self, part: StepPart) -> Ps {
        self.0.get(part as usize).copied().unwrap_or_default()
    }

    /// Adds to the time of one part.
    pub fn add(&mut self, part: StepPart, time: Ps) {
        if let Some(sum) = self.0.get_mut(part as usize) {
            *sum += time;
        }
    }

    /// Returns the sum of all parts.
    pub fn total(&self) -> Ps {
        self.0.iter().copied().sum()
    }

    /// Returns the time of the idle parts.
    pub fn idle(&self) -> Ps {
        StepPart::ALL.into_iter().filter(|part| part.is_idle()).map(|part| self.get(part)).sum()
    }

    /// Returns the work: time during which the device is neither idle nor in exposed communication. Idle time and
    /// exposed communication both include waiting for other devices.
    pub fn work(&self) -> Ps {
        self.busy() - self.get(StepPart::Communication)
    }

    /// Returns the time of all parts except idle parts.
    pub fn busy(&self) -> Ps {
        StepPart::ALL.into_iter().filter(|part| !part.is_idle()).map(|part| self.get(part)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_own_place_and_name() {
        let mut parts = Parts::default();
        for (part, time) in StepPart::ALL.into_iter().zip(1..) {
            parts.add(part, Ps::new(time));
        }
        assert!(StepPart::ALL.into_iter().zip(1..).all(|(part, time)| parts.get(part) == Ps::new(time)));
        assert_eq!((parts.total(), parts.idle()), (Ps::new(105), Ps::new(9 + 10 + 11 + 12 + 13 + 14)));
        assert_eq!(parts.busy() + parts.idle(), parts.total());
        let labels = base::sort::set(StepPart::ALL.map(StepPart::label));
        assert_eq!(labels.len(), StepPart::COUNT);
    }
}
