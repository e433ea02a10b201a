//! Roofline page: the peaks of the devices, how close the program comes to them, and the limiting resource of each op.

use crate::filter::applied;
use crate::source::nothing_ran;
use crate::{PageQuery, Source, table_block_of};
use base::format;
use document::{Block, Figure, Line, LineKind, Link, Point, Scatter};
use facts::Arithmetic;
use metrics::roofline::{self, Level, Peaks, Work};
use metrics::{Context, Op, is_amd, rate};
use report::{Metric, UnifiedProfile, View, metric};
use table::{Filter, Query, Unit, query as ask_table, query_passing};
use tables::{self, TableName};
use trace::{Framework, Platform, SourceFormat};

/// Maximum number of points in the chart. Keeps the points with the most time.
const MOST_POINTS: usize = 200;
/// An op that seems to use more than this share of a bandwidth did not move its bytes during its own time: it starts an
/// asynchronous copy, or waits for one.
const MOST_SHARE: f64 = 1.25;

pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    source.measured_or_recorded(
        |context| of_trace(context, query),
        |profile| match RooflineFigures::of_profile(profile) {
            Some(sums) => vec![Block::Figures { figures: sums.figures() }],
            None => vec![source.not_measured("roofline")],
        },
    )
}

/// Returns the figure for model FLOPs utilisation.
pub(super) fn mfu(source: Source<'_>) -> Option<Figure> {
    RooflineFigures::of(source).map(|sums| sums.mfu())
}

/// Returns the figure for the share of the main memory's bandwidth that the program uses.
pub(super) fn memory_bandwidth(source: Source<'_>) -> Option<Figure> {
    RooflineFigures::of(source).map(|sums| sums.memory_bandwidth())
}

fn of_trace(context: &Context<'_>, query: &PageQuery) -> Vec<Block> {
    let roofline = &context.analysis.roofline;
    if context.analysis.ops.rows.is_empty() {
        return vec![nothing_ran()];
    }
    let mut figures = RooflineFigures::of_trace(context).figures();
    figures.extend(roofline.peaks.iter().flat_map(peak_figures));
    let mut blocks = vec![Block::Figures { figures }];
    let rows = tables::rows(context, TableName::Roofline, "");
    let applied = applied(&query.filter, rows.columns()).filter;
    let filter = Filter::parse(&applied);
    // The chart and the table cover the same ops.
    let passing = (!filter.is_empty()).then(|| filter.passing(&*rows));
    let passing = passing.as_deref();
    match &roofline.peaks {
        None => blocks.push(no_peaks(context)),
        Some(peaks) => {
            let (chart, left_out) = chart(context, peaks, passing);
            if chart.points.is_empty() {
                blocks.push(Block::Note { text: no_points(context, query) });
            } else {
                blocks.push(Block::Scatter(chart));
            }
            if !left_out.is_empty() && blocks.last().is_some_and(|block| matches!(block, Block::Scatter(_))) {
                blocks.push(Block::Note { text: left_out });
            }
        }
    }
    let mut ask = |asked: &Query| match asked.filter == applied {
        true => query_passing(&*rows, asked, passing),
        false => ask_table(&*rows, asked),
    };
    let table = table_block_of(TableName::Roofline, "", "Roofline", query, rows.columns(), &mut ask);
    blocks.push(Block::Table(table));
    blocks
}

/// Explains why the chart has no roofline, and what to do.
fn no_peaks(context: &Context<'_>) -> Block {
    if context.analysis.kernel_stats.platform == Some(Platform::Cpu) {
        let reason = "The peaks of this CPU are unknown, so there is no roofline. Choose a device to compare with on \
            the Model page.";
        return Block::Empty { reason: reason.to_owned(), remedy: None };
    }
    let reason = "The profile does not name its device, so the peaks are unknown. Choose the device on the Model \
        page.";
    Block::Empty { reason: reason.to_owned(), remedy: Some(context.trace().framework.words().print_device.to_owned()) }
}

