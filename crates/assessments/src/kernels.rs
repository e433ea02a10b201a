//! Questions about kernels and ops.

use super::{Assessment, better_file, capture_steps, fired, level_by_rules, question, words};
use base::format::{self, percent, time_us};
use insight::limits::{
    BUSY_PERCENT, DOMINANT_OP_OF_WINDOW_PERCENT, DOMINANT_OP_PERCENT, Limits, OCCUPANCY_PERCENT, SHORT_MEAN_KERNEL_US,
    are_short_kernels_costly, mean_kernel,
};
use report::{Level, Platform, UnifiedProfile, View, metric};
use table::Unit;

/// No mean kernel duration is judged as bad, because short kernels cost time only if the devices wait.
const MEAN_KERNEL: Limits = Limits { good: SHORT_MEAN_KERNEL_US, bad: f64::NEG_INFINITY };
const DOMINANT_OP: Limits = Limits { good: DOMINANT_OP_PERCENT, bad: f64::INFINITY };
const OCCUPANCY: Limits = Limits { good: OCCUPANCY_PERCENT, bad: f64::NEG_INFINITY };

/// Rules about short kernels, the general rule first.
const SHORT: [&str; 2] = ["short_mean_kernel", "many_small_kernels"];

/// Returns a sentence about the devices for which short kernels are judged.
fn short_kernels_cost() -> String {
    format!(
        "Judged only on GPUs that are busy for less than {} % of the time, because short kernels cost the host \
            launch time.",
        BUSY_PERCENT.good
    )
}

/// Assesses how long a kernel is on average.
pub fn kernel_duration(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "kernel_duration",
        "How long is a kernel on average?",
        "Mean duration of a kernel; on devices other than GPUs, mean self time of an op.",
        Unit::TimeUs,
        Some(metric!("kernel_statistics.avg_time_us")),
        (View::Kernels, ""),
    )
    .within(MEAN_KERNEL)
    .with_caveat(short_kernels_cost());
    let Some((mean, count)) = mean_kernel(profile) else {
        return asked.not_measured(profile, "This profile lists no kernels.", better_file(profile));
    };
    asked
        .answer(
            mean,
            asked.level(profile, &SHORT, mean).filter(|_| are_short_kernels_costly(profile)),
            match profile.metadata.platform() {
                Some(Platform::Gpu) => {
                    format!("A kernel takes {} on average over {}.", time_us(mean), format::counted(count, "kernel"))
                }
                _ => format!("An op takes {} on average over {}.", time_us(mean), format::counted(count, "op")),
            },
            &format!(
                "Short kernels cost time only if the devices are not busy. If the devices are idle, give each \
                    kernel more work: use a larger batch, or put more of the program into one {}.",
                words(profile).compiler
            ),
        )
        .advised_by(profile, &SHORT)
}

pub(super) fn small_kernels(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "small_kernels",
        "Are there many small kernels?",
        "Share of the kernels that are shorter than 10 µs.",
        Unit::Percent,
        Some(metric!("kernel_statistics.short_count")),
        (View::Kernels, "avg_duration_us<10"),
    );
    let Some(all) = profile.kernel_statistics.as_ref().filter(|all| all.count > 0) else {
        return asked.not_measured(profile, "This profile does not list individual kernels.", better_file(profile));
    };
    let share = 100.0 * all.short_count as f64 / all.count as f64;
    let is_gpu = profile.metadata.platform() == Some(Platform::Gpu);
    let level = level_by_rules(profile, &["many_small_kernels"]).filter(|_| is_gpu);
    let why = match level {
        Some(Level::Good) => " The gaps between them are too short to matter.".to_owned(),
        None if profile.findings.iter().any(|it| it.id == "many_programs") => {
            " The host launches many small programs per step, which costs time (see the findings).".to_owned()
        }
        None if !is_gpu => " The host does not launch them one by one, so short kernels cost nothing.".to_owned(),
        Some(_) => shorter_than_limit(profile),
        None => String::new(),
    };
    let answer = format!(
        "{} of {} {} ({}) are shorter than 10 µs.{why}",
        format::count(all.short_count),
        format::count(all.count),
        if is_gpu { "kernels" } else { "ops" },
        percent(share)
    );
    let remedy = format!(
        "Let the compiler fuse them: apply {} to larger functions, use fewer branches, and avoid Python loops \
            over small arrays.",
        words(profile).compiler
    );
    asked.answer(share, level, answer, &remedy).advised_by(profile, &["many_small_kernels"])
}

