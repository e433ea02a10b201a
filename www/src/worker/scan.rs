//! The second worker: decodes what the first has unpacked and hands the runs on to the analyst.

use crossprof::Warning;
use crossprof::input::plan::Kind;
use crossprof::input::{Outline, Unpacked};
use crossprof::session::{FileId, FileResult, Session};
use crossprof::trace::snapshot;
use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use web_sys::{DedicatedWorkerGlobalScope, MessagePort};

use crate::protocol::{FileDone, FileEntry, Image, News, Piece};
use crate::worker::pipe::Pipe;
use crate::worker::{Pace, tell};

/// Reads pieces into a session and tells the page what comes of them.
pub struct Scanner {
    scope: DedicatedWorkerGlobalScope,
    entries: Vec<FileEntry>,
    session: Session,
    /// The file that is being read: its index and the session's name for it.
    file: Option<(u32, FileId)>,
    block: Vec<u8>,
    to_analyst: Pipe<Image>,
    pace: Pace,
}

impl Scanner {
    /// For the files of one load. The port leads to the analyst.
    pub fn new(
        scope: DedicatedWorkerGlobalScope,
        entries: Vec<FileEntry>,
        left_out: &[FileEntry],
        port: MessagePort,
    ) -> Scanner {
        let mut session = Session::new();
        for entry in left_out {
            session.leave_out(&entry.path, entry.size_bytes, entry.kind);
        }
        let to_analyst = Pipe::new(port, Image::Bytes);
        Scanner { scope, entries, session, file: None, block: Vec::new(), to_analyst, pace: Pace::default() }
    }

    /// Takes the next piece; bytes come in a buffer.
    pub fn take(&mut self, piece: Piece, buffer: &JsValue) {
        match piece {
            Piece::File(index) => {
                if let Some(entry) = self.entries.get(index as usize) {
                    self.file = Some((index, self.session.begin(&entry.path, Some(entry.size_bytes))));
                }
            }
            Piece::Foreseen { start, end } => {
                if let Some((_, id)) = self.file {
                    let outline = Outline::new(start..end, Uint8Array::new(buffer).to_vec());
                    self.session.foresee(id, outline);
                }
            }
            Piece::Begin { path, size_bytes } => self.give(Unpacked::Begin { path: &path, size: size_bytes }),
            Piece::Bytes(length) => self.bytes(buffer, length),
            Piece::End => self.give(Unpacked::End),
            Piece::Warning(warning) => self.give(Unpacked::Warning(warning)),
            Piece::FileEnd => {
                if let Some((index, id)) = self.file.take() {
                    let done = done(index, self.session.finish(id));
                    tell(&self.scope, &News::FileDone(done));
                }
            }
            // The caller hands over what was read.
            Piece::Done => {}
        }
    }

    /// All is read: the analyst gets the runs.
    pub async fn hand_over(mut self) {
        self.block = Vec::new();
        let wanted = self.session.wanted();
        if !wanted.is_empty() {
            tell(&self.scope, &News::Wanted(wanted));
        }
        self.session.runs();
        while let Some(image) = self.session.hand_over() {
            for piece in image {
                self.to_analyst.ready().await;
                match piece {
                    snapshot::Piece::Rows(rows) => self.to_analyst.send_words(&Image::Rows, rows.words()),
                    snapshot::Piece::Bytes(bytes) => self.to_analyst.fill(&bytes),
                }
            }
            self.to_analyst.send(&Image::End);
        }
        self.to_analyst.send(&Image::Done);
    }

    fn give(&mut self, piece: Unpacked<'_>) {
        if let Some((_, id)) = self.file {
            self.session.unpacked(id, piece);
        }
    }

    fn bytes(&mut self, buffer: &JsValue, length: u32) {
        let Some((index, id)) = self.file else { return };
        self.block.resize(length as usize, 0);
        Uint8Array::new(buffer).subarray(0, length).copy_to(&mut self.block);
        self.session.unpacked(id, Unpacked::Data(&self.block));
        if self.entries.len() == 1 {
            for rows in self.session.early_rows(id) {
                self.to_analyst.send_words(&Image::Rows, rows.words());
            }
        }
        if self.pace.is_due() {
            tell(&self.scope, &News::Scanned { file: index, events: self.session.events(id) });
        }
    }
}

/// What the page says about a file.
fn done(file: u32, result: FileResult) -> FileDone {
    let single = result.members.len() == 1;
    let mut warnings = result.warnings;
    for member in result.members.iter().filter(|_| !single) {
        if let Some(error) = &member.error {
            let message = format!("A file in this archive was not read. {error}");
            warnings.push(Warning::caution("member_not_read", message).with_file(member.path.as_str()));
        }
    }
    let useful = result.members.iter().any(|member| member.error.is_none() && member.ignored.is_none());
    let skipped = result.members.iter().find_map(|member| member.ignored.clone()).filter(|_| !useful);
    let kind = if single { result.members.first().map(|member| member.kind) } else { Some(Kind::Archive) };
    FileDone {
        file,
        events: result.events,
        kind: kind.filter(|kind| *kind != Kind::Unknown),
        warnings,
        error: result.error.map(|error| error.to_string()),
        skipped,
    }
}
