//! The page of kernels: how many and how long they are, what they do, whether they use tensor cores, and what launching
//! them costs.

use super::{Bar, Bars, Block, Figure, Link, Page, PageQuery, table_block};
use crate::table::Unit;
use crate::tables::TableName;
use base::format;
use metrics::{Context, Histogram, KernelStats, LaunchStatistics, Launches, Occurrences, SHORT_KERNEL};
use trace::{Platform, StatValue};

/// The page.
pub fn page(context: &Context<'_>, query: &PageQuery) -> Page {
    let stats = &context.analysis.kernel_stats;
    let Some(all) = &stats.all else { return Page { blocks: vec![nothing_ran()] } };
    let launches = &context.analysis.launches;
    let word = if stats.platform == Some(Platform::Gpu) { "kernels" } else { "ops" };
    let mut blocks = vec![Block::Figures { figures: figures(context, stats, all, word) }];
    blocks.push(Block::Bars(durations(&stats.histogram, format!("{} by duration", capital(word)), "matmul")));
    blocks.push(Block::Bars(families(stats, all)));
    if stats.graph_with_op.count + stats.graph_without_op.count > 0 {
        blocks.push(Block::Note { text: graphs(stats) });
    }
    blocks.push(Block::Table(table_block(context, TableName::Kernels, "", &capital(word), query)));
    blocks.extend(launch_blocks(context, launches, query));
    Page { blocks }
}

fn capital(word: &str) -> String {
    if word == "kernels" { "Kernels".to_owned() } else { "Ops".to_owned() }
}

fn nothing_ran() -> Block {
    Block::Empty {
        reason: "No kernel or op ran on a device while the profile was taken.".to_owned(),
        remedy: Some(
            "with jax.profiler.trace(\"/tmp/profile\"):\n    jax.block_until_ready(train_step(state, batch))"
                .to_owned(),
        ),
    }
}

fn figure(label: &str, value: Option<f64>, unit: Unit, note: String) -> Figure {
    Figure { label: label.to_owned(), value, unit, note, status: None, metric: None, link: None }
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

fn figures(context: &Context<'_>, stats: &KernelStats, all: &Occurrences, word: &str) -> Vec<Figure> {
    let per_step = context.analysis.profile.step_timing.kernels_per_step;
    let short_us = format::time_us(SHORT_KERNEL.as_us());
    let mut figures = vec![
        figure(
            &capital(word),
            Some(all.count as f64),
            Unit::Count,
            format!("{} distinct by name, launch shape and op", format::count(stats.kernels.len() as u64)),
        ),
        figure(
            "Device ops in a step",
            per_step,
            Unit::Number,
            if per_step.is_some() {
                "mean over devices and the steps of the window, copies included".to_owned()
            } else {
                "No steps found: see the Steps page.".to_owned()
            },
        ),
        figure(
            "Mean duration",
            Some(all.mean_us()),
            Unit::TimeUs,
            format!("{} to {}", format::time_us(all.min.as_us()), format::time_us(all.max.as_us())),
        ),
        figure(
            &format!("Shorter than {short_us}"),
            share(all.short as f64, all.count as f64),
            Unit::Percent,
            if stats.platform == Some(Platform::Gpu) {
                "of all kernels: launching one costs the host about as much".to_owned()
            } else {
                "of all ops".to_owned()
            },
        ),
    ];
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
            None => "The trace does not state it: ROCm's never do, and JAX's JSON may lack kernel_details.".to_owned(),
        },
    ));
    figures
}

fn tensor_cores(context: &Context<'_>, stats: &KernelStats) -> Figure {
    let (matrix, fast) = (stats.matrix.time.as_us(), stats.matrix_on_tensor_cores.time.as_us());
    let label = "Matrix time on tensor cores";
    if !may_have_tensor_cores(context) {
        return figure(
            label,
            None,
            Unit::Percent,
            "This GPU has no tensor cores (compute capability below 7.0).".to_owned(),
        );
    }
    let note = if matrix > 0.0 {
        format!("of the {} in products, convolutions and attention, told by kernel names", format::time_us(matrix))
    } else {
        "No kernel is known to compute a product, a convolution or attention.".to_owned()
    };
    let filter = "is_kernel_using_tensor_core=no is_op_tensor_core_eligible=yes".to_owned();
    Figure {
        link: Some(Link { view: "kernels".to_owned(), filter }),
        ..figure(label, share(fast, matrix), Unit::Percent, note)
    }
}

