//! Unpacks one file into its members while its bytes arrive. Supports gzip, zip and tar, also nested.
//!
//! ```text
//!  a.json              -> a.json
//!  a.json.gz           -> a.json
//!  b.zip               -> b.zip/run/x.xplane.pb, b.zip/run/x.trace.json (packed as x.trace.json.gz)
//!  c.tar.gz            -> c.tar.gz/run/x.xplane.pb
//! ```
//!
//! Containers are recognised by their first bytes. The memory in use is limited to the size of a few blocks, and does
//! not depend on the file's size. The number of a file's members and warnings is also limited.

mod quota;

use self::quota::Quota;
use super::archive::ArchiveItem;
use super::archive::tar::{TarReader, looks_like_tar};
use super::archive::zip::{ZipReader, looks_like_zip};
use super::gzip::{GzipDecoder, GzipItem, looks_like_gzip};
use super::inflate::InflateLimit;
use base::Warning;

/// Number of leading bytes that identify a container: 512, the size of a tar header.
const HEAD_BYTES: usize = 512;

/// Maximum number of nested containers. Containers at a greater depth are passed on without being unpacked.
const MAX_DEPTH: u8 = 4;

/// Packed files are processed in blocks of this size. The result (and the offset of any damage) therefore does not
/// depend on the sizes of the chunks.
const STAGE_BYTES: usize = 64 * 1024;

/// Output of an [`Unpacker`]: for each member, `Begin`, its bytes and `End`. Warnings may come at any point.
#[derive(Debug)]
pub enum Unpacked<'a> {
    /// A member starts.
    Begin {
        /// The file's path, without `.gz` if it was decompressed. A member of an archive has a path such as
        /// `archive.zip/inner/path`.
        path: &'a str,
        /// Size of the member in bytes, if it is known before the content.
        size: Option<u64>,
    },
    /// The member's next bytes.
    Data(&'a [u8]),
    /// The member is complete, or its remaining bytes are unreadable.
    End,
    /// A problem with the compression or the archive.
    Warning(Warning),
}

type Sink<'a> = dyn FnMut(Unpacked<'_>) + 'a;

/// Unpacks one file that is pushed in chunks.
#[derive(Debug)]
pub struct Unpacker {
    layer: Layer,
    limit: InflateLimit,
    quota: Quota,
    stage: Vec<u8>,
}

impl Unpacker {
    /// Creates an unpacker of the file at `path`. The paths of the file's members start with `path`.
    pub fn new(path: &str) -> Unpacker {
        Unpacker {
            layer: Layer::new(path, path, None, 0),
            limit: InflateLimit::default(),
            quota: Quota::new(path),
            stage: Vec::new(),
        }
    }

