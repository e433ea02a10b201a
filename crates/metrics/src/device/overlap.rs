//! Measures communication and copies that run while the device computes.
//!
//! ```text
//! compute         [=====)     [====)
//! communication      [-----------)
//! overlapped         [--)     [--)        in flight 12, overlapped 6: 50 %
//! ```

use crate::device::device_time::DeviceTime;
use base::Ps;
use trace::{Interval, IntervalSet};

/// Times of communication and copies in flight, and the parts that overlap with computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// Time during which communication is in flight.
    pub communication: Ps,
    /// Time during which communication is in flight while the device computes.
    pub hidden_communication: Ps,
    /// Time during which copies are in flight.
    pub transfer: Ps,
    /// Time during which copies are in flight while the device computes.
    pub hidden_transfer: Ps,
}

/// Times when a device communicates or copies, and when it computes.
#[derive(Clone, Debug)]
pub(crate) struct InFlight<'a> {
    time: &'a DeviceTime,
    hidden_communication: IntervalSet,
    hidden_transfer: IntervalSet,
}

impl<'a> InFlight<'a> {
    pub(crate) fn new(time: &'a DeviceTime) -> InFlight<'a> {
        let hidden = |set: &IntervalSet| match time.compute() {
            Some(compute) if !set.is_empty() => set.intersection(compute),
            _ => IntervalSet::default(),
        };
        InFlight { hidden_communication: hidden(&time.communication), hidden_transfer: hidden(&time.transfer), time }
    }

    /// Measures the communication and the copies inside `window`.
    pub(crate) fn within(&self, window: Interval) -> Overlap {
        Overlap {
            communication: self.time.communication.length_within(window),
            hidden_communication: self.hidden_communication.length_within(window),
            transfer: self.time.transfer.length_within(window),
            hidden_transfer: self.hidden_transfer.length_within(window),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::devices::Devices;
    use trace::TraceBuilder;

    /// ```text
    ///          0    10   20   30   40   50
    /// stream 1 [gemm     )         [gemm  )
    /// stream 2      [nccl          )
    /// stream 3                   [D2H )
    /// ```
    #[test]
    fn communication_overlaps_with_computation() {
        let mut b = TraceBuilder::new();
        let [one, two, three] = [1, 2, 3].map(|n| b.line("/device:GPU:0", &format!("Stream #{n}(Compute)")));
        b.event(one, "gemm_f32", 0, 20);
        b.event(one, "gemm_f32", 40, 14);
        b.event(two, "ncclDevKernel_AllReduce_Sum", 10, 30);
        b.event(three, "MemcpyD2H", 36, 10);
        let trace = b.build();
        let times = DeviceTime::of_all(&trace, &Devices::of(&trace));
        let overlap = InFlight::new(&times[0]).within(Interval::new(Ps::new(0), Ps::new(45_000_000)));
        let us = |time: Ps| time.as_us();
        assert_eq!((us(overlap.communication), us(overlap.hidden_communication)), (30.0, 10.0));
        assert_eq!((us(overlap.transfer), us(overlap.hidden_transfer)), (9.0, 5.0));
    }
}
