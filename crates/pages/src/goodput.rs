//! Bars of the productive and lost time of a capture, at the end of the steps page.

use crate::Source;
use base::format;
use document::{Bar, Bars, Block, ColourClass};
use metrics::StepPart;
use report::{Goodput, GoodputPart};
use table::Unit;

/// Returns the block, if a device ran an op.
pub(super) fn blocks(source: Source<'_>) -> Option<Block> {
    source.profile().goodput.as_ref().map(|goodput| Block::Bars(bars(goodput)))
}

/// Minimum loss that the sentence names, in percent of the capture. We chose this limit because a smaller loss may be
/// noise.
const NOTED_PERCENT: f64 = 5.0;

/// Describes the productive time and the largest losses. Returns `None` if the capture loses little and no price is
/// given.
pub(super) fn in_words(goodput: &Goodput) -> Option<String> {
    let is_loss = |part: &&GoodputPart| !matches!(part.part.as_str(), "productive" | "outside_steps" | "idle");
    let losses: Vec<String> = goodput
        .parts
        .iter()
        .filter(is_loss)
        .filter(|part| part.percent >= NOTED_PERCENT)
        .map(|part| format!("{} {}", part.part, format::percent(part.percent)))
        .collect();
    let money = goodput.lost_dollars_per_hour.map(|it| format!("; lost: {} dollars per hour", format::number(it)));
    (!losses.is_empty() || money.is_some()).then(|| {
        format!(
            "{} of the {} that this capture covers{}{}{}",
            format::percent(goodput.goodput_percent),
            format::time_us(goodput.covered_us),
            if losses.is_empty() { "" } else { "; " },
            losses.join(", "),
            money.unwrap_or_default()
        )
    })
}

fn bars(goodput: &Goodput) -> Bars {
    let bar = |part: &GoodputPart| {
        let (label, class) = named(&part.part);
        Bar {
            label: label.to_owned(),
            value: part.time_us,
            class,
            note: format!("{}, {} device hours", format::percent(part.percent), format::number(part.device_hours)),
            link: None,
        }
    };
    let money = goodput
        .lost_dollars_per_hour
        .map_or_else(String::new, |dollars| format!(", which cost {} dollars per hour", format::number(dollars)));
    Bars {
        title: format!("Goodput of the {} that this capture covers", format::time_us(goodput.covered_us)),
        unit: Unit::TimeUs,
        bars: goodput.parts.iter().map(bar).collect(),
        whole: Some(goodput.covered_us),
        note: format!(
            "The lost time equals the whole time of {} of {}{money}. Time before and after the capture is unknown.",
            format::number(goodput.lost_devices),
            format::counted(goodput.num_devices, "device"),
        ),
        ..Bars::default()
    }
}

fn named(part: &str) -> (&str, ColourClass) {
    match part {
        "productive" => ("Productive", StepPart::Compute.into()),
        "compilation" => ("Compilation", StepPart::Compile.into()),
        "checkpoint" => ("Checkpoints", StepPart::DeviceToHost.into()),
        "input" => ("Waiting for input", StepPart::InputBound.into()),
        "stall" => ("Stalls of steps", StepPart::OtherIdle.into()),
        "outside_steps" => ("Outside steps", ColourClass::GROUP),
        "idle" => ("Idle", StepPart::OtherIdle.into()),
        other => (other, ColourClass::GROUP),
    }
}
