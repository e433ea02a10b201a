//! Page of hosts and devices: the map of devices by step, hosts, devices with their scores and arrivals, busy shares, and
//! the longest idle gaps.

use crate::{PageQuery, Source, device_map, experts, hardware, pipeline, table_block};
use base::format;
use document::{About, Bar, Bars, Block, Choice, ColourClass, Figure, Link};
use metrics::{Context, StepPart};
use report::{DeviceStats, MultiDevice, StepParts, UnifiedProfile, View, WindowKind, metric};
use table::Unit;
use tables::TableName;

/// Page option for the form of the arrivals table.
const ARRIVALS: &str = "arrivals";

pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let profile = source.profile();
    let mut blocks = Vec::new();
    let figures = figures(profile);
    if !figures.is_empty() {
        blocks.push(Block::Figures { figures });
    }
    blocks.extend(pipeline::blocks(source, query));
    blocks.extend(experts::blocks(source, query));
    let context = source.context();
    blocks.extend(context.iter().flat_map(|context| device_map::blocks(context, query)));
    blocks.extend(hosts_and_devices(source, query));
    blocks.extend(context.iter().flat_map(|context| arrivals(context, query)));
    let mut bars = busy(profile, usize::MAX);
    bars.bars.extend(unused(profile));
    if !bars.bars.is_empty() {
        blocks.push(Block::Bars(bars));
    }
    let gaps = source.table_block(TableName::Gaps, "Longest idle gaps", query);
    let is_empty = blocks.is_empty() && gaps.is_none();
    let hardware = if is_empty { Vec::new() } else { hardware::blocks(source, query) };
    // Without counters, the section only gives the reason.
    if profile.hardware.is_some() {
        blocks.extend(hardware);
        blocks.extend(gaps);
    } else {
        blocks.extend(gaps);
        blocks.extend(hardware);
    }
    if blocks.is_empty() {
        blocks.push(source.not_measured("multi_device"));
    }
    blocks
}

/// Returns the tables of hosts (if there are several), of devices and of the longest idle gaps.
pub(super) fn tables(source: Source<'_>, query: &PageQuery) -> impl Iterator<Item = Block> {
    let gaps = source.table_block(TableName::Gaps, "Longest idle gaps", query);
    let parallel = pipeline::blocks(source, query).into_iter().chain(experts::blocks(source, query));
    parallel.chain(hosts_and_devices(source, query)).chain(gaps)
}

fn hosts_and_devices(source: Source<'_>, query: &PageQuery) -> impl Iterator<Item = Block> {
    let has_hosts = source.profile().multi_device.as_ref().is_some_and(|devices| devices.hosts.len() > 1);
    let hosts = has_hosts.then_some((TableName::Hosts, "Hosts"));
    let all = hosts.into_iter().chain([(TableName::Devices, "Devices")]);
    all.filter_map(move |(name, title)| source.table_block(name, title, query))
}

/// Returns the arrivals table in the chosen form, if collectives were compared.
fn arrivals(context: &Context<'_>, query: &PageQuery) -> Vec<Block> {
    if context.analysis.collectives.group_runs.is_empty() {
        return Vec::new();
    }
    let form = query.chosen(ARRIVALS, &["op", "run"]);
    let values = [("op", "By collective"), ("run", "Every run")];
    let variant = if form == "op" { "" } else { form };
    let title = "Arrivals at collectives";
    vec![
        Block::Choice(Choice {
            option: ARRIVALS.to_owned(),
            label: "Arrivals".to_owned(),
            values: values.iter().map(|&(value, name)| (value.to_owned(), name.to_owned())).collect(),
            chosen: form.to_owned(),
        }),
        Block::Table(table_block(context, TableName::Arrivals, variant, title, query)),
    ]
}

