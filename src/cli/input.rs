//! Input files. Finds the files of the paths on the command line, and opens each file once to detect its kind. The
//! bytes of a pipe can be read only once, so this module keeps the bytes that the detection has read.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crossprof::input::plan::{FileKind, is_called_profile};
use crossprof::input::{Format, sniff};
use crossprof::session;

/// Number of bytes at the start of a file that suffice to detect its kind.
const HEAD_BYTES: u64 = 64 << 10;

/// Maximum number of bytes on standard input that are searched for the buffer list of an out-of-memory error. The limit
/// is needed because standard input may be endless.
const MOST_LOG_BYTES: u64 = 64 << 20;

/// File name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// True after the user has named standard input.
static STANDARD_INPUT_TAKEN: AtomicBool = AtomicBool::new(false);

/// Content that is not in a file on this machine: an object in a bucket, or bytes in memory.
pub struct Stream {
    /// Address of the content, or the name of a file. The name determines the run that the content belongs to.
    pub name: String,
    /// Number of bytes, if it is known.
    pub size: Option<u64>,
    /// The content. Reader of the content, which is read once and in order.
    pub content: Box<dyn Read + Send>,
}

/// Streams that are read like the files under one path.
pub struct Streams {
    /// Address of the folder, or of the only stream.
    pub name: String,
    /// True if the streams are the contents of a folder, false if the user named each stream.
    pub is_folder: bool,
    /// The streams, sorted by name.
    pub streams: Vec<Stream>,
}

/// A file to read.
pub(super) struct Input {
    /// Path of the file. The path `-` stands for standard input.
    pub path: PathBuf,
    /// Name under which the session knows the file.
    pub name: String,
    /// Size of the file in bytes, as stored (compressed). `None` if it is unknown, for example for a pipe.
    pub size: Option<u64>,
    /// Kind of the file's content.
    pub kind: FileKind,
    /// True if the file is named on the command line or has the name of a profile. An expected file without a run is an
    /// error.
    pub expected: bool,
    /// Content of a stream, until it is read. `None` for a file, because files are opened when they are read.
    stream: Option<Mutex<Option<Box<dyn Read + Send>>>>,
}

/// An opened input.
pub(super) enum Source {
    /// A file, with random access.
    File(File),
    /// A pipe or another stream, which can be read only once and in order.
    Stream(Box<dyn Read + Send>),
}

impl Input {
    /// Opens a file and detects its kind. `named` is true for files on the command line.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read. The message names the file.
    pub(super) fn open(path: PathBuf, named: bool) -> Result<Input, String> {
        let is_standard = path == Path::new(STANDARD_INPUT);
        if is_standard && STANDARD_INPUT_TAKEN.swap(true, Ordering::Relaxed) {
            return Err("-: standard input can be read only once.".to_owned());
        }
        let opened = if is_standard { Ok(None) } else { regular(&path) };
        let failed = |error: io::Error| format!("{}: cannot be read: {error}", path.display());
        let name = if is_standard { "stdin".to_owned() } else { path.to_string_lossy().replace('\\', "/") };
        let mut head = Vec::new();
        let (size, kind, stream) = match opened.map_err(failed)? {
            Some((file, size)) => {
                file.take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
                (Some(size), session::peek(&name, &head, size <= HEAD_BYTES), None)
            }
            None => {
                let mut rest: Box<dyn Read + Send> =
                    if is_standard { Box::new(io::stdin()) } else { Box::new(File::open(&path).map_err(failed)?) };
                rest.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
                let kind = session::peek(&name, &head, (head.len() as u64) < HEAD_BYTES);
                // The line that identifies an out-of-memory log may be far from its start.
                let is_text = is_standard && sniff(&head, (head.len() as u64) < HEAD_BYTES) == Some(Format::Log);
                let head = Cursor::new(head);
                let stream: Box<dyn Read + Send> = match kind {
                    FileKind::Unknown if is_text => Box::new(head.chain(rest.take(MOST_LOG_BYTES))),
                    // The start of the file is enough to explain why it is not a profile. A device such as /dev/zero has no end.
                    FileKind::Unknown => Box::new(head),
                    _ => Box::new(head.chain(rest)),
                };
                (None, kind, Some(stream))
            }
        };
        let expected = named || is_profile(kind) || is_called_profile(&name);
        Ok(Input { path, name, size, kind, expected, stream: stream.map(|stream| Mutex::new(Some(stream))) })
    }

