//! Input of the pages: the parts of a run that pages and tables read.

use std::cell::OnceCell;

use crate::memory::KeptMemory;
use crate::{PageQuery, table_block_of};
use document::{Block, TableBlock};
use metrics::Context;
use report::{LakeTrends, UnifiedProfile};
use table::{Rows, query};
use tables::{self, AreaError, AreaQuery, TableName};
use timeline::{StepPicture, Timeline};

/// Sentence about a run that was imported from an earlier result, and so has numbers but no events.
const EARLIER_RESULT: &str = "This run is an earlier result, which contains numbers but no events.";
/// Remedy for a run that was imported from an earlier result.
const OPEN_ORIGINAL: &str = "Open the profile that the result was made from.";

/// Parts of a run that pages and tables read. Every run has a profile. A run that was imported from an earlier result
/// has no other parts. Requests for missing parts return `None`, or the [reason](Source::events).
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    profile: &'a UnifiedProfile,
    context: Option<Context<'a>>,
    timeline: Option<&'a Timeline>,
    memory: Option<&'a OnceCell<KeptMemory>>,
    /// Picture of the median step that was saved with the profile.
    median_step: Option<&'a str>,
    /// Trends of a lake, if the profile only names their file.
    trends: Option<Result<&'a LakeTrends, &'a str>>,
}

/// Reason why a run lacks a part, and what to do.
#[derive(Debug)]
pub(super) struct Absent {
    reason: String,
    remedy: Option<String>,
}

impl From<Absent> for Block {
    /// In a profile, a remedy is a sentence. In a block, a remedy is code.
    fn from(Absent { reason, remedy }: Absent) -> Block {
        let reason = remedy.map_or(reason.clone(), |remedy| format!("{reason} {remedy}"));
        Block::Empty { reason, remedy: None }
    }
}

