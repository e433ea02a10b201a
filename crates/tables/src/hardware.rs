//! Tables of the hardware counters: utilisation of the chips' units, counters over time, and the readings of a chip's
//! counters.

use super::profile_table::{ProfileColumns, float, of_rows, optional_text, text};
use crate::TableName;
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use facts::hlo_categories;
use metrics::{Context, Reading, readings};
use report::{KernelUnitStats, MeterStats, UnifiedProfile, UnitStats};
use table::{Cell, CellRef, Column, Rows, Table, Unit, column, columns};
use trace::{Args, Platform, Trace};

pub(super) const UTILIZATION_TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &["device_name", "node", "name", "use_percent", "achieved", "peak", "unit"],
        row_keys: &[RowKey::new("name", &["name"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new("utilization", || columns(&UNITS), Made::Profile(utilization))
};

/// Record of the table of counters over time.
pub(super) const METERS_TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("counter", &["counter"])], ..Shown::WHOLE },
    ..TableRecord::new("meters", || columns(&METERS), Made::Profile(meters))
};

/// Record of the table of custom calls.
pub(super) const KERNEL_UNITS_TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("kernel", &["kernel"])], ..Shown::WHOLE },
    ..TableRecord::new("kernel-units", || columns(&KERNELS), Made::Profile(kernel_units))
};

pub(super) const PERF_COUNTERS_TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("counter", &["counter"])], ..Shown::WHOLE },
    ..TableRecord::new(
        "perf-counters",
        || columns(&READINGS),
        Made::Events(|context, _| Box::new(ReadingRows::new(context)), None),
    )
};

static UNITS: ProfileColumns<UnitStats, 11> = [
    (Column::of_field("device_name", "Device name", Unit::Text, "hardware.units[].device_name"), |it| {
        text(&it.device_name)
    }),
    (Column::of_field("host", "Host", Unit::Text, "hardware.units[].host").xprof("host"), |it| optional_text(&it.host)),
    (Column::of_field("device", "Chip", Unit::Count, "hardware.units[].device").xprof("device"), |it| {
        Cell::Int(it.device)
    }),
    (Column::of_field("sample", "Sample", Unit::Count, "hardware.units[].sample").xprof("sample"), |it| {
        Cell::Int(it.sample)
    }),
    (Column::of_field("time_us", "Time", Unit::TimeUs, "hardware.units[].time_us"), |it| Cell::Float(it.time_us)),
    (Column::of_field("node", "Node", Unit::Count, "hardware.units[].node").xprof("node"), |it| Cell::Int(it.node)),
    (Column::of_field("name", "Unit", Unit::Text, "hardware.units[].name").xprof("name"), |it| text(&it.name)),
    (Column::of_field("achieved", "Achieved", Unit::Number, "hardware.units[].achieved").xprof("achieved"), |it| {
        Cell::Float(it.achieved)
    }),
    (Column::of_field("peak", "Peak", Unit::Number, "hardware.units[].peak").xprof("peak"), |it| Cell::Float(it.peak)),
    (Column::of_field("unit", "Measured in", Unit::Text, "hardware.units[].unit").xprof("unit"), |it| text(&it.unit)),
    (Column::of_field("use_percent", "Use", Unit::Percent, "hardware.units[].use_percent"), |it| {
        Cell::Float(it.use_percent)
    }),
];

