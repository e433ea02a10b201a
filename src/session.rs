//! The facade that the command line, the web worker and the tests use: it takes files and returns runs and their reports.
//!
//! ```text
//!                one thread:   begin -> push, push, ... -> finish          (per file)
//!
//!  thread 1      bytes -> Unpacker -> chunks ==buffers==>  thread 2     begin -> unpacked, unpacked, ... -> finish
//!
//!  all files finished:         runs -> report, report, ...
//! ```
//!
//! To decode many files in parallel, give each file its own session, then [append](Session::append) the sessions to one
//! session in the order of the files.
//!
//! Inflating and decoding take about the same time, so native tools and the page do both at the same time. One thread
//! drives the [`Unpacker`] and passes on its chunks, and another thread calls [`Session::unpacked`]. With one thread or
//! two, the runs are the same.
//!
//! An error affects only its file: the other files of the session still load. All files of one run (its hosts, its sidecars)
//! must be finished before [`Session::runs`] is called. Files that are finished later become separate runs.

mod handover;
mod hlo_programs;
mod imported;
mod intake;
mod peek;
mod program_changes;
mod programs;
mod rehearsal;
mod runs;

pub use hlo_programs::{CompiledProgram, HloProgram, HloProgramBytes, OpNumbers, jax_script_of};
pub use input::{ArgumentsReader, NOT_FOUND, Outline, Outliner, Unpacked, Unpacker, plan};
pub use intake::{FileResult, MemberResult};
pub use memory::Recorded;
pub use metrics::{Context, Preset, StepPart, presets, throughput};
pub use peek::peek;
pub use program_changes::{pack_programs, program_changes, unpack_programs};
pub use run::{Settings, WindowChoice};
pub use runs::RunSummary;
pub use trace::{Interval, RowBlock, snapshot};

use std::collections::VecDeque;

use document::Page;
use pages::{PageQuery, Source, View};
use plan::FileKind;
use report::{LakeTrends, UnifiedProfile};
use table::{self, Query, Rows, Table};
use tables::{self, AreaError, AreaQuery, TableName};
use timeline::Timeline;

use intake::{Content, Intake, Member};
use runs::LoadedRun;

/// Identifies a file within a [`Session`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

/// Location of an event, for an [`ArgumentsReader`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventInFile {
    /// Path of the event's file. For a member of an archive, this is the path of the member.
    pub path: String,
    /// Index of the event among the events of that file.
    pub index: u32,
    /// Name of the event.
    pub name: String,
}

/// An events table and the location of each event. The location is `None` if it is unknown.
pub type ListedEvents = (Table, Vec<Option<EventInFile>>);

/// Loads files and keeps their runs. The module's documentation gives the order of calls.
#[derive(Default)]
pub struct Session {
    files: Vec<File>,
    members: Vec<Member>,
    runs: VecDeque<LoadedRun>,
}

/// A file that is being read. The field `intake` is `None` after the file is finished.
struct File {
    unpacker: Option<Unpacker>,
    intake: Option<Intake>,
}

impl Session {
    /// Creates a session without files.
    pub fn new() -> Session {
        Session::default()
    }

    /// Starts a file. `path` is shown to users, and determines to which run the file belongs. Folders in the path are
    /// separated by `/`. `size` is the stored size, if known.
    pub fn begin(&mut self, path: &str, size: Option<u64>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(File { unpacker: None, intake: Some(Intake::new(path, size)) });
        id
    }

    /// Adds the [`Outliner`]'s result for a plane of a file that has received no bytes yet. The plane is then decoded
    /// as it arrives, and is never in memory as a whole.
    pub fn add_outline(&mut self, file: FileId, outline: Outline) {
        if let Some(File { intake: Some(intake), .. }) = self.files.get_mut(file.0 as usize) {
            intake.add_outline(outline);
        }
    }

    /// Adds the next stored bytes of a file. Does nothing if the file is finished.
    pub fn push(&mut self, file: FileId, bytes: &[u8]) {
        let Some(File { unpacker, intake: Some(intake) }) = self.files.get_mut(file.0 as usize) else { return };
        intake.count_stored(bytes.len() as u64);
        let unpacker = unpacker.get_or_insert_with(|| Unpacker::new(intake.path()));
        unpacker.push(bytes, &mut |piece| intake.accept(piece));
    }

