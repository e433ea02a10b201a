//! Input of the pages.

use crate::{PageQuery, table_block_of};
use document::{Block, TableBlock};
use metrics::Context;
use report::UnifiedProfile;
use table::query;
use tables::{self, TableName};

/// Available data of a run.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Events of the run, and the measurements from them.
    Trace(Context<'a>),
    /// Only the profile of the run, for example of an earlier result.
    Profile(&'a UnifiedProfile),
}

impl<'a> Source<'a> {
    /// Returns the profile of the run.
    pub fn profile(self) -> &'a UnifiedProfile {
        match self {
            Source::Trace(context) => context.profile,
            Source::Profile(profile) => profile,
        }
    }

    /// Returns the events of the run, if they are available.
    pub fn context(self) -> Option<Context<'a>> {
        match self {
            Source::Trace(context) => Some(context),
            Source::Profile(_) => None,
        }
    }

    /// Returns a table from the profile, with the page's filter and order. Returns `None` if it has no
    /// rows.
    pub(super) fn table(self, name: TableName, title: &str, asked: &PageQuery) -> Option<TableBlock> {
        let rows = tables::of_report(self.profile(), name).filter(|table| !table.rows.is_empty())?;
        Some(table_block_of(name, "", title, asked, &rows.columns, &mut |asked| query(&rows, asked)))
    }

    /// Returns a table from the profile as a block.
    pub(super) fn table_block(self, name: TableName, title: &str, asked: &PageQuery) -> Option<Block> {
        self.table(name, title, asked).map(Block::Table)
    }

    /// Returns the reason why a section or field (`step_timing.avg_step_time_us`) is absent, if the
    /// profile records it. The reason for a section also applies to its fields.
    pub(super) fn why_missing(self, field: &str) -> Option<&'a str> {
        let section = field.split('.').next().unwrap_or(field);
        let all = &self.profile().not_measured;
        let found = all.iter().find(|missing| missing.field == field);
        let found = found.or_else(|| all.iter().find(|missing| missing.field == section));
        found.map(|missing| missing.reason.as_str())
    }

    /// Returns the block that explains why a section of the profile, or the events, are missing.
    pub(super) fn not_measured(self, section: &str) -> Block {
        let missing = self.profile().not_measured.iter().find(|missing| missing.field == section);
        let (reason, remedy) = match self {
            Source::Trace(_) => ("This run has no data for this view.", None),
            Source::Profile(_) => (
                "This view needs events. This run is an earlier result, which contains numbers but no events.",
                Some("Open the profile that it was made from."),
            ),
        };
        Block::Empty {
            reason: missing.map_or(reason, |missing| &missing.reason).to_owned(),
            remedy: missing.and_then(|missing| missing.remedy.as_deref()).or(remedy).map(str::to_owned),
        }
    }
}

/// Returns the block for a view that requires ops, if no device ran any.
#[inline(never)]
pub(super) fn nothing_ran() -> Block {
    Block::Empty {
        reason: "No op ran on a TPU, a GPU or XLA's CPU backend during the capture.".to_owned(),
        remedy: Some(
            "with jax.profiler.trace(\"/tmp/profile\"):\n    jax.block_until_ready(train_step(state, batch))"
                .to_owned(),
        ),
    }
}