/// Explains why the chart is empty.
fn no_points(context: &Context<'_>, query: &PageQuery) -> String {
    let known = context.analysis.ops.rows.iter().any(|op| placed(context, op).is_some());
    if known && !query.filter.is_empty() {
        return "The chart is empty: no op that passes the filter has both FLOPs and known bytes.".to_owned();
    }
    let trace = context.trace();
    let why = if trace.framework == Framework::PyTorch {
        "PyTorch traces do not contain the bytes of ops."
    } else if trace.format == Some(SourceFormat::ChromeJson) {
        "both are computed from HLO, which a trace JSON does not contain. Open the *.xplane.pb next to it."
    } else if trace.hlo.is_empty() {
        "both are computed from HLO, which the profile does not contain."
    } else {
        "the ops move data, or XLA counts no FLOPs for them."
    };
    format!("No op has both FLOPs and bytes, so the chart is empty: {why}")
}

fn figure(label: &str, value: Option<f64>, unit: Unit, note: String, metric: Metric) -> Figure {
    Figure { label: label.to_owned(), value, unit, note, ..Figure::of(metric) }
}

/// Values of the figures, computed from the events or read from the profile.
struct RooflineFigures<'a> {
    mfu: Result<f64, &'a str>,
    hfu: Result<f64, &'a str>,
    /// Percentage of the op time for which FLOPs are known.
    known_percent: Option<f64>,
    unknown_calls_percent: Option<f64>,
    gflops: Option<f64>,
    /// Share of the peak that the program's data types can reach, 0 to 1.
    reach: Option<f64>,
    /// Roof that the program is closest to.
    bound_by: Option<&'a str>,
    hbm_gibps: Option<f64>,
    /// Percentage of the peak memory bandwidth that the program uses.
    hbm_percent: Option<f64>,
    profile: &'a UnifiedProfile,
}