    /// Reads the start of a stream and detects its kind. `named` is true for streams that the user named.
    ///
    /// # Errors
    ///
    /// Fails if the stream cannot be read. The message names the stream.
    pub(super) fn of_stream(stream: Stream, named: bool) -> Result<Input, String> {
        let Stream { name, size, mut content } = stream;
        let mut head = Vec::new();
        let read = content.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
        read.map_err(|error| format!("{name}: cannot be read: {error}"))?;
        let kind = session::peek(&name, &head, (head.len() as u64) < HEAD_BYTES || size == Some(HEAD_BYTES));
        let expected = named || is_profile(kind) || is_called_profile(&name);
        let content: Box<dyn Read + Send> = Box::new(Cursor::new(head).chain(content));
        let path = PathBuf::from(&name);
        Ok(Input { path, name, size, kind, expected, stream: Some(Mutex::new(Some(content))) })
    }

    pub(super) fn is_file(&self) -> bool {
        self.stream.is_none()
    }

    /// Returns the content from the start.
    ///
    /// # Errors
    ///
    /// Fails if the file is gone, or if the stream has already been read.
    pub(super) fn source(&self) -> io::Result<Source> {
        let Some(stream) = &self.stream else { return File::open(&self.path).map(Source::File) };
        let stream = stream.lock().ok().and_then(|mut stream| stream.take());
        stream.map(Source::Stream).ok_or_else(|| io::Error::other("a stream can be read only once"))
    }

    /// Returns a path that identifies the file.
    pub(super) fn place(&self) -> &Path {
        if self.path == Path::new(STANDARD_INPUT) { Path::new("/dev/stdin") } else { &self.path }
    }
}

/// Opens a regular file and returns it with its size. Returns `None` if the path is not a regular file.
fn regular(path: &Path) -> io::Result<Option<(File, u64)>> {
    // The kind is checked before opening, because a pipe that is opened twice loses its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    Ok(Some((file, size)))
}

fn is_profile(kind: FileKind) -> bool {
    kind != FileKind::Unknown
}

/// Adds the files under `path` in the order of their names, or `path` itself if it is a file. Paths that cannot be read are
/// added to `problems`, and the walk continues.
pub(super) fn walk(path: &Path, files: &mut Vec<PathBuf>, problems: &mut Vec<String>) {
    if path == Path::new(STANDARD_INPUT) {
        files.push(path.to_owned());
        return;
    }
    // Links on the command line are followed. Links inside folders are not followed, to avoid cycles.
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => walk_folder(path, files, problems),
        Ok(_) => files.push(path.to_owned()),
        Err(error) => problems.push(unreadable(path, &error)),
    }
}

/// Adds the files in a folder and in all folders below it. A list stores the folders that are still to be walked, so
/// deep folders cannot overflow the stack.
fn walk_folder(path: &Path, files: &mut Vec<PathBuf>, problems: &mut Vec<String>) {
    // The next path is at the end.
    let mut waiting = vec![(path.to_owned(), true)];
    while let Some((path, is_folder)) = waiting.pop() {
        if !is_folder {
            files.push(path);
            continue;
        }
        let mut entries = Vec::new();
        match std::fs::read_dir(&path) {
            Ok(all) => {
                for entry in all {
                    match entry {
                        Ok(entry) => entries.push(entry),
                        Err(error) => problems.push(unreadable(&path, &error)),
                    }
                }
            }
            Err(error) => problems.push(unreadable(&path, &error)),
        }
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries.into_iter().rev() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push((path, true)),
                Ok(kind) if kind.is_file() || (kind.is_symlink() && path.is_file()) => waiting.push((path, false)),
                Ok(_) => {}
                Err(error) => problems.push(unreadable(&path, &error)),
            }
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot be read: {error}", path.display())
}

/// Reads a small file.
///
/// # Errors
///
/// Fails if the file cannot be read or has more than `most` bytes.
pub(super) fn read_small(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let limit = crossprof::format::bytes(most);
        return Err(io::Error::other(format!("it has more than {limit}; check that it is the right file")));
    }
    Ok(bytes)
}