/// Returns figures about the differences between the devices. Empty for one device.
fn figures(profile: &UnifiedProfile) -> Vec<Figure> {
    let Some(devices) = profile.multi_device.as_ref().filter(|devices| devices.device_stats.len() > 1) else {
        return Vec::new();
    };
    let hosts = devices.hosts.len().max(1) as u64;
    let count = Figure {
        label: "Devices".to_owned(),
        value: Some(devices.num_devices as f64),
        unit: Unit::Count,
        note: format!("on {}", format::counted(hosts, "host")),
        ..Figure::of(metric!("multi_device.num_devices"))
    };
    let arrivals = |stats: &DeviceStats| stats.arrivals.as_ref().map(|arrivals| arrivals.caused_wait_us);
    let late = devices
        .device_stats
        .iter()
        .filter(|stats| stats.arrivals.as_ref().is_some_and(|arrivals| arrivals.late_cause.is_some()));
    let latest = late.max_by(|a, b| arrivals(a).unwrap_or(0.0).total_cmp(&arrivals(b).unwrap_or(0.0)));
    let are_compared = devices.device_stats.iter().any(|stats| stats.arrivals.is_some());
    let last = Figure {
        label: "Latest device".to_owned(),
        value: latest.and_then(|stats| Some(stats.arrivals.as_ref()?.last_percent)),
        unit: Unit::Percent,
        note: match latest {
            Some(stats) => {
                let cause = stats.arrivals.as_ref().and_then(|arrivals| arrivals.late_cause.as_deref());
                let cause = cause.filter(|cause| *cause != "unknown").map(|cause| format!(" ({cause})"));
                format!("of its collectives wait for {}{}", stats.device_name, cause.unwrap_or_default())
            }
            None if are_compared => "No device arrives last far more often than the others.".to_owned(),
            None => "No collective could be compared between devices.".to_owned(),
        },
        link: latest.and_then(|stats| Link::equal(View::Devices, "device_name", &stats.device_name)),
        ..Figure::of(metric!("multi_device.device_stats[].arrivals.last_percent"))
    };
    let scores =
        devices.device_stats.iter().filter_map(|stats| Some((stats.steps.as_ref()?.relative_score_percent?, stats)));
    let worst = scores.min_by(|a, b| a.0.total_cmp(&b.0));
    let score = Figure {
        label: "Lowest relative score".to_owned(),
        value: worst.map(|(score, _)| score),
        unit: Unit::Percent,
        note: worst.map_or_else(
            || "The devices do not communicate, or their steps are unknown.".to_owned(),
            |(_, stats)| format!("{}, against the device with the least work", stats.device_name),
        ),
        link: worst.and_then(|(_, stats)| Link::equal(View::Devices, "device_name", &stats.device_name)),
        ..Figure::of(metric!("multi_device.device_stats[].steps.relative_score_percent"))
    };
    vec![count, last, score]
}

/// Draws the busy share of at most `most` devices, with the longest gap of each.
fn busy(profile: &UnifiedProfile, most: usize) -> Bars {
    let devices = profile.multi_device.iter().flat_map(|devices| &devices.device_stats);
    let bar = |device: &DeviceStats| Bar {
        label: device.device_name.clone(),
        value: device.utilization_percent.unwrap_or(0.0),
        class: StepPart::Compute.into(),
        note: match (device.utilization_percent, device.gaps.as_ref().and_then(|gaps| gaps.max_gap_us)) {
            (None, _) => "ran nothing in the measured time".to_owned(),
            (_, Some(longest)) => format!("gap ≤ {}", format::time_us(longest)),
            (_, None) => "no gap".to_owned(),
        },
        link: Link::equal(View::Devices, "device_name", &device.device_name),
    };
    let bars = devices.take(most).map(bar).collect();
    Bars { title: "Devices, busy share".to_owned(), unit: Unit::Percent, bars, whole: Some(100.0), ..Bars::default() }
}

/// Returns bars for devices that did nothing. These devices were not measured, and have no rows in the table.
fn unused(profile: &UnifiedProfile) -> impl Iterator<Item = Bar> {
    let names = profile.multi_device.iter().flat_map(|devices| &devices.unused_devices);
    names.map(|name| Bar {
        label: name.clone(),
        value: 0.0,
        class: ColourClass::IDLE,
        note: "not used".to_owned(),
        link: None,
    })
}

/// Draws the first devices for the overview, with a note about the differences between all devices.
pub(super) fn first(profile: &UnifiedProfile, most: usize) -> Bars {
    let note = match &profile.multi_device {
        Some(devices) => between(profile, devices, most),
        None => "No device of this capture ran an op.".to_owned(),
    };
    Bars {
        note,
        about: Some(About::new(metric!("multi_device.device_stats[].utilization_percent"), View::Devices)),
        ..busy(profile, most)
    }
}