    /// Reads the file's next bytes.
    pub fn push(&mut self, mut chunk: &[u8], sink: &mut dyn FnMut(Unpacked<'_>)) {
        self.limit.add_stored(chunk.len());
        let quota = &mut self.quota;
        let sink = &mut |piece: Unpacked<'_>| quota.pass(piece, sink);
        while !chunk.is_empty() {
            if self.stage.is_empty() && (self.layer.is_plain() || chunk.len() >= STAGE_BYTES) {
                let length = if self.layer.is_plain() { chunk.len() } else { STAGE_BYTES };
                let (block, rest) = chunk.split_at(length);
                self.layer.push(block, &self.limit, sink);
                chunk = rest;
            } else {
                let missing = STAGE_BYTES.saturating_sub(self.stage.len()).min(chunk.len());
                let (piece, rest) = chunk.split_at(missing);
                self.stage.extend_from_slice(piece);
                chunk = rest;
                if self.stage.len() >= STAGE_BYTES {
                    self.layer.push(&self.stage, &self.limit, sink);
                    self.stage.clear();
                }
            }
        }
    }

    /// Returns true once it is clear that the file is not packed. From then on, bytes are passed on unchanged.
    pub fn is_plain(&self) -> bool {
        self.layer.is_plain() && self.stage.is_empty()
    }

    /// Ends the file.
    pub fn finish(&mut self, sink: &mut dyn FnMut(Unpacked<'_>)) {
        let stage = std::mem::take(&mut self.stage);
        let quota = &mut self.quota;
        let within = &mut |piece: Unpacked<'_>| quota.pass(piece, sink);
        if !stage.is_empty() {
            self.layer.push(&stage, &self.limit, within);
        }
        self.layer.finish(&self.limit, within);
        self.quota.finish(sink);
    }
}

/// A file or a member. A layer is unpacked if its head shows that it is packed.
#[derive(Debug)]
struct Layer {
    /// Start of the members' paths, if this is an archive.
    archive_path: String,
    /// Path of the file or member, if it is not packed.
    path: String,
    size: Option<u64>,
    depth: u8,
    state: UnpackState,
}

#[derive(Debug)]
enum UnpackState {
    /// The head has too few bytes to detect the format.
    Head(Vec<u8>),
    Plain,
    Gzip {
        decoder: Box<GzipDecoder>,
        inner: Box<Layer>,
    },
    Zip {
        reader: Box<ZipReader>,
        inner: Option<Box<Layer>>,
    },
    Tar {
        reader: Box<TarReader>,
        inner: Option<Box<Layer>>,
    },
    Finished,
}

impl Layer {
    fn new(path: &str, archive_path: &str, size: Option<u64>, depth: u8) -> Layer {
        Layer {
            archive_path: archive_path.to_owned(),
            path: path.to_owned(),
            size,
            depth,
            state: UnpackState::Head(Vec::new()),
        }
    }

    fn is_plain(&self) -> bool {
        matches!(self.state, UnpackState::Plain)
    }

    fn push(&mut self, chunk: &[u8], limit: &InflateLimit, sink: &mut Sink<'_>) {
        match &mut self.state {
            UnpackState::Head(head) => {
                head.extend_from_slice(chunk);
                if head.len() >= HEAD_BYTES {
                    self.open(limit, sink);
                }
            }
            UnpackState::Plain => sink(Unpacked::Data(chunk)),
            UnpackState::Gzip { decoder, inner } => {
                decoder.push(chunk, limit, &mut |item| match item {
                    GzipItem::Data(bytes) => inner.push(bytes, limit, sink),
                    GzipItem::Warning(warning) => sink(Unpacked::Warning(warning)),
                });
            }
            UnpackState::Zip { reader, inner } => {
                let mut entries = Entries { path: &self.archive_path, depth: self.depth, inner };
                reader.push(chunk, limit, &mut |item| entries.take(item, limit, sink));
            }
            UnpackState::Tar { reader, inner } => {
                let mut entries = Entries { path: &self.archive_path, depth: self.depth, inner };
                reader.push(chunk, &mut |item| entries.take(item, limit, sink));
            }
            UnpackState::Finished => {}
        }
    }

    fn finish(&mut self, limit: &InflateLimit, sink: &mut Sink<'_>) {
        if matches!(self.state, UnpackState::Head(_)) {
            self.open(limit, sink);
        }
        match std::mem::replace(&mut self.state, UnpackState::Finished) {
            UnpackState::Head(_) | UnpackState::Finished => {}
            UnpackState::Plain => sink(Unpacked::End),
            UnpackState::Gzip { decoder, mut inner } => {
                decoder.finish(&mut |item| match item {
                    GzipItem::Data(bytes) => inner.push(bytes, limit, sink),
                    GzipItem::Warning(warning) => sink(Unpacked::Warning(warning)),
                });
                inner.finish(limit, sink);
            }
            UnpackState::Zip { reader, mut inner } => {
                let mut entries = Entries { path: &self.archive_path, depth: self.depth, inner: &mut inner };
                reader.finish(&mut |item| entries.take(item, limit, sink));
            }
            UnpackState::Tar { reader, mut inner } => {
                let mut entries = Entries { path: &self.archive_path, depth: self.depth, inner: &mut inner };
                reader.finish(&mut |item| entries.take(item, limit, sink));
            }
        }
    }

    /// Detects the file's format from its head, and continues in that format.
    fn open(&mut self, limit: &InflateLimit, sink: &mut Sink<'_>) {
        let UnpackState::Head(head) = std::mem::replace(&mut self.state, UnpackState::Plain) else { return };
        if self.depth < MAX_DEPTH && looks_like_gzip(&head) {
            let inner = Layer::new(without_gz(&self.path), &self.archive_path, None, self.depth + 1);
            self.state = UnpackState::Gzip { decoder: Box::new(GzipDecoder::new(&self.path)), inner: Box::new(inner) };
        } else if self.depth < MAX_DEPTH && looks_like_zip(&head) {
            self.state = UnpackState::Zip { reader: Box::new(ZipReader::new(&self.archive_path)), inner: None };
        } else if self.depth < MAX_DEPTH && looks_like_tar(&head) {
            self.state = UnpackState::Tar { reader: Box::new(TarReader::new(&self.archive_path)), inner: None };
        } else {
            sink(Unpacked::Begin { path: &self.path, size: self.size });
        }
        if !head.is_empty() {
            self.push(&head, limit, sink);
        }
    }
}

/// Turns the entries of an archive into layers.
struct Entries<'a> {
    path: &'a str,
    depth: u8,
    inner: &'a mut Option<Box<Layer>>,
}

impl Entries<'_> {
    fn take(&mut self, item: ArchiveItem<'_>, limit: &InflateLimit, sink: &mut Sink<'_>) {
        match item {
            ArchiveItem::Begin { name, size } => {
                let path = format!("{}/{}", self.path, name);
                *self.inner = Some(Box::new(Layer::new(&path, &path, size, self.depth + 1)));
            }
            ArchiveItem::Data(bytes) => {
                if let Some(inner) = self.inner {
                    inner.push(bytes, limit, sink);
                }
            }
            ArchiveItem::End => {
                if let Some(mut inner) = self.inner.take() {
                    inner.finish(limit, sink);
                }
            }
            ArchiveItem::Warning(warning) => sink(Unpacked::Warning(warning)),
        }
    }
}

/// Returns the path of the file inside a gzip file.
fn without_gz(path: &str) -> &str {
    let ends_in_gz = path.len() > 3 && path.get(path.len() - 3..).is_some_and(|end| end.eq_ignore_ascii_case(".gz"));
    if ends_in_gz { path.get(..path.len() - 3).unwrap_or(path) } else { path }
}

#[cfg(test)]
mod tests;
