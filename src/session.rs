//! The facade that the command line, the web worker and the tests drive: files in, runs and their reports out.
//!
//! ```text
//!                one thread:   begin -> push, push, ... -> finish          (per file)
//!
//!  thread 1      bytes -> Unpacker -> pieces ==buffers==>  thread 2     begin -> unpacked, unpacked, ... -> finish
//!
//!  all files finished:         runs -> report, report, ...
//! ```
//!
//! Many files are decoded beside each other in a session each, which one session then [appends](Session::append) in the
//! order of the files.
//!
//! Inflating and decoding cost about the same, so a native tool or a page overlaps them: one thread drives the
//! [`Unpacker`] and passes its pieces on, the other calls [`Session::unpacked`]. Both ways give the same runs.
//!
//! An error belongs to its file: the other files of the session still load. Files of one run (its hosts, its sidecars)
//! must be finished before [`Session::runs`] is called; what is finished later becomes separate runs.

mod handover;
mod intake;
mod peek;
mod programs;
mod rehearsal;
mod runs;

pub use intake::{FileResult, MemberResult};
pub use peek::peek;
pub use runs::RunSummary;

use std::collections::VecDeque;

use input::plan::FileKind;
use input::{Outline, Unpacked, Unpacker};
use memory::Recorded;
use metrics::{Context, Settings};
use report::UnifiedProfile;
use timeline::Timeline;
use view::pages::{Page, PageQuery, View};
use view::table::{self, Query, Rows, Table};
use view::tables::{self, AreaQuery, TableName};

use intake::{Content, Intake, Member};
use runs::LoadedRun;

/// A file of one [`Session`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

/// Where an event stands, for an [`ArgumentsReader`](input::ArgumentsReader).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventInFile {
    /// Path of the event's file; in an archive that of the member.
    pub path: String,
    /// Index of the event among those there.
    pub index: u32,
    /// Name of the event.
    pub name: String,
}

/// A table of events, and where each of them stands: nothing for an event of which that is not known.
pub type ListedEvents = (Table, Vec<Option<EventInFile>>);

/// Loads files and keeps their runs. See the module's documentation for the order of calls.
#[derive(Default)]
pub struct Session {
    files: Vec<File>,
    members: Vec<Member>,
    runs: VecDeque<LoadedRun>,
}

/// A file while it is read; `None` once it is finished.
struct File {
    unpacker: Option<Unpacker>,
    intake: Option<Intake>,
}

impl Session {
    /// A session without files.
    pub fn new() -> Session {
        Session::default()
    }

    /// Starts a file. `path` is shown to people and decides which run it belongs to (`/` between folders); `size` is its
    /// size as stored, where known.
    pub fn begin(&mut self, path: &str, size: Option<u64>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(File { unpacker: None, intake: Some(Intake::new(path, size)) });
        id
    }

    /// Says what an [`Outliner`](input::Outliner) found in a file of which nothing was given yet, one plane
    /// after the other: these are then decoded while they arrive, and never held as a whole.
    pub fn foresee(&mut self, file: FileId, outline: Outline) {
        if let Some(File { intake: Some(intake), .. }) = self.files.get_mut(file.0 as usize) {
            intake.foresee(outline);
        }
    }

    /// Gives the next bytes of a file, as stored. Ignored for a file that is finished.
    pub fn push(&mut self, file: FileId, bytes: &[u8]) {
        let Some(File { unpacker, intake: Some(intake) }) = self.files.get_mut(file.0 as usize) else { return };
        intake.count_stored(bytes.len() as u64);
        let unpacker = unpacker.get_or_insert_with(|| Unpacker::new(intake.path()));
        unpacker.push(bytes, &mut |piece| intake.accept(piece));
    }

    /// Gives the next piece that an [`Unpacker`] made of a file elsewhere; never mixed with [`Session::push`].
    pub fn unpacked(&mut self, file: FileId, piece: Unpacked<'_>) {
        if let Some(File { intake: Some(intake), .. }) = self.files.get_mut(file.0 as usize) {
            intake.accept(piece);
        }
    }

    /// Says that `bytes` more of a file, as stored, were read elsewhere, before the pieces that they gave: so that its size is
    /// known where [`Session::begin`] did not get it.
    pub fn stored(&mut self, file: FileId, bytes: u64) {
        if let Some(File { intake: Some(intake), .. }) = self.files.get_mut(file.0 as usize) {
            intake.count_stored(bytes);
        }
    }

    /// Events decoded so far from a file that is being read.
    pub fn events(&self, file: FileId) -> u64 {
        self.files.get(file.0 as usize).and_then(|file| file.intake.as_ref()).map_or(0, Intake::events)
    }

    /// Ends a file: what it gave, and what was wrong with it.
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

    /// Drops a file that is being read, with everything it gave.
    pub fn cancel(&mut self, file: FileId) {
        if let Some(file) = self.files.get_mut(file.0 as usize) {
            (file.unpacker, file.intake) = (None, None);
        }
    }

