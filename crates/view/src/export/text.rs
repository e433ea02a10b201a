//! A run on one screen of a terminal: headline figures, then where the time goes, the warnings last.

use super::columns::SENTENCE;
use super::value::display;
use super::{findings, host, memory};
use crate::table::{Cell, Column, Table, Unit};
use crate::tables::{TableName, of_report, top_ops_or_kernels};
use base::format::{self, optional_percent, optional_time_us, percent, printable, shorten, time_us};
use base::home::shared;
use base::{Severity, Warning};
use report::{LayerFreezing, Tracing, UnifiedProfile, distinct_names};

/// Columns of the terminal that the report is made for.
const WIDTH: usize = 100;

/// Characters of a name in a whole table on a terminal.
const NAME: usize = 60;

/// Characters of a cell that others are padded to: a longer one sticks out.
const PADDED: usize = 300;

/// Rows of the tables on the one screen; `crossprof table` prints them whole.
const CATEGORIES: usize = 6;
const OPS: usize = 7;
const DEVICES: usize = 8;

/// The report of one run.
pub fn report(profile: &UnifiedProfile) -> String {
    shared(format::with_plain_spaces(&report_called(profile, &title(profile))))
}

/// The reports of several runs, each under a name that no other has.
pub fn reports(profiles: &[UnifiedProfile]) -> String {
    let reports = profiles.iter().zip(titles(profiles)).map(|(profile, title)| report_called(profile, &title));
    shared(format::with_plain_spaces(&reports.collect::<Vec<_>>().join("\n")))
}

fn report_called(profile: &UnifiedProfile, title: &str) -> String {
    let mut text = format!("{title}\n");
    for (label, value) in headlines(profile) {
        text.push_str(&format!("  {label:<13}{}\n", printable(&value)));
    }
    text.push_str(&findings::text(profile, WIDTH));
    let categories = (
        TableName::Categories,
        "Kernel time by category (self time, all devices)",
        CATEGORIES,
        &["category", "time_us", "percent", "count"][..],
    );
    let devices = (
        TableName::Devices,
        "Devices",
        DEVICES,
        &["device_name", "actual_busy_time_us", "total_time_us", "utilization_percent", "kernel_count", "max_gap_us"][..],
    );
    let of_host = if profile.metadata.num_devices == 0 { host::TABLES } else { &[] };
    let of_profile = |&(name, heading, rows, keys)| {
        let whole = of_report(profile, name).filter(|it| name != TableName::Devices || it.rows.len() > 1)?;
        Some((heading, whole, rows, keys))
    };
    let (heading, top) = top_ops_or_kernels(profile);
    let top =
        (heading, top, OPS, &["name", "self_time_us", "total_us", "percent", "executions", "count", "source"][..]);
    let before = of_host.iter().chain([&memory::TABLE, &categories]).filter_map(of_profile);
    for (heading, whole, rows, keys) in before.chain([top]).chain(of_profile(&devices)) {
        if whole.rows.is_empty() {
            continue;
        }
        let left = whole.rows.len().saturating_sub(rows);
        text.push_str(&format!("\n{heading}\n{}", one_screen(&chosen(&whole, keys, rows))));
        if left > 0 {
            text.push_str(&format!("  and {left} more: crossprof table {}\n", whole.name));
        }
    }
    text.push_str(&memory::largest_stack(profile, WIDTH));
    text.push_str(&warnings(&profile.warnings));
    text
}

/// A whole table, aligned. For a terminal long names are cut in the middle; a file and another program get them whole.
pub fn table_text(table: &Table, for_terminal: bool) -> String {
    if table.rows.is_empty() && TableName::from_key(table.name).is_some_and(TableName::is_of_area) {
        return "No events in this range.\n".to_owned();
    }
    if table.rows.is_empty() {
        return format!("No {} in what was measured of this run.\n", table.name);
    }
    let text = match table.name {
        "findings" => findings::list(table, WIDTH),
        // Sentences are whole up to a length.
        "warnings" => aligned(table, "", SENTENCE),
        _ => aligned(table, "", if for_terminal { NAME } else { usize::MAX }),
    };
    shared(format::with_plain_spaces(&text))
}

/// Name, device and origin of a run in one line.
pub fn title(profile: &UnifiedProfile) -> String {
    title_called(profile, &profile.metadata.full_name())
}

/// Name, device and origin of several runs, a line each, by names that distinguish them.
pub fn titles(profiles: &[UnifiedProfile]) -> Vec<String> {
    if let [only] = profiles {
        return vec![title(only)];
    }
    let naming: Vec<_> = profiles.iter().map(|profile| profile.metadata.naming()).collect();
    profiles.iter().zip(distinct_names(&naming)).map(|(profile, name)| title_called(profile, &name)).collect()
}

