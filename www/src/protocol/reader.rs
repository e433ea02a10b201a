//! What the reader is asked. A reader gets one request, which decides what it does; one may have rehearsed before.

use crossprof::Warning;
use crossprof::input::plan::FileKind;
use crossprof::pages::Grid;
use serde::{Deserialize, Serialize};

use super::Request;
use super::files::{FileDone, FileEntry, Groups};
use super::wire::Packed;

/// Every request to a reader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ReaderRequest {
    /// See [`RehearseReadingRequest`].
    Rehearse(RehearseReadingRequest),
    /// See [`LookRequest`].
    Look(LookRequest),
    /// See [`UnpackRequest`].
    Unpack(UnpackRequest),
    /// See [`DecodeRequest`].
    Decode(DecodeRequest),
    /// See [`ArgumentsRequest`].
    Arguments(ArgumentsRequest),
}

/// Unpack and decode files again and again, and throw away what they hold, until another request comes: what the browser has compiled
/// well by then is fast for the first load. Attached: the list of the files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RehearseReadingRequest {
    /// Paths of the files, in the order of the list.
    pub paths: Vec<String>,
}

/// Say what files hold, and which of them are one run. Attached: the list of the files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookRequest {
    /// Paths of the files, in the order of the list.
    pub paths: Vec<String>,
}

/// What files hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Looked {
    /// What each of them holds.
    pub kinds: Vec<FileKind>,
    /// What to do with the files.
    pub groups: Groups,
}

/// Read files and pass on what is in them. Attached: the list of the files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnpackRequest {
    /// The files, in the order of the list.
    pub files: Vec<FileEntry>,
}

/// How far reading is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum UnpackProgress {
    /// Bytes of a file were read.
    Read {
        /// Index into the load's files.
        file: u32,
        /// Bytes so far.
        bytes: u64,
    },
    /// A file cannot be read.
    Unreadable {
        /// Index into the load's files.
        file: u32,
        /// Why the file could not be read, as a sentence.
        reason: String,
    },
}

/// Decode what the other reader passes on, then hand the runs over to the analyst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecodeRequest {
    /// The files that come.
    pub files: Vec<FileEntry>,
    /// Files that are there too and are not read, because another of the same host is.
    pub left_out: Vec<FileEntry>,
}

/// How far decoding is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DecodeProgress {
    /// Events of a file were decoded.
    Events {
        /// Index into the load's files.
        file: u32,
        /// Events so far.
        events: u64,
    },
    /// Files are through: those of a while, for each message draws the list of files.
    FilesDone(Vec<FileDone>),
    /// Paths of files that were left out and are needed after all: what was read instead of them was no profile.
    Wanted(Vec<String>),
}

/// Read a file again for everything that it says of an event. Attached: the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArgumentsRequest {
    /// The file's path.
    pub file: String,
    /// Path of the member that holds the event, where the file is an archive; else the file's.
    pub member: String,
    /// Index of the event among those of the member.
    pub event: u32,
}

impl Request for ArgumentsRequest {
    type Worker = ReaderRequest;
    type Progress = ();
    type Response = Packed<Grid>;
}

impl From<ArgumentsRequest> for ReaderRequest {
    fn from(request: ArgumentsRequest) -> ReaderRequest {
        ReaderRequest::Arguments(request)
    }
}

impl Request for RehearseReadingRequest {
    type Worker = ReaderRequest;
    type Progress = ();
    type Response = ();
}

impl From<RehearseReadingRequest> for ReaderRequest {
    fn from(request: RehearseReadingRequest) -> ReaderRequest {
        ReaderRequest::Rehearse(request)
    }
}

impl Request for LookRequest {
    type Worker = ReaderRequest;
    type Progress = ();
    type Response = Looked;
}

impl Request for UnpackRequest {
    type Worker = ReaderRequest;
    type Progress = UnpackProgress;
    type Response = ();
}

impl Request for DecodeRequest {
    type Worker = ReaderRequest;
    type Progress = DecodeProgress;
    type Response = ();
}

impl From<LookRequest> for ReaderRequest {
    fn from(request: LookRequest) -> ReaderRequest {
        ReaderRequest::Look(request)
    }
}

impl From<UnpackRequest> for ReaderRequest {
    fn from(request: UnpackRequest) -> ReaderRequest {
        ReaderRequest::Unpack(request)
    }
}

impl From<DecodeRequest> for ReaderRequest {
    fn from(request: DecodeRequest) -> ReaderRequest {
        ReaderRequest::Decode(request)
    }
}

/// Messages from the reader that unpacks to the one that decodes. `Bytes` and `Foreseen` come with a buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileChunk {
    /// A file begins.
    File(u32),
    /// The buffer holds what a large plane says besides its lines: see `crossprof::input::Outline`.
    Foreseen {
        /// Where the plane starts in the file.
        start: u64,
        /// Where the plane ends in the file.
        end: u64,
    },
    /// A member of the file begins.
    Begin {
        /// Path of the member, inside its archive where it came from one.
        path: String,
        /// Size of the member, where known.
        size_bytes: Option<u64>,
    },
    /// The first bytes of the buffer, as many as this, belong to the member.
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
