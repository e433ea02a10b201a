//! What the page and its workers tell each other.
//!
//! ```text
//!                 Order::Unpack + files                Piece (bytes transferred)
//!        page --- Order::Look + files --> a worker of its own --- News::Looked --> page
//!        page ------------------------> inflate worker ------------------------> scan worker
//!          |                                  |  ^                                 |   |
//!          |<--- News::Read, News::Failed ----+  +--- the buffer, to fill again ---+   |
//!          |---- Order::Scan ----------------------------------------------------------->|
//!          |<--- News::Scanned, News::FileDone ------------------------------------------+
//!          |                                                                             | Image (bytes transferred)
//!          |---- Order::Report, Page, Table, Summary ---> analyst <----------------------+
//!          |<--- News::Report, News::Answer + text ----------+
//! ```
//!
//! The two workers that read are ended when the analyst has the decoded runs: their memory is free then. A profile crosses
//! as the JSON text that is also the download, so page, download and command line cannot differ; a page of the run as the
//! JSON of its blocks.

use crossprof::Warning;
use crossprof::input::plan::Kind;
use crossprof::metrics::Settings;
use crossprof::pages::PageQuery;
use crossprof::report::SourceFile;
use crossprof::table::Query;
use serde::{Deserialize, Serialize};

/// Which build this is; a worker's first message carries its own, so that a stale one is noticed.
pub const BUILD_ID: &str = match option_env!("CROSSPROF_BUILD_ID") {
    Some(id) => id,
    None => "dev",
};

/// One file of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path as it was dropped.
    pub path: String,
    /// Size as stored.
    pub size_bytes: u64,
    /// What it holds, told by its first bytes.
    pub kind: Kind,
}

/// From the page to a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Tell what these files hold, and which of them are one run. Comes with the files themselves.
    Look(Vec<String>),
    /// Read these files and pass what is in them on. Comes with the port to the scanner and the files themselves.
    Unpack(Vec<FileEntry>),
    /// Read what the other worker sends, then hand the runs on. Comes with the port to that worker and to the analyst.
    Scan {
        /// The files that come.
        files: Vec<FileEntry>,
        /// Files that are there too and are not read, because another of the same host is.
        left_out: Vec<FileEntry>,
    },
    /// To an analyst that waits for its first load: go through a made-up run.
    Rehearse,
    /// Take the runs that the scanner hands on, and analyse them. Comes with the port to it.
    Analyse,
    /// Analyse a run again.
    Report {
        /// Number of the run within this load.
        run: u32,
        /// What the user gave.
        settings: Box<Settings>,
    },
    /// Make a page of a run; the answer is its JSON.
    Page {
        /// Number of the run within this load.
        run: u32,
        /// Which page, by its name in addresses.
        view: String,
        /// Its filter, orders and choices.
        query: PageQuery,
        /// Number of the question.
        asked: u32,
    },
    /// Make a whole table of a run; the answer is its text.
    Table {
        /// Number of the run within this load.
        run: u32,
        /// The word of the table.
        name: String,
        /// Its form.
        variant: String,
        /// Its filter and order.
        query: Query,
        /// As what.
        format: TextFormat,
        /// Number of the question.
        asked: u32,
    },
    /// Compare runs, whoever analysed them; the answer is what `form` says.
    Compare {
        /// Name, profile as JSON, watts of a device, dollars of a device and hour.
        subjects: Vec<(String, String, Option<f64>, Option<f64>)>,
        /// Index of the baseline.
        baseline: u32,
        /// The user says whether the work grows with the devices.
        weak_scaling: Option<bool>,
        /// As what.
        form: CompareForm,
        /// Number of the question.
        asked: u32,
    },
    /// Write a run's report; the answer is its text.
    Summary {
        /// Number of the run within this load.
        run: u32,
        /// As what.
        form: SummaryForm,
        /// Number of the question.
        asked: u32,
    },
}

/// What a run's report is wanted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SummaryForm {
    /// One web page.
    Html,
    /// For a pull request.
    Markdown,
}

/// What a comparison is wanted as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareForm {
    /// The JSON of a page's blocks, with the filter of its lists.
    Page(String),
    /// The report: one web page.
    Html,
    /// The document.
    Json,
    /// For a pull request.
    Markdown,
}

/// What a table is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextFormat {
    /// Comma-separated values, for a file.
    Csv,
    /// Tab-separated values, for the clipboard.
    Tsv,
    /// A Markdown table.
    Markdown,
}

