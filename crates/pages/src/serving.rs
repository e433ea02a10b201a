//! Page of an inference engine: time, tokens and requests of its forward passes.

use crate::{PageQuery, Source};
use base::format;
use document::{Bar, Bars, Block, ColourClass, Figure, Link};
use report::{PhaseStats, STEP_PARTS, Serving, View, metric};
use table::{Unit, unit};
use tables::TableName;

pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let Some(serving) = &source.profile().serving else { return vec![nothing()] };
    let mut blocks = vec![Block::Figures { figures: figures(serving) }, Block::Bars(phases(serving))];
    blocks.extend(source.table_block(TableName::Serving, "Phases", query));
    blocks.extend(source.table_block(TableName::Steps, "Forward passes", query));
    blocks
}

/// Returns the figure for the overview.
pub(super) fn decoded(source: Source<'_>) -> Option<Figure> {
    source.profile().serving.as_ref().map(decoded_tokens)
}

fn nothing() -> Block {
    Block::Empty {
        reason: "The capture contains no forward passes of an inference engine. vLLM, SGLang, TensorRT-LLM and \
            tpu-inference name them while they profile. If you use another engine, name its forward passes as vLLM \
            does:"
            .to_owned(),
        remedy: Some(
            "name = f\"execute_context_{prefills}({prompt_tokens})_generation_{decodes}({decodes})\"\nwith jax.profiler.TraceAnnotation(name):\n    tokens = forward(batch)"
                .to_owned(),
        ),
    }
}

fn figures(serving: &Serving) -> Vec<Figure> {
    let interval = Figure {
        label: "Time per decoded token".to_owned(),
        value: serving.median_token_interval_us,
        unit: Unit::TimeUs,
        note: match (serving.p95_token_interval_us, serving.max_token_interval_us) {
            (Some(p95), Some(max)) => {
                format!(
                    "of a request, median. 95th percentile {}, longest {}",
                    format::time_us(p95),
                    format::time_us(max)
                )
            }
            _ => "requires two decoding passes".to_owned(),
        },
        ..Figure::of(metric!("serving.median_token_interval_us"))
    };
    let delay = Figure {
        label: "Delay caused by prompts".to_owned(),
        value: serving.prompt_delay_percent,
        unit: Unit::Percent,
        note: match serving.prompt_delay_percent {
            Some(_) => "of the time between tokens".to_owned(),
            None => "requires passes without a prompt for comparison".to_owned(),
        },
        ..Figure::of(metric!("serving.prompt_delay_percent"))
    };
    let prompts = Figure {
        label: "Prompt tokens".to_owned(),
        value: serving.prefill_tokens_per_sec,
        unit: Unit::TokensPerSecond,
        note: match serving.prefill_tokens_per_sec {
            Some(_) => "over all counted passes".to_owned(),
            None => "not in the names of the passes".to_owned(),
        },
        ..Figure::of(metric!("serving.prefill_tokens_per_sec"))
    };
    let requests = Figure {
        label: "Concurrent requests".to_owned(),
        value: serving.max_requests.map(|requests| requests as f64),
        unit: Unit::Count,
        note: steady(serving),
        link: serving
            .steady
            .as_ref()
            .map(|it| Link::to(View::Steps, &format!("step>={} step<={}", it.first_step, it.last_step))),
        ..Figure::of(metric!("serving.max_requests"))
    };
    let decode = serving.phases.iter().find(|phase| phase.phase == "decode");
    let of_decode = decode.into_iter().flat_map(|decode| [Some(gap(decode)), graphs(decode)]).flatten();
    [decoded_tokens(serving), interval, delay, prompts, requests].into_iter().chain(of_decode).collect()
}

fn gap(decode: &PhaseStats) -> Figure {
    let cause = decode.gap_cause.as_deref();
    let title =
        |cause: &str| STEP_PARTS.iter().find(|part| part.0 == cause).map_or(cause.to_owned(), |part| part.1.to_owned());
    Figure {
        label: "Gap between decode passes".to_owned(),
        value: decode.median_gap_us,
        unit: Unit::TimeUs,
        // The table has the 95th percentile and the longest gap.
        note: match decode.gap_percent {
            Some(percent) => format!(
                "median. All gaps: {} of the decode time{}",
                format::percent(percent),
                cause.map_or_else(String::new, |cause| format!(". Main cause: {}", title(cause)))
            ),
            None => "requires two consecutive passes that only decode".to_owned(),
        },
        ..Figure::of(metric!("serving.phases[].median_gap_us"))
    }
}

