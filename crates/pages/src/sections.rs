//! Report of a run, section by section. Terminal output, Markdown, HTML and the notebook card all take their contents
//! from this module.
//!
//! The report uses the blocks of the pages, made from the profile alone. Imported results therefore also have a report,
//! and the same profile always gives the same bytes.

use crate::warning::warning_line;
use crate::{
    PageQuery, Source, communication, findings, goodput, host, layers, live_memory, overview, run_facts, steps,
    transfers,
};
use base::{Warning, format, json_text};
use document::{Block, ColumnBlock, Fact, Facts, Place, Section, TableBlock};
use report::UnifiedProfile;
use table::Table;
use tables::{TableName, top_ops_or_kernels};

/// Maximum number of devices that get a bar.
const DEVICES: usize = 64;
/// Maximum number of warnings that are listed. The profile contains all warnings.
const WARNINGS: usize = 20;
/// Columns of the table of largest ops that are only shown in the details of an op.
const OP_DETAILS: [&str; 3] = ["min_us", "max_us", "program"];

/// Returns all sections, in order. Sections without content have no blocks.
pub fn sections(profile: &UnifiedProfile) -> Vec<Section> {
    let source = Source::of_profile(profile);
    let query = PageQuery::default();
    let short = |id, title: &str, blocks| Section { id, title: title.to_owned(), blocks, place: Place::Front };
    let long = |id, title: &str, blocks| Section { id, title: title.to_owned(), blocks, place: Place::Appendix };
    vec![
        summary(profile),
        short("host", "", of_other_kinds(source, &query)),
        what_to_do(profile),
        long("steps", "Where the time goes", step_blocks(source)),
        long("layers", "Layers", layers::section(profile)),
        short("ops", "", op_blocks(profile)),
        short("live-memory", "Live memory", live_memory::beside_trace(source, &query)),
        devices(profile),
        long("device-tables", "Devices in detail", super::devices::tables(source, &query).collect()),
        long("communication", "Communication", known(communication::blocks(source, &query))),
        long("transfers", "Copies", known(transfers::blocks(source, &query))),
        long("environment", "Environment", vec![untitled(run_facts::environment(profile))]),
        long("not-measured", "Not measured", run_facts::not_measured(profile).into_iter().collect()),
        long("definitions", "Definitions", definitions(profile).into_iter().collect()),
        warnings(&profile.warnings),
    ]
}

/// Returns the figures and facts at the beginning of a report.
pub fn summary(profile: &UnifiedProfile) -> Section {
    let figures = match profile.is_of_memory_alone() {
        true => Vec::new(),
        false => overview::figures(Source::of_profile(profile)),
    };
    let blocks = vec![Block::Figures { figures }, run_facts::run(profile)];
    Section { id: "summary", title: String::new(), blocks, place: Place::Front }
}

/// Returns the findings, and the categories that take most of the time.
pub fn what_to_do(profile: &UnifiedProfile) -> Section {
    let blocks = findings::all(Source::of_profile(profile));
    Section { id: "findings", title: "What to do first".to_owned(), blocks, place: Place::Front }
}

/// Returns the first section of a run without device ops: its memory, its hosts, or its devices of
/// unknown kinds.
fn of_other_kinds(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    match source.profile() {
        profile if profile.is_of_memory_alone() => live_memory::blocks(source, query),
        profile if overview::is_host_only(profile) => known(host::blocks(source, query)),
        _ => host::other_devices(source, query).collect(),
    }
}

fn step_blocks(source: Source<'_>) -> Vec<Block> {
    let goodput: Vec<Block> = goodput::blocks(source).into_iter().collect();
    let Some(mean) = steps::mean(source.profile()) else { return goodput };
    [Block::Stack(steps::overview(source)), Block::Bars(mean)].into_iter().chain(goodput).collect()
}

