//! Where the time of each step goes: the means first, then one row for each step and device.

use crate::table::{CellRef, Column, Rows, Unit};
use base::Ps;
use metrics::{Breakdown, Context, Devices, MeanPart, StepPart, StepRow};

/// The columns before the parts.
const FIRST: [Column; 5] = [
    column("kind", "Row", Unit::Text),
    column("step", "Step", Unit::Count),
    column("device_name", "Device", Unit::Text),
    column("start_us", "Start", Unit::TimeUs),
    column("duration_us", "Duration", Unit::TimeUs),
];

/// The columns after them.
const LAST: [Column; 9] = [
    column("busy_us", "Busy", Unit::TimeUs),
    column("idle_us", "Idle", Unit::TimeUs),
    column("communication_overlap_percent", "Overlapped communication", Unit::Percent),
    column("transfer_overlap_percent", "Overlapped copies", Unit::Percent),
    column("num_kernels", "Ops", Unit::Number),
    column("host_busy_us", "Host busy", Unit::TimeUs),
    column("partial", "Partial", Unit::Flag),
    column("warm_up", "Warm-up", Unit::Flag),
    column("counted", "Counted", Unit::Flag),
];

const fn column(key: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { key, title, unit }
}

/// The key of a part's column: its label with the unit.
pub fn part_key(part: StepPart) -> &'static str {
    match part {
        StepPart::Compute => "compute_us",
        StepPart::Communication => "communication_us",
        StepPart::HostToDevice => "h2d_us",
        StepPart::DeviceToHost => "d2h_us",
        StepPart::PeerToPeer => "p2p_us",
        StepPart::DeviceToDevice => "d2d_us",
        StepPart::InfeedOutfeed => "infeed_outfeed_us",
        StepPart::DataMovement => "data_movement_us",
        StepPart::Barrier => "barrier_us",
        StepPart::Compile => "compile_us",
        StepPart::InputBound => "input_bound_us",
        StepPart::HostBound => "host_bound_us",
        StepPart::KernelWait => "kernel_wait_us",
        StepPart::OtherIdle => "other_idle_us",
    }
}

/// The table of a run.
pub struct StepBreakdownRows<'a> {
    breakdown: &'a Breakdown,
    devices: &'a Devices,
    origin: Ps,
    /// Each with the device that it is of; absent for all of them.
    means: Vec<(Option<u32>, &'a MeanPart)>,
    columns: Vec<Column>,
}

impl<'a> StepBreakdownRows<'a> {
    /// The mean over all devices, where there are several the mean of each, then the steps.
    pub fn new(context: &Context<'a>) -> StepBreakdownRows<'a> {
        let breakdown = &context.analysis.step_breakdown;
        let devices = &context.analysis.devices;
        let mut means: Vec<(Option<u32>, &MeanPart)> = breakdown.mean.iter().map(|mean| (None, mean)).collect();
        if devices.used.len() > 1 {
            let each = (0u32..).zip(&breakdown.mean_of_device);
            means.extend(each.filter_map(|(device, mean)| Some((Some(device), mean.as_ref()?))));
        }
        let parts = StepPart::ALL.into_iter().map(|part| column(part_key(part), part.title(), Unit::TimeUs));
        let origin = devices.capture.map_or(Ps::ZERO, |capture| capture.start);
        let columns = FIRST.into_iter().chain(parts).chain(LAST).collect();
        StepBreakdownRows { breakdown, devices, origin, means, columns }
    }

    fn device_name(&self, device: u32) -> CellRef<'_> {
        self.devices.used.get(device as usize).map_or(CellRef::Absent, |device| CellRef::text(&device.name))
    }

