//! Decodes samples of hardware counters, which are the events of the lines named `_counters_`.
//!
//! ```text
//! XEvent { metadata_id -> "dram__bytes_read.sum", offset_ps: 500000000, stats { double_value: 12503552 } }
//! ```
//!
//! For a GPU, the profiler writes samples if the option `gpu_pm_sample_counters` is set. For a TPU, it writes samples
//! if options for power, temperature or periodic samples are set. Samples become values over time, like the counters of
//! a Chrome trace. Readings of a chip's hardware counters (`tpu_perf_counters`) are different events. Each reading
//! names the counter by its id and has a value of the kind `counter_value`. Readings remain events, whichever line they
//! are on.

use super::losses::XPlaneLoss;
use super::stats::{RawValue, Stat};
use super::walk::Walk;
use base::Ps;
use base::wire::{Reader, Value};
use trace::{CounterTrack, EventColumn, EventStat, NumberArg, StrId, TextArg};

impl<'a> Walk<'_, 'a> {
    /// Decodes one sample. If the sample is corrupt, skips it and returns the position of the corrupt field as an
    /// error.
    pub(super) fn sample(&mut self, message: &'a [u8], offset: u64, line_start_ps: Option<i64>) -> Result<(), u64> {
        let mut reader = Reader::new(message);
        let (mut id, mut offset_ps, mut value) = (0, 0, None);
        while let Some(field) = reader.field().map_err(|error| offset + error.position as u64)? {
            match (field.number, field.value) {
                (1, Value::Varint(number)) => id = number as i64,
                (2, Value::Varint(time)) => offset_ps = time as i64,
                (4, Value::Bytes(stat)) => {
                    let at = offset + (reader.position() - stat.len()) as u64;
                    value = value.or(number(Stat::read(stat, at)?.value));
                }
                _ => {}
            }
        }
        let time = line_start_ps.and_then(|start| start.checked_add(offset_ps));
        let Some((time, value)) = time.zip(value) else {
            self.losses.add(XPlaneLoss::BadTime, offset);
            return Ok(());
        };
        let name = self.counter_name(id);
        let plane = self.tables.plane;
        let known = self.trace.counters.iter_mut().rev().find(|track| track.plane == plane && track.name == name);
        match known {
            Some(track) => {
                // The samples of a counter may come in any order.
                let at = track.times.partition_point(|known| known.as_ps() <= time);
                track.times.insert(at, Ps::new(time));
                track.values.insert(at, value);
            }
            None => {
                let (times, values) = (vec![Ps::new(time)], vec![value]);
                self.trace.counters.push(CounterTrack { plane, name, times, values });
            }
        }
        Ok(())
    }

    /// Returns true if the event is a reading of a hardware counter.
    pub(super) fn is_reading(&mut self, message: &'a [u8]) -> bool {
        let mut reader = Reader::new(message);
        let (mut has_value, mut has_counter) = (false, false);
        while let Ok(Some(field)) = reader.field() {
            let (4, Value::Bytes(stat)) = (field.number, field.value) else { continue };
            let Ok(stat) = Stat::read(stat, 0) else { return false };
            match self.tables.stat_metadata.get_mut(stat.metadata_id).and_then(|metadata| metadata.meaning) {
                Some(EventStat::Column(EventColumn::CounterValue)) => has_value = true,
                Some(EventStat::Number(NumberArg::CounterId) | EventStat::Text(TextArg::CounterSet)) => {
                    has_counter = true
                }
                _ => {}
            }
        }
        has_value && has_counter
    }

    fn counter_name(&mut self, id: i64) -> StrId {
        let source = self.source;
        match self.tables.event_metadata.get_mut(id) {
            Some(metadata) => metadata.name(source, &mut self.trace.strings, self.losses),
            None => self.trace.strings.intern(&format!("counter {id}")),
        }
    }
}

/// Returns the value of a sample if this value is a finite number.
fn number(value: RawValue<'_>) -> Option<f64> {
    match value {
        RawValue::Double(number) => Some(number).filter(|number| number.is_finite()),
        RawValue::Int(number) => Some(number as f64),
        _ => None,
    }
}