/// Describes the finding `many_small_kernels`, whose limit for short kernels differs from the question's.
fn shorter_than_limit(profile: &UnifiedProfile) -> String {
    let mut evidence = fired(profile, &["many_small_kernels"]).flat_map(|finding| &finding.evidence);
    evidence.find(|it| it.name == "short_kernel_percent").map_or_else(String::new, |it| {
        format!(" {} are shorter than 0.1 ms, and the devices wait between them.", percent(it.value))
    })
}

/// Returns the name of each op, its percentage of the total self time, and its self time in microseconds, largest
/// first.
fn ops(profile: &UnifiedProfile) -> Vec<(&str, Option<f64>, f64)> {
    match &profile.op_statistics {
        Some(ops) => {
            // `self_time_percent` refers to the window, including idle time.
            let share = |time: f64| (ops.op_time_us > 0.0).then(|| 100.0 * time / ops.op_time_us);
            ops.top_ops.iter().map(|op| (op.name.as_str(), share(op.self_time_us), op.self_time_us)).collect()
        }
        None => {
            let all = profile.kernels.kernels_by_category.values().map(|it| it.time_us).sum::<f64>();
            let share = |time: f64| (all > 0.0).then(|| 100.0 * time / all);
            let kernels = profile.kernels.top_kernels.iter();
            kernels.map(|it| (it.name.as_str(), it.percent.or(share(it.total_us)), it.total_us)).collect()
        }
    }
}

const NO_OPS: &str = "This profile lists no ops.";

fn named(name: &str) -> String {
    format::printable(&format::shorten(name, 40))
}

pub(super) fn top_ops(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "top_ops",
        "Which five ops take the most time?",
        "Self time of the five largest ops, as a share of the self time of all ops.",
        Unit::Percent,
        Some(metric!("op_statistics.top_ops")),
        (View::Ops, ""),
    );
    let ops = ops(profile);
    let top: Vec<(&str, f64)> = ops.iter().take(5).filter_map(|op| Some((op.0, op.1?))).collect();
    if top.is_empty() {
        return asked.not_measured(profile, NO_OPS, better_file(profile));
    }
    let list: Vec<String> = top.iter().map(|(name, share)| format!("{} {}", named(name), percent(*share))).collect();
    let sum = top.iter().map(|op| op.1).sum();
    let answer = format!(
        "Ops with the most self time: {}. Together, they take {} of all op time.",
        list.join(", "),
        percent(sum)
    );
    asked.answer(sum, None, answer, "")
}

pub(super) fn dominant_op(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "dominant_op",
        "Does one op take more than half of the op time?",
        "Self time of the largest op, as a share of the self time of all ops.",
        Unit::Percent,
        Some(metric!("op_statistics.top_ops")),
        (View::Ops, ""),
    )
    .within(DOMINANT_OP);
    let Some((name, share)) = ops(profile).first().and_then(|op| Some((op.0, op.1?))) else {
        return asked.not_measured(profile, NO_OPS, better_file(profile));
    };
    // If the devices mostly wait, this op does not delay them.
    let of_window = share * profile.op_statistics.as_ref().map_or(1.0, |ops| ops.op_time_us / ops.device_time_us);
    asked
        .answer(
            share,
            asked
                .level(profile, &["dominant_op"], share)
                .filter(|it| *it == Level::Good || of_window >= DOMINANT_OP_OF_WINDOW_PERCENT),
            format!("The op with the most self time, {}, takes {} of all op time.", named(name), percent(share)),
            "Profile this op on its own. Consider another algorithm, or a library kernel.",
        )
        .advised_by(profile, &["dominant_op"])
}

