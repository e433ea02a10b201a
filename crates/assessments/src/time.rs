//! Questions about a step: how long it takes, and what the devices wait for.

use super::{
    Assessment, better_file, capture_host, capture_steps, fired, is_unchecked, level_by_rules, question, words,
};
use base::Cut;
use base::format::{self, percent, time_us};
use insight::idle_rules;
use insight::limits::{BUSY_PERCENT, HOST_BOUND_PERCENT, IDLE_PERCENT, INPUT_BOUND_PERCENT, SLOWED_PERCENT};
use report::{Finding, Level, Platform, UnifiedProfile, View, metric};
use table::Unit;

pub(super) fn step_time(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "step_time",
        "How long does a step take?",
        "Mean duration of the counted steps.",
        Unit::TimeUs,
        Some(metric!("step_timing.avg_step_time_us")),
        (View::Steps, ""),
    );
    let timing = &profile.step_timing;
    let Some(mean) = timing.avg_step_time_us else {
        return asked.not_measured(profile, "No step markers found.", &capture_steps(profile));
    };
    let steps = timing.num_steps_counted.unwrap_or(timing.num_steps);
    let spread = timing.stddev_step_time_us.map_or(String::new(), |it| format!(" ± {}", time_us(it)));
    let over = format::counted(steps, "step");
    let long = long_steps(profile).map_or(String::new(), |finding| format!(" {}.", finding.title));
    let level = level_by_rules(profile, &[LONG_STEPS]).filter(|it| *it != Level::Good);
    asked
        .answer(
            mean,
            level,
            format!("A step takes {}{spread} on average over {over}.{long}", time_us(mean)),
            "Compare the longest step with a typical one.",
        )
        .advised_by(profile, &[LONG_STEPS])
}

/// Rule about steps that take longer than the median step.
const LONG_STEPS: &str = "step_time_variation";

fn long_steps(profile: &UnifiedProfile) -> Option<&Finding> {
    fired(profile, &[LONG_STEPS]).next()
}

/// Returns the rules about one part of a step, and a note for the answer. `evidence` names the part. If long steps lose
/// the most time to this part, adds the rule about long steps to the rules, and its result to the note.
fn with_long_steps<'a>(profile: &UnifiedProfile, rules: &[&'a str], evidence: &str) -> (Vec<&'a str>, String) {
    let lost = long_steps(profile).filter(|finding| finding.evidence.iter().any(|it| it.name == evidence));
    let rules = rules.iter().copied().chain(lost.map(|_| LONG_STEPS)).collect();
    (rules, lost.map_or(String::new(), |finding| format!(" {}.", finding.title)))
}

/// Returns the percentage of a step that a part of it takes.
pub(super) fn share_of_step(profile: &UnifiedProfile, part: impl Fn(&report::StepParts) -> Option<f64>) -> Option<f64> {
    let steps = profile.step_breakdown.as_ref().filter(|steps| steps.duration_us > 0.0)?;
    Some(100.0 * part(&steps.parts)? / steps.duration_us)
}

/// Names the whole that [`share_of_step`] divides by: a step, or the window if no steps were found.
pub(super) fn of_what(profile: &UnifiedProfile) -> &'static str {
    if profile.step_timing.avg_step_time_us.is_some() { "of a step" } else { "of the time" }
}

pub(super) fn host_overhead(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "host_overhead",
        "For how much of a step do devices wait for the host?",
        "Share of a step during which devices are idle because their next op was launched late.",
        Unit::Percent,
        Some(metric!("step_breakdown.parts.host_bound_us")),
        (View::Steps, ""),
    )
    .within(HOST_BOUND_PERCENT);
    let (rules, long) = with_long_steps(profile, &["host_overhead"], "host_bound_us");
    // Ops whose events are missing may have run during that time.
    let events_are_missing = base::cut(&profile.warnings).is_some_and(|cut| cut > Cut::Earliest);
    let (verb, doubt) = if events_are_missing {
        ("appear to wait", " Events are missing, so ops may have run during that time.")
    } else {
        ("wait", "")
    };
    match share_of_step(profile, |parts| parts.host_bound_us) {
        Some(share) => asked
            .answer(
                share,
                asked.level(profile, &rules, share),
                format!(
                    "Devices {verb} {} {} for the host to launch their next op.{doubt}{long}",
                    percent(share),
                    of_what(profile)
                ),
                &format!(
                    "Let the host run ahead: do not read a result in every step ({}), and put the whole step into \
                        one {}.",
                    words(profile).reads,
                    words(profile).compiler
                ),
            )
            .advised_by(profile, &rules),
        None => asked.not_measured(profile, no_launches(profile), &capture_host(profile)),
    }
}

