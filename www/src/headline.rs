//! The headline figures of a run: what the cards of the overview say. Pure: a profile in, texts out.

use crossprof::format;

use crate::profile::{Kernels, Profile};
use crate::route::View;
use crate::status::{self, Status, Thresholds};

/// The fields behind the cards; docs/metrics.md defines each.
pub const FIELDS: [&str; 6] = [
    "step_timing.avg_step_time_us",
    "compute_utilization.compute_util_percent",
    "compute_utilization.overhead_time_us",
    "kernels.kernels_by_category.*.time_us",
    "compilation.compilation_time_us",
    "throughput.tokens_per_sec",
];

/// One card.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Headline {
    /// What it is, in two or three words.
    pub title: &'static str,
    /// Path of the field in the profile.
    pub field: &'static str,
    /// Three significant digits with the unit; absent where it was not measured.
    pub value: Option<String>,
    /// Every digit.
    pub exact: String,
    /// What stands below: spread, count, or why there is no value.
    pub detail: String,
    /// How it does.
    pub status: Option<Status>,
    /// The limits in words.
    pub limits: Option<&'static str>,
    /// The form of the Model page would give the value.
    pub needs_model: bool,
    /// The view that says more.
    pub view: View,
}

/// The cards, in the order in which they are read. An earlier result shows what it holds: a card that nothing can fill any more
/// says nothing.
pub fn headlines(profile: &Profile) -> Vec<Headline> {
    let mut cards = vec![
        step_time(profile),
        busy(profile),
        overhead(profile),
        mean_kernel(profile),
        compilation(profile),
        throughput(profile),
    ];
    if profile.metadata.source_format.as_deref() == Some("unified_profile") {
        cards.retain(|card| card.value.is_some() || card.needs_model);
    }
    cards
}

impl Headline {
    fn new(title: &'static str, field: &'static str, view: View) -> Headline {
        Headline { title, field, view, ..Headline::default() }
    }

    fn with(mut self, value: String, exact: String, detail: String) -> Headline {
        self.value = Some(value);
        self.exact = exact;
        self.detail = detail;
        self
    }

    fn judged(mut self, thresholds: &Thresholds, value: f64) -> Headline {
        self.status = thresholds.judge(value);
        self.limits = Some(thresholds.text);
        self
    }

    fn missing(mut self, profile: &Profile) -> Headline {
        self.detail = why_missing(profile, self.field).unwrap_or("not in this profile").to_owned();
        self
    }
}

/// Why a field is absent, where the profile says so; a reason for a section holds for its fields.
pub fn why_missing<'a>(profile: &'a Profile, field: &str) -> Option<&'a str> {
    let section = field.split('.').next().unwrap_or(field);
    let exact = profile.not_measured.iter().find(|missing| missing.field == field);
    let found = exact.or_else(|| profile.not_measured.iter().find(|missing| missing.field == section));
    found.map(|missing| missing.reason.as_str())
}

fn step_time(profile: &Profile) -> Headline {
    let timing = &profile.step_timing;
    let card = Headline::new("Step time", FIELDS[0], View::Steps);
    let Some(mean) = timing.avg_step_time_us else { return card.missing(profile) };
    let counted = timing.num_steps_counted.unwrap_or(timing.num_steps);
    let steps = if counted == 1 { "1 step".to_owned() } else { format!("{} steps", format::count(counted)) };
    let detail = match timing.stddev_step_time_us {
        Some(deviation) => format!("± {} over {steps}", format::time_us(deviation)),
        None => format!("over {steps}"),
    };
    card.with(format::time_us(mean), format::full_time_us(mean), detail)
}

fn busy(profile: &Profile) -> Headline {
    let card = Headline::new("Device busy", FIELDS[1], View::Devices);
    let Some(usage) = &profile.compute_utilization else { return card.missing(profile) };
    let share = usage.compute_util_percent;
    let window = match usage.window.as_deref() {
        Some("steps" | "given_steps") | None => "of each step",
        Some(_) => "of each device",
    };
    let mut detail = format!("{} {window}", format::time_us(usage.kernel_time_us));
    // A device that waits for copies or others is busy, but not at work: it is judged by the rest.
    let waits = waiting_share(&profile.kernels);
    if waits >= LEAST_WAITING {
        detail.push_str(&format!(", {} of it waiting in -done ops: judged without", format::percent(100.0 * waits)));
    }
    card.with(format::percent(share), format!("{} %", format::full(share)), detail)
        .judged(&status::UTILIZATION_PERCENT, share * (1.0 - waits))
}