fn title_called(profile: &UnifiedProfile, name: &str) -> String {
    let metadata = &profile.metadata;
    let mut parts = vec![printable(&shorten(name, 80))];
    if metadata.num_devices > 0 || metadata.device_type != "Unknown" {
        parts.push(printable(&shorten(&metadata.device_type, 40)));
    }
    let accelerators = profile.other_devices.iter().filter(|device| device.kind == "accelerator").count() as u64;
    parts.push(match (metadata.num_devices, accelerators) {
        (0, 1) => "1 device of unknown kind".to_owned(),
        (0, 2..) => format!("{} of unknown kind", format::counted(accelerators, "device")),
        (0, 0) if profile.is_of_memory_alone() => "memory only".to_owned(),
        (0, 0) if profile.host_activity.is_some() => "host only".to_owned(),
        (devices, _) => format::counted(devices, "device"),
    });
    if metadata.framework != "Unknown" {
        parts.push(printable(&shorten(&metadata.framework, 40)));
    }
    parts.join(", ")
}

/// How far to trust the times of the capture.
fn tracing(measured: &Tracing) -> String {
    let (traced, untraced) = (time_us(measured.traced_step_time_us), time_us(measured.untraced_step_time_us));
    let percent = measured.slowed_percent();
    if percent > 0.0 {
        format!("slowed the steps by {}: {traced} instead of {untraced}", format::percent(percent))
    } else {
        format!("did not slow the steps: {traced}, and {untraced} without")
    }
}

/// The headline figures: label and value. What was not measured says so or is left out.
pub fn headlines(profile: &UnifiedProfile) -> Vec<(&'static str, String)> {
    let mut lines = vec![("Read from", origin(profile))];
    if let Some(window) = &profile.window {
        let caution = window.caution.iter().map(|caution| format!("{caution} ")).collect::<String>();
        lines.push(("Measured", format!("{caution}{}", window.sentence)));
    }
    if profile.is_of_memory_alone() {
        lines.extend(memory::headlines(profile));
        return lines;
    }
    // Without a device op there are no steps on devices: what is known comes first, and no row of dashes.
    let has_devices = profile.metadata.num_devices > 0 || profile.host_activity.is_none();
    if has_devices || profile.step_timing.avg_step_time_us.is_some() {
        lines.push(("Step time", step_time(profile)));
    }
    if profile.metadata.num_devices == 0 {
        lines.extend(host::headlines(profile));
    }
    if profile.step_timing.avg_step_time_us.is_some() {
        lines.push(("Steps", steps(profile)));
        lines.extend(device_work(profile).map(|work| ("Device work", work)));
    }
    if let Some(measured) = &profile.tracing {
        lines.push(("Tracing", tracing(measured)));
    }
    if let Some(busy) = &profile.compute_utilization {
        let per = match busy.window.as_deref() {
            Some("steps" | "given_steps") | None => "per step and device",
            Some(_) => "per device",
        };
        lines.push((
            "Device busy",
            format!(
                "{}  ({} busy + {} idle {per}{})",
                percent(busy.compute_util_percent),
                time_us(busy.kernel_time_us),
                time_us(busy.overhead_time_us),
                waiting(profile)
            ),
        ));
    }
    if has_devices || profile.throughput.steps_per_sec.is_some() {
        lines.push(("Throughput", throughput(profile)));
    }
    if let Some(timeline) = &profile.timeline_analysis {
        let gaps = &timeline.gaps;
        lines.push((
            "Idle gaps",
            format!(
                "{} of the time, {}, longest {}",
                percent(gaps.gap_time_percent),
                format::counted(gaps.total_gaps, "gap"),
                optional_time_us(gaps.max_gap_us)
            ),
        ));
    }
    if let Some(compilation) = profile.compilation.as_ref().filter(|found| found.num_compilation_events > 0) {
        lines.push(("Compilation", share(compilation.compilation_time_us, compilation.compilation_percent)));
    }
    if let Some(io) = profile.io_operations.as_ref().filter(|found| found.io_event_count > 0) {
        lines.push(("Input", format!("{}, {} of the time", time_us(io.io_total_time_us), percent(io.io_percent))));
    }
    if let Some(memory) = profile.memory_operations.as_ref().filter(|memory| !memory.transfers.is_empty()) {
        let directions = memory.transfers.iter().map(|transfer| {
            let rate = transfer.bandwidth_gb_per_sec.map(|rate| format!(" at {}", format::si(rate * 1e9, "B/s")));
            format!("{} {}{}", transfer.direction, time_us(transfer.total_time_us), rate.unwrap_or_default())
        });
        lines.push(("Transfers", directions.collect::<Vec<_>>().join(", ")));
    }
    if let Some(parameters) = &profile.parameter_counts {
        lines.push(("Parameters", format::count(parameters.total_params)));
    }
    if let Some(freezing) = profile.layer_freezing.as_ref().filter(|freezing| freezing.frozen_arrays > 0) {
        lines.push(("Frozen", frozen(freezing)));
    }
    lines.extend(model(profile).map(|line| ("Model", line)));
    lines
}

