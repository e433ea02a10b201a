//! Layers page: the time of each layer of the model, of each phase of the training step, and of each source line.

use crate::{PageQuery, Source, table_block};
use base::{Ps, format};
use document::{About, Bar, Bars, Block, Choice, ColourClass, Figure, Icicle, Link, Node, TableBlock};
use metrics::{Context, Layer, LayerGrouping, Layers, NO_PATH, NO_SCOPE};
use report::{Phase, UnifiedProfile, View, metric};
use table::Unit;
use tables::TableName;

const GROUP: &str = "layers";
/// Maximum number of spans of the chart. More spans could not be distinguished.
const MOST_NODES: usize = 400;
/// The chart shows only layers that take at least this share of the total time.
const LEAST_SHARE: f64 = 0.001;
/// Maximum numbers of layers that the overview and a report show.
const OF_OVERVIEW: usize = 3;
const OF_REPORT: usize = 12;

pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let profile = source.profile();
    let Some(section) = &profile.layers else {
        return vec![unknown(source)];
    };
    let mut blocks = vec![Block::Figures { figures: figures(section) }];
    blocks.extend(phases(profile).map(Block::Bars));
    match source.context() {
        Some(context) => blocks.extend(of_events(&context, query)),
        None => blocks.extend(source.table_block(TableName::Layers, "Layers", query)),
    }
    blocks
}

fn of_events(context: &Context<'_>, query: &PageQuery) -> Vec<Block> {
    let grouping = LayerGrouping::from_key(query.chosen(GROUP, &LayerGrouping::ALL.map(LayerGrouping::key)));
    let names = [
        (LayerGrouping::Layer, "Layer"),
        (LayerGrouping::EachLayer, "Each layer"),
        (LayerGrouping::Phase, "Phase"),
        (LayerGrouping::Source, "Source"),
    ];
    let choice = Block::Choice(Choice {
        option: GROUP.to_owned(),
        label: "Group by".to_owned(),
        values: names.map(|(grouping, name)| (grouping.key().to_owned(), name.to_owned())).to_vec(),
        chosen: grouping.key().to_owned(),
    });
    let mut table: TableBlock = table_block(context, TableName::Layers, grouping.key(), "Layers", query);
    table.mark_bounds(context.profile);
    vec![choice, Block::Icicle(icicle(context.layers(grouping), grouping)), Block::Table(table)]
}

/// Explains why the layers are unknown.
fn unknown(source: Source<'_>) -> Block {
    if source.profile().op_statistics.is_none() {
        return source.not_measured("op_statistics");
    }
    Block::Empty {
        reason: "No op has a framework path, so the layers are unknown.".to_owned(),
        remedy: Some(
            "Open the *.xplane.pb of the capture. If it has no paths either, the compiled programs are missing: capture \
                with enable_hlo_proto=True (the default)."
                .to_owned(),
        ),
    }
}

fn figures(section: &report::Layers) -> Vec<Figure> {
    let percent = |label: &str, value: Option<f64>, note: &str| Figure {
        label: label.to_owned(),
        value,
        unit: Unit::Percent,
        note: note.to_owned(),
        ..Figure::default()
    };
    let largest = first_layers(section).next();
    let mut figures: Vec<Figure> = largest
        .map(|layer| {
            let note = format!("of busy time: {}", inner(&layer.path));
            percent("Largest layer", layer.busy_self_time_percent, &note)
        })
        .into_iter()
        .collect();
    figures.push(percent("Without a name scope", section.without_scope_percent, "of busy time"));
    let uneven = section.layers.iter().filter(|layer| layer.slowest_ratio.is_some());
    if let Some(uneven) = uneven.max_by(|a, b| excess(a).total_cmp(&excess(b))) {
        let name = uneven.slowest_member.as_deref().unwrap_or_default();
        figures.push(percent(
            "Slowest of layers with the same work",
            uneven.slowest_ratio.map(|ratio| 100.0 * (ratio - 1.0)),
            &format!("{name}: above the median of {}", inner(&uneven.path)),
        ));
    }
    if let Some(mixed) = section.mixed_percent {
        figures.push(percent("Phases mixed", Some(mixed), "of busy time: fusions with ops of several phases"));
    }
    figures
}

/// Returns the time that the slowest of several layers with the same work loses: its excess over the other layers,
/// weighted by its share of the time.
fn excess(layer: &report::LayerTime) -> f64 {
    let one = layer.busy_self_time_percent.unwrap_or_default() / layer.members.max(1) as f64;
    (layer.slowest_ratio.unwrap_or(1.0) - 1.0) * one
}

/// Returns the path without the program.
fn inner(path: &str) -> &str {
    path.split_once('/').map_or(path, |(_, inner)| inner)
}

/// Returns the outermost layers that the program names, largest first.
fn first_layers(section: &report::Layers) -> impl Iterator<Item = &report::LayerTime> {
    let is_named = |layer: &&report::LayerTime| ![NO_PATH, NO_SCOPE].contains(&inner(&layer.path));
    section.layers.iter().filter(|layer| layer.path.matches('/').count() == 1).filter(is_named)
}

