//! Table of the breakdown of each step: the means first, then one row for each step and device.

use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::Ps;
use metrics::{Breakdown, Context, Devices, MeanPart, StepPart, StepRow};
use report::{Metric, Step, metric};
use table::{CellRef, Column, Rows, Unit, column};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "name",
            "device_name",
            "duration_us",
            "compute_us",
            "communication_us",
            "h2d_us",
            "d2h_us",
            "p2p_us",
            "d2d_us",
            "infeed_outfeed_us",
            "data_movement_us",
            "barrier_us",
            "compile_us",
            "input_bound_us",
            "host_bound_us",
            "kernel_wait_us",
            "other_idle_us",
            "idle_us",
        ],
        row_keys: &[RowKey::new("step", &["step"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new(
        "step-breakdown",
        columns,
        Made::Events(|context, _| Box::new(StepBreakdownRows::new(context)), None),
    )
};

/// Columns before the parts.
const FIRST: [Column; 6] = [
    column("kind", "Row", Unit::Text, "`mean`, `step`, or `window` if the steps are unknown."),
    column("step", "Position", Unit::Count, "Position of the step, from 0."),
    column("name", "Step", Unit::Text, "Number or name of the step in the trace, or its position if it has neither."),
    column("device_name", "Device", Unit::Text, "Device, or `all devices`."),
    column("start_us", "Start", Unit::TimeUs, "Start of the step, as time since the start of the capture."),
    column(
        "duration_us",
        "Duration",
        Unit::TimeUs,
        "Time from the start of the step to the next step's start on this device. See [Steps](#steps) for the last \
            step.",
    ),
];

/// Columns after the parts.
const LAST: [Column; 11] = [
    column("busy_us", "Busy", Unit::TimeUs, "Sum of the parts that are work."),
    column("idle_us", "Idle", Unit::TimeUs, "Sum of the parts that are idle."),
    column(
        "communication_overlap_percent",
        "Overlapped communication",
        Unit::Percent,
        "Share of the communication in flight that overlaps with computation.",
    ),
    column(
        "transfer_overlap_percent",
        "Overlapped copies",
        Unit::Percent,
        "Share of the copies in flight that overlaps with computation.",
    ),
    column(
        "num_kernels",
        "Ops",
        Unit::Number,
        "Number of ops that the host launched in the step. If launches are unknown, the number of ops that start \
            in the step.",
    ),
    column(
        "device_work_us",
        "Device work",
        Unit::TimeUs,
        "Time during which at least one op of the step runs. Covers the ops that the host launched in the step, even \
            if they run later. If launches are unknown, covers the ops that run during the step.",
    ),
    column(
        "lag_us",
        "Lag behind host",
        Unit::TimeUs,
        "Time from the start of the step's annotation on the host to the first op that was launched in the step.",
    ),
    column(
        "host_busy_us",
        "Host busy",
        Unit::TimeUs,
        "Time during which at least one thread of the device's host works instead of waiting.",
    ),
    Column::of_field("partial", "Partial", Unit::Flag, "steps[].partial"),
    Column::of_field("warm_up", "Warm-up", Unit::Flag, "steps[].warm_up"),
    column(
        "counted",
        "Counted",
        Unit::Flag,
        "True if the means include the row: the step is counted, and the row is as long as the step. A row is shorter \
            if later steps ended the step only on other devices.",
    ),
];

/// Returns the first columns, one column for each part of a step, and the last columns.
pub(crate) fn columns() -> Vec<Column> {
    FIRST.into_iter().chain(StepPart::ALL.map(part_column)).chain(LAST).collect()
}

/// Returns the column of a part, with the key and definition of the field in the profile.
fn part_column(part: StepPart) -> Column {
    let Metric { path, definition } = part_metric(part);
    let key = path.rsplit('.').next().unwrap_or(path);
    column(key, part.title(), Unit::TimeUs, definition)
}

/// Returns the field of the profile with the mean of a part.
pub fn part_metric(part: StepPart) -> Metric {
    match part {
        StepPart::Compute => metric!("step_breakdown.parts.compute_us"),
        StepPart::Communication => metric!("step_breakdown.parts.communication_us"),
        StepPart::HostToDevice => metric!("step_breakdown.parts.h2d_us"),
        StepPart::DeviceToHost => metric!("step_breakdown.parts.d2h_us"),
        StepPart::PeerToPeer => metric!("step_breakdown.parts.p2p_us"),
        StepPart::DeviceToDevice => metric!("step_breakdown.parts.d2d_us"),
        StepPart::InfeedOutfeed => metric!("step_breakdown.parts.infeed_outfeed_us"),
        StepPart::DataMovement => metric!("step_breakdown.parts.data_movement_us"),
        StepPart::Barrier => metric!("step_breakdown.parts.barrier_us"),
        StepPart::Compile => metric!("step_breakdown.parts.compile_us"),
        StepPart::InputBound => metric!("step_breakdown.parts.input_bound_us"),
        StepPart::HostBound => metric!("step_breakdown.parts.host_bound_us"),
        StepPart::KernelWait => metric!("step_breakdown.parts.kernel_wait_us"),
        StepPart::OtherIdle => metric!("step_breakdown.parts.other_idle_us"),
    }
}

/// Table of a run.
pub(crate) struct StepBreakdownRows<'a> {
    breakdown: &'a Breakdown,
    step_names: Vec<String>,
    devices: &'a Devices,
    origin: Ps,
    /// Means, each with its device. The device is absent for the mean over all devices.
    means: Vec<(Option<u32>, &'a MeanPart)>,
    columns: Vec<Column>,
}

impl<'a> StepBreakdownRows<'a> {
    /// Creates the table: the mean over all devices, the mean of each device if there are several, then
    /// the steps.
    pub(crate) fn new(context: &Context<'a>) -> StepBreakdownRows<'a> {
        let breakdown = &context.analysis.step_breakdown;
        let devices = &context.analysis.devices;
        let mut means: Vec<(Option<u32>, &MeanPart)> = breakdown.mean.iter().map(|mean| (None, mean)).collect();
        if devices.used.len() > 1 {
            let each = (0u32..).zip(&breakdown.mean_of_device);
            means.extend(each.filter_map(|(device, mean)| Some((Some(device), mean.as_ref()?))));
        }
        let origin = devices.capture.map_or(Ps::ZERO, |capture| capture.start);
        let step_names = step_names(&context.profile.steps);
        StepBreakdownRows { breakdown, step_names, devices, origin, means, columns: columns() }
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
            "kind" | "name" => CellRef::Text("mean"),
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
            "name" => step_name(&self.step_names, row.step),
            "device_name" => self.device_name(row.device),
            "start_us" => CellRef::Float((row.start - self.origin).as_us()),
            "duration_us" => CellRef::Float(row.duration.as_us()),
            "busy_us" => CellRef::Float(row.parts.busy().as_us()),
            "idle_us" => CellRef::Float(row.parts.idle().as_us()),
            "communication_overlap_percent" => percent(overlap.hidden_communication, overlap.communication),
            "transfer_overlap_percent" => percent(overlap.hidden_transfer, overlap.transfer),
            "num_kernels" => CellRef::Float(row.num_ops as f64),
            "device_work_us" => CellRef::Float(row.device_work.as_us()),
            "lag_us" => CellRef::float(row.lag.map(Ps::as_us)),
            "host_busy_us" => CellRef::float(row.host_busy.map(Ps::as_us)),
            "partial" => CellRef::flag(is_step.then_some(row.partial)),
            "warm_up" => CellRef::flag(is_step.then_some(row.warm_up)),
            "counted" => CellRef::flag(is_step.then_some(row.counted)),
            _ => CellRef::Absent,
        }
    }
}

/// Returns the name of each step in the trace or, if it has none, its position.
pub(super) fn step_names(steps: &[Step]) -> Vec<String> {
    steps.iter().map(|step| step.name.clone().unwrap_or_else(|| step.index.to_string())).collect()
}

pub(super) fn step_name(names: &[String], step: Option<u32>) -> CellRef<'_> {
    step.and_then(|at| names.get(at as usize)).map_or(CellRef::Absent, |name| CellRef::text(name))
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
    use run::{Run, Settings};
    use table::{Query, query};
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
        let examined = metrics::analyse(&run, &Settings::default());
        let rows = StepBreakdownRows::new(&examined.context(&run));
        assert_eq!((rows.len(), rows.columns().len()), (3 + 6, FIRST.len() + StepPart::COUNT + LAST.len()));
        let at = |key: &str| rows.columns().iter().position(|column| column.key == key).unwrap();
        assert_eq!(rows.cell(0, at("device_name")), CellRef::Text("all devices"));
        assert_eq!(rows.cell(0, at("compute_us")), CellRef::Float(50.0));
        assert_eq!(rows.cell(2, at("compute_us")), CellRef::Float(60.0));
        assert_eq!(
            (rows.cell(3, at("step")), rows.cell(3, at("other_idle_us"))),
            (CellRef::Int(0), CellRef::Float(60.0))
        );
        // If there are no host threads, host activity and the times of launches are unknown.
        assert_eq!(
            (rows.cell(3, at("host_bound_us")), rows.cell(3, at("compile_us"))),
            (CellRef::Absent, CellRef::Absent)
        );
        assert_eq!(rows.cell(3, at("barrier_us")), CellRef::Float(0.0));
        assert_eq!(rows.cell(3, at("name")), CellRef::Text("0"));
        assert_eq!((rows.cell(0, at("step")), rows.cell(99, 0)), (CellRef::Absent, CellRef::Absent));
        let asked = Query { filter: "kind=step counted=yes device_name:TPU:1".to_owned(), ..Query::default() };
        assert_eq!(query(&rows, &asked).rows.len(), 2);
    }
}
