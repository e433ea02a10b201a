//! Questions about the devices: copies, memory, communication, balance, and compilation.

use super::time::{of_what, share_of_step};
use super::{Assessment, bandwidth, better_file, level_by_rules, limits_in_words, question, words};
use base::format::{self, percent, time_us};
use insight::limits::{BANDWIDTH_PERCENT, COMPILE_US, Limits, NEARLY_FULL_PERCENT};
use report::{DeviceMemory, Level, Platform, UNKNOWN, UnifiedProfile, View, metric};
use table::Unit;

pub(super) fn transfers(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "transfers",
        "How much of a step do copies between host and devices take?",
        "Share of a step taken by copies to and from the host that do not overlap with computation.",
        Unit::Percent,
        Some(metric!("step_breakdown.parts.h2d_us")),
        (View::Transfers, ""),
    );
    let Some(share) = share_of_step(profile, |parts| Some(parts.h2d_us + parts.d2h_us)) else {
        return asked.not_measured(profile, "This profile has no step breakdown.", better_file(profile));
    };
    let wait = profile.findings.iter().find(|finding| finding.id == "async_copy_wait");
    let waited = wait.and_then(|finding| finding.time_at_stake_percent).unwrap_or(0.0);
    let memory = profile.memory_operations.as_ref();
    let copies = memory.map_or(String::new(), |memory| {
        let sized = |it: &&report::Transfer| matches!(it.direction.as_str(), "H2D" | "D2H" | "h2d" | "d2h");
        let sizes = memory.transfers.iter().filter(sized).filter_map(|it| it.total_bytes);
        let bytes = sizes.fold(0, u64::saturating_add);
        if bytes > 0 { format!(", {} in the capture", format::bytes(bytes)) } else { String::new() }
    });
    // async_copy_wait also covers copies within a device. If that rule fires because of copies within a device, host copies
    // take the smaller part of the time.
    let rules = ["large_memory_transfers", "async_copy_wait"];
    let rules = if share >= 0.5 * waited { &rules[..] } else { &rules[..1] };
    let level = rules.iter().filter_map(|id| level_by_rules(profile, &[id])).max();
    let answer = asked.answer(
        share,
        level,
        format!("Copies that do not overlap with any op take {} {}{copies}.", percent(share), of_what(profile)),
        "Put data on the device once, before it is needed, and do not read results inside the loop.",
    );
    answer.advised_by(profile, rules)
}

pub(super) fn cpu_fallback(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "cpu_fallback",
        "Did the program run on the intended devices?",
        "Number of devices that ran at least one op.",
        Unit::Count,
        Some(metric!("metadata.num_devices")),
        (View::Devices, ""),
    );
    let metadata = &profile.metadata;
    if metadata.num_devices == 0 || metadata.platform == UNKNOWN {
        return asked.not_measured(profile, "This profile does not record the device.", better_file(profile));
    }
    let visible = metadata.num_devices_visible.filter(|visible| *visible > metadata.num_devices);
    let (level, more) = match (metadata.platform(), visible) {
        (Some(Platform::Cpu), _) => (Level::Warning, String::new()),
        (_, Some(visible)) => (Level::Warning, format!("; {} devices are visible", format::count(visible))),
        _ => (Level::Good, String::new()),
    };
    let devices = if metadata.num_devices == 1 { "device" } else { "devices" };
    asked
        .answer(
            metadata.num_devices as f64,
            Some(level),
            format!(
                "The program ran on {} {devices} of the platform {}{more}.",
                format::count(metadata.num_devices),
                format::printable(&metadata.platform)
            ),
            words(profile).check_devices,
        )
        .advised_by(profile, &["unused_visible_devices"])
}

const NEARLY_FULL: Limits = Limits { good: NEARLY_FULL_PERCENT, bad: f64::INFINITY };

/// Judges the percentage of a device's memory that is in use. Returns the level, and the limits in words.
pub fn fullness(percent: f64) -> (Level, String) {
    (NEARLY_FULL.judge(percent), limits_in_words::of(NEARLY_FULL, Unit::Percent))
}

pub(super) fn peak_memory(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "peak_memory",
        "Is the peak memory use below 90 %?",
        "Peak memory use of the fullest device, as a share of its capacity.",
        Unit::Percent,
        Some(metric!("memory.devices[].peak_percent")),
        (View::Memory, ""),
    )
    .within(NEARLY_FULL);
    // A CPU has no memory other than the host's.
    let how = if profile.metadata.platform() == Some(Platform::Cpu) { "" } else { words(profile).print_memory };
    let devices = profile.memory.iter().flat_map(|memory| &memory.devices);
    let share = |device: &&DeviceMemory| device.peak_percent.unwrap_or(-1.0);
    let Some(fullest) = devices.max_by(|a, b| share(a).total_cmp(&share(b))) else {
        return asked.not_measured(profile, "This profile contains times, but no data about device memory.", how);
    };
    let name = format::printable(&fullest.device_name);
    match (fullest.peak_percent, fullest.peak_bytes) {
        (Some(percent), Some(bytes)) => asked
            .answer(
                percent,
                asked.level(profile, &["near_memory_limit"], percent),
                format!(
                    "At its peak, {name} uses {}, which is {} of its memory.",
                    format::bytes(bytes),
                    format::percent(percent)
                ),
                "Find the largest buffers on the Memory page. Then rematerialise activations, or shard more arrays.",
            )
            .advised_by(profile, &["near_memory_limit"]),
        (None, Some(bytes)) => {
            asked.absent(format!("At its peak, {name} uses {}. Its capacity is unknown.", format::bytes(bytes)), how)
        }
        _ => asked.not_measured(profile, "This profile does not record the peak memory.", how),
    }
}

