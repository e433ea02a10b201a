//! What pages are made of.

use super::{Block, PageQuery, TableBlock, table_block_of};
use crate::table::query;
use crate::tables::{self, TableName};
use metrics::Context;
use report::UnifiedProfile;

/// A run, as far as it is there.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Events of the run and what was measured of them.
    Trace(Context<'a>),
    /// Only the profile of the run, such as an earlier result.
    Profile(&'a UnifiedProfile),
}

impl<'a> Source<'a> {
    /// Profile of the run.
    pub fn profile(self) -> &'a UnifiedProfile {
        match self {
            Source::Trace(context) => context.profile,
            Source::Profile(profile) => profile,
        }
    }

    /// Events of the run, where they are there.
    pub fn context(self) -> Option<Context<'a>> {
        match self {
            Source::Trace(context) => Some(context),
            Source::Profile(_) => None,
        }
    }

    /// A table that the profile holds, with the page's filter and order; none without rows.
    pub(super) fn table(self, name: TableName, title: &str, asked: &PageQuery) -> Option<TableBlock> {
        let rows = tables::of_report(self.profile(), name).filter(|table| !table.rows.is_empty())?;
        Some(table_block_of(name, "", title, asked, &rows.columns, &mut |asked| query(&rows, asked)))
    }

    /// A table that the profile holds, as a block.
    pub(super) fn table_block(self, name: TableName, title: &str, asked: &PageQuery) -> Option<Block> {
        self.table(name, title, asked).map(Block::Table)
    }

    /// Why a section or field (`step_timing.avg_step_time_us`) is absent, where the profile says so: a reason for a section holds
    /// for its fields.
    pub(super) fn why_missing(self, field: &str) -> Option<&'a str> {
        let section = field.split('.').next().unwrap_or(field);
        let all = &self.profile().not_measured;
        let found = all.iter().find(|missing| missing.field == field);
        let found = found.or_else(|| all.iter().find(|missing| missing.field == section));
        found.map(|missing| missing.reason.as_str())
    }

    /// What stands in place of what needs this section of the profile, or the events: why there is nothing.
    pub(super) fn not_measured(self, section: &str) -> Block {
        let missing = self.profile().not_measured.iter().find(|missing| missing.field == section);
        let (reason, remedy) = match self {
            Source::Trace(_) => ("This run holds nothing for this view.", None),
            Source::Profile(_) => (
                "This is an earlier result: it holds the numbers of a run and not its events, so this view has nothing to show.",
                Some("Open the profile that it was made from."),
            ),
        };
        Block::Empty {
            reason: missing.map_or(reason, |missing| &missing.reason).to_owned(),
            remedy: missing.and_then(|missing| missing.remedy.as_deref()).or(remedy).map(str::to_owned),
        }
    }
}

/// What stands in place of a view that needs ops, where no device ran any.
#[inline(never)]
pub(super) fn nothing_ran() -> Block {
    Block::Empty {
        reason: "No op ran on a TPU, a GPU or XLA's CPU backend while the profile was taken.".to_owned(),
        remedy: Some(
            "with jax.profiler.trace(\"/tmp/profile\"):\n    jax.block_until_ready(train_step(state, batch))"
                .to_owned(),
        ),
    }
}