fn origin(profile: &UnifiedProfile) -> String {
    let metadata = &profile.metadata;
    let mut text = shorten(&metadata.trace_file, 60);
    if let Some(duration) = metadata.capture_duration_us {
        text += &format!(", {} captured", time_us(duration));
    }
    if let Some(timestamp) = &metadata.timestamp {
        text += &format!(" from {timestamp}");
    }
    if let Some(events) = metadata.num_events {
        text += &format!(", {}", format::counted(events, "event"));
    }
    text
}

fn step_time(profile: &UnifiedProfile) -> String {
    let timing = &profile.step_timing;
    let Some(mean) = timing.avg_step_time_us else {
        return format!("{} (no steps found; give their number on the Model page or by --num-steps N)", format::DASH);
    };
    let mut text = format!("{} mean", time_us(mean));
    for (value, name) in [
        (timing.stddev_step_time_us, "±"),
        (timing.median_step_time_us, "median"),
        (timing.p95_step_time_us, "p95"),
        (timing.min_step_time_us, "min"),
        (timing.max_step_time_us, "max"),
    ] {
        if let Some(value) = value {
            text += &format!(", {name} {}", time_us(value));
        }
    }
    text
}

/// The work that a step launches, and how far the devices run behind the host; nothing where no launches tie work to steps.
fn device_work(profile: &UnifiedProfile) -> Option<String> {
    let timing = &profile.step_timing;
    timing.device_work_tied_by.as_deref().filter(|tie| matches!(*tie, "correlation" | "group" | "dispatch"))?;
    let mut text = format!("{} per step and device", time_us(timing.device_work_us?));
    if let Some(spread) = timing.stddev_device_work_us {
        text += &format!(", ± {}", time_us(spread));
    }
    if let Some(ops) = timing.kernels_per_step {
        let ops = if ops.fract() == 0.0 { format::count(ops as u64) } else { format::number(ops) };
        text += &format!(", {ops} ops");
    }
    if let Some(lag) = timing.device_lag_us {
        text += &format!("; its first op starts {} after its annotation on the host (median)", time_us(lag));
    }
    Some(text)
}

fn steps(profile: &UnifiedProfile) -> String {
    let timing = &profile.step_timing;
    let mut text = format::count(timing.num_steps);
    if let Some(counted) = timing.num_steps_counted {
        let number = |flag: fn(&report::Step) -> bool| profile.steps.iter().filter(|step| flag(step)).count();
        text += &format!(", {} counted", format::count(counted));
        let partial = number(|it| it.counted && it.partial);
        let in_spite = [(partial, "partial"), (number(|it| it.counted && !it.partial && it.warm_up), "warm-up")];
        let in_spite =
            in_spite.into_iter().filter(|(found, _)| *found > 0).map(|(found, word)| format!("{found} {word}"));
        let in_spite: Vec<String> = in_spite.collect();
        if !in_spite.is_empty() {
            text += &format!(" ({}: no step is both complete and past warm-up)", in_spite.join(", "));
        }
        // Each step once: what is cut off may also be warm-up.
        let warm_up = number(|it| !it.counted && !it.partial && it.warm_up);
        let compiling = number(|it| !it.counted && !it.partial && it.warm_up && it.compiles);
        let mut left_out = Vec::new();
        if let partial @ 1.. = number(|it| !it.counted && it.partial) {
            left_out.push(format!("{partial} partial"));
        }
        if warm_up > 0 {
            left_out.push(format!("{warm_up} warm-up"));
        }
        if compiling > 0 {
            left_out.push(format!("{compiling} of them compiling"));
        }
        if !left_out.is_empty() {
            text += &format!(" (left out: {})", left_out.join(", "));
        }
    }
    match timing.devices_in_step.as_deref() {
        Some("independent") => text += ", each device for itself",
        Some("one_after_another") => text += ", one device after another",
        _ => {}
    }
    text += &format!(", from {}", timing.step_count_source);
    if let Some(marker) = &timing.step_marker {
        text += &format!(": {}", shorten(marker, 40));
    }
    text
}

