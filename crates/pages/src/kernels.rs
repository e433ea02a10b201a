//! Kernels page: the number, durations and kinds of work of kernels, their use of tensor cores, and the cost of launches.

use crate::category::rows_of_category;
use crate::overview::categories;
use crate::source::nothing_ran;
use crate::{PageQuery, Source, table_block};
use base::format;
use document::{Bar, Bars, Block, ColourClass, Figure, Link};
use metrics::{
    Context, Histogram, KernelStats, LaunchStatistics, Launches, Occurrences, OpFamily, SHORT_KERNEL, matrix_units,
};
use report::{UnifiedProfile, View};
use table::Unit;
use tables::TableName;
use trace::{Platform, StatValue};

pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    source.measured_or_recorded(|context| of_trace(context, query), |profile| of_profile(source, profile, query))
}

/// Returns the data that the profile alone contains, with all kernels that the profile lists.
fn of_profile(source: Source<'_>, profile: &UnifiedProfile, query: &PageQuery) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(section) = &profile.kernel_statistics {
        let sums = KernelFigures {
            is_gpu: profile.metadata.platform() == Some(Platform::Gpu),
            count: section.count,
            left_out: left_out(profile, section.count),
            distinct: section.distinct_count,
            per_step: profile.step_timing.kernels_per_step,
            mean_us: section.avg_time_us,
            range_us: None,
            short: section.short_count,
        };
        blocks.push(Block::Figures { figures: sums.figures() });
    }
    blocks.extend(source.table_block(TableName::TopKernels, "Top kernels", query));
    blocks.extend(source.table_block(TableName::Categories, "Categories", query));
    if let Some(section) = &profile.kernel_statistics {
        let of = section.families.iter().map(|it| (it.family.as_str(), it.time_us));
        blocks.push(Block::Bars(families(of, section.total_time_us)));
    }
    blocks.push(Block::Bars(categories(profile, &rows_of_category)));
    blocks.retain(|block| !matches!(block, Block::Bars(bars) if bars.bars.is_empty()));
    if blocks.is_empty() {
        blocks.push(source.not_measured("kernels"));
    }
    blocks
}

fn of_trace(context: &Context<'_>, query: &PageQuery) -> Vec<Block> {
    let stats = &context.analysis.kernel_stats;
    let Some(all) = &stats.all else { return vec![nothing_ran()] };
    let launches = &context.analysis.launches;
    let word = word(stats.platform == Some(Platform::Gpu));
    let mut blocks = vec![Block::Figures { figures: figures(context, stats, all) }];
    blocks.push(Block::Table(table_block(context, TableName::Kernels, "", &capital(word), query)));
    if stats.graph_with_op.count + stats.graph_without_op.count > 0 {
        blocks.push(Block::Note { text: graphs(stats) });
    }
    let of = stats.families.iter().map(|(family, sum)| (family.label(), sum.time.as_us()));
    blocks.push(Block::Bars(families(of, all.total.as_us())));
    blocks.push(Block::Bars(durations(
        &stats.histogram,
        format!("{} by duration", capital(word)),
        OpFamily::Matmul.into(),
    )));
    blocks.extend(launch_blocks(context, launches, query));
    blocks
}

/// Returns the word for the units of work on a device of this kind.
fn word(is_gpu: bool) -> &'static str {
    if is_gpu { "kernels" } else { "ops" }
}

fn capital(word: &str) -> String {
    if word == "kernels" { "Kernels".to_owned() } else { "Ops".to_owned() }
}