/// NVIDIA's GPUs have them from compute capability 7.0 on; of others the trace does not tell.
fn may_have_tensor_cores(context: &Context<'_>) -> bool {
    let trace = context.trace();
    let plane = context.analysis.devices.used.first().and_then(|device| trace.planes.get(device.plane));
    !matches!(plane.and_then(|plane| trace.plane_stat(plane, "compute_cap_major")), Some(StatValue::Int(..7)))
}

/// `2 to 4 µs`; the last bucket has no upper end.
fn bucket_label(lower_us: f64) -> String {
    // Powers of two are told apart by few digits.
    let short = |us: f64| format::time_us(us).replace(".00 ", " ").replace(".0 ", " ");
    match lower_us {
        lower if lower < 1.0 => format!("below {}", short(1.0)),
        lower if lower >= 1_048_576.0 => format!("over {}", short(lower)),
        lower => {
            let (from, to) = (short(lower), short(2.0 * lower));
            match (from.rsplit_once(' '), to.rsplit_once(' ')) {
                (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {to}"),
                _ => format!("{from} to {to}"),
            }
        }
    }
}

fn durations(histogram: &Histogram, title: String, class: &str) -> Bars {
    let filled = histogram.filled();
    let all: u64 = filled.iter().map(|(_, count)| count).sum();
    let bar = |(lower, count): (f64, u64)| Bar {
        label: bucket_label(lower),
        value: count as f64,
        class: class.to_owned(),
        note: format::optional_percent(share(count as f64, all as f64)),
        link: None,
    };
    Bars { title, unit: Unit::Count, bars: filled.into_iter().map(bar).collect() }
}

fn families(stats: &KernelStats, all: &Occurrences) -> Bars {
    let bar = |(family, sum): &(metrics::OpFamily, metrics::KernelSum)| Bar {
        label: family.label().replace('_', " "),
        value: sum.time.as_us(),
        class: family.label().to_owned(),
        note: format::optional_percent(share(sum.time.as_us(), all.total.as_us())),
        link: Some(Link { view: "kernels".to_owned(), filter: format!("family={}", family.label()) }),
    };
    Bars { title: "Time by family".to_owned(), unit: Unit::TimeUs, bars: stats.families.iter().map(bar).collect() }
}

fn graphs(stats: &KernelStats) -> String {
    let (with, without) = (&stats.graph_with_op, &stats.graph_without_op);
    format!(
        "{} kernels ran in CUDA graphs (XLA's command buffers), whose events name no op. {} of them ({}) were given the op of \
         their graph node or name; {} ({}) stay without one.",
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
            Some(Platform::Cpu) => "XLA's CPU backend calls its ops directly: nothing is launched.",
            _ => {
                "No call on the host can be matched with a device op: the host was not traced, or its events were dropped."
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
        Block::Bars(durations(&total.delay_histogram, "Launches by delay".to_owned(), "idle")),
        Block::Bars(durations(&total.host_histogram, "Launches by duration of the call".to_owned(), "other_compute")),
        Block::Bars(durations(&total.device_histogram, "Launches by time on the device".to_owned(), "matmul")),
        Block::Table(table_block(context, TableName::Launches, "", "Launches by call and kernel", query)),
    ]
}

fn launch_figures(launches: &Launches, total: &LaunchStatistics) -> Vec<Figure> {
    let count = total.launches as f64;
    let joined = format!(
        "{} of {} device ops are matched with their call",
        format::count(launches.joined_ops),
        format::count(launches.device_ops)
    );
    let mut figures = vec![
        figure("Launches", Some(count), Unit::Count, joined),
        figure(
            "Median launch delay",
            Some(total.delay_median.as_us()),
            Unit::TimeUs,
            format!(
                "95th percentile {}, longest {}",
                format::time_us(total.delay_p95.as_us()),
                format::time_us(total.delay_max.as_us())
            ),
        ),
        figure(
            "Mean call",
            total.mean_us(total.host),
            Unit::TimeUs,
            format!("{} calls took more than 50 µs", format::count(total.runtime_outliers)),
        ),
        figure(
            "Shorter than their call",
            share(total.short_kernels as f64, count),
            Unit::Percent,
            "of all launches: the host needs longer to launch the work than the device to do it".to_owned(),
        ),
    ];
    if let Some(queue) = launches.queues.iter().max_by_key(|queue| queue.max) {
        let mean = queue.mean().map_or(String::new(), |mean| format!(", mean {}", format::number(mean)));
        let blocked = if queue.blocked.0 > 0 {
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