/// Returns why the capture lacks the counters of a table, and the option that records them. `None` if the capture has
/// the counters, or if the device cannot record them.
pub fn absent_counters(name: TableName, profile: &UnifiedProfile) -> Option<(&'static str, &'static str)> {
    let hardware = profile.hardware.as_ref();
    let has = |quantity: &[&str]| {
        let mut meters = hardware.iter().flat_map(|it| &it.meters);
        meters.any(|meter| quantity.contains(&meter.quantity.as_str()))
    };
    let is_tpu = match profile.metadata.platform()? {
        Platform::Tpu => true,
        Platform::Gpu => false,
        Platform::Cpu => return None,
    };
    match name {
        TableName::Utilization if is_tpu && hardware.is_none_or(|it| it.units.is_empty()) => Some((
            "The capture has no readings of hardware counters that show the utilisation of the chips' units.",
            "Capture on TPU v6e or v7x with advanced_configuration={\"tpu_perf_counters\": True}.",
        )),
        TableName::Meters if is_tpu && !has(&["power", "throttling"]) => Some((
            "The capture contains no power, temperature or throttling data of the chips.",
            "Capture with advanced_configuration={\"tpu_power_trace_level\": 1, \"tpu_e2e_enable_fw_throttle_event\": True, \
             \"tpu_e2e_enable_fw_thermal_event\": True}.",
        )),
        TableName::Meters if !is_tpu && !has(&["power", "clock"]) => Some((
            "The capture contains neither the power nor the clocks of the GPUs.",
            "Capture with crossprof.capture, which samples them on NVIDIA GPUs. For hardware counters, set \
             advanced={\"gpu_pm_sample_counters\": \"sm__cycles_active.avg,dram__bytes_read.sum\"}.",
        )),
        TableName::KernelUnits
            if is_tpu
                && !has(&["llo"])
                && profile.kernels.kernels_by_category.contains_key(hlo_categories::CUSTOM_CALL) =>
        {
            Some((
                "The capture does not show how custom calls (Pallas kernels) use the chips' units, because it \
                    contains no LLO utilization.",
                "Set LIBTPU_INIT_ARGS=\"--xla_enable_custom_call_region_trace=true --xla_xprof_register_llo_debug_info=true\" when \
                 you start the program.",
            ))
        }
        _ => None,
    }
}

fn utilization(profile: &UnifiedProfile) -> Table {
    of_rows("utilization", &UNITS, profile.hardware.iter().flat_map(|it| &it.units))
}

static METERS: ProfileColumns<MeterStats, 10> = [
    (Column::of_field("device_name", "Device", Unit::Text, "hardware.meters[].device_name"), |it| {
        text(&it.device_name)
    }),
    (Column::of_field("counter", "Counter", Unit::Text, "hardware.meters[].counter"), |it| text(&it.counter)),
    (Column::of_field("quantity", "Quantity", Unit::Text, "hardware.meters[].quantity"), |it| text(&it.quantity)),
    (Column::of_field("unit", "Measured in", Unit::Text, "hardware.meters[].unit"), |it| text(&it.unit)),
    (Column::of_field("samples", "Samples", Unit::Count, "hardware.meters[].samples"), |it| Cell::Int(it.samples)),
    (Column::of_field("mean", "Mean", Unit::Number, "hardware.meters[].mean"), |it| Cell::Float(it.mean)),
    (Column::of_field("min", "Smallest", Unit::Number, "hardware.meters[].min"), |it| Cell::Float(it.min)),
    (Column::of_field("max", "Largest", Unit::Number, "hardware.meters[].max"), |it| Cell::Float(it.max)),
    (Column::of_field("limit", "Limit", Unit::Number, "hardware.meters[].limit"), |it| float(it.limit)),
    (Column::of_field("mean_percent", "Mean of limit", Unit::Percent, "hardware.meters[].mean_percent"), |it| {
        float(it.mean_percent)
    }),
];

/// Returns the counters over time whose meaning is known.
fn meters(profile: &UnifiedProfile) -> Table {
    of_rows("meters", &METERS, profile.hardware.iter().flat_map(|it| &it.meters))
}

static KERNELS: ProfileColumns<KernelUnitStats, 6> = [
    (Column::of_field("device_name", "Device", Unit::Text, "hardware.kernels[].device_name"), |it| {
        text(&it.device_name)
    }),
    (Column::of_field("kernel", "Custom call", Unit::Text, "hardware.kernels[].kernel"), |it| text(&it.kernel)),
    (Column::of_field("counter", "Unit", Unit::Text, "hardware.kernels[].counter"), |it| text(&it.counter)),
    (Column::of_field("time_us", "Time", Unit::TimeUs, "hardware.kernels[].time_us"), |it| Cell::Float(it.time_us)),
    (Column::of_field("mean", "Mean", Unit::Number, "hardware.kernels[].mean"), |it| Cell::Float(it.mean)),
    (Column::of_field("max", "Largest", Unit::Number, "hardware.kernels[].max"), |it| Cell::Float(it.max)),
];

fn kernel_units(profile: &UnifiedProfile) -> Table {
    of_rows("kernel-units", &KERNELS, profile.hardware.iter().flat_map(|it| &it.kernels))
}

type CellOf = for<'t> fn(&'t ReadingRows<'t>, &'t Reading) -> CellRef<'t>;

