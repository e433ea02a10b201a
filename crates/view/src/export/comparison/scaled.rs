//! Formats the ops that do not shrink with the devices, and the forecast, as cells that all outputs
//! share.

use super::words;
use base::format;
use compare::{ExcessOp, Scaling, ScalingForecast};

/// Title of the list of ops above their ideal time.
pub const EXCESS_TITLE: &str = "Ops that do not shrink with the devices, on the most devices, per step and device";

/// Columns of that list. All except the first two are numbers.
pub const EXCESS_COLUMNS: [&str; 6] = ["Op", "Class", "In the reference", "Ideal", "Measured", "Above ideal"];

/// Title of the forecast.
pub const FORECAST_TITLE: &str = "Forecast by Amdahl's law";

/// Columns of the forecast, all of them numbers.
pub const FORECAST_COLUMNS: [&str; 5] = ["Devices", "Step time", "95 % interval", "Speed-up", "Efficiency"];

/// Returns the cells of an op, with names as recorded in the trace.
pub fn excess_cells(op: &ExcessOp) -> [String; 6] {
    [
        of_series(op.series.as_deref(), &op.name),
        op.family.clone(),
        format::time_us(op.reference_us),
        format::time_us(op.ideal_us),
        format::time_us(op.measured_us),
        compare::signed(op.excess_us),
    ]
}

/// Returns the cells of a forecast size, with the name of its series as recorded in the profiles.
pub fn forecast_cells(size: &ScalingForecast) -> [String; 5] {
    let interval = size.interval_us.map(|[low, high]| format!("{} to {}", format::time_us(low), format::time_us(high)));
    [
        of_series(size.series.as_deref(), &format::count(size.devices)),
        format::time_us(size.step_time_us),
        interval.unwrap_or_else(|| format::DASH.to_owned()),
        words::times(size.speedup),
        format::percent(size.efficiency_percent),
    ]
}

/// Describes a forecast size as a part of a sentence: "18.6 ms (16.9 ms to 20.4 ms) on 8 devices".
pub fn forecast_text(size: &ScalingForecast) -> String {
    let [devices, time, interval, ..] = forecast_cells(size);
    let interval = if size.interval_us.is_some() { format!(" ({interval})") } else { String::new() };
    format!("{time}{interval} on {devices} devices")
}

fn of_series(series: Option<&str>, what: &str) -> String {
    series.map_or_else(|| what.to_owned(), |series| format!("{series}: {what}"))
}

/// Describes the serial part of the work, with its interval.
pub fn serial(scaling: &Scaling) -> Option<String> {
    let percent = |share: f64| format::percent(100.0 * share);
    let interval = scaling.serial_interval.map(|[low, high]| format!(" (95 %: {} to {})", percent(low), percent(high)));
    scaling.serial_fraction.map(|serial| format!("{}{}", percent(serial), interval.unwrap_or_default()))
}