/// How much of the busy time is spent in ops that only wait (`copy-done`), where it is worth saying.
fn waiting(profile: &UnifiedProfile) -> String {
    let time = |wanted: fn(&str) -> bool| -> f64 {
        let categories = profile.kernels.kernels_by_category.iter();
        categories.filter(|(name, _)| wanted(name)).map(|(_, category)| category.time_us).sum()
    };
    let (waits, all) = (time(|name| name.ends_with("-done")), time(|_| true));
    if waits < 0.01 * all || all <= 0.0 {
        return String::new();
    }
    format!("; {} of the busy time waits in -done ops", percent(100.0 * waits / all))
}

fn throughput(profile: &UnifiedProfile) -> String {
    let rates = &profile.throughput;
    let mut parts = Vec::new();
    for (rate, unit) in [
        (rates.steps_per_sec, if rates.all_devices_steps_per_sec.is_some() { "steps/s per device" } else { "steps/s" }),
        (rates.all_devices_steps_per_sec, "steps/s of all devices"),
        (rates.samples_per_sec, "samples/s"),
        (rates.tokens_per_sec, "tokens/s"),
        (rates.tokens_per_sec_per_device, "tokens/s per device"),
    ] {
        if let Some(rate) = rate {
            parts.push(format!("{} {unit}", format::number(rate)));
        }
    }
    if parts.is_empty() {
        return format::DASH.to_owned();
    }
    if rates.samples_per_sec.is_none() {
        parts.push("tokens/s need batch size and sequence length (Model page; --batch-size, --seq-length)".to_owned());
    }
    parts.join(", ")
}

/// What a training step leaves as it is.
fn frozen(freezing: &LayerFreezing) -> String {
    let arrays = freezing.frozen_arrays.saturating_add(freezing.trained_arrays);
    let params =
        freezing.frozen_params.map_or(String::new(), |count| format!(" ({} parameters)", format::count(count)));
    let names: Vec<String> = freezing.frozen.iter().take(3).map(|name| shorten(name, 40)).collect();
    let more = freezing.frozen.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "{} of {} arrays of parameters{params}: {}{more}; confidence {}",
        format::count(freezing.frozen_arrays),
        format::count(arrays),
        names.join(", "),
        freezing.confidence
    )
}