/// From a worker to the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum News {
    /// The worker is up. Before this message it hears nothing.
    Ready {
        /// Its [`BUILD_ID`].
        build: String,
    },
    /// What the files of an [`Order::Look`] hold, in their order, and what to do with them.
    Looked(Vec<Kind>, Groups),
    /// Bytes of a file that were read from disk.
    Read {
        /// Index into the load's files.
        file: u32,
        /// Bytes so far.
        bytes: u64,
    },
    /// Events of a file that were understood.
    Scanned {
        /// Index into the load's files.
        file: u32,
        /// Events so far.
        events: u64,
    },
    /// A file is through.
    FileDone(FileDone),
    /// Files that were left out and are needed after all: what was read instead of them was no profile.
    Wanted(Vec<String>),
    /// Every file is through and handed on; this many runs follow, each as a [`News::Report`].
    Runs(u32),
    /// A run, analysed. Comes with the unified profile as JSON.
    Report {
        /// Number of the run within this load.
        run: u32,
        /// No other run of this load follows.
        last: bool,
    },
    /// What was asked for. Comes with it as a text.
    Answer {
        /// Number of the question.
        asked: u32,
    },
    /// The load cannot go on.
    Failed {
        /// Index into the load's files, where one of them is the reason.
        file: Option<u32>,
        /// A sentence for the user.
        message: String,
    },
}

/// What to do with the files of one drop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// Files that workers of their own read, and files left out beside them: one group a run or archive.
    pub loads: Vec<(Vec<usize>, Vec<usize>)>,
    /// Files that are not read, with the reason.
    pub ignored: Vec<(usize, String)>,
}

/// What became of one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileDone {
    /// Index into the load's files.
    pub file: u32,
    /// Events read from it.
    pub events: u64,
    /// What it is.
    pub kind: Option<Kind>,
    /// What was lost or odd.
    pub warnings: Vec<Warning>,
    /// Why there is nothing to show, as a sentence.
    pub error: Option<String>,
    /// Why it was not read although nothing is wrong with it, as a sentence.
    pub skipped: Option<String>,
}

/// From the inflating worker to the scanning one. `Bytes` and `Foreseen` come with a buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Piece {
    /// A file begins.
    File(u32),
    /// The buffer holds what a large plane says besides its lines: see `crossprof::input::Outline`.
    Foreseen {
        /// Where the plane starts in the file.
        start: u64,
        /// Where it ends.
        end: u64,
    },
    /// A member of it begins.
    Begin {
        /// Its path, inside its archive where it came from one.
        path: String,
        /// Its size, where known.
        size_bytes: Option<u64>,
    },
    /// The first so many bytes of the buffer belong to the member.
    Bytes(u32),
    /// The member ends.
    End,
    /// Something about the file.
    Warning(Warning),
    /// The file ends.
    FileEnd,
    /// No file follows.
    Done,
}

/// From the scanner to the analyst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Image {
    /// The first so many bytes of the buffer, which comes with the message, go on with the image of a run.
    Bytes(u32),
    /// The buffer holds its next events. The first of a run may come while it is still read.
    Rows,
    /// The image of this run is whole.
    End,
    /// No run follows.
    Done,
}

/// What a file is, for people.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::XPlane => "XPlane",
        Kind::TraceJson => "trace JSON",
        Kind::UnifiedProfile => "unified profile",
        Kind::ModelConfig => "model configuration",
        Kind::MemoryProfile => "memory profile",
        Kind::Archive => "archive",
        Kind::Unknown => "not known",
    }
}

/// The same for the word that stands in a profile.
pub fn format_name(format: &str) -> &'static str {
    match format {
        "xplane" => kind_name(Kind::XPlane),
        "trace_json" => kind_name(Kind::TraceJson),
        "unified_profile" => kind_name(Kind::UnifiedProfile),
        "model_config" => kind_name(Kind::ModelConfig),
        _ => "file",
    }
}

/// Bytes of all files of a run.
pub fn total_bytes(files: &[SourceFile]) -> u64 {
    files.iter().fold(0, |sum, file| sum.saturating_add(file.size_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_overflow() {
        let file = SourceFile { path: "a".into(), size_bytes: u64::MAX, format: "xplane".into(), num_events: None };
        assert_eq!(total_bytes(&[file.clone(), file]), u64::MAX);
    }
}
