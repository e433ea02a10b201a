//! Blocks of a mixture-of-experts model on the devices page: the balance of its experts.

use crate::{PageQuery, Source};
use base::format;
use document::{Block, Figure};
use report::{Experts, metric};
use table::Unit;
use tables::TableName;

/// Returns the blocks, if ops name experts.
pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let Some(experts) = &source.profile().experts else { return Vec::new() };
    let note = format!("{} Confidence: {}.", experts.evidence, experts.confidence.label());
    let mut blocks = vec![Block::Figures { figures: figures(experts) }, Block::Note { text: note }];
    blocks.extend(source.table_block(TableName::Experts, "Experts", query));
    blocks
}

/// Describes the imbalance in one line. Returns `None` if neither tokens nor times of several devices are known.
pub(super) fn in_words(experts: &Experts) -> Option<String> {
    let of = |name: &str, ratio: Option<f64>| ratio.map(|it| format!("{name} {} times the mean", format::number(it)));
    let parts =
        [of("most loaded expert:", experts.token_max_to_mean), of("slowest device:", experts.device_max_to_mean)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let confidence = experts.confidence.label();
    (!parts.is_empty()).then(|| format!("{} (confidence {confidence})", parts.join(", ")))
}

fn figures(experts: &Experts) -> Vec<Figure> {
    let tokens = Figure {
        label: "Imbalance of tokens".to_owned(),
        value: experts.token_max_to_mean,
        unit: Unit::Number,
        note: match experts.token_max_to_mean {
            Some(_) => "most loaded expert, divided by the mean".to_owned(),
            None => "The shapes do not show how many tokens each expert gets".to_owned(),
        },
        ..Figure::of(metric!("experts.token_max_to_mean"))
    };
    let time = Figure {
        label: "Imbalance of devices".to_owned(),
        value: experts.device_max_to_mean,
        unit: Unit::Number,
        note: match experts.lost_percent {
            Some(lost) => format!(
                "slowest in ops of experts, divided by the mean; it costs up to {} of the time",
                format::percent(lost)
            ),
            None => "Only one device ran".to_owned(),
        },
        ..Figure::of(metric!("experts.device_max_to_mean"))
    };
    vec![tokens, time]
}
