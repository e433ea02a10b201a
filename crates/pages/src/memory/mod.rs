//! Memory page: the contents of the memory at its peak, the time of the peak, and the owners of the memory.
//!
//! Uses only the memory data of a run ([`Recorded`]), so that a worker without the events can make the page. The
//! sources are independent: compiled programs (in program order), allocators (over time), a device memory profile (at
//! one moment), and the text of an out-of-memory error (its largest buffers). The page lists missing sources, and
//! explains how to record them.

mod address_map;
mod allocators;
mod curve;
mod earlier;
mod errors;
mod figures;
mod heap;
mod kept;
mod owners;
mod program;
mod shown;
mod table_blocks;

use memory::{Class, Recorded};
use metrics::{HostRole, OpFamily, StepPart};
use report::Platform;

use crate::{PageQuery, Source, row};
use document::{Block, Choice, ColourClass, Fact, Facts, Link, Page};
use report::View;
use table::{self, Query};
use tables::TableName;

pub use kept::KeptMemory;

/// Returns the blocks of the page of a run.
pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    match source.memory() {
        Some(kept) => page(Some(kept), query).blocks,
        None => earlier::blocks(source),
    }
}

/// Returns the page. Empty if the run is an earlier result, because [`super::page`] makes its page from the profile.
pub fn page(kept: Option<&KeptMemory>, query: &PageQuery) -> Page {
    let Some(kept) = kept else { return Page::default() };
    let mut blocks = errors::blocks(kept, query);
    blocks.extend(heap::blocks(kept, query));
    blocks.extend(allocators::blocks(kept, query));
    blocks.extend(program::blocks(kept, query));
    blocks.extend(absent(kept.recorded()));
    Page { blocks }
}

/// Returns the details of the row with this index in the result of `asked`. Empty if there is no such row.
pub fn row_of_memory(kept: &KeptMemory, name: TableName, variant: &str, asked: &Query, index: u32) -> Page {
    let asked = Query { top: Some(index.saturating_add(1)), ..asked.clone() };
    let rows = kept.rows(name, variant, |rows| table::query(rows, &asked));
    let page = |rows| row::plain(&rows, name, variant, index, |row| links(kept.recorded(), row));
    rows.map(page).unwrap_or_default()
}

/// Returns links to the op that makes a buffer. For a part of a tuple, the links lead to the op that makes the tuple.
fn links(recorded: &Recorded, row: &row::ChosenRow<'_>) -> Vec<(String, Link)> {
    let buffer = row.text("buffer");
    let link = |view: View| {
        let link = owners::op(buffer?, view)?;
        Some((link.title(), link))
    };
    if recorded.has_events { [View::Ops, View::Timeline].into_iter().filter_map(link).collect() } else { Vec::new() }
}

/// Lists the sources that this run lacks, with the reason, and explains how to record each.
fn absent(recorded: &Recorded) -> Option<Block> {
    if recorded.is_error() || recorded.heap_profile().is_some() && !recorded.has_events {
        return None;
    }
    let mut facts = Vec::new();
    let mut fact = |label: &str, value: &str| {
        facts.push(Fact { label: label.to_owned(), value: value.to_owned(), definition: String::new() });
    };
    if recorded.programs.iter().all(|program| program.memory().is_none()) {
        fact(
            "Compiled programs",
            if recorded.is_json {
                "A JSON trace does not contain programs. Open the .xplane.pb of the same capture."
            } else if recorded.programs.is_empty() {
                "The capture contains no programs. Record them with jax.profiler.ProfileOptions().enable_hlo_proto \
                    = True, or set XLA_FLAGS=--xla_dump_to=FOLDER and open that folder."
            } else {
                "The programs of this capture have no buffer assignments. Set XLA_FLAGS=--xla_dump_to=FOLDER and \
                    open that folder."
            },
        );
    }
    if recorded.allocators.is_empty() {
        fact(
            "Memory over time",
            match Platform::named(&recorded.platform) {
                _ if !recorded.has_events => "This run has no events. Open the profile of the program, an .xplane.pb.",
                Some(Platform::Cpu) => "XLA's CPU backend reports no allocations.",
                _ => {
                    "The capture contains no allocations. Allocators report them if \
                        jax.profiler.ProfileOptions().host_tracer_level is 2 or more."
                }
            },
        );
    }
    if recorded.heap_profile().is_none() {
        fact(
            "Arrays by line of Python",
            "Save a device memory profile with jax.profiler.save_device_memory_profile(\"memory.prof\") in the folder of \
                this run, and open the folder.",
        );
    }
    (!facts.is_empty()).then(|| Block::Facts(Facts { title: "Not in this run".to_owned(), facts }))
}

/// Returns the buttons of a choice that has more than one value.
fn choice(option: &str, label: &str, values: Vec<(String, String)>, query: &PageQuery) -> (String, Option<Block>) {
    let keys: Vec<&str> = values.iter().map(|(key, _)| key.as_str()).collect();
    let chosen = query.chosen(option, &keys).to_owned();
    let choice = Choice { option: option.to_owned(), label: label.to_owned(), chosen: chosen.clone(), values };
    (chosen, (choice.values.len() > 1).then_some(Block::Choice(choice)))
}

/// Returns the colour of a class. Classes reuse the colours of op families, because classes never appear next to ops.
fn colour(class: Class) -> ColourClass {
    match class {
        Class::Parameter => OpFamily::Matmul.into(),
        Class::OptimizerState => OpFamily::Convolution.into(),
        Class::Gradient => OpFamily::Reduction.into(),
        Class::Activation => OpFamily::Attention.into(),
        Class::Input => StepPart::HostToDevice.into(),
        Class::Output => OpFamily::DataMovement.into(),
        Class::Constant => HostRole::Python.into(),
        Class::CollectiveScratch => OpFamily::Communication.into(),
        Class::Temporary => OpFamily::Elementwise.into(),
        Class::Unknown => ColourClass::GROUP,
    }
}

#[cfg(test)]
mod tests;