    fn part_cell(&self, part: StepPart, time_us: f64) -> CellRef<'_> {
        if self.breakdown.measures(part) { CellRef::Float(time_us) } else { CellRef::Absent }
    }

    fn mean_cell(&self, device: Option<u32>, mean: &MeanPart, key: &str, part: Option<StepPart>) -> CellRef<'_> {
        if let Some(part) = part {
            return self.part_cell(part, mean.part_us(part));
        }
        match key {
            "kind" => CellRef::Text("mean"),
            "device_name" => device.map_or(CellRef::Text("all devices"), |device| self.device_name(device)),
            "duration_us" => CellRef::Float(mean.duration_us),
            "busy_us" => CellRef::Float(mean.busy_us()),
            "idle_us" => CellRef::Float(mean.idle_us()),
            "communication_overlap_percent" => CellRef::float(mean.communication_overlap_percent()),
            "transfer_overlap_percent" => CellRef::float(mean.transfer_overlap_percent()),
            "num_kernels" => CellRef::Float(mean.num_ops),
            "host_busy_us" => CellRef::float(mean.host_busy_us),
            _ => CellRef::Absent,
        }
    }

    fn step_cell(&self, row: &StepRow, key: &str, part: Option<StepPart>) -> CellRef<'_> {
        if let Some(part) = part {
            return self.part_cell(part, row.parts.get(part).as_us());
        }
        let is_step = row.step.is_some();
        let overlap = &row.overlap;
        match key {
            "kind" => CellRef::Text(if is_step { "step" } else { "window" }),
            "step" => CellRef::int(row.step.map(u64::from)),
            "device_name" => self.device_name(row.device),
            "start_us" => CellRef::Float((row.start - self.origin).as_us()),
            "duration_us" => CellRef::Float(row.duration.as_us()),
            "busy_us" => CellRef::Float(row.parts.busy().as_us()),
            "idle_us" => CellRef::Float(row.parts.idle().as_us()),
            "communication_overlap_percent" => percent(overlap.hidden_communication, overlap.communication),
            "transfer_overlap_percent" => percent(overlap.hidden_transfer, overlap.transfer),
            "num_kernels" => CellRef::Float(row.num_ops as f64),
            "host_busy_us" => CellRef::float(row.host_busy.map(Ps::as_us)),
            "partial" => CellRef::flag(is_step.then_some(row.partial)),
            "warm_up" => CellRef::flag(is_step.then_some(row.warm_up)),
            "counted" => CellRef::flag(is_step.then_some(row.counted)),
            _ => CellRef::Absent,
        }
    }
}

fn percent(part: Ps, whole: Ps) -> CellRef<'static> {
    CellRef::float((whole > Ps::ZERO).then(|| 100.0 * part.as_ps() as f64 / whole.as_ps() as f64))
}

impl Rows for StepBreakdownRows<'_> {
    fn name(&self) -> &'static str {
        "step-breakdown"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.means.len() + self.breakdown.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let Some(key) = self.columns.get(column).map(|column| column.key) else { return CellRef::Absent };
        let part = column.checked_sub(FIRST.len()).and_then(|part| StepPart::ALL.get(part)).copied();
        if let Some(&(device, mean)) = self.means.get(row) {
            return self.mean_cell(device, mean, key, part);
        }
        let step = row.checked_sub(self.means.len()).and_then(|row| self.breakdown.rows.get(row));
        step.map_or(CellRef::Absent, |row| self.step_cell(row, key, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Query, query};
    use metrics::{Run, Settings};
    use trace::TraceBuilder;

    #[test]
    fn means_come_before_steps_and_parts_add_up() {
        let mut b = TraceBuilder::new();
        for device in 0..2 {
            let steps = b.line(&format!("/device:TPU:{device}"), "Steps");
            let ops = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
            for step in 0..3 {
                b.event(steps, &step.to_string(), step * 100, 90);
                b.event(ops, "fusion.1", step * 100, 40 + 20 * device).hlo_category("loop fusion");
            }
        }
        let run = Run { trace: b.build(), ..Run::default() };
        let analysis = metrics::Analysis::new(&run, &Settings::default());
        let rows = StepBreakdownRows::new(&Context { run: &run, analysis: &analysis });
        assert_eq!((rows.len(), rows.columns().len()), (3 + 6, FIRST.len() + StepPart::COUNT + LAST.len()));
        let at = |key: &str| rows.columns().iter().position(|column| column.key == key).unwrap();
        assert_eq!(rows.cell(0, at("device_name")), CellRef::Text("all devices"));
        assert_eq!(rows.cell(0, at("compute_us")), CellRef::Float(50.0));
        assert_eq!(rows.cell(2, at("compute_us")), CellRef::Float(60.0));
        assert_eq!(
            (rows.cell(3, at("step")), rows.cell(3, at("other_idle_us"))),
            (CellRef::Int(0), CellRef::Float(60.0))
        );
        // No host thread: nobody knows what it did, or when what was launched.
        assert_eq!(
            (rows.cell(3, at("host_bound_us")), rows.cell(3, at("compile_us"))),
            (CellRef::Absent, CellRef::Absent)
        );
        assert_eq!(rows.cell(3, at("barrier_us")), CellRef::Float(0.0));
        assert_eq!((rows.cell(0, at("step")), rows.cell(99, 0)), (CellRef::Absent, CellRef::Absent));
        let asked = Query { filter: "kind=step counted=yes device_name:TPU:1".to_owned(), ..Query::default() };
        assert_eq!(query(&rows, &asked).rows.len(), 2);
    }
}
