//! Requests to a reader. A reader handles only one request. A warm-up may come before that request.

use crossprof::Warning;
use crossprof::document::Grid;
use crossprof::session::plan::FileKind;
use serde::{Deserialize, Serialize};

use super::Request;
use super::files::{FileDone, FileEntry, Groups};
use super::wire::Packed;

/// All requests to a reader.
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

/// Warms up a reader: unpacks and decodes files repeatedly, and discards the result, until another request arrives.
/// Through the warm-up, the browser has already optimised the code when the first load arrives. Attached: the list of
/// files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RehearseReadingRequest {
    /// Paths of the files, in the order of the attached list.
    pub paths: Vec<String>,
}

/// Determines the kind of each file, and which files belong to the same run. Attached: the list of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookRequest {
    /// Paths of the files, in the order of the attached list.
    pub paths: Vec<String>,
}

/// Kinds and groups of files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Looked {
    /// Kind of each file.
    pub kinds: Vec<FileKind>,
    /// Files to load together, and files to ignore.
    pub groups: Groups,
}

/// Reads files, and sends their content to the next worker. Attached: the list of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnpackRequest {
    /// Files, in the order of the attached list.
    pub files: Vec<FileEntry>,
}

/// Progress of reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum UnpackProgress {
    /// Number of bytes of a file that were read so far.
    Read {
        /// Index of the file within the load.
        file: u32,
        /// Bytes read so far.
        bytes: u64,
    },
    /// A file cannot be read.
    Unreadable {
        /// Index of the file within the load.
        file: u32,
        /// Reason of the failure, as a sentence.
        reason: String,
    },
}

/// Decodes the content that the other reader sends, then passes the runs to the analyst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecodeRequest {
    /// Files whose content the other reader sends.
    pub files: Vec<FileEntry>,
    /// Files that are not read, because another file of the same host is read instead.
    pub left_out: Vec<FileEntry>,
}

/// Progress of decoding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DecodeProgress {
    /// Number of events of a file that were decoded so far.
    Events {
        /// Index of the file within the load.
        file: u32,
        /// Events decoded so far.
        events: u64,
    },
    /// Results of finished files. One message covers several files, because each message redraws the list of files.
    FilesDone(Vec<FileDone>),
    /// Paths of left-out files that are needed after all, because the file that was read instead contains no profile.
    Wanted(Vec<String>),
}

/// Reads a file again to get all arguments of one event. Attached: the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArgumentsRequest {
    /// Path of the file.
    pub file: String,
    /// Path of the archive member that contains the event, or the path of the file if it is not an archive.
    pub member: String,
    /// Index of the event within the member.
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

/// Messages from the unpacking reader to the decoding reader. A buffer is attached to `Bytes` and `Foreseen`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileChunk {
    /// A file begins. Contains its index.
    File(u32),
    /// The attached buffer contains the metadata of a large plane, without its lines. See
    /// `crossprof::session::Outline`.
    Foreseen {
        /// Offset in the file at which the plane starts, in bytes.
        start: u64,
        /// Offset in the file at which the plane ends, in bytes.
        end: u64,
    },
    /// The next chunks belong to a new member of the file.
    Begin {
        /// Path of the file, followed by the member's path inside the archive.
        path: String,
        /// Size of the member in bytes, if known.
        size_bytes: Option<u64>,
    },
    /// The attached buffer begins with the next bytes of the member. The field of the variant is the number of these
    /// bytes.
    Bytes(u32),
    /// The member ends.
    End,
    /// A warning about the file.
    Warning(Warning),
    /// The file ends.
    FileEnd,
    /// No file follows.
    Done,
}
