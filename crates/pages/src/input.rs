//! Input pipeline page: the time that devices wait for the pipeline, the stage that limits it, and its stages, steps and
//! ops.

use crate::{PageQuery, Source, table_block};
use base::format;
use document::{About, Bar, Bars, Block, ColourClass, Figure, Link};
use insight::input_limit;
use metrics::HostRole;
use report::{InputPipeline, Metric, UnifiedProfile, View, metric};
use table::Unit;
use tables::TableName;

/// Field of the profile that is absent whenever the pipeline is absent, for the same reason.
const INPUT_TIME: &str = "io_operations.io_total_time_us";

pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let profile = source.profile();
    let Some(found) = &profile.input_pipeline else { return without_spans(source) };
    let mut blocks =
        vec![Block::Note { text: verdict(profile, found) }, Block::Figures { figures: figures(profile, found) }];
    blocks.push(Block::Bars(stages(found)));
    if let Some(context) = source.context() {
        let steps = table_block(&context, TableName::InputPipeline, "steps", "Steps", query);
        blocks.extend((steps.total_rows > 0).then_some(Block::Table(steps)));
    }
    blocks.extend(source.context().map(|context| {
        Block::Table(table_block(&context, TableName::InputPipeline, "ops", "Iterators and ranges", query))
    }));
    if source.context().is_none() {
        blocks.extend(source.table_block(TableName::InputPipeline, "Iterators and ranges", query));
    }
    blocks.push(Block::Note { text: lacking(profile, found) });
    blocks
}

/// Explains why there is no pipeline. Names the host's activity while devices are idle, because this activity may be
/// the pipeline.
fn without_spans(source: Source<'_>) -> Vec<Block> {
    let mut blocks = vec![source.not_measured(INPUT_TIME)];
    let breakdown = source.profile().step_breakdown.as_ref();
    let range = breakdown.and_then(|it| it.host_meanwhile.as_ref()).and_then(|it| it.ranges.first());
    if let Some((range, breakdown)) = range.zip(breakdown) {
        let place = range.place.as_ref().map_or(String::new(), |place| format!(" ({place})"));
        let idle = breakdown.duration_us - breakdown.device_busy_us;
        let text = format!(
            "Devices are idle for {} of each {}. For {} of this time, the host is in {}{place}. If this code prepares \
             the next batch, annotate its stages.",
            format::time_us(idle),
            format::time_us(breakdown.duration_us),
            format::time_us(range.time_us),
            format::printable(&format::shorten(&range.name, 60)),
        );
        blocks.push(Block::Note { text });
    }
    blocks
}

/// States how long devices wait, and which stage limits the pipeline.
fn verdict(profile: &UnifiedProfile, found: &InputPipeline) -> String {
    let wait = match wait_us(profile) {
        Some((0.0, _)) => "Devices do not wait for input.".to_owned(),
        Some((wait, whole)) => {
            let share = format::percent(100.0 * wait / whole);
            format!(
                "Devices wait for input for {} of each {} ({share}).",
                format::time_us(wait),
                format::time_us(whole)
            )
        }
        None => format!(
            "No device op ran, so crossprof cannot tell whether devices wait. The host is in the input pipeline for \
             {} of the time.",
            format::percent(found.held_percent)
        ),
    };
    let slowest = input_limit::sentence(found).map_or(String::new(), |sentence| format!(" {sentence}"));
    format!("{wait}{slowest}")
}

/// Returns the time that devices wait for input in a step, and the length of the step.
fn wait_us(profile: &UnifiedProfile) -> Option<(f64, f64)> {
    let breakdown = profile.step_breakdown.as_ref().filter(|it| it.duration_us > 0.0)?;
    Some((breakdown.parts.input_bound_us?, breakdown.duration_us))
}

fn figures(profile: &UnifiedProfile, found: &InputPipeline) -> Vec<Figure> {
    let figure = |label: &str, value: f64, note: String, metric: Metric| Figure {
        label: label.to_owned(),
        value: Some(value),
        unit: Unit::Percent,
        note,
        ..Figure::of(metric)
    };
    let mut figures = Vec::new();
    if let Some((wait, whole)) = wait_us(profile) {
        let note = format!("{} of {}", format::time_us(wait), format::time_us(whole));
        figures.push(figure(
            "Wait for input",
            100.0 * wait / whole,
            note,
            metric!("step_breakdown.parts.input_bound_us"),
        ));
    }
    let held = format!("{} on the threads that feed devices", format::time_us(found.held_us));
    figures.push(figure("Host in the pipeline", found.held_percent, held, metric!("input_pipeline.held_percent")));
    if let (Some(busy), Some(stage), Some(op)) = (found.limiting_percent, &found.limiting_stage, &found.limiting_op) {
        let note = format!("{stage}: {}", format::printable(&format::shorten(op, 40)));
        figures.push(figure("Slowest op works", busy, note, metric!("input_pipeline.limiting_op")));
    }
    figures
}