/// Returns the number of (step, device) pairs that the times of [`ops`] cover. If there are none, returns the reason and a
/// remedy.
fn device_steps(profile: &UnifiedProfile) -> Result<u64, (&'static str, String)> {
    let timing = &profile.step_timing;
    if timing.num_steps == 0 {
        return Err(("No step markers found, so the time of an op in a step is unknown.", capture_steps(profile)));
    }
    match (&profile.window, &profile.step_ops) {
        (Some(window), _) if window.num_steps.is_none() => Err((
            "The window does not consist of steps, so the time of an op in a step is unknown.",
            "Choose the counted steps as the window.".to_owned(),
        )),
        (Some(_), Some(ops)) if ops.device_steps > 0 => Ok(ops.device_steps),
        _ => {
            let in_window = profile.window.as_ref().and_then(|window| window.num_steps);
            let steps = in_window.or(timing.num_steps_counted).unwrap_or(timing.num_steps).max(1);
            Ok(steps.saturating_mul(profile.metadata.num_devices.max(1)))
        }
    }
}

pub(super) fn long_ops(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "long_ops",
        "Which ops take more than 50 ms of a step?",
        "Number of ops that take more than 50 ms per step per device.",
        Unit::Count,
        Some(metric!("op_statistics.top_ops")),
        (View::Ops, ""),
    );
    let ops = ops(profile);
    let Some(first) = ops.first() else { return asked.not_measured(profile, NO_OPS, better_file(profile)) };
    let runs = match device_steps(profile) {
        Ok(runs) => runs,
        Err((why, how)) => return asked.absent(why.to_owned(), &how),
    };
    let per_step = |op: &(&str, Option<f64>, f64)| op.2 / runs as f64;
    let long: Vec<String> = ops
        .iter()
        .filter(|op| per_step(op) > 50_000.0)
        .map(|op| format!("{} {}", named(op.0), time_us(per_step(op))))
        .collect();
    let answer = match long.len() {
        0 => format!(
            "None. The longest is {}, with {} per step per \
            device.",
            named(first.0),
            time_us(per_step(first))
        ),
        _ => format!("{}, per step per device.", long.iter().take(5).cloned().collect::<Vec<_>>().join(", ")),
    };
    let level = if long.is_empty() { Level::Good } else { Level::Warning };
    asked.answer(
        long.len() as f64,
        Some(level),
        answer,
        "Check whether the op's work needs this much time. The roofline shows how close the op is to the device's \
         peak.",
    )
}

pub(super) fn occupancy(profile: &UnifiedProfile) -> Assessment {
    let asked = question(
        "occupancy",
        "How high is the occupancy of the kernels?",
        "Mean theoretical occupancy of the kernels, weighted by time.",
        Unit::Percent,
        Some(metric!("kernel_statistics.occupancy_percent")),
        (View::Kernels, "occupancy_pct<50"),
    )
    .within(OCCUPANCY);
    match profile.kernel_statistics.as_ref().and_then(|kernels| kernels.occupancy_percent) {
        Some(share) => asked
            .answer(
                share,
                // A low occupancy costs nothing if memory or matrix units are the limit. The rule finds the kernels for which
                // it costs time.
                asked.level(profile, &["low_occupancy"], share).filter(|&it| it != Level::Warning),
                format!("The theoretical occupancy of the kernels is {} on average.", percent(share)),
                "Occupancy matters for kernels that use neither tensor cores nor libraries. Use fewer registers \
                    or less shared memory per block.",
            )
            .advised_by(profile, &["low_occupancy"]),
        None if profile.metadata.platform() == Some(Platform::Gpu) => {
            asked.not_measured(profile, super::no_occupancy(&profile.metadata), "")
        }
        None => asked.absent("Only GPU kernels have an occupancy.".to_owned(), ""),
    }
}