    /// Takes what the finished files of another session gave, after those of this one: files can be decoded beside each other, in a
    /// session each.
    pub fn append(&mut self, other: Session) {
        self.members.extend(other.members);
        self.runs.extend(other.runs);
    }

    /// Says that a file is there and was not read, because the plan reads another of the same host. The report of its
    /// run mentions it; should the other one turn out to be no profile, [`Session::wanted`] asks for this one.
    pub fn leave_out(&mut self, path: &str, size: u64, kind: FileKind) {
        self.members.push(Member::new(path, size, kind, Content::NotRead));
    }

    /// Files that were left out and are needed after all, because the file read instead of them gave nothing. They are
    /// forgotten by this call and have to be read as any other file.
    pub fn wanted(&mut self) -> Vec<String> {
        runs::wanted(&mut self.members)
    }

    /// True for an earlier result that was imported, which has no events.
    pub fn is_imported(&self, run: u32) -> bool {
        matches!(self.runs.get(run as usize), Some(LoadedRun::Imported(_)))
    }

    /// The runs so far, in the order of their files.
    pub fn runs(&mut self) -> Vec<RunSummary> {
        self.runs.extend(runs::build(&mut self.members));
        self.runs.iter().enumerate().map(|(index, run)| run.summary(index)).collect()
    }

    /// Returns the index of the run that was captured last; the first if no capture states its time.
    pub fn newest(&self) -> u32 {
        let times = self.runs.iter().zip(0..).map(|(run, index)| (run.captured_at(), index));
        let newest = times.reduce(|newest, it| if it.0 > newest.0 { it } else { newest });
        newest.map_or(0, |(_, index)| index)
    }

    /// The report of a run (its index in [`Session::runs`]); `None` where there is no such run.
    pub fn report(&mut self, run: u32, settings: &Settings) -> Option<UnifiedProfile> {
        self.runs.get_mut(run as usize).map(|run| run.report(settings))
    }

    /// A table of a run; see [`view::tables::rows`] for `variant`. The analysis behind it is made once for the same
    /// settings.
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

    /// A table of an area of the run's timeline, for the tables that [are of one](TableName::is_of_area). A sentence where the area
    /// names a line that is not there, or ends before it starts.
    pub fn table_of_area(
        &mut self,
        run: u32,
        settings: &Settings,
        name: TableName,
        variant: &str,
        area: &AreaQuery,
        query: &Query,
    ) -> Option<Result<Table, String>> {
        let run = self.runs.get_mut(run as usize)?;
        Some(run.rows(settings, name, variant, area, |rows| table::query(rows, query)))
    }

    /// What `look` makes of a table of a run: any of its cells can be asked, and none is copied before.
    pub fn rows<T>(
        &mut self,
        run: u32,
        settings: &Settings,
        name: TableName,
        variant: &str,
        look: impl FnOnce(&dyn Rows) -> T,
    ) -> Option<T> {
        self.runs.get_mut(run as usize)?.rows(settings, name, variant, &AreaQuery::default(), look).ok()
    }

    /// The events of an area of a run's timeline. A sentence where the area names a line that is not there, or ends
    /// before it starts.
    pub fn listed_events(
        &mut self,
        run: u32,
        settings: &Settings,
        area: &AreaQuery,
        query: &Query,
    ) -> Option<Result<ListedEvents, String>> {
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

    /// What `look` makes of the events of a run and its timeline; `None` where there is no such run, or it is an imported result, which
    /// has no events.
    pub fn timeline<T>(
        &mut self,
        run: u32,
        settings: &Settings,
        look: impl FnOnce(Context<'_>, &Timeline) -> T,
    ) -> Option<T> {
        self.runs.get_mut(run as usize)?.timeline(settings, look)
    }

    /// The picture of the median step of a run as a text ([`timeline::StepPicture`]), to be drawn beside those of other runs: from its
    /// events, or of an imported report as it was kept there. `None` where there is neither, or the run has no steps.
    pub fn median_step(&mut self, run: u32, settings: &Settings) -> Option<String> {
        self.runs.get_mut(run as usize)?.median_step(settings)
    }

    /// What a run says of memory, for tables and pages that another session's program makes. `None` where there is no such run, or it is an
    /// imported result.
    pub fn memory(&mut self, run: u32, settings: &Settings) -> Option<&Recorded> {
        self.runs.get_mut(run as usize)?.memory(settings)
    }

    /// What is said of one row of a table of a run: of that with this index among those that `query` gives. `None` where there is no such
    /// run.
    pub fn row(
        &mut self,
        run: u32,
        settings: &Settings,
        name: TableName,
        variant: &str,
        query: &Query,
        index: u32,
    ) -> Option<Page> {
        self.runs.get_mut(run as usize).map(|run| run.row(settings, name, variant, query, index))
    }

    /// The page of a view of a run, for imported results as far as they hold its numbers; `None` where there is no such run.
    pub fn page(&mut self, run: u32, settings: &Settings, view: View, query: &PageQuery) -> Option<Page> {
        self.runs.get_mut(run as usize).map(|run| run.page(settings, view, query))
    }
}

#[cfg(test)]
mod tests;