/// Describes the differences between the devices, and the number of devices without a bar.
fn between(profile: &UnifiedProfile, devices: &MultiDevice, most: usize) -> String {
    let mut facts = Vec::new();
    if let Some(imbalance) = devices.busy_imbalance_percent {
        facts.push(format!("imbalance {}", format::percent(imbalance)));
    }
    // The starts of steps are more informative than the first ops of a capture, which may belong to a helper program
    // that only one device runs.
    match (profile.step_timing.step_start_skew_us, devices.start_skew_us) {
        (Some(skew), _) => facts.push(format!("step starts {} apart (median)", format::time_us(skew))),
        (None, Some(skew)) => facts.push(format!("first ops of the capture {} apart", format::time_us(skew))),
        (None, None) => {}
    }
    let most_busy = devices.device_stats.iter().filter_map(|stats| stats.utilization_percent).reduce(f64::max);
    if let (Some(most), Some(range)) = (most_busy, devices.utilization_range) {
        let (least, most) = (format::percent(most - range), format::percent(most));
        facts.push(if least == most { format!("each busy {least}") } else { format!("busy {least} to {most}") });
    }
    facts.extend(work_outside_communication(profile));
    let mut sentences = Vec::new();
    if !facts.is_empty() {
        sentences.push(format!("Between devices: {}.", facts.join(", ")));
    }
    if let Some(more @ 1..) = devices.device_stats.len().checked_sub(most) {
        sentences.push(format!("{more} more devices have no bar here."));
    }
    sentences.join(" ")
}

/// Describes the work of the devices without communication. Communication includes waiting for other devices, so a
/// device that waits looks as busy as a device that computes. `None` if there is no communication.
fn work_outside_communication(profile: &UnifiedProfile) -> Option<String> {
    let breakdown = profile.step_breakdown.as_ref()?;
    let has_communication = breakdown.devices.iter().any(|device| device.parts.communication_us > 0.0);
    let work = breakdown.devices.iter().filter(|_| has_communication).map(|device| {
        let StepParts { compute_us, data_movement_us, h2d_us, d2h_us, p2p_us, d2d_us, .. } = device.parts;
        compute_us + data_movement_us + h2d_us + d2h_us + p2p_us + d2d_us
    });
    let (least, most) = work.map(|us| (us, us)).reduce(|all, it| (all.0.min(it.0), all.1.max(it.1)))?;
    let (least, most) = (format::time_us(least), format::time_us(most));
    let range = if least == most { least } else { format!("{least} to {most}") };
    let is_of_steps = WindowKind::named(&breakdown.window) == Some(WindowKind::Steps);
    Some(format!("work outside communication {range}{}", if is_of_steps { " per step" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skew_of_steps_has_priority_over_that_of_first_ops() {
        let devices = MultiDevice { start_skew_us: Some(2e6), ..MultiDevice::default() };
        let mut profile = report::example::profile();
        profile.step_timing.step_start_skew_us = None;
        assert_eq!(between(&profile, &devices, 1), "Between devices: first ops of the capture 2.00 s apart.");
        profile.step_timing.step_start_skew_us = Some(12.0);
        assert_eq!(between(&profile, &devices, 1), "Between devices: step starts 12.0 µs apart (median).");
        let stats = |busy| report::DeviceStats { utilization_percent: Some(busy), ..report::DeviceStats::default() };
        let device_stats = vec![stats(90.0), stats(80.5)];
        let busy = MultiDevice { device_stats, utilization_range: Some(9.5), ..MultiDevice::default() };
        assert!(between(&profile, &busy, 2).ends_with(", busy 80.5 % to 90.0 %."), "{}", between(&profile, &busy, 2));
    }

    #[test]
    fn waiting_inside_collectives_is_not_work() {
        let mut profile = report::example::profile();
        let parts = |compute_us, communication_us| StepParts {
            compute_us,
            communication_us,
            d2d_us: 1.0,
            ..StepParts::default()
        };
        let device = |parts| report::StepBreakdownDevice { parts, ..report::StepBreakdownDevice::default() };
        profile.step_breakdown = Some(report::StepBreakdown {
            window: "steps".to_owned(),
            devices: vec![device(parts(99.0, 1.0)), device(parts(3.0, 96.0))],
            ..report::StepBreakdown::default()
        });
        let said = |profile: &UnifiedProfile| between(profile, &MultiDevice::default(), 1);
        assert!(
            said(&profile).ends_with("work outside communication 4.00 µs to 100 µs per step."),
            "{}",
            said(&profile)
        );
        let breakdown = profile.step_breakdown.as_mut().unwrap();
        breakdown.devices.iter_mut().for_each(|device| device.parts.communication_us = 0.0);
        assert!(!said(&profile).contains("communication"), "{}", said(&profile));
    }
}