/// Waiting that is said beside the busy share; less changes no judgement that matters.
const LEAST_WAITING: f64 = 0.01;

/// Share of the ops' self time in ops that only wait for what runs asynchronously (`copy-done`, `all-gather-done`), 0 to 1.
fn waiting_share(kernels: &Kernels) -> f64 {
    let time = |wanted: fn(&str) -> bool| -> f64 {
        kernels.kernels_by_category.iter().filter(|(name, _)| wanted(name)).map(|(_, category)| category.time_us).sum()
    };
    let all = time(|_| true);
    if all > 0.0 { time(|name| name.ends_with("-done")) / all } else { 0.0 }
}

fn overhead(profile: &Profile) -> Headline {
    let card = Headline::new("Host overhead", FIELDS[2], View::Steps);
    let Some(usage) = &profile.compute_utilization else { return card.missing(profile) };
    let whole = usage.kernel_time_us + usage.overhead_time_us;
    if whole <= 0.0 {
        return card.missing(profile);
    }
    let share = 100.0 * usage.overhead_time_us / whole;
    let detail = format!("{} without a device op", format::time_us(usage.overhead_time_us));
    card.with(format::percent(share), format!("{} %", format::full(share)), detail)
        .judged(&status::OVERHEAD_PERCENT, share)
}

fn mean_kernel(profile: &Profile) -> Headline {
    let card = Headline::new("Mean kernel", FIELDS[3], View::Kernels);
    let categories = profile.kernels.kernels_by_category.values();
    let (time_us, count) = categories
        .fold((0.0, 0u64), |(time, count), category| (time + category.time_us, count.saturating_add(category.count)));
    if count == 0 {
        return card.missing(profile);
    }
    let mean = time_us / count as f64;
    let detail = format!("self time of {} ops", format::count(count));
    let card = card.with(format::time_us(mean), format::full_time_us(mean), detail);
    // Ops of TPUs and CPUs are launched by the program on the device: short ones cost the host nothing. Nor do those of a GPU that is
    // busy all the same; without its busy share nothing tells.
    let busy = profile.compute_utilization.as_ref().map(|usage| usage.compute_util_percent);
    let is_held_up = busy.and_then(|busy| status::UTILIZATION_PERCENT.judge(busy)).is_none_or(|it| it != Status::Good);
    if profile.metadata.platform == "GPU" && is_held_up { card.judged(&status::KERNEL_US, mean) } else { card }
}

fn compilation(profile: &Profile) -> Headline {
    let card = Headline::new("Compilation", FIELDS[4], View::Findings);
    let Some(found) = &profile.compilation else { return card.missing(profile) };
    let time = found.compilation_time_us;
    let times = if found.num_compilation_events == 1 { "time" } else { "times" };
    let detail = format!(
        "{} {times}, {} of the capture",
        format::count(found.num_compilation_events),
        format::percent(found.compilation_percent)
    );
    card.with(format::time_us(time), format::full_time_us(time), detail).judged(&status::COMPILATION_US, time)
}

