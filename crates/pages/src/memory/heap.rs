//! Device memory profile: the arrays and executables in memory at one moment, by the code that
//! created them.

use memory::HeapProfile;
use metrics::OpFamily;

use super::figures::bytes_figure;
use super::{KeptMemory, table_blocks};
use crate::PageQuery;
use crate::live_memory::title_of_kind;
use base::format;
use document::{Block, ColourClass, Figure, Icicle, Node};
use table::Unit;
use tables::TableName;

/// Maximum number of spans of the flame chart. Keeps the largest spans.
const MOST_NODES: usize = 2_000;

/// Returns the blocks. Empty if the run is not a device memory profile.
pub(super) fn blocks(kept: &KeptMemory, query: &PageQuery) -> Vec<Block> {
    let recorded = kept.recorded();
    let Some(profile) = recorded.heap_profile() else { return Vec::new() };
    let (by, buttons) = super::choice(
        "heap",
        "Call stacks",
        vec![("callers".into(), "From the outside in".into()), ("lines".into(), "From the line out".into())],
        query,
    );
    let mut blocks = vec![Block::Figures { figures: figures(profile, recorded.earlier_heap_profile()) }];
    if !profile.problems.is_empty() {
        blocks.push(Block::Note {
            text: format!("The file is damaged ({}). The numbers cover only the readable part.", profile.problems),
        });
    }
    blocks.extend(buttons);
    blocks.push(Block::Icicle(flame(profile, by == "lines")));
    for (form, title) in [("line", "By line"), ("stack", "By call stack"), ("kind", "By kind"), ("device", "By device")]
    {
        let title = match recorded.earlier_heap_profile() {
            Some((name, _)) => format!("{title}, since {}", format::printable(name)),
            None => title.to_owned(),
        };
        blocks.extend(table_blocks::block(kept, TableName::Heap, form, &title, query));
    }
    blocks
}

fn figures(profile: &HeapProfile, earlier: Option<(&str, &HeapProfile)>) -> Vec<Figure> {
    ["buffer", "executable"]
        .into_iter()
        .map(|kind| {
            let (bytes, count) = sums(profile, kind);
            let count = format::count(count.max(0).cast_unsigned());
            let note = match earlier {
                Some((name, earlier)) => {
                    let change = bytes.saturating_sub(sums(earlier, kind).0);
                    let sign = if change < 0 { "less" } else { "more" };
                    let change = format::bytes(change.unsigned_abs());
                    format!("{count} of them, {change} {sign} than in {}", format::printable(name))
                }
                None => format!("{count} of them on the devices when the profile was saved"),
            };
            bytes_figure(title_of_kind(kind), bytes.max(0).cast_unsigned(), note)
        })
        .collect()
}

/// Returns bytes and count of the samples of a kind.
fn sums(profile: &HeapProfile, kind: &str) -> (i64, i64) {
    let of_kind = profile.samples.iter().filter(|sample| sample.kind == kind);
    of_kind.fold((0i64, 0i64), |(bytes, count), sample| {
        (bytes.saturating_add(sample.bytes), count.saturating_add(sample.count))
    })
}

/// Draws the call stacks as nested spans, with the outermost call or the innermost line at the top.
fn flame(profile: &HeapProfile, is_from_line: bool) -> Icicle {
    let mut nodes = vec![Node {
        label: "all".to_owned(),
        parent: None,
        value: 0.0,
        class: ColourClass::GROUP,
        notes: Vec::new(),
        link: None,
    }];
    let mut places = std::collections::BTreeMap::new();
    let mut samples: Vec<_> = profile.samples.iter().filter(|sample| sample.bytes > 0).collect();
    samples.sort_by_key(|sample| std::cmp::Reverse(sample.bytes));
    for sample in samples {
        let bytes = sample.bytes as f64;
        let mut stack: Vec<usize> = sample.stack.clone();
        if !is_from_line {
            stack.reverse();
        }
        let mut parent = 0;
        if let Some(root) = nodes.first_mut() {
            root.value += bytes;
        }
        for frame in stack {
            let known = places.get(&(parent, frame)).copied();
            if known.is_none() && nodes.len() >= MOST_NODES {
                break;
            }
            let at = known.unwrap_or_else(|| {
                let found = profile.frames.get(frame);
                let label = found.map(|frame| frame.function.clone()).unwrap_or_default();
                let note = found.map(memory::Frame::place);
                nodes.push(Node {
                    label,
                    parent: u32::try_from(parent).ok(),
                    value: 0.0,
                    class: OpFamily::Matmul.into(),
                    notes: note.into_iter().collect(),
                    link: None,
                });
                places.insert((parent, frame), nodes.len() - 1);
                nodes.len() - 1
            });
            if let Some(node) = nodes.get_mut(at) {
                node.value += bytes;
            }
            parent = at;
        }
    }
    Icicle { title: "Memory by call stack".to_owned(), unit: Unit::Bytes, nodes }
}
