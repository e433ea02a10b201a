//! Ops that do not shrink with the devices, and sizes that were not measured, as the cells that every shape of a comparison shows.

use super::words;
use base::format;
use compare::{ExcessOp, Scaling, ScalingForecast};

/// What the list of ops above their ideal time is called.
pub const EXCESS_TITLE: &str = "Ops that do not shrink with the devices, on the most devices, per step and device";

/// Columns of that list; all but the first two are numbers.
pub const EXCESS_COLUMNS: [&str; 6] = ["Op", "Class", "In the reference", "Ideal", "Measured", "Above ideal"];

/// What the list of sizes that were not measured is called.
pub const FORECAST_TITLE: &str = "Forecast by Amdahl's law";

/// Columns of that list: numbers.
pub const FORECAST_COLUMNS: [&str; 5] = ["Devices", "Step time", "95 % interval", "Speed-up", "Efficiency"];

/// The cells of an op; its names are as the trace has them.
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

/// The cells of a size; the name of its series is as the profiles have it.
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

/// A size as a part of a sentence: "18.6 ms (16.9 ms to 20.4 ms) on 8 devices".
pub fn forecast_text(size: &ScalingForecast) -> String {
    let [devices, time, interval, ..] = forecast_cells(size);
    let interval = if size.interval_us.is_some() { format!(" ({interval})") } else { String::new() };
    format!("{time}{interval} on {devices} devices")
}

fn of_series(series: Option<&str>, what: &str) -> String {
    series.map_or_else(|| what.to_owned(), |series| format!("{series}: {what}"))
}

/// The serial part of the work, with its interval.
pub fn serial(scaling: &Scaling) -> Option<String> {
    let percent = |share: f64| format::percent(100.0 * share);
    let interval = scaling.serial_interval.map(|[low, high]| format!(" (95 %: {} to {})", percent(low), percent(high)));
    scaling.serial_fraction.map(|serial| format!("{}{}", percent(serial), interval.unwrap_or_default()))
}