/// Draws the phases of the training step. `None` if no program computes gradients.
pub(super) fn phases(profile: &UnifiedProfile) -> Option<Bars> {
    let section = profile.layers.as_ref()?;
    let bar = |phase: &report::PhaseTime| Bar {
        label: phase.phase.title().to_owned(),
        value: phase.self_time_us,
        class: ColourClass::GROUP,
        note: phase.busy_self_time_percent.map_or(String::new(), format::percent),
        link: Some(Link::to(View::Layers, "")),
    };
    let bars: Vec<Bar> = section.phases.iter().filter(|phase| phase.self_time_us > 0.0).map(bar).collect();
    if bars.is_empty() {
        return None;
    }
    let has_update = section.phases.iter().any(|it| it.phase == Phase::Update && it.self_time_us > 0.0);
    let note = match section.mixed_percent {
        None if !has_update => {
            "The capture contains no program, so the ops that apply the gradients are counted as Other.".to_owned()
        }
        _ => String::new(),
    };
    Some(Bars {
        title: "Self time by phase of the training step".to_owned(),
        unit: Unit::TimeUs,
        whole: Some(bars.iter().map(|bar| bar.value).sum()),
        bars,
        note,
        about: Some(About::new(metric!("layers.phases[].self_time_us"), View::Layers)),
    })
}

/// Returns the section of a report: phases and the largest layers. Empty if no op has a name scope.
pub(super) fn section(profile: &UnifiedProfile) -> Vec<Block> {
    phases(profile).into_iter().chain(first(profile, OF_REPORT)).map(Block::Bars).collect()
}

/// Draws the largest layers for the overview. `None` if no op has a name scope.
pub(super) fn largest(profile: &UnifiedProfile) -> Option<Bars> {
    first(profile, OF_OVERVIEW)
}

fn first(profile: &UnifiedProfile, most: usize) -> Option<Bars> {
    let section = profile.layers.as_ref()?;
    let bars: Vec<Bar> = first_layers(section)
        .take(most)
        .map(|layer| Bar {
            label: match layer.members {
                0 | 1 => inner(&layer.path).to_owned(),
                count => format!("{} ({count})", inner(&layer.path)),
            },
            value: layer.self_time_us,
            class: ColourClass::GROUP,
            note: layer.busy_self_time_percent.map_or(String::new(), format::percent),
            link: Some(Link::to(View::Layers, "")),
        })
        .collect();
    let whole = profile.op_statistics.as_ref().map(|ops| ops.op_time_us);
    (!bars.is_empty()).then(|| Bars {
        title: "Largest layers".to_owned(),
        unit: Unit::TimeUs,
        bars,
        whole,
        about: Some(About::new(metric!("layers.layers[].self_time_us"), View::Layers)),
        ..Bars::default()
    })
}

/// Draws the layers as nested spans. Omits layers that are too small to see.
fn icicle(layers: &Layers, grouping: LayerGrouping) -> Icicle {
    let whole = layers.rows.first().map_or(Ps::ZERO, |run| run.self_time);
    let share = |layer: &Layer| layer.self_time.as_ps() as f64 / whole.as_ps().max(1) as f64;
    let mut nodes: Vec<Node> = Vec::new();
    // Index of each layer in the chart. `None` for layers that are too small.
    let mut places: Vec<Option<u32>> = Vec::with_capacity(layers.rows.len());
    for (at, layer) in layers.rows.iter().enumerate() {
        let parent = layer.parent.map(|parent| places.get(parent as usize).copied().flatten());
        let is_seen = parent != Some(None) && share(layer) >= LEAST_SHARE && nodes.len() < MOST_NODES;
        places.push(is_seen.then_some(nodes.len()).and_then(|place| u32::try_from(place).ok()));
        if !is_seen {
            continue;
        }
        let mut notes = vec![format!("{} of busy time", format::percent(100.0 * share(layer)))];
        notes.extend(layer.bound_by().map(|bound| format!("bound by {bound}")));
        if let Some(members) = &layer.members {
            notes.push(format!("{} layers", members.count));
        }
        nodes.push(Node {
            label: layer.name.clone(),
            parent: parent.flatten(),
            value: layer.self_time.as_us(),
            class: ColourClass::GROUP,
            notes,
            link: link(layer, grouping, &layers.path(at)),
        });
    }
    Icicle { title: "Self time of all devices".to_owned(), unit: Unit::TimeUs, nodes }
}

/// Returns a link to the ops of a layer. A filter finds words inside the paths of ops, so the filter is the innermost
/// name without its number.
fn link(layer: &Layer, grouping: LayerGrouping, path: &str) -> Option<Link> {
    let name = layer.name.split('*').next().unwrap_or_default();
    if layer.depth == 0 || name.is_empty() || name.contains('"') || path.contains(NO_SCOPE) || name == NO_PATH {
        return None;
    }
    let column = match grouping {
        LayerGrouping::Source => "source_info",
        LayerGrouping::Phase if layer.depth == 1 => return None,
        _ if layer.depth == 1 => "hlo_module",
        _ => "tf_op_name",
    };
    Some(Link::to(View::Ops, &format!("{column}:\"{name}\"")))
}