#[inline(never)]
fn figure(label: &str, value: Option<f64>, unit: Unit, note: String) -> Figure {
    Figure { label: label.to_owned(), value, unit, note, ..Figure::default() }
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

/// Values of the first figures, computed from the events or read from the profile.
struct KernelFigures {
    is_gpu: bool,
    count: u64,
    /// Number of ops with zero duration, which are not kernels. Unknown for GPUs.
    left_out: u64,
    distinct: u64,
    per_step: Option<f64>,
    mean_us: f64,
    /// Shortest and longest duration in microseconds. Absent if only the profile is available.
    range_us: Option<(f64, f64)>,
    short: u64,
}

impl KernelFigures {
    fn figures(&self) -> Vec<Figure> {
        let short_us = format::time_us(SHORT_KERNEL.as_us());
        let per_step = match self.per_step {
            Some(_) => "mean over devices and the steps of the window, copies included",
            None => "No steps found: see the Steps page.",
        };
        let short = match self.is_gpu {
            true => "of all kernels. The host takes about as long to launch one",
            false => "of all ops",
        };
        let left_out = match self.left_out {
            0 => String::new(),
            left_out => format!("; {} without a duration are left out", format::count(left_out)),
        };
        let range = |(min, max): (f64, f64)| format!("{} to {}", format::time_us(min), format::time_us(max));
        vec![
            figure(
                &capital(word(self.is_gpu)),
                Some(self.count as f64),
                Unit::Count,
                format!("{} distinct (by name, launch shape and op){left_out}", format::count(self.distinct)),
            ),
            figure("Device ops per step", self.per_step, Unit::Number, per_step.to_owned()),
            figure("Mean duration", Some(self.mean_us), Unit::TimeUs, self.range_us.map_or_else(String::new, range)),
            figure(
                &format!("Shorter than {short_us}"),
                share(self.short as f64, self.count as f64),
                Unit::Percent,
                short.to_owned(),
            ),
        ]
    }
}

/// Returns the number of ops with zero duration, which are not among the `count` kernels. Returns 0 for GPUs, where the
/// difference would include copies.
fn left_out(profile: &UnifiedProfile, count: u64) -> u64 {
    let is_gpu = profile.metadata.platform() == Some(Platform::Gpu);
    if is_gpu { 0 } else { profile.step_timing.total_kernels.saturating_sub(count) }
}

fn figures(context: &Context<'_>, stats: &KernelStats, all: &Occurrences) -> Vec<Figure> {
    let sums = KernelFigures {
        is_gpu: stats.platform == Some(Platform::Gpu),
        count: all.count,
        left_out: left_out(context.profile, all.count),
        distinct: stats.kernels.len() as u64,
        per_step: context.profile.step_timing.kernels_per_step,
        mean_us: all.mean_us(),
        range_us: Some((all.min.as_us(), all.max.as_us())),
        short: all.short,
    };
    let mut figures = sums.figures();
    if stats.platform != Some(Platform::Gpu) {
        return figures;
    }
    figures.push(tensor_cores(context, stats));
    figures.push(figure(
        "Occupancy",
        stats.mean_occupancy_percent,
        Unit::Percent,
        match stats.mean_occupancy_percent {
            Some(_) => "theoretical; the mean, weighted by time".to_owned(),
            None => assessments::no_occupancy(&context.profile.metadata).to_owned(),
        },
    ));
    figures
}

fn tensor_cores(context: &Context<'_>, stats: &KernelStats) -> Figure {
    let (matrix, fast) = (stats.matrix.time.as_us(), stats.matrix_on_tensor_cores.time.as_us());
    let label = format!("Matmul time on {}", matrix_units(&context.profile.metadata.device_type));
    if !may_have_tensor_cores(context) {
        return figure(
            &label,
            None,
            Unit::Percent,
            "This GPU has no tensor cores (compute capability below 7.0).".to_owned(),
        );
    }
    let note = if matrix > 0.0 {
        format!("of the {} in products, convolutions and attention, judged by kernel names", format::time_us(matrix))
    } else {
        "No kernel is known to compute a matrix product, a convolution or attention.".to_owned()
    };
    let filter = "is_kernel_using_tensor_core=no is_op_tensor_core_eligible=yes".to_owned();
    Figure { link: Some(Link::to(View::Kernels, &filter)), ..figure(&label, share(fast, matrix), Unit::Percent, note) }
}

/// Returns true if the device may have tensor cores. NVIDIA GPUs have tensor cores from compute capability 7.0 on.
/// Traces of other devices do not record whether the devices have tensor cores.
fn may_have_tensor_cores(context: &Context<'_>) -> bool {
    let trace = context.trace();
    let plane = context.analysis.devices.used.first().and_then(|device| trace.planes.get(device.plane));
    !matches!(plane.and_then(|plane| trace.plane_stat(plane, "compute_cap_major")), Some(StatValue::Int(..7)))
}

/// Formats the limits of a bucket: `2 to 4 µs`. The last bucket has no upper limit.
fn bucket_label(lower_us: f64, upper_us: f64) -> String {
    // Few digits suffice for powers of two.
    let short = |us: f64| format::time_us(us).replace(".00 ", " ").replace(".0 ", " ");
    match lower_us {
        lower if lower < 1.0 => format!("below {}", short(1.0)),
        lower if lower >= 1_048_576.0 => format!("over {}", short(lower)),
        lower => {
            let (from, to) = (short(lower), short(upper_us));
            match (from.rsplit_once(' '), to.rsplit_once(' ')) {
                (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {to}"),
                _ => format!("{from} to {to}"),
            }
        }
    }
}

fn durations(histogram: &Histogram, title: String, class: ColourClass) -> Bars {
    let filled = histogram.filled();
    let all: u64 = filled.iter().map(|(_, count)| count).sum();
    let bar = |buckets: &[(f64, u64)]| {
        let (first, last) = (buckets.first()?, buckets.last()?);
        Some(Bar {
            label: bucket_label(first.0, 2.0 * last.0),
            value: first.1 as f64,
            class,
            note: format::optional_percent(share(first.1 as f64, all as f64)),
            link: None,
        })
    };
    // Consecutive empty buckets share one row.
    let bars = filled.chunk_by(|a, b| a.1 == 0 && b.1 == 0).filter_map(bar).collect();
    Bars { title, unit: Unit::Count, bars, whole: Some(all as f64), ..Bars::default() }
}

/// Draws the time of each family of kernels, under its name in the report.
fn families<'a>(all: impl Iterator<Item = (&'a str, f64)>, total_us: f64) -> Bars {
    let bar = |(family, time_us): (&str, f64)| Bar {
        label: family.replace('_', " "),
        value: time_us,
        class: ColourClass::of_label(family),
        note: format::optional_percent(share(time_us, total_us)),
        link: Some(Link::to(View::Kernels, &format!("family={family}"))),
    };
    let bars = all.map(bar).collect();
    Bars { title: "Time by family".to_owned(), unit: Unit::TimeUs, bars, whole: Some(total_us), ..Bars::default() }
}