impl<'a> RooflineFigures<'a> {
    fn of(source: Source<'a>) -> Option<RooflineFigures<'a>> {
        source.measured_or_recorded(
            |context| (!context.analysis.ops.rows.is_empty()).then(|| RooflineFigures::of_trace(context)),
            RooflineFigures::of_profile,
        )
    }

    fn of_trace(context: &Context<'a>) -> RooflineFigures<'a> {
        let roofline = &context.analysis.roofline;
        let (work, point) = (&roofline.program, roofline.program_point());
        let hbm = work.level(Level::Hbm).and_then(|bytes| rate(bytes, work.time));
        RooflineFigures {
            mfu: roofline.utilization.mfu,
            hfu: roofline.utilization.hfu,
            known_percent: roofline.known_time_percent,
            unknown_calls_percent: roofline.unknown_custom_call_percent,
            gflops: work.flop_rate().map(|rate| rate * 1e-9),
            reach: point.as_ref().and_then(|point| point.compute_efficiency),
            bound_by: point.map(|point| point.bound_by.label()),
            hbm_gibps: hbm.map(|speed| speed / (1u64 << 30) as f64),
            hbm_percent: roofline.hbm_share().map(|share| 100.0 * share),
            profile: context.profile,
        }
    }

    fn of_profile(profile: &'a UnifiedProfile) -> Option<RooflineFigures<'a>> {
        let section = profile.roofline.as_ref()?;
        let program = section.program.as_ref();
        let why = |field: &str| {
            let missing = Source::of_profile(profile).why_missing(field);
            missing.unwrap_or("not in this profile")
        };
        let (gflops, peak) = program.map_or((None, None), |program| (program.gflops, program.peak_gflops));
        Some(RooflineFigures {
            mfu: section.mfu_percent.ok_or_else(|| why("roofline.mfu_percent")),
            hfu: section.hfu_percent.ok_or_else(|| why("roofline.hfu_percent")),
            known_percent: section.known_flops_time_percent,
            unknown_calls_percent: section.unknown_custom_call_time_percent,
            gflops,
            reach: gflops.zip(peak).map(|(rate, peak)| rate / peak),
            bound_by: program.map(|program| program.bound_by.as_str()),
            hbm_gibps: program.and_then(|program| program.hbm_gibps),
            hbm_percent: program.and_then(|program| program.hbm_bandwidth_percent),
            profile,
        })
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = vec![self.mfu(), self.hfu(), self.program(), self.memory_bandwidth()];
        // Without recomputation, both are the same number.
        if self.mfu == self.hfu {
            figures.remove(1);
        }
        figures
    }

    /// Returns a figure for a share. The note names the base of the share and the covered time. If the share is unknown,
    /// the note gives the reason.
    fn share(&self, label: &str, share: Result<f64, &str>, of: &str, metric: Metric) -> Figure {
        let note = match share {
            Ok(_) => {
                let known = self.known_percent.filter(|&share| share < 99.95).map_or_else(String::new, |share| {
                    let calls = self.unknown_calls_percent.filter(|&share| share >= 0.05);
                    let calls = calls.map(|share| {
                        format!(
                            "; {} is in custom calls with unknown \
                            cost",
                            format::percent(share)
                        )
                    });
                    format!(
                        "; FLOPs are known for {} of the op time{}",
                        format::percent(share),
                        calls.unwrap_or_default()
                    )
                });
                format!("{of}{known}")
            }
            Err(missing) => missing.to_owned(),
        };
        figure(label, share.ok(), Unit::Percent, note, metric)
    }

    fn mfu(&self) -> Figure {
        self.share("MFU", self.mfu, "of peak", metric!("roofline.mfu_percent"))
    }

    fn hfu(&self) -> Figure {
        self.share("HFU", self.hfu, "of peak, including recomputation", metric!("roofline.hfu_percent"))
    }

    fn program(&self) -> Figure {
        let note = match self.bound_by {
            _ if self.gflops.is_none() => "No FLOPs are known.".to_owned(),
            Some(bound_by) => {
                let reach = self
                    .reach
                    .map_or_else(String::new, |share| format!("{} of its peak, ", format::percent(100.0 * share)));
                format!("per device: {reach}bound by {bound_by}")
            }
            None => "per device".to_owned(),
        };
        figure("Program", self.gflops, Unit::GigaflopsPerSecond, note, metric!("roofline.program.gflops"))
    }

    fn memory_bandwidth(&self) -> Figure {
        let bandwidth = assessments::memory_bandwidth(self.profile);
        let (level, limits) = self.hbm_percent.map_or((None, String::new()), |_| (bandwidth.level, bandwidth.limits));
        let share =
            self.hbm_percent.map_or_else(String::new, |percent| format!(", {} of peak", format::percent(percent)));
        let note = match self.hbm_gibps {
            Some(_) => format!("per device{share}"),
            None => "The bytes moved are not in the profile.".to_owned(),
        };
        let unit = Unit::GibibytesPerSecond;
        Figure {
            level,
            limits,
            ..figure("Memory bandwidth", self.hbm_gibps, unit, note, metric!("roofline.program.hbm_gibps"))
        }
    }
}

/// Note on AMD's bandwidths, which include only one of the two transfers per clock cycle.
const AMD_STATES: &str = "profiles of AMD GPUs record half of it";

fn peak_figures(peaks: &Peaks) -> Vec<Figure> {
    let from = |source: roofline::Source| match source {
        roofline::Source::Profile => "recorded in the profile",
        roofline::Source::Facts => "published by the vendor",
        roofline::Source::Chosen => "of the chosen device",
    };
    let highest = peaks.highest();
    let kind = highest.map_or("", |(kind, _)| kind.label());
    let mut figures = vec![figure(
        &format!("Peak {kind}"),
        highest.map(|(_, peak)| peak * 1e-9),
        Unit::GigaflopsPerSecond,
        format!("{}, {}", peaks.device, from(peaks.rates_source)),
        metric!("roofline.peak_tflops.*"),
    )];
    let hbm = peaks.level(Level::Hbm);
    figures.push(figure(
        "Peak memory bandwidth",
        hbm.map(|hbm| hbm.bytes_per_second / (1u64 << 30) as f64),
        Unit::GibibytesPerSecond,
        hbm.map_or_else(
            || "unknown".to_owned(),
            |hbm| match hbm.source {
                roofline::Source::Facts if is_amd(&peaks.device) => format!("{}; {AMD_STATES}", from(hbm.source)),
                source => from(source).to_owned(),
            },
        ),
        metric!("roofline.memory_levels[].gb_per_s"),
    ));
    figures
}

/// Ops without computation are drawn at the intensity of the leftmost other op, multiplied by this factor.
const LEFT_OF_ALL: f64 = 0.5;

/// Draws the roofline of the ops that pass the filter, and describes the omitted ops.
fn chart(context: &Context<'_>, peaks: &Peaks, passing: Option<&[bool]>) -> (Scatter, String) {
    let mut points = Vec::new();
    let mut kinds = Vec::new();
    let (mut without, mut asynchronous, mut over_link, mut more) = (0u64, 0u64, 0u64, 0u64);
    let mut stands_left = false;
    for (index, op) in context.analysis.ops.rows.iter().enumerate() {
        // The first row of the table is the program.
        if passing.is_some_and(|passing| passing.get(index + 1) != Some(&true)) {
            continue;
        }
        let Some((point, place)) = placed(context, op) else {
            without += 1;
            continue;
        };
        if place.bound_by == roofline::Bound::HostLink {
            over_link += 1;
            continue;
        }
        stands_left |= point.x == 0.0;
        if place.max_mem_bw_utilization.is_some_and(|share| share > MOST_SHARE) {
            asynchronous += 1;
        } else if points.len() >= MOST_POINTS {
            more += 1;
        } else {
            kinds.extend(place.arithmetic);
            points.push((op.self_time, point));
        }
    }
    let largest = points.iter().map(|(time, _)| time.as_ps()).max().unwrap_or(0).max(1) as f64;
    let mut points: Vec<Point> =
        points.into_iter().map(|(time, point)| Point { size: time.as_ps() as f64 / largest, ..point }).collect();
    // Ops without computation have no position on a logarithmic axis. They are drawn to the left of all others. The distance
    // between a point and the memory roof shows how far the bandwidth is below the peak.
    let left = points.iter().map(|point| point.x).filter(|&x| x > 0.0).fold(1.0, f64::min) * LEFT_OF_ALL;
    for point in points.iter_mut().filter(|point| point.x == 0.0) {
        (point.x, point.y) = (left, point.y * left);
    }
    let mut left_out = Vec::new();
    for (count, what) in [
        (more, "with less time than those shown"),
        (without, "of unknown FLOPs or bytes"),
        (asynchronous, "that start or end an asynchronous copy, whose bytes move during other ops"),
        (over_link, "that copy to or from the host, and are limited by the host link"),
    ] {
        if count > 0 {
            left_out.push(format!("{} {what}", format::count(count)));
        }
    }
    let mut notes = Vec::new();
    if stands_left {
        let which = if context.analysis.ops.rows.iter().any(|op| context.analysis.roofline.counts_cycles(op)) {
            "Ops without FLOPs, and elementwise ops, for which XLA records clock cycles instead of FLOPs on GPUs,"
        } else {
            "Ops without FLOPs"
        };
        notes.push(format!(
            "{which} are drawn to the left of all others. Their distance below the memory line shows how far \
                their bandwidth is below the peak."
        ));
    }
    if !left_out.is_empty() {
        notes.push(format!("Ops that are not in the chart: {}.", left_out.join("; ")));
    }
    let note = notes.join(" ");
    if kinds.is_empty() {
        kinds.extend(peaks.highest().map(|(kind, _)| kind));
    }
    let lines = lines(peaks, &kinds, &points);
    let chart = Scatter {
        title: "Roofline: ops, sized by self time".to_owned(),
        x_label: "FLOPs per byte of main memory (HBM)".to_owned(),
        y_label: "FLOP/s".to_owned(),
        logarithmic: true,
        points,
        lines,
    };
    (chart, note)
}

/// Returns an op as a point. Returns `None` if the op's FLOPs or bytes are unknown. An op without FLOPs has the intensity 0.
/// The height of such a point is preliminary: the bytes per second that the op moves in main memory.
fn placed(context: &Context<'_>, op: &Op) -> Option<(Point, roofline::Point)> {
    let ops = &context.analysis.ops;
    let place = context.analysis.roofline.point(op)?;
    let work = Work::of(op);
    let computed = work.level_intensity(Level::Hbm).zip(place.flop_rate).filter(|&(x, y)| x > 0.0 && y > 0.0);
    let computed = computed.filter(|_| place.peak_flop_rate.is_some());
    let moved = || Some((0.0, rate(work.level(Level::Hbm)?, work.work_time).filter(|&y| y > 0.0)?));
    let (x, y) = computed.or_else(moved)?;
    let name = ops.text(context.trace(), op.name);
    let mut notes = vec![
        ops.text(context.trace(), op.category).to_owned(),
        format!("self time {}, {} times", format::time_us(op.self_time.as_us()), format::count(op.occurrences)),
    ];
    if let Some(share) = place.roofline_efficiency {
        notes.push(format!(
            "{} of its roofline bound, limited by \
            {}",
            format::percent(100.0 * share),
            place.bound_by.label()
        ));
    }
    if let Some((kind, peak)) = place.arithmetic.zip(place.peak_flop_rate) {
        notes.push(format!("peak of {}: {}", kind.label(), format::si(peak, "FLOP/s")));
    }
    if context.analysis.roofline.counts_cycles(op) {
        notes.push("placed by its bandwidth alone, because its FLOPs are clock cycles".to_owned());
    }
    let path = ops.text(context.trace(), op.framework_path);
    if !path.is_empty() {
        notes.push(path.to_owned());
    }
    let point = Point {
        label: name.to_owned(),
        x,
        y,
        extent: None,
        size: 0.0,
        class: op.family.into(),
        notes,
        link: Some(Link::to(View::Roofline, &format!("hlo_op_name=\"{name}\""))),
    };
    Some((point, place))
}

/// Draws one roof per level of memory and one per kind of arithmetic that occurs, over the width of
/// the points.
///
/// ```text
///            _________ kind
///          / :
///  level /   : ridge point
/// ```
fn lines(peaks: &Peaks, kinds: &[Arithmetic], points: &[Point]) -> Vec<Line> {
    let shown: Vec<(Arithmetic, f64)> = Arithmetic::ALL
        .into_iter()
        .filter(|kind| kinds.contains(kind))
        .filter_map(|kind| Some((kind, peaks.rates.get(kind)?)))
        .collect();
    let Some(highest) = shown.iter().map(|&(_, rate)| rate).reduce(f64::max) else { return Vec::new() };
    let slopes: Vec<(Level, f64)> =
        Level::ALL.into_iter().filter_map(|level| Some((level, peaks.level(level)?.bytes_per_second))).collect();
    let ridge = |slope: f64| highest / slope;
    let (mut left, mut right) = (f64::INFINITY, 0.0f64);
    for x in points.iter().map(|point| point.x).chain(slopes.iter().map(|&(_, slope)| ridge(slope))) {
        (left, right) = (left.min(x), right.max(x));
    }
    let (left, right) = (left / 2.0, right * 2.0);
    let steepest = slopes.iter().map(|&(_, slope)| slope).fold(0.0, f64::max);
    let memory = slopes.iter().map(|&(level, slope)| Line {
        label: level.label().to_owned(),
        kind: LineKind::Reference,
        points: vec![(left, left * slope), (ridge(slope), highest)],
    });
    let compute = shown.iter().map(|&(kind, rate)| Line {
        label: kind.label().to_owned(),
        kind: LineKind::Reference,
        points: vec![(if steepest > 0.0 { rate / steepest } else { left }, rate), (right, rate)],
    });
    memory.chain(compute).collect()
}