pub(super) fn device_idle(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "device_idle",
        "For how much of a step are devices idle?",
        "Share of the time during which a device runs nothing.",
        Unit::Percent,
        Some(metric!("compute_utilization.overhead_time_us")),
        (View::Steps, ""),
    )
    .within(IDLE_PERCENT);
    let Some(busy) = &profile.compute_utilization else {
        return asked.not_measured(profile, NOTHING_RAN, better_file(profile));
    };
    let idle = 100.0 - busy.compute_util_percent;
    let causes = profile.step_breakdown.iter().flat_map(|steps| {
        let parts = &steps.parts;
        [
            (parts.barrier_us, "barriers"),
            (parts.compile_us, "compilation"),
            (parts.input_bound_us, "input"),
            (parts.host_bound_us, "the host"),
            (parts.kernel_wait_us, "launches"),
        ]
    });
    let largest = causes.filter_map(|(time, cause)| Some((time.filter(|time| *time > 0.0)?, cause)));
    let largest = largest.fold(None, |most: Option<(f64, &str)>, it| match most {
        Some(most) if most.0 >= it.0 => Some(most),
        _ => Some(it),
    });
    let unknown = profile.step_breakdown.as_ref().map_or(0.0, |steps| steps.parts.other_idle_us);
    let cause = match largest {
        Some((known, _)) if known < unknown => "; the cause of most of the idle time is not in the file".to_owned(),
        Some((_, cause)) => format!("; most of the idle time with a known cause is waiting for {cause}"),
        None => String::new(),
    };
    asked
        .answer(
            idle,
            asked.level(profile, &idle_rules::IDS, idle),
            format!("Devices are idle for {} of the time{cause}.", percent(idle)),
            "Look at the causes of idle time, and at the longest gaps (Devices page).",
        )
        .advised_by(profile, &idle_rules::IDS)
}

/// Explains why there is no data about launches.
fn no_launches(profile: &UnifiedProfile) -> &'static str {
    match profile.metadata.platform() {
        Some(Platform::Cpu) => "Ops on a CPU are not launched: the program calls them.",
        _ => "This profile does not record when device ops were launched.",
    }
}

const NOTHING_RAN: &str = "This profile does not record when devices were busy.";

pub(super) fn kernel_launch(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "kernel_launch",
        "For how much of a step do kernels wait after their launch?",
        "Share of a step during which a device is idle although its next op was launched.",
        Unit::Percent,
        Some(metric!("step_breakdown.parts.kernel_wait_us")),
        (View::Steps, ""),
    )
    .within(HOST_BOUND_PERCENT);
    match share_of_step(profile, |parts| parts.kernel_wait_us) {
        Some(share) => asked.answer(
            share,
            asked.level(profile, &[], share).filter(|_| !is_unchecked(profile, "host_overhead")),
            format!(
                "Devices are idle {} {} between the launch of a kernel and its start.",
                percent(share),
                of_what(profile)
            ),
            &format!("Launch fewer, larger kernels: put more of the step into one {}.", words(profile).compiler),
        ),
        None => asked.not_measured(profile, no_launches(profile), &capture_host(profile)),
    }
}

pub(super) fn input(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "input",
        "For how much of a step do devices wait for input?",
        "Share of a step during which devices are idle because the host was in the input pipeline.",
        Unit::Percent,
        Some(metric!("step_breakdown.parts.input_bound_us")),
        (View::Steps, ""),
    )
    .within(INPUT_BOUND_PERCENT);
    let (rules, long) = with_long_steps(profile, &["data_loading", "input_bound"], "input_bound_us");
    match share_of_step(profile, |parts| parts.input_bound_us) {
        Some(share) => asked
            .answer(
                share,
                asked.level(profile, &rules, share),
                format!("Devices wait {} {} for the input pipeline.{long}", percent(share), of_what(profile)),
                "Prefetch batches to the device in another thread, and read them in parallel.",
            )
            .advised_by(profile, &rules),
        None => asked.not_measured(
            profile,
            "No step markers or no host events were found, so waiting for input cannot be separated from other idle \
             time.",
            &format!(
                "Capture with {}, and load the input inside {}.",
                words(profile).host_events,
                words(profile).next_batch_range
            ),
        ),
    }
}

/// Assesses how busy the devices are.
pub fn device_utilization(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "device_utilization",
        "How busy are the devices?",
        "Share of the time during which a device runs an op, including copies and communication.",
        Unit::Percent,
        Some(metric!("compute_utilization.compute_util_percent")),
        (View::Devices, ""),
    )
    .within(BUSY_PERCENT)
    .with_caveat("Waiting for copies and other devices is not busy time.");
    let Some(busy) = &profile.compute_utilization else {
        return asked.not_measured(profile, NOTHING_RAN, better_file(profile));
    };
    let value = busy.compute_util_percent;
    let waits = super::waiting_share(&profile.kernels);
    let only_waits =
        if waits < 0.01 { String::new() } else { format!("; {} of this is only waiting", percent(100.0 * waits)) };
    asked.answer(
        value,
        asked.level(profile, &idle_rules::IDS, value * (1.0 - waits)),
        format!("Devices are busy for {} of the time{only_waits}.", percent(value)),
        "To find out what the devices wait for, see the questions about the host, launches, input, copies and \
            communication.",
    )
}

/// Assesses how much tracing slowed the run down. The slowdown shows how reliable the run's times are.
pub fn slowed_by_tracing(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "slowed_by_tracing",
        "How much longer does a step take because of tracing?",
        "Increase in step time caused by tracing.",
        Unit::Percent,
        Some(metric!("tracing.slowdown")),
        (View::Steps, ""),
    )
    .within(SLOWED_PERCENT)
    .with_caveat("Beyond the bad limit, idle time and launches are not representative of the program.");
    let Some(measured) = profile.tracing.as_ref().filter(|measured| measured.slowed_percent().is_finite()) else {
        return asked.absent("Only the capture kit also measures steps without tracing.".to_owned(), "");
    };
    let percent = measured.slowed_percent();
    let [traced, untraced] = [measured.traced_step_time_us, measured.untraced_step_time_us].map(time_us);
    asked
        .answer(
            percent,
            asked.level(profile, &["slowed_by_tracing"], percent),
            format!("A step takes {traced} with tracing, and {untraced} without."),
            "Use shares of device time instead of step times, and trace less.",
        )
        .advised_by(profile, &["slowed_by_tracing"])
}