fn graphs(stats: &KernelStats) -> String {
    let (with, without) = (&stats.graph_with_op, &stats.graph_without_op);
    format!(
        "{} kernels ran in CUDA graphs (XLA's command buffers), whose events do not name the op. {} of these \
            kernels ({}) were matched to an op by graph node or name; {} ({}) were not.",
        format::count(with.count + without.count),
        format::count(with.count),
        format::time_us(with.time.as_us()),
        format::count(without.count),
        format::time_us(without.time.as_us()),
    )
}

fn launch_blocks(context: &Context<'_>, launches: &Launches, query: &PageQuery) -> Vec<Block> {
    let heading = |note: &str| Block::Heading { text: "Launches".to_owned(), note: Some(note.to_owned()) };
    if launches.is_empty() {
        let reason = match context.analysis.kernel_stats.platform {
            Some(Platform::Cpu) => "XLA's CPU backend calls its ops directly, so there are no launches.",
            _ => {
                "No call on the host could be matched to a device op. The host was not traced, or its events were \
                    dropped."
            }
        };
        let remedy = (context.analysis.kernel_stats.platform != Some(Platform::Cpu)).then(|| {
            "options = jax.profiler.ProfileOptions()\noptions.host_tracer_level = 2\njax.profiler.start_trace(\"/tmp/profile\", profiler_options=options)".to_owned()
        });
        return vec![heading(""), Block::Empty { reason: reason.to_owned(), remedy }];
    }
    let total = &launches.total;
    vec![
        heading("The call on the host that starts device work, and the time from its end until the work begins."),
        Block::Figures { figures: launch_figures(launches, total) },
        Block::Table(table_block(context, TableName::Launches, "", "Launches by call and kernel", query)),
        Block::Bars(durations(&total.delay_histogram, "Launches by delay".to_owned(), ColourClass::IDLE)),
        Block::Bars(durations(
            &total.host_histogram,
            "Launches by duration of the call".to_owned(),
            OpFamily::OtherCompute.into(),
        )),
        Block::Bars(durations(
            &total.device_histogram,
            "Launches by time on the device".to_owned(),
            OpFamily::Matmul.into(),
        )),
    ]
}

/// Describes further statistics of launch delays, and the number of launches without a known delay.
fn delays(launches: &Launches, total: &LaunchStatistics) -> String {
    let known = match (total.delay_us(total.delay_p95), total.delay_us(total.delay_max)) {
        (Some(p95), Some(max)) => format!("95th percentile {}, longest {}", format::time_us(p95), format::time_us(max)),
        _ => "unknown".to_owned(),
    };
    if total.early == 0 {
        return known;
    }
    format!(
        "{known}; {} of {} start before their call: the host and device clocks differ by at least {}",
        format::count(total.early),
        format::count(total.launches),
        format::time_us(launches.early_max.as_us())
    )
}

fn launch_figures(launches: &Launches, total: &LaunchStatistics) -> Vec<Figure> {
    let count = total.launches as f64;
    let joined = format!(
        "{} of {} device ops are matched to their calls",
        format::count(launches.joined_ops),
        format::count(launches.device_ops)
    );
    let mut figures = vec![
        figure("Launches", Some(count), Unit::Count, joined),
        figure("Median launch delay", total.delay_us(total.delay_median), Unit::TimeUs, delays(launches, total)),
        figure(
            "Mean call",
            total.mean_us(total.host),
            Unit::TimeUs,
            match total.runtime_outliers {
                1 => "1 call took more than 50 µs".to_owned(),
                outliers => format!("{} calls took more than 50 µs", format::count(outliers)),
            },
        ),
        figure(
            "Shorter than their call",
            share(total.short_kernels as f64, count),
            Unit::Percent,
            "of all launches take the host longer than the work takes the device".to_owned(),
        ),
    ];
    if let Some(queue) = launches.queues.iter().max_by_key(|queue| queue.max) {
        let mean = queue.mean().map_or(String::new(), |mean| format!(", mean {}", format::number(mean)));
        let blocked = if queue.blocked.as_ps() > 0 {
            format!("; the host was blocked for {} by a full queue", format::time_us(queue.blocked.as_us()))
        } else {
            String::new()
        };
        let note = format!(
            "of one stream{mean}; empty for {} of {}{blocked}",
            format::time_us(queue.empty.as_us()),
            format::time_us(queue.span.as_us())
        );
        figures.push(figure("Longest queue", Some(f64::from(queue.max)), Unit::Count, note));
    }
    figures
}