static READINGS: [(Column, CellOf); 8] = [
    (column("host", "Host", Unit::Text, "Name of the host.").xprof("Host"), |rows, it| {
        let host = rows.trace.planes.get(it.plane).and_then(|plane| rows.trace.hosts.get(usize::from(plane.host)));
        host.map_or(CellRef::Absent, |host| CellRef::text(host))
    }),
    (
        column(
            "chip",
            "Chip",
            Unit::Count,
            "Number of the chip among all hosts if the capture records it. Otherwise, the number in the name of the \
                device.",
        )
        .xprof("Chip"),
        |_, it| CellRef::Int(it.chip),
    ),
    (column("kernel", "Kernel", Unit::Text, "Line that contains the reading.").xprof("Kernel"), |rows, it| {
        rows.trace.lines.get(it.line.index()).map_or(CellRef::Absent, |it| CellRef::text(rows.trace.text(it.name)))
    }),
    (
        column("sample", "Sample", Unit::Count, "Number of the line that contains the reading.").xprof("Sample"),
        |rows, it| {
            let id = rows.trace.lines.get(it.line.index()).and_then(|line| u64::try_from(line.id?).ok());
            CellRef::Int(id.unwrap_or(0))
        },
    ),
    (column("counter", "Counter", Unit::Text, "Name of the hardware counter.").xprof("Counter"), |rows, it| {
        let event = rows.trace.events.get(it.event);
        event.map_or(CellRef::Absent, |event| CellRef::text(rows.trace.text(event.name)))
    }),
    (
        column("value", "Value", Unit::Count, "Value of the counter. Usually the increase during the capture.")
            .caveat("XProf shows 0 for counters that are stored as real numbers.")
            .xprof("Value"),
        |_, it| CellRef::Int(it.value.cast_unsigned()),
    ),
    (
        column("description", "Description", Unit::Text, "Meaning of the counter, in the profiler's words.")
            .xprof("Description"),
        |rows, it| rows.argument(it, |args| args.counter_description),
    ),
    (column("set", "Set", Unit::Text, "Set of counters that the counter belongs to.").xprof("Set"), |rows, it| {
        rows.argument(it, |args| args.counter_set)
    }),
];

/// Readings of hardware counters, in file order.
struct ReadingRows<'a> {
    trace: &'a Trace,
    readings: Vec<Reading>,
    columns: Vec<Column>,
}

impl<'a> ReadingRows<'a> {
    fn new(context: &Context<'a>) -> ReadingRows<'a> {
        let trace = context.captured_trace();
        ReadingRows { trace, readings: readings(trace).collect(), columns: columns(&READINGS) }
    }

    fn argument(&self, reading: &Reading, text: fn(&Args) -> trace::StrId) -> CellRef<'_> {
        let args = self.trace.events.get(reading.event).map(|event| self.trace.args_of(&event));
        args.map_or(CellRef::Absent, |args| CellRef::text(self.trace.text(text(&args))))
    }
}

impl Rows for ReadingRows<'_> {
    fn name(&self) -> &'static str {
        "perf-counters"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.readings.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        match (self.readings.get(row), READINGS.get(column)) {
            (Some(reading), Some((_, cell))) => cell(self, reading),
            _ => CellRef::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::Hardware;

    #[test]
    fn absent_counters_name_the_option_that_records_them() {
        let mut profile = UnifiedProfile::default();
        let why = |profile: &UnifiedProfile, name| crate::why_empty(name, profile).unwrap_or_default();
        assert_eq!(why(&profile, TableName::Meters), "", "no device");
        profile.metadata.platform = "TPU".to_owned();
        assert!(why(&profile, TableName::Utilization).contains("tpu_perf_counters"));
        assert!(why(&profile, TableName::Meters).contains("tpu_power_trace_level"));
        assert_eq!(why(&profile, TableName::KernelUnits), "", "no custom call ran");
        profile.kernels.kernels_by_category.insert("custom-call".to_owned(), Default::default());
        assert!(why(&profile, TableName::KernelUnits).contains("LIBTPU_INIT_ARGS"));
        let meter = |quantity: &str| MeterStats { quantity: quantity.to_owned(), ..MeterStats::default() };
        profile.hardware = Some(Hardware { meters: vec![meter("power"), meter("llo")], ..Hardware::default() });
        assert_eq!(why(&profile, TableName::Meters) + &why(&profile, TableName::KernelUnits), "");
        profile.metadata.platform = "GPU".to_owned();
        assert_eq!(why(&profile, TableName::Utilization), "");
        profile.hardware = None;
        assert!(why(&profile, TableName::Meters).contains("crossprof.capture"));
    }
}