fn op_blocks(profile: &UnifiedProfile) -> Vec<Block> {
    let (title, table) = top_ops_or_kernels(profile);
    let name = if table.name == "ops" { TableName::Ops } else { TableName::TopKernels };
    let categories = overview::categories(profile, &|_| None);
    vec![Block::Bars(categories), Block::Table(whole(&table, name, title))]
}

/// Returns a table of a profile with the columns that fit in a report.
fn whole(table: &Table, name: TableName, title: &str) -> TableBlock {
    let column = |column| {
        let column = ColumnBlock::from(column);
        ColumnBlock { is_folded: OP_DETAILS.contains(&column.key.as_str()), ..column }
    };
    TableBlock {
        title: title.to_owned(),
        columns: table.columns.iter().map(column).collect(),
        rows: table.rows.clone(),
        total_rows: table.rows.len() as u64,
        ..TableBlock::empty(name)
    }
}

fn has_many_devices(profile: &UnifiedProfile) -> bool {
    profile.multi_device.as_ref().is_some_and(|devices| devices.device_stats.len() > 1)
}

/// Returns the busy share of each device, and the devices that ran nothing.
pub fn devices(profile: &UnifiedProfile) -> Section {
    let bars = profile.multi_device.as_ref().map(|_| Block::Bars(super::devices::first(profile, DEVICES)));
    let unused = profile.multi_device.iter().flat_map(|devices| &devices.unused_devices);
    let unused: Vec<&str> = unused.map(String::as_str).collect();
    let note = Block::Note { text: format!("Not used: {}.", format::shorten(&unused.join(", "), 1000)) };
    let blocks = bars.into_iter().chain((!unused.is_empty()).then_some(note)).collect();
    let place = if has_many_devices(profile) { Place::Front } else { Place::Appendix };
    Section { id: "devices", title: "Devices".to_owned(), blocks, place }
}

/// Removes blocks that explain why a page is empty. A report omits empty sections instead.
fn known(blocks: Vec<Block>) -> Vec<Block> {
    blocks.into_iter().filter(|block| !matches!(block, Block::Empty { .. })).collect()
}

fn untitled(block: Block) -> Block {
    match block {
        Block::Facts(facts) => Block::Facts(Facts { title: String::new(), ..facts }),
        other => other,
    }
}

/// Lists the definitions of the headline numbers that the profile contains.
fn definitions(profile: &UnifiedProfile) -> Option<Block> {
    // Converts the profile to text first, because serialising it as a tree would duplicate the code for all its types.
    let document: serde_json::Value = serde_json::from_str(&json_text::compact(profile)).unwrap_or_default();
    let is_in = |path: &str| document.pointer(&format!("/{}", path.replace('.', "/"))).is_some();
    let fact = |(path, definition): (&str, base::fields::Definition)| Fact {
        label: path.to_owned(),
        value: definition.plain(),
        ..Fact::default()
    };
    let facts: Vec<Fact> = compare::definitions().filter(|(path, _)| is_in(path)).map(fact).collect();
    let blocks = vec![Block::Facts(Facts { title: String::new(), facts })];
    Some(Block::Fold { title: "What the numbers mean".to_owned(), blocks })
}

/// Lists the warnings about lost or unusual data.
pub fn warnings(warnings: &[Warning]) -> Section {
    let fact = |warning: &Warning| {
        let line = warning_line(warning);
        let (severity, text) = line.split_once(':').unwrap_or(("", &line));
        Fact { label: severity.to_owned(), value: text.trim_start().to_owned(), ..Fact::default() }
    };
    let mut blocks = Vec::new();
    if !warnings.is_empty() {
        let facts = warnings.iter().take(WARNINGS).map(fact).collect();
        blocks.push(Block::Facts(Facts { title: String::new(), facts }));
    }
    if let Some(left @ 1..) = warnings.len().checked_sub(WARNINGS) {
        blocks.push(Block::Note { text: format!("and {} more", format::count(left as u64)) });
    }
    let title = format!("Warnings ({})", format::count(warnings.len() as u64));
    Section { id: "warnings", title, blocks, place: Place::Front }
}