    /// Adds the next chunk of a file, from an [`Unpacker`] outside the session. A file must receive either chunks or
    /// stored bytes ([`Session::push`]), not both.
    pub fn unpacked(&mut self, file: FileId, piece: Unpacked<'_>) {
        if let Some(File { intake: Some(intake), .. }) = self.files.get_mut(file.0 as usize) {
            intake.accept(piece);
        }
    }

    /// Adds `bytes` to the stored size of a file whose bytes are unpacked elsewhere. Call this function before adding
    /// the chunks that these bytes give, so that the size is known even if [`Session::begin`] did not receive it.
    pub fn stored(&mut self, file: FileId, bytes: u64) {
        if let Some(File { intake: Some(intake), .. }) = self.files.get_mut(file.0 as usize) {
            intake.count_stored(bytes);
        }
    }

    /// Returns the number of events decoded so far from a file that is being read.
    pub fn events(&self, file: FileId) -> u64 {
        self.files.get(file.0 as usize).and_then(|file| file.intake.as_ref()).map_or(0, Intake::events)
    }

    /// Finishes a file and returns its events, warnings and errors.
    pub fn finish(&mut self, file: FileId) -> FileResult {
        let Some(file) = self.files.get_mut(file.0 as usize) else { return FileResult::default() };
        let Some(mut intake) = file.intake.take() else { return FileResult::default() };
        if let Some(mut unpacker) = file.unpacker.take() {
            unpacker.finish(&mut |piece| intake.accept(piece));
        }
        let (result, members) = intake.finish();
        self.members.extend(members);
        result
    }

    /// Drops a file that is being read, and all events that were decoded from it.
    pub fn cancel(&mut self, file: FileId) {
        if let Some(file) = self.files.get_mut(file.0 as usize) {
            (file.unpacker, file.intake) = (None, None);
        }
    }

    /// Moves the finished files of another session to the end of this session. With this function, files can be decoded
    /// in parallel, each in its own session.
    pub fn append(&mut self, other: Session) {
        self.members.extend(other.members);
        self.runs.extend(other.runs);
    }

    /// Records a file that exists but was not read, because the plan reads another file of the same host. The run's
    /// report mentions the file that was left out. If the other file is not a profile, [`Session::wanted`] requests the
    /// file that was left out.
    pub fn leave_out(&mut self, path: &str, size: u64, kind: FileKind) {
        self.members.push(Member::new(path, size, kind, Content::NotRead));
    }

    /// Returns the files that were left out but are needed after all, because the file that was read instead contained
    /// no events. The session forgets the files that it returns, and the caller must read them like any other file.
    pub fn wanted(&mut self) -> Vec<String> {
        runs::wanted(&mut self.members)
    }

    /// Returns true if the run is an imported result. An imported run has no events.
    pub fn is_imported(&self, run: u32) -> bool {
        self.runs.get(run as usize).is_some_and(LoadedRun::is_imported)
    }

    /// Returns true if the run is a lake export. The numbers of a lake export belong to other captures, so the export
    /// has no report.
    pub fn is_of_lake(&self, run: u32) -> bool {
        self.runs.get(run as usize).is_some_and(LoadedRun::is_of_lake)
    }

    /// Returns the trends of a lake, if the run is a lake export. Fails with a sentence if the export cannot be read.
    pub fn lake_trends(&mut self, run: u32) -> Option<Result<&LakeTrends, &str>> {
        self.source(run, &Settings::default())?.trends()
    }

    /// Returns the runs that have been read so far, in the order of their files.
    pub fn runs(&mut self) -> Vec<RunSummary> {
        self.runs.extend(runs::build(&mut self.members));
        self.runs.iter().enumerate().map(|(index, run)| run.summary(index)).collect()
    }

    /// Returns the index of the run that was captured last, or the first run if no capture records its time.
    pub fn newest(&self) -> u32 {
        let times = self.runs.iter().zip(0..).map(|(run, index)| (run.captured_at(), index));
        let newest = times.reduce(|newest, it| if it.0 > newest.0 { it } else { newest });
        newest.map_or(0, |(_, index)| index)
    }

    /// Returns the report of a run. `run` is its index in [`Session::runs`]. `None` if there is no such run.
    pub fn report(&mut self, run: u32, settings: &Settings) -> Option<UnifiedProfile> {
        Some(self.source(run, settings)?.profile().copied())
    }