fn stages(found: &InputPipeline) -> Bars {
    let bar = |it: &report::InputStageTime| Bar {
        label: it.stage.clone(),
        value: it.time_us,
        class: ColourClass::from(HostRole::Input),
        note: format!("{} of the wait", format::percent(it.busy_percent)),
        link: Some(Link::to(View::Input, &format!("stage={}", it.stage))),
    };
    let chain = match found.chain.as_slice() {
        [] | [_] => String::new(),
        chain => format!("Longest chain: {}.", format::printable(&format::shorten(&chain.join(" > "), 300))),
    };
    Bars {
        title: "Time of the stages on the host".to_owned(),
        unit: Unit::TimeUs,
        bars: found.stages.iter().map(bar).collect(),
        note: chain,
        about: Some(About::new(metric!("input_pipeline.stages[].time_us"), View::Input)),
        ..Bars::default()
    }
}

/// States what the capture lacks, and how to record it.
fn lacking(profile: &UnifiedProfile, found: &InputPipeline) -> String {
    let words = profile.metadata.framework().words();
    let range = words.next_batch_range.replace("next_batch", "preprocess");
    match found.stages.iter().any(|it| !["wait", "transfer"].contains(&it.stage.as_str())) {
        false => format!(
            "The capture shows no stage of the pipeline. Wrap the code that prepares examples in {range}, and the \
             code that reads and batches them in ranges with the names read and batch. Worker processes are not in \
             the capture: to see their work, run the pipeline in threads once."
        ),
        true => format!(
            "Time in code without a span is included in the span around it. Add spans with {range}, or record \
             functions with the Python tracer (python_tracer_level=1)."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insight::examine;
    use run::{Run, Settings};
    use trace::{Trace, TraceBuilder};

    /// Builds twelve steps of 1000 us that wait 400 us in `wait`, with the stages of a loader's thread.
    fn steps(wait: &'static str, stages: &'static [&'static str]) -> Trace {
        let mut b = TraceBuilder::new();
        let (main, loader) = (b.line("/host:CPU", "python"), b.line("/host:CPU", "python 2"));
        let ops = b.line("/device:TPU:0", "XLA Ops");
        for step in 0..12 {
            let at = 1000 * step;
            b.event(main, "train", at, 990).step_num(step);
            b.event(main, wait, at, 400);
            b.event(main, "PjitFunction(step)", at + 400, 10);
            for (stage, place) in stages.iter().zip(0..) {
                b.event(loader, stage, at + 100 * place, 90);
            }
            b.event(ops, "fusion.1", at + 410, 580);
        }
        b.build()
    }

    fn texts(trace: Trace) -> Vec<String> {
        let run = Run { trace, ..Run::default() };
        let examined = examine(&run, &Settings::default());
        let text = |block: Block| match block {
            Block::Note { text } => text,
            Block::Figures { figures } => figures.iter().map(|it| it.label.clone()).collect::<Vec<_>>().join(", "),
            Block::Bars(bars) => bars.bars.iter().map(|bar| bar.label.clone()).collect::<Vec<_>>().join(", "),
            Block::Table(table) => format!("{}: {}", table.title, table.rows.len()),
            Block::Empty { reason, remedy } => format!("{reason} {}", remedy.unwrap_or_default()),
            other => format!("{other:?}"),
        };
        let of_events = blocks(Source::of_events(examined.context(&run)), &PageQuery::default());
        let of_profile = blocks(Source::of_profile(&examined.profile), &PageQuery::default());
        // The events add the steps table.
        let steps = usize::from(examined.profile.input_pipeline.is_some());
        assert_eq!(of_events.len(), of_profile.len() + steps, "{of_profile:?}");
        of_events.into_iter().map(text).collect()
    }

    #[test]
    fn the_verdict_names_the_wait_and_the_slowest_stage() {
        let found = texts(steps("next_batch", &["read", "read", "read", "preprocess"]));
        let [verdict, figures, bars, steps, ops, lacking] = found.as_slice() else { panic!("{found:?}") };
        assert!(verdict.starts_with("Devices wait for input for 400 µs of each 999 µs (40.0 %)."), "{verdict}");
        assert!(verdict.contains("The slowest stage is read: read works for 67.5 %"), "{verdict}");
        assert_eq!(figures, "Wait for input, Host in the pipeline, Slowest op works");
        assert_eq!((bars.as_str(), steps.as_str()), ("read, preprocess, wait", "Steps: 12"));
        assert_eq!(ops, "Iterators and ranges: 3");
        assert!(lacking.contains("python_tracer_level=1"), "{lacking}");
    }

    #[test]
    fn a_wait_without_stages_says_how_to_record_them() {
        let found = texts(steps("next_batch", &[]));
        assert!(found[0].contains("the capture shows no stage inside"), "{}", found[0]);
        let last = found.last().unwrap();
        assert!(last.starts_with("The capture shows no stage of the pipeline. Wrap the code"), "{last}");
    }

    #[test]
    fn without_spans_the_hosts_function_is_named() {
        let found = texts(steps("$loop.py:7 assemble", &[]));
        let [reason, host] = found.as_slice() else { panic!("{found:?}") };
        assert!(reason.starts_with("No span of an input pipeline was found"), "{reason}");
        assert!(reason.contains("TraceAnnotation(\"next_batch\")"), "{reason}");
        assert!(host.contains("the host is in assemble (loop.py:7)."), "{host}");
    }
}