impl<'a> Source<'a> {
    /// Creates the source of a run that was imported from an earlier result, and so has no events.
    pub fn of_profile(profile: &'a UnifiedProfile) -> Source<'a> {
        Source { profile, context: None, timeline: None, memory: None, median_step: None, trends: None }
    }

    /// Creates the source of a run with events.
    pub fn of_events(context: Context<'a>) -> Source<'a> {
        Source { context: Some(context), ..Source::of_profile(context.profile) }
    }

    /// Adds the timeline of the events.
    pub fn with_timeline(self, timeline: &'a Timeline) -> Source<'a> {
        Source { timeline: Some(timeline), ..self }
    }

    /// Adds the memory data of the events. The data is made on the first request.
    pub fn with_memory(self, memory: &'a OnceCell<KeptMemory>) -> Source<'a> {
        Source { memory: Some(memory), ..self }
    }

    /// Adds a saved picture of the median step.
    pub fn with_median_step(self, median_step: Option<&'a str>) -> Source<'a> {
        Source { median_step, ..self }
    }

    /// Adds the trends of a lake, or the reason why they cannot be read.
    pub fn with_trends(self, trends: Option<Result<&'a LakeTrends, &'a str>>) -> Source<'a> {
        Source { trends, ..self }
    }

    /// Returns the trends of a lake, or the reason why they cannot be read. Every page shows the trends, because a run
    /// with trends contains no other data.
    pub fn trends(self) -> Option<Result<&'a LakeTrends, &'a str>> {
        self.trends
    }

    /// Returns the profile of the run.
    pub fn profile(self) -> &'a UnifiedProfile {
        self.profile
    }

    /// Returns the events of the run and their measurements, if the run has them.
    pub fn context(self) -> Option<Context<'a>> {
        self.context
    }

    /// Returns the events of the run and their measurements.
    ///
    /// # Errors
    ///
    /// Returns the reason why the events, or a section of the profile, are missing.
    pub(super) fn events(self, section: &str) -> Result<Context<'a>, Absent> {
        self.context.ok_or_else(|| self.why_absent(section))
    }

    /// Returns the result of the first function if the run has events, and of the second function otherwise. Pages call
    /// this function if events provide more detail than the profile.
    pub(super) fn measured_or_recorded<T>(
        self,
        of_events: impl FnOnce(&Context<'a>) -> T,
        of_profile: impl FnOnce(&'a UnifiedProfile) -> T,
    ) -> T {
        match &self.context {
            Some(context) => of_events(context),
            None => of_profile(self.profile),
        }
    }

    /// Returns the events with their timeline.
    pub fn timeline(self) -> Option<(Context<'a>, &'a Timeline)> {
        self.context.zip(self.timeline)
    }

    /// Returns the memory data of the run.
    pub fn memory(self) -> Option<&'a KeptMemory> {
        let context = self.context?;
        Some(self.memory?.get_or_init(|| KeptMemory::of_run(&context)))
    }

    /// Returns the picture of the median step as text: drawn from the events, or saved with the profile.
    pub fn median_step(self) -> Option<String> {
        match self.timeline() {
            Some((context, timeline)) => {
                StepPicture::of_median_step(context, timeline).map(|picture| picture.to_string())
            }
            None => self.median_step.map(str::to_owned),
        }
    }

    /// Calls `look` with a table and returns the result, without building the whole table. A run has only the tables that
    /// its parts provide. All other tables are empty.
    ///
    /// # Errors
    ///
    /// Fails if the table covers an area without lines or without time.
    pub fn rows<T>(
        self,
        name: TableName,
        variant: &str,
        area: &AreaQuery,
        look: impl FnOnce(&dyn Rows) -> T,
    ) -> Result<T, AreaError> {
        if let Some(memory) = self.memory.filter(|_| name.is_of_memory()).and_then(|_| self.memory()) {
            return memory.rows(name, variant, look).ok_or(AreaError::NotOfMemory);
        }
        match self.timeline() {
            Some((context, timeline)) => Ok(look(&*tables::rows_of_area(&context, timeline, area, name, variant)?)),
            None => Ok(look(&*self.rows_of_window(name, variant))),
        }
    }

    /// Returns a table that covers the window. Has no rows if the run lacks a part that the table needs.
    pub(super) fn rows_of_window(self, name: TableName, variant: &str) -> Box<dyn Rows + 'a> {
        match self.context {
            Some(context) => tables::rows(&context, name, variant),
            None => Box::new(tables::of_report(self.profile, name).unwrap_or_else(|| tables::empty(name))),
        }
    }

    /// Returns why a table has no rows, if the reason is known.
    pub fn why_empty(self, name: TableName) -> Option<String> {
        let needs = if name.is_of_memory() { "the memory data of the run" } else { "events" };
        let lacks_events = self.context.is_none() && !name.is_of_profile();
        let absent = || lacks_events.then(|| format!("This table needs {needs}. {EARLIER_RESULT} {OPEN_ORIGINAL}"));
        tables::why_empty(name, self.profile).or_else(absent)
    }

    /// Returns a table from the profile, with the page's filter and order. Returns `None` if it has no
    /// rows.
    pub(super) fn table(self, name: TableName, title: &str, asked: &PageQuery) -> Option<TableBlock> {
        let rows = tables::of_report(self.profile, name).filter(|table| !table.rows.is_empty())?;
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
        let all = &self.profile.not_measured;
        let found = all.iter().find(|missing| missing.field == field);
        let found = found.or_else(|| all.iter().find(|missing| missing.field == section));
        found.map(|missing| missing.reason.as_str())
    }

    /// Returns the block that explains why a section of the profile, or the events, are missing.
    pub(super) fn not_measured(self, section: &str) -> Block {
        self.why_absent(section).into()
    }

    /// Returns the reason why a section of the profile, or the events, are missing.
    fn why_absent(self, section: &str) -> Absent {
        let missing = self.profile.not_measured.iter().find(|missing| missing.field == section);
        let has_events = self.context.is_some();
        let reason = || match has_events {
            true => "This run has no data for this view.".to_owned(),
            false => format!("This view needs events. {EARLIER_RESULT}"),
        };
        let remedy = missing.and_then(|missing| missing.remedy.as_deref());
        Absent {
            reason: missing.map_or_else(reason, |missing| missing.reason.clone()),
            remedy: remedy.or((!has_events).then_some(OPEN_ORIGINAL)).map(str::to_owned),
        }
    }
}

/// Returns the block for a view that requires ops, if no device ran an op.
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
