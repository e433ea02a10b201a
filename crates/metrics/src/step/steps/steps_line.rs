//! Reads steps from the `Steps` line of the devices.

use super::Mark;
use crate::device::devices::{Devices, interval};
use base::sort;
use trace::{EventColumn, LineKind, Trace};

/// Returns the marks of every device in use, sorted by start. The key is the event's `step_num`, or the event's name if
/// the name is a number.
pub(super) fn marks(trace: &Trace, devices: &Devices) -> Vec<Vec<Mark>> {
    let of_plane = |plane: usize| {
        let mut marks = Vec::new();
        for id in devices.by_line.events_of(trace, plane, LineKind::Steps) {
            let Some(event) = trace.events.get(id) else { continue };
            let key = trace.events.column(EventColumn::StepNum).get(id).or_else(|| trace.text(event.name).parse().ok());
            marks.push(Mark { interval: interval(&event), key });
        }
        sort::sort_by_key(&mut marks, |mark: &Mark| mark.interval);
        marks
    };
    devices.used.iter().map(|device| of_plane(device.plane)).collect()
}