/// The model as files beside the profile describe it, and which files: nobody may have named them.
fn model(profile: &UnifiedProfile) -> Option<String> {
    let files: Vec<String> = profile
        .provenance
        .iter()
        .filter(|file| file.format == "model_config")
        .map(|file| shorten(&file.path, 60))
        .collect();
    let model = &profile.model_config;
    let known = [
        ("width", model.model_dims),
        ("layers", model.num_layers),
        ("batch", model.batch_size),
        ("sequence", model.seq_length),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", format::count(value?))));
    let known: Vec<String> = known.collect();
    (!files.is_empty()).then(|| format!("{} (from {})", known.join(", "), files.join(", ")).trim_start().to_owned())
}

fn share(us: f64, share: f64) -> String {
    format!("{}, {} of the capture", time_us(us), optional_percent(Some(share)))
}

/// The columns `keys` and at most `rows` rows.
fn chosen(table: &Table, keys: &[&str], rows: usize) -> Table {
    let positions: Vec<usize> =
        keys.iter().filter_map(|key| table.columns.iter().position(|column| column.key == *key)).collect();
    let row = |row: &Vec<Cell>| positions.iter().map(|&i| row.get(i).cloned().unwrap_or(Cell::Absent)).collect();
    Table::new(
        table.name,
        positions.iter().filter_map(|&i| table.columns.get(i)).copied().collect(),
        table.rows.iter().take(rows).map(row).collect(),
    )
}

/// A table on the one screen: its names share what the numbers leave.
fn one_screen(table: &Table) -> String {
    let names = table.columns.iter().filter(|column| column.unit == Unit::Text).count().max(1);
    aligned(table, "  ", (WIDTH - 50) / names)
}

/// Columns side by side; numbers to the right, names of more than `most` characters cut in the middle.
fn aligned(table: &Table, indent: &str, most: usize) -> String {
    let cell = |column: &Column, cell: &Cell| shorten(&shared(display(cell, column.unit)), most);
    let mut lines: Vec<Vec<String>> = vec![table.columns.iter().map(|column| column.title.to_owned()).collect()];
    for row in &table.rows {
        lines.push(table.columns.iter().zip(row).map(|(column, value)| cell(column, value)).collect());
    }
    let width = |index: usize| {
        lines.iter().filter_map(|line| line.get(index)).map(|text| text.chars().count()).max().unwrap_or(0).min(PADDED)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let mut row = indent.to_owned();
        for ((value, column), &width) in line.iter().zip(&table.columns).zip(&widths) {
            if column.unit == Unit::Text {
                row.push_str(&format!("{value:<width$}  "));
            } else {
                row.push_str(&format!("{value:>width$}  "));
            }
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

fn warnings(warnings: &[Warning]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut text = format!("\nWarnings ({})\n", warnings.len());
    for warning in warnings {
        text.push_str(&format!("  {}\n", warning_line(warning)));
    }
    text
}

/// A warning in one line: severity, place, what happened, what to do.
pub fn warning_line(warning: &Warning) -> String {
    let severity = match warning.severity {
        Severity::Note => "note",
        Severity::Caution => "caution",
        Severity::Damage => "damage",
    };
    let place = match (&warning.file, warning.byte_offset) {
        (Some(file), Some(byte)) => format!(" {}, byte {}:", shorten(file, 60), format::count(byte)),
        (Some(file), None) => format!(" {}:", shorten(file, 60)),
        (None, Some(byte)) => format!(" byte {}:", format::count(byte)),
        (None, None) => String::new(),
    };
    let remedy = warning.remedy.as_deref().map(|remedy| format!(" {}", shorten(remedy, SENTENCE))).unwrap_or_default();
    printable(&format!("{severity}:{place} {}{remedy}", shorten(&warning.message, SENTENCE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::WarningCode;

    #[test]
    fn the_report_fits_a_screen_and_ends_with_the_warnings() {
        let text = report(&report::example::profile());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "demo, TPU v6 Lite, 1 device, JAX");
        assert_eq!(lines[2], "  Step time    120 µs mean, ± 400 ns, median 120 µs");
        assert_eq!(lines.last(), Some(&"  damage: demo.json, byte 77: The file ends inside an event. Copy it again."));
        assert!(lines.len() < 50 && lines.iter().all(|line| line.chars().count() <= WIDTH + 20), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn the_slow_down_by_tracing_stands_below_the_steps() {
        let mut profile = report::example::profile();
        let mut line = |traced_step_time_us: f64| {
            let slowdown = traced_step_time_us / 50_000.0;
            let measured =
                Tracing { slowdown, traced_step_time_us, untraced_step_time_us: 50_000.0, ..Tracing::default() };
            profile.tracing = Some(measured);
            let lines = headlines(&profile);
            lines.into_iter().find(|(label, _)| *label == "Tracing").map(|(_, text)| text)
        };
        assert_eq!(line(52_000.0).as_deref(), Some("slowed the steps by 4.0 %: 52.0 ms instead of 50.0 ms"));
        assert_eq!(line(49_000.0).as_deref(), Some("did not slow the steps: 49.0 ms, and 50.0 ms without"));
    }

    /// A warning as a profile of another program may have it.
    fn imported(code: &str, message: &str) -> Warning {
        Warning { code: code.to_owned(), ..Warning::new(WarningCode::NoEvents, message) }
    }

    /// A width above 65 535 cannot be formatted.
    #[test]
    fn a_long_warning_is_cut_in_the_table_and_in_the_report() {
        let mut profile = report::example::profile();
        let long = "x".repeat(70_000);
        profile.warnings = vec![imported(&long, &long).with_file(&long).with_remedy(&long), imported("a", "b")];
        let table = of_report(&profile, TableName::Warnings).unwrap();
        for text in [table_text(&table, true), table_text(&table, false), report(&profile)] {
            assert!(text.contains("xx…xx") && text.lines().all(|line| line.chars().count() < 5 * SENTENCE), "{text}");
        }
    }

    #[test]
    fn names_are_whole_beyond_a_terminal() {
        let mut profile = report::example::profile();
        let long = format!("start_{}_end", "x".repeat(400));
        profile.kernels.kernels_by_category.insert(long.clone(), report::KernelCategory::default());
        let table = of_report(&profile, TableName::Categories).unwrap();
        assert!(table_text(&table, false).contains(&long));
        let on_terminal = table_text(&table, true);
        assert!(!on_terminal.contains(&long) && on_terminal.contains("start_xx"), "{on_terminal}");
    }

    #[test]
    fn numbers_are_aligned_to_the_right() {
        let table = of_report(&report::example::profile(), TableName::Categories).unwrap();
        assert_eq!(
            table_text(&table, true),
            "Category  Self time  Share of busy time  Count\nmatmul      60.5 µs              60.5 %      2\ncopy        39.5 µs              39.5 %      2\n"
        );
    }
}
