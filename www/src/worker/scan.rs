//! The second worker: decodes what the first has unpacked, keeps the events, makes the reports.

use crossprof::export::json;
use crossprof::input::plan::Kind;
use crossprof::input::unpack::Unpacked;
use crossprof::metrics::Settings;
use crossprof::session::{FileId, FileResult, Session};
use crossprof::warning::Warning;
use js_sys::{Date, Uint8Array};
use wasm_bindgen::JsValue;
use web_sys::DedicatedWorkerGlobalScope;

use crate::protocol::{FileDone, FileEntry, News, Piece};
use crate::worker::tell;

/// The page hears of progress this often.
const TELL_EVERY_MS: f64 = 80.0;

/// Reads pieces into a session and tells the page what comes of them.
pub struct Scanner {
    scope: DedicatedWorkerGlobalScope,
    entries: Vec<FileEntry>,
    session: Session,
    /// The file that is being read: its index and the session's name for it.
    file: Option<(u32, FileId)>,
    block: Vec<u8>,
    told_at_ms: f64,
}

impl Scanner {
    /// For the files of one load.
    pub fn new(scope: DedicatedWorkerGlobalScope, entries: Vec<FileEntry>, left_out: &[FileEntry]) -> Scanner {
        let mut session = Session::new();
        for entry in left_out {
            session.leave_out(&entry.path, entry.size_bytes, entry.kind);
        }
        Scanner { scope, entries, session, file: None, block: Vec::new(), told_at_ms: 0.0 }
    }

    /// Takes the next piece; bytes come in a buffer.
    pub fn take(&mut self, piece: Piece, buffer: &JsValue) {
        match piece {
            Piece::File(index) => {
                if let Some(entry) = self.entries.get(index as usize) {
                    self.file = Some((index, self.session.begin(&entry.path, Some(entry.size_bytes))));
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
            Piece::Done => self.all_done(),
        }
    }

    /// Analyses a run.
    pub fn report(&self, run: u32, settings: &Settings) {
        self.send_report(run, settings, false);
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
        let now_ms = Date::now();
        if now_ms - self.told_at_ms > TELL_EVERY_MS {
            self.told_at_ms = now_ms;
            tell(&self.scope, &News::Scanned { file: index, events: self.session.events(id) });
        }
    }

    fn all_done(&mut self) {
        self.block = Vec::new();
        let wanted = self.session.wanted();
        if !wanted.is_empty() {
            tell(&self.scope, &News::Wanted(wanted));
        }
        let runs = self.session.runs();
        tell(&self.scope, &News::Runs(runs.len() as u32));
        for (position, run) in runs.iter().enumerate() {
            self.send_report(run.index, &Settings::default(), position + 1 == runs.len());
        }
    }

    fn send_report(&self, run: u32, settings: &Settings, last: bool) {
        if let Some(profile) = self.session.report(run, settings) {
            tell(&self.scope, &News::Report { run, json: json::profile(&profile), last });
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