    /// Returns the parts of a run from which pages and tables are made.
    fn source(&mut self, run: u32, settings: &Settings) -> Option<Source<'_>> {
        Some(self.runs.get_mut(run as usize)?.source(settings))
    }

    /// Returns the reason why a table of a run has no rows, if it is known. For example, an imported result lacks the
    /// tables that need events.
    pub fn why_empty(&mut self, run: u32, settings: &Settings, name: TableName) -> Option<String> {
        self.source(run, settings)?.why_empty(name)
    }

    /// Returns a table of a run. See [`tables::rows`] for `variant`. The analysis behind the table is cached until the
    /// settings change.
    pub fn table(
        &mut self,
        run: u32,
        settings: &Settings,
        name: TableName,
        variant: &str,
        query: &Query,
    ) -> Option<Table> {
        self.table_of_area(run, settings, name, variant, &AreaQuery::default(), query)?.ok()
    }

    /// Returns a table for an area of the run's timeline, if the table [supports areas](TableName::is_of_area). Fails if
    /// the area names an unknown track, or ends before it starts.
    pub fn table_of_area(
        &mut self,
        run: u32,
        settings: &Settings,
        name: TableName,
        variant: &str,
        area: &AreaQuery,
        query: &Query,
    ) -> Option<Result<Table, AreaError>> {
        Some(self.source(run, settings)?.rows(name, variant, area, |rows| table::query(rows, query)))
    }

    /// Calls `look` with a table of a run and returns the result. `look` can read any cell without copying the table.
    pub fn rows<T>(
        &mut self,
        run: u32,
        settings: &Settings,
        name: TableName,
        variant: &str,
        look: impl FnOnce(&dyn Rows) -> T,
    ) -> Option<T> {
        self.source(run, settings)?.rows(name, variant, &AreaQuery::default(), look).ok()
    }

    /// Returns the events in an area of a run's timeline. Fails if the area names an unknown track, or ends before it starts.
    pub fn listed_events(
        &mut self,
        run: u32,
        settings: &Settings,
        area: &AreaQuery,
        query: &Query,
    ) -> Option<Result<ListedEvents, AreaError>> {
        self.timeline(run, settings, |context, timeline| {
            let (table, events) = tables::listed_events(&context, timeline, area, query)?;
            let in_file = |event| {
                let (path, index) = context.run.in_file(event)?;
                let trace = context.captured_trace();
                let name = trace.text(trace.events.get(event)?.name).to_owned();
                Some(EventInFile { path: path.to_owned(), index, name })
            };
            Ok((table, events.into_iter().map(in_file).collect()))
        })
    }

    /// Calls `look` with the events and the timeline of a run and returns the result. `None` if there is no such run, or if
    /// it is an imported result, which has no events.
    pub fn timeline<T>(
        &mut self,
        run: u32,
        settings: &Settings,
        look: impl FnOnce(Context<'_>, &Timeline) -> T,
    ) -> Option<T> {
        let (context, timeline) = self.source(run, settings)?.timeline()?;
        Some(look(context, timeline))
    }

    /// Returns the picture of a run's median step as text ([`timeline::StepPicture`]), to be drawn next to the pictures
    /// of other runs. The picture is drawn from the events, or taken from an imported report. `None` if the run has no
    /// steps, or if the imported report has no picture.
    pub fn median_step(&mut self, run: u32, settings: &Settings) -> Option<String> {
        self.source(run, settings)?.median_step()
    }

    /// Returns the memory data of a run, from which another worker makes tables and pages. `None` if there is no such run,
    /// or if it is an imported result.
    pub fn memory(&mut self, run: u32, settings: &Settings) -> Option<&Recorded> {
        Some(self.source(run, settings)?.memory()?.recorded())
    }

    /// Returns the details of one row of a table. `index` is the row's position among the rows that match `query`.
    /// `None` if there is no such run.
    pub fn row(
        &mut self,
        run: u32,
        settings: &Settings,
        name: TableName,
        variant: &str,
        query: &Query,
        index: u32,
    ) -> Option<Page> {
        Some(pages::row(self.source(run, settings)?, name, variant, query, index))
    }

    /// Returns the page that a view shows for a run. For an imported result, the page shows the numbers that the result
    /// contains. `None` if there is no such run.
    pub fn page(&mut self, run: u32, settings: &Settings, view: View, query: &PageQuery) -> Option<Page> {
        Some(pages::page(self.source(run, settings)?, view, query))
    }
}

#[cfg(test)]
mod tests;