/// Returns the figure about graph launches. `None` if launches are unknown.
fn graphs(decode: &PhaseStats) -> Option<Figure> {
    let (launches, inside, single) = (decode.graph_launches?, decode.graph_kernels?, decode.single_kernels?);
    Some(Figure {
        label: "Graph launches per decode pass".to_owned(),
        value: Some(launches),
        unit: Unit::Number,
        note: format!("{} ops in graphs, {} launched one by one", format::number(inside), format::number(single)),
        ..Figure::of(metric!("serving.phases[].graph_launches"))
    })
}

fn decoded_tokens(serving: &Serving) -> Figure {
    let steady = serving.steady.as_ref().and_then(|steady| steady.decode_tokens_per_sec);
    Figure {
        label: "Decoded tokens".to_owned(),
        value: serving.decode_tokens_per_sec,
        unit: Unit::TokensPerSecond,
        note: match (serving.decode_tokens_per_sec, steady) {
            (None, _) => "not in the names of the passes".to_owned(),
            (_, None) => "over all counted passes".to_owned(),
            (_, Some(rate)) => {
                format!("over all counted passes. In the steady state, {}", unit::short(rate, Unit::TokensPerSecond))
            }
        },
        ..Figure::of(metric!("serving.decode_tokens_per_sec"))
    }
}

fn steady(serving: &Serving) -> String {
    match &serving.steady {
        Some(steady) => format!(
            "at most. Steady from step {} to {} ({}): {} on average",
            steady.first_step,
            steady.last_step,
            format::time_us(steady.duration_us),
            format::number(steady.avg_requests)
        ),
        None => "at most. No steady state of five decoding passes".to_owned(),
    }
}

fn passes(count: u64) -> String {
    if count == 1 { "1 pass".to_owned() } else { format!("{} passes", format::count(count)) }
}

fn phases(serving: &Serving) -> Bars {
    let bars = serving.phases.iter().map(|phase| Bar {
        label: phase.phase.clone(),
        value: phase.total_time_us,
        class: ColourClass::GROUP,
        note: format!("{}, {}", format::percent(phase.time_percent), passes(phase.passes)),
        link: Link::equal(View::Serving, "phase", &phase.phase),
    });
    let whole = serving.phases.iter().map(|phase| phase.total_time_us).sum();
    Bars {
        title: "Time by phase".to_owned(),
        unit: Unit::TimeUs,
        bars: bars.collect(),
        whole: Some(whole),
        ..Bars::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns label, value and note of the figures about decoding.
    fn of_decode(decode: PhaseStats) -> Vec<(String, Option<f64>, String)> {
        let decode = PhaseStats { phase: "decode".to_owned(), ..decode };
        let serving = Serving { phases: vec![decode], ..Serving::default() };
        figures(&serving).into_iter().skip(5).map(|it| (it.label, it.value, it.note)).collect()
    }

    #[test]
    fn gaps_have_their_cause_and_graphs_their_ops() {
        let found = of_decode(PhaseStats {
            median_gap_us: Some(20.0),
            gap_percent: Some(25.0),
            gap_cause: Some("host_bound".to_owned()),
            graph_launches: Some(1.0),
            graph_kernels: Some(114.0),
            single_kernels: Some(4.0),
            ..PhaseStats::default()
        });
        let [(gap, value, note), (graphs, launches, ops)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((gap.as_str(), *value), ("Gap between decode passes", Some(20.0)));
        assert!(note.starts_with("median. All gaps: 25.0 % of the decode time. Main cause: Idle: "), "{note}");
        assert!(!note.ends_with("host_bound"), "{note}");
        assert_eq!((graphs.as_str(), *launches), ("Graph launches per decode pass", Some(1.0)));
        assert_eq!(ops, "114 ops in graphs, 4.00 launched one by one");
    }

    #[test]
    fn figures_that_were_not_measured_are_absent() {
        let found = of_decode(PhaseStats::default());
        let [(_, value, note)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((*value, note.as_str()), (None, "requires two consecutive passes that only decode"));
    }
}