/// The best rate that is known: tokens, else samples, else steps.
fn throughput(profile: &Profile) -> Headline {
    let rates = &profile.throughput;
    let mut card = Headline::new("Throughput", FIELDS[5], View::Model);
    card.needs_model = rates.tokens_per_sec.is_none();
    let known =
        [(rates.tokens_per_sec, "tokens/s"), (rates.samples_per_sec, "samples/s"), (rates.steps_per_sec, "steps/s")];
    let Some((rate, unit)) = known.into_iter().find_map(|(rate, unit)| rate.map(|rate| (rate, unit))) else {
        return card.missing(profile);
    };
    let detail = match (rates.tokens_per_sec_per_device, unit) {
        (Some(each), _) if profile.metadata.num_devices > 1 => format!("{} per device", format::number(each)),
        (_, "steps/s") => "add the batch size for samples/s".to_owned(),
        (_, "samples/s") => "add the sequence length for tokens/s".to_owned(),
        _ => "whole run".to_owned(),
    };
    card.with(format!("{} {unit}", format::number(rate)), format!("{} {unit}", format::full(rate)), detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossprof::report::{ComputeUtilization, KernelCategory, NotMeasured};

    fn profile() -> Profile {
        serde_json::from_str(
            r#"{"metadata":{"platform":"TPU","device_type":"TPU","trace_file":"a","framework":"JAX","num_devices":2,"profiler_version":"1.0.0"},
            "model_config":{},"step_timing":{"num_steps":3,"total_time_us":3.0,"total_kernels":9,"step_count_source":"user","avg_step_time_us":33123.456},
            "throughput":{"steps_per_sec":30.19},"kernels":{"kernels_by_category":{}}}"#,
        )
        .unwrap()
    }

    #[test]
    fn what_is_there_is_shown_and_judged() {
        let mut profile = profile();
        profile.compute_utilization = Some(ComputeUtilization {
            compute_util_percent: 25.0,
            kernel_time_us: 1.0,
            overhead_time_us: 3.0,
            ..ComputeUtilization::default()
        });
        let cards = headlines(&profile);
        assert_eq!(cards[0].value.as_deref(), Some("33.1 ms"));
        assert_eq!(cards[0].exact, "33\u{202f}123.456 µs");
        assert_eq!(cards[1].status, Some(Status::Bad));
        assert_eq!(cards[2].value.as_deref(), Some("75.0 %"));
        assert_eq!(cards[5].value.as_deref(), Some("30.2 steps/s"));
        assert!(cards[5].needs_model);
    }

    #[test]
    fn an_earlier_result_shows_what_it_holds() {
        let mut profile = profile();
        let titles = |profile: &Profile| headlines(profile).iter().map(|card| card.title).collect::<Vec<_>>();
        assert_eq!(titles(&profile).len(), 6);
        profile.metadata.source_format = Some("unified_profile".to_owned());
        assert_eq!(titles(&profile), ["Step time", "Throughput"]);
    }

    #[test]
    fn short_ops_are_bad_only_where_the_host_launches_them() {
        let mut profile = profile();
        let short = KernelCategory { time_us: 140.0, count: 10, ..KernelCategory::default() };
        profile.kernels.kernels_by_category.insert("loop fusion".to_owned(), short);
        let mut of = |platform: &str| {
            profile.metadata.platform = platform.to_owned();
            let card = headlines(&profile).swap_remove(3);
            (card.value, card.status)
        };
        assert_eq!(of("GPU"), (Some("14.0 µs".to_owned()), Some(Status::Bad)));
        assert_eq!(of("TPU"), (Some("14.0 µs".to_owned()), None));
    }

    #[test]
    fn short_kernels_of_a_busy_gpu_are_not_bad() {
        let mut profile = profile();
        profile.metadata.platform = "GPU".to_owned();
        let short = KernelCategory { time_us: 140.0, count: 10, ..KernelCategory::default() };
        profile.kernels.kernels_by_category.insert("matmul".to_owned(), short);
        let mut at = |busy: f64| {
            profile.compute_utilization =
                Some(ComputeUtilization { compute_util_percent: busy, ..ComputeUtilization::default() });
            headlines(&profile).swap_remove(3).status
        };
        assert_eq!((at(96.0), at(70.0)), (None, Some(Status::Bad)));
    }

    #[test]
    fn a_device_that_waits_is_busy_but_not_good() {
        let mut profile = profile();
        profile.compute_utilization =
            Some(ComputeUtilization { compute_util_percent: 100.0, kernel_time_us: 784e3, ..Default::default() });
        let mut spent = |name: &str, time_us: f64| {
            let category = KernelCategory { time_us, count: 1, ..KernelCategory::default() };
            profile.kernels.kernels_by_category.insert(name.to_owned(), category);
            let card = headlines(&profile).swap_remove(1);
            (card.status, card.detail)
        };
        assert_eq!(spent("loop fusion", 34.0).0, Some(Status::Good));
        let (status, detail) = spent("copy-done", 966.0);
        assert_eq!(status, Some(Status::Bad));
        assert!(detail.ends_with("96.6 % of it waiting in -done ops: judged without"), "{detail}");
    }

    #[test]
    fn what_is_missing_says_why() {
        let mut profile = profile();
        let reason = "The trace holds no compile span.".to_owned();
        profile.not_measured.push(NotMeasured { field: "compilation".into(), reason, remedy: None });
        let cards = headlines(&profile);
        assert_eq!(cards[4].value, None);
        assert_eq!(cards[4].detail, "The trace holds no compile span.");
        assert_eq!(cards[3].status, None);
    }
}