/// Assesses how much of the main memory's bandwidth the program uses.
pub fn memory_bandwidth(profile: &UnifiedProfile) -> Assessment {
    let program = metric!("roofline.program.hbm_bandwidth_percent");
    let asked = question(
        "memory_bandwidth",
        "How much of the memory bandwidth is used?",
        "Bytes that ops move to and from main memory, as a share of the bytes that the peak bandwidth allows in \
            the same time.",
        Unit::Percent,
        Some(program),
        (View::Roofline, ""),
    )
    .within(BANDWIDTH_PERCENT);
    let remedy = "A low value is fine if arithmetic is the limit. The roofline shows which ops are memory-bound, \
        and how close they are to the limit.";
    let says = |share: f64| format!("The program uses {} of the memory bandwidth.", percent(share));
    let roofline = profile.roofline.as_ref();
    let by_ops = roofline.and_then(|roofline| roofline.program.as_ref()?.hbm_bandwidth_percent);
    let answer = |asked: super::Question, share: f64, counted: f64| {
        let level = match bandwidth::memory_bound_percent(profile) {
            Some(bound) => bandwidth::level(share, bound, counted),
            None => Err(String::new()),
        };
        let why = level.as_ref().err().cloned().unwrap_or_default();
        let answer = format!("{} {why}", says(share)).trim_end().to_owned();
        asked.with_caveat(why).answer(share, level.ok(), answer, remedy)
    };
    if let Some(share) = by_ops {
        let counted = profile.op_statistics.as_ref().and_then(|ops| ops.known_cost_percent).unwrap_or_default() / 100.0;
        return answer(asked, share, counted);
    }
    // The TPU runtime measured this number.
    match roofline.and_then(|roofline| roofline.hbm_utilization_percent) {
        Some(share) => {
            let asked = super::Question { metric: Some(metric!("roofline.hbm_utilization_percent")), ..asked };
            answer(asked, share, 1.0)
        }
        None => asked.not_measured(
            profile,
            "The bytes that ops move, or the device's peak bandwidth, are unknown.",
            better_file(profile),
        ),
    }
}

/// Rules about exposed communication, the general rule first.
const COMMUNICATION: [&str; 2] = ["unhidden_collectives", "gradient_synchronization"];

pub(super) fn communication(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "communication",
        "How much of a step is exposed communication?",
        "Share of a step taken by communication that does not overlap with computation.",
        Unit::Percent,
        Some(metric!("step_breakdown.parts.communication_us")),
        (View::Communication, ""),
    );
    let share = share_of_step(profile, |parts| Some(parts.communication_us));
    // If a capture has one device, it may be one of many ranks with separate captures.
    if profile.metadata.num_devices == 1 && share.is_none_or(|share| share <= 0.0) {
        return asked.absent("One device ran, and it did not communicate.".to_owned(), "");
    }
    match share {
        Some(share) => asked
            .answer(
                share,
                level_by_rules(profile, &COMMUNICATION),
                format!("Exposed communication takes {} {}.", percent(share), of_what(profile)),
                "Shard so that devices exchange less data, and overlap the rest with computation.",
            )
            .advised_by(profile, &COMMUNICATION),
        None => asked.not_measured(profile, "This profile has no step breakdown.", better_file(profile)),
    }
}

pub(super) fn balance(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "balance",
        "Is the work spread evenly over the devices?",
        "Share of the busiest device's work that perfect balance would save.",
        Unit::Percent,
        Some(metric!("multi_device.busy_imbalance_percent")),
        (View::Devices, ""),
    );
    if profile.metadata.num_devices == 1 {
        return asked.absent("One device has all of the work.".to_owned(), "");
    }
    match profile.multi_device.as_ref().and_then(|devices| devices.busy_imbalance_percent) {
        Some(share) => asked
            .answer(
                share,
                level_by_rules(profile, &["straggler_device"]),
                format!("Perfect balance would reduce the busiest device's work by {}.", percent(share)),
                "Give the devices equal shards, and check the slowest one for overheating, low clocks and other \
                    work.",
            )
            .advised_by(profile, &["straggler_device"]),
        None => {
            asked.not_measured(profile, "This profile does not record how busy each device is.", better_file(profile))
        }
    }
}

/// Rules about compilation, the general rule first.
const COMPILATION: [&str; 3] = ["compile_time", "recompilation", "compilation"];

/// Assesses how long compiling took.
pub fn compilation(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "compilation",
        "How long did compilation take?",
        "Time during which a host thread compiles.",
        Unit::TimeUs,
        Some(metric!("compilation.compilation_time_us")),
        (View::Findings, "compil"),
    )
    .within(COMPILE_US)
    .with_caveat("Also bad if compilation interrupts the steps.");
    match &profile.compilation {
        Some(found) => asked
            .answer(
                found.compilation_time_us,
                // Recompiling short programs takes little time compared with the guide's limits, but much compared with the
                // steps of these programs.
                asked.level(profile, &COMPILATION, found.compilation_time_us),
                match found.num_compilation_events {
                    0 => "Nothing was compiled in the capture.".to_owned(),
                    _ => format!("Compilation took {} of the capture.", time_us(found.compilation_time_us)),
                },
                &format!(
                    "Warm up before the capture, and reuse compiled programs at the next start with {}.",
                    words(profile).compilation_cache
                ),
            )
            .advised_by(profile, &COMPILATION),
        None => asked.not_measured(profile, "This profile contains no host events.", better_file(profile)),
    }
}
