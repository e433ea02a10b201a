//! Loads files from disk into a [`Session`]. The loader walks folders, and the session's plan decides which files are
//! read. If there are many files, each thread decodes one file ([`many`]). If there are few files, two threads share
//! the work on one file at a time:
//!
//! ```text
//!  reader thread:  file --1 MiB--> Unpacker --copied into recycled buffers--> channel --> main thread: Session
//!                                           <------------- empty buffers -------------
//! ```

mod many;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};

use crossprof::input::plan::{self, Candidate, FileKind};
use crossprof::input::{Decoded, Decoder, Outline, Outliner, Sidecar, Unpacked, Unpacker};
use crossprof::{FileResult, ModelConfig, Session, Settings, Warning};

use crossprof::report::SourceFile;

use super::args::Model;
use super::input::{Input, Source, Streams, read_small, walk};
use super::output::Outputs;
use super::progress::Progress;
use super::sidecars;
use super::{complain, in_order};

/// Number of bytes in each read from disk.
const READ_BYTES: usize = 1 << 20;
/// Number of bytes in each message to the decoder. This size makes the cost of sending negligible, and still fits into
/// the CPU cache.
const SEND_BYTES: usize = 256 << 10;
/// Maximum number of buffers in transit, which bounds the memory. With several buffers in transit, a short delay of one
/// thread does not stall the other.
const BUFFERS: usize = 8;
/// Maximum size of a model configuration in bytes.
const MOST_CONFIG_BYTES: u64 = 4 << 20;

/// Result of loading.
pub(super) struct Loaded {
    /// Session that contains all runs.
    pub session: Session,
    /// Inputs that could not be read, one sentence each.
    pub problems: Vec<String>,
}

/// Returns the settings that the user gave in addition to the profile.
pub(super) fn settings(model: &Model) -> Result<Settings, String> {
    let (device, window) = (model.device.clone(), model.window.clone());
    let mut settings = Settings { num_steps: model.num_steps, device, window, ..Settings::default() };
    if let Some(path) = &model.model_config {
        let sidecar = model_config(path).map_err(|reason| format!("{}: {reason}", path.display()))?;
        settings.model = sidecar.model;
        settings.device = settings.device.or(sidecar.device);
        settings.model_files.push(source_file(path));
    }
    if let Some(folder) = &model.checkpoint_dir {
        let (found, files) = checkpoint(folder)?;
        settings.model = found.model.overridden_by(&settings.model);
        settings.device = settings.device.or(found.device);
        settings.model_files.splice(0..0, files);
    }
    let flags = ModelConfig { batch_size: model.batch_size, seq_length: model.seq_length, ..ModelConfig::default() };
    settings.model = settings.model.overridden_by(&flags);
    Ok(settings)
}

/// Reads the model configurations in the folder of a checkpoint.
fn checkpoint(folder: &Path) -> Result<(Sidecar, Vec<SourceFile>), String> {
    if !folder.is_dir() {
        return Err(format!("--checkpoint-dir {}: there is no such folder.", folder.display()));
    }
    let (mut checkpoint, mut files) = (Sidecar::default(), Vec::new());
    for path in sidecars::NAMES.iter().map(|name| folder.join(name)).filter(|path| path.is_file()) {
        let found = model_config(&path).map_err(|reason| format!("{}: {reason}", path.display()))?;
        checkpoint = checkpoint.overridden_by(&found);
        files.push(source_file(&path));
    }
    if files.is_empty() {
        complain(&format!(
            "--checkpoint-dir {}: this folder contains no config.json or crossprof.json, so the model is unknown.",
            folder.display()
        ));
    }
    Ok((checkpoint, files))
}

fn source_file(path: &Path) -> SourceFile {
    SourceFile {
        path: path.to_string_lossy().replace('\\', "/"),
        size_bytes: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
        format: "model_config".to_owned(),
        num_events: None,
    }
}

fn model_config(path: &Path) -> Result<Sidecar, String> {
    let bytes = read_small(path, MOST_CONFIG_BYTES).map_err(|error| format!("cannot be read: {error}."))?;
    model_of(&path.to_string_lossy(), &bytes)
}

/// Reads a model configuration. `name` is the name of the configuration's file.
///
/// # Errors
///
/// Fails with a message if the bytes are not a model configuration.
pub(super) fn model_of(name: &str, bytes: &[u8]) -> Result<Sidecar, String> {
    let mut decoder = Decoder::new(name);
    decoder.push(bytes).map_err(|error| error.to_string())?;
    match decoder.finish().map_err(|error| error.to_string())? {
        Decoded::Model(model) => Ok(*model),
        _ => {
            Err("This is not a model configuration. Specify a Hugging Face config.json or a crossprof.json.".to_owned())
        }
    }
}

/// Reads all files under `paths`, and the `streams`. If `search` is true, also reads model configurations from the
/// folders above the profiles of `paths`.
///
/// # Errors
///
/// Fails before the first file is read if one of the `outputs` is a file that would be read.
pub(super) fn load<'a>(
    paths: impl Iterator<Item = &'a PathBuf>,
    streams: Vec<Streams>,
    search: bool,
    outputs: &Outputs,
    progress: &mut Progress,
) -> Result<Loaded, String> {
    let mut loaded = Loaded { session: Session::new(), problems: Vec::new() };
    let mut inputs = Vec::new();
    for path in paths {
        let mut files = Vec::new();
        walk(path, &mut files, &mut loaded.problems);
        let folder = path.is_dir().then(|| path.to_string_lossy());
        add(
            &mut loaded,
            &mut inputs,
            folder.as_deref(),
            files.into_iter().map(|file| Input::open(file, !path.is_dir())),
        );
    }
    for Streams { name, is_folder, streams } in streams {
        let opened = streams.into_iter().map(|stream| Input::of_stream(stream, !is_folder));
        add(&mut loaded, &mut inputs, is_folder.then_some(&name), opened);
    }
    if search {
        add_sidecars(&mut inputs);
    }
    inputs.iter().filter(|input| input.expected).try_for_each(|input| outputs.spare(input.place()))?;
    read_planned(&mut loaded, &inputs, progress);
    Ok(loaded)
}

/// Adds the files of one path. `folder` is the path if the path is a folder.
fn add(
    loaded: &mut Loaded,
    inputs: &mut Vec<Input>,
    folder: Option<&str>,
    files: impl Iterator<Item = Result<Input, String>>,
) {
    let found = inputs.len();
    for file in files {
        match file {
            Ok(input) => inputs.push(input),
            Err(message) => loaded.problems.push(message),
        }
    }
    let Some(folder) = folder else { return };
    let added = inputs.get_mut(found..).unwrap_or_default();
    for (name, size) in leave_memory_beside_profiles(added) {
        loaded.session.leave_out(&name, size, FileKind::MemoryProfile);
    }
    if !added.iter().any(|input| input.expected) {
        loaded.problems.push(format!(
            "{folder}: This folder contains no profile. Specify the folder that you passed to jax.profiler.start_trace; it contains \
             plugins/profile/<run>/*.xplane.pb."
        ));
    }
}

/// Leaves out dumped programs and error texts in folders that also contain traces, because they are not separate runs
/// there. Also leaves out device memory profiles that may belong to any of several runs, and returns them. Users who
/// want the tables of such a file can name the file on the command line.
fn leave_memory_beside_profiles(inputs: &mut [Input]) -> Vec<(String, u64)> {
    let is_of_time = |input: &Input| {
        matches!(input.kind, FileKind::XPlane | FileKind::TraceJson | FileKind::UnifiedProfile | FileKind::Archive)
    };
    if !inputs.iter().any(is_of_time) {
        return Vec::new();
    }
    let candidates = candidates(inputs);
    let plan = plan::plan(&candidates);
    let read: BTreeSet<usize> =
        plan.runs.iter().filter(|run| !run.hosts.is_empty()).flat_map(|run| run.memory.iter().copied()).collect();
    let unclear: BTreeSet<usize> = plan.unclear_memory(&candidates).collect();
    drop(candidates);
    let mut left_out = Vec::new();
    for (index, input) in inputs.iter_mut().enumerate() {
        let is_of_memory = matches!(input.kind, FileKind::Program | FileKind::MemoryProfile | FileKind::MemoryError);
        input.expected &= !is_of_memory || read.contains(&index);
        if unclear.contains(&index) {
            left_out.push((input.name.clone(), input.size.unwrap_or(0)));
        }
    }
    left_out
}

fn candidates(inputs: &[Input]) -> Vec<Candidate<'_>> {
    inputs.iter().map(|input| Candidate { path: &input.name, kind: input.kind }).collect()
}

/// Adds the model configurations in the folders above the profiles. Files that do not describe a model are skipped.
fn add_sidecars(inputs: &mut Vec<Input>) {
    let mut looked_into: BTreeMap<PathBuf, bool> = BTreeMap::new();
    let is_profile = |input: &&Input| {
        matches!(input.kind, FileKind::XPlane | FileKind::TraceJson | FileKind::UnifiedProfile | FileKind::Archive)
    };
    // A document contains its own model configuration. Only a file in the same folder can add to it.
    let levels = |input: &Input| if input.kind == FileKind::UnifiedProfile { 1 } else { usize::MAX };
    let profiles: Vec<(PathBuf, usize)> =
        // A stream has no folder on this machine.
        inputs.iter().filter(is_profile).filter(|input| input.is_file())
        .map(|input| (input.path.clone(), levels(input))).collect();
    for (profile, levels) in profiles {
        for folder in sidecars::folders_above(&profile).into_iter().take(levels) {
            let is_found = match looked_into.get(&folder) {
                Some(is_found) => *is_found,
                None => {
                    let is_found = add_sidecars_of(&folder, inputs);
                    looked_into.insert(folder, is_found);
                    is_found
                }
            };
            if is_found {
                break;
            }
        }
    }
}

/// Adds the model configurations of one folder. Returns true if the folder has at least one configuration.
fn add_sidecars_of(folder: &Path, inputs: &mut Vec<Input>) -> bool {
    let mut is_found = false;
    for path in sidecars::NAMES.iter().map(|name| folder.join(name)).filter(|path| path.is_file()) {
        if let Some(known) = inputs.iter().find(|input| input.path == path) {
            is_found |= known.kind == FileKind::ModelConfig;
            continue;
        }
        // The user did not name this file, so its errors are ignored.
        if let Ok(input) = Input::open(path, false)
            && input.kind == FileKind::ModelConfig
            && model_config(&input.path).is_ok()
        {
            is_found = true;
            inputs.push(input);
        }
    }
    is_found
}

/// Reads the files of the plan, and then the files that the plan adds after it knows their contents.
fn read_planned(loaded: &mut Loaded, inputs: &[Input], progress: &mut Progress) {
    let plan = plan::plan(&candidates(inputs));
    let repeated: Vec<usize> = plan.runs.iter().flat_map(|run| &run.repeated).map(|repeated| repeated.file).collect();
    let mut is_unused: BTreeSet<usize> = repeated.iter().copied().collect();
    // Skips the memory profiles of a run between its first and its last memory profile.
    let is_profile = |file: &usize| inputs.get(*file).is_some_and(|input| input.kind == FileKind::MemoryProfile);
    is_unused.extend(plan.ignored.iter().map(|ignored| ignored.file).filter(is_profile));
    // Other files in a folder of profiles are not an error, but they are not read.
    let is_read = |index: usize, input: &Input| !is_unused.contains(&index) && input.expected;
    let chosen: Vec<&Input> =
        inputs.iter().enumerate().filter(|(index, input)| is_read(*index, input)).map(|(_, input)| input).collect();
    for input in repeated.iter().filter_map(|&index| inputs.get(index)) {
        loaded.session.leave_out(&input.name, input.size.unwrap_or(0), input.kind);
    }
    read_all(loaded, &chosen, progress);
    let wanted: BTreeSet<String> = loaded.session.wanted().into_iter().collect();
    let wanted: Vec<&Input> = inputs.iter().filter(|input| wanted.contains(&input.name)).collect();
    read_all(loaded, &wanted, progress);
}

/// Message from the reader thread.
enum Piece {
    /// Outlines of the file's planes, which are sent before the file's content.
    Outlines(Vec<Outline>),
    Begin {
        path: String,
        size: Option<u64>,
    },
    Data(Vec<u8>),
    End,
    Warning(Warning),
    /// Number of stored (compressed) bytes that were read since the last message.
    Read(u64),
    /// The file is complete, or could not be read.
    Done(std::io::Result<()>),
}

fn read_all(loaded: &mut Loaded, inputs: &[&Input], progress: &mut Progress) {
    if inputs.is_empty() {
        return;
    }
    progress.begin(inputs.iter().map(|input| input.size).sum());
    let messages = match in_order::threads(inputs.len()) {
        Some(threads) => many::read(&mut loaded.session, inputs, threads, progress),
        None => read_each(&mut loaded.session, inputs, progress),
    };
    progress.end();
    loaded.problems.extend(messages);
}

/// Reads the files in order and returns their problems.
fn read_each(session: &mut Session, inputs: &[&Input], progress: &mut Progress) -> Vec<String> {
    let (pieces, received) = sync_channel::<Piece>(BUFFERS);
    let (empty, recycled) = channel::<Vec<u8>>();
    let mut messages = Vec::new();
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().name("reader".to_owned());
        let started = reader.spawn_scoped(scope, move || {
            for input in inputs {
                let sent = read_file(input, &pieces, &recycled);
                if pieces.send(Piece::Done(sent)).is_err() {
                    return;
                }
            }
        });
        if let Err(error) = started {
            messages.push(format!("cannot start a thread: {error}"));
            return;
        }
        for input in inputs {
            messages.extend(receive_file(session, input, &received, &empty, progress));
        }
    });
    messages
}

/// Decodes one file from its messages and returns its problem, if any.
fn receive_file(
    session: &mut Session,
    input: &Input,
    received: &Receiver<Piece>,
    empty: &std::sync::mpsc::Sender<Vec<u8>>,
    progress: &mut Progress,
) -> Option<String> {
    let file = session.begin(&input.name, input.size);
    let mut failure = None;
    while let Ok(piece) = received.recv() {
        match piece {
            Piece::Outlines(outlines) => outlines.into_iter().for_each(|outline| session.add_outline(file, outline)),
            Piece::Begin { path, size } => session.unpacked(file, Unpacked::Begin { path: &path, size }),
            Piece::Data(buffer) => {
                session.unpacked(file, Unpacked::Data(&buffer));
                let _ = empty.send(buffer);
            }
            Piece::End => session.unpacked(file, Unpacked::End),
            Piece::Warning(warning) => session.unpacked(file, Unpacked::Warning(warning)),
            Piece::Read(bytes) => {
                session.stored(file, bytes);
                progress.advance(bytes);
            }
            Piece::Done(read) => {
                failure = read.err();
                break;
            }
        }
    }
    complaint(input, failure, &session.finish(file))
}

/// Returns the message for a file that could not be read or contained no run.
fn complaint(input: &Input, failure: Option<std::io::Error>, result: &FileResult) -> Option<String> {
    if let Some(error) = failure {
        return Some(format!("{}: cannot be read: {error}", input.name));
    }
    let ignored = || result.members.iter().all(|m| m.ignored.is_some()).then(|| result.members.first()).flatten();
    let reason = match &result.error {
        Some(error) => Some(error.to_string()),
        None => ignored().and_then(|member| member.ignored.clone()),
    };
    reason.map(|reason| format!("{}: {reason}", input.name))
}

/// Reads, unpacks and sends one file.
fn read_file(input: &Input, pieces: &SyncSender<Piece>, recycled: &Receiver<Vec<u8>>) -> std::io::Result<()> {
    let mut source = input.source()?;
    if let (Source::File(file), Some(size)) = (&mut source, input.size) {
        let outlines = outlines(file, size)?;
        if !outlines.is_empty() {
            let _ = pieces.send(Piece::Outlines(outlines));
        }
    }
    let bytes: &mut dyn Read = match &mut source {
        Source::File(file) => file,
        Source::Stream(stream) => stream,
    };
    let mut unpacker = Unpacker::new(&input.name);
    let mut sender = Sender { pieces, recycled, buffer: Vec::with_capacity(SEND_BYTES) };
    let mut chunk = vec![0; READ_BYTES];
    loop {
        let read = match bytes.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let _ = pieces.send(Piece::Read(read as u64));
        unpacker.push(chunk.get(..read).unwrap_or_default(), &mut |piece| sender.send(piece));
    }
    unpacker.finish(&mut |piece| sender.send(piece));
    sender.flush();
    Ok(())
}

/// Returns the outlines of the large planes of an xplane file. An outline contains all data of a plane except its
/// lines. Returns an empty list for other files. Rewinds the file.
pub(super) fn outlines(file: &mut File, size: u64) -> std::io::Result<Vec<Outline>> {
    let mut outliner = Outliner::new(size);
    if outliner.wanted().is_none() {
        // The file is small.
        return Ok(Vec::new());
    }
    let mut window = Vec::new();
    while let Some(wanted) = outliner.wanted() {
        file.seek(SeekFrom::Start(wanted.start))?;
        window.resize(usize::try_from(wanted.end - wanted.start).unwrap_or(0), 0);
        if let Err(error) = file.read_exact(&mut window) {
            // The file has been truncated since its size was read. Its content is read without outlines.
            return if error.kind() == ErrorKind::UnexpectedEof {
                file.rewind().map(|()| Vec::new())
            } else {
                Err(error)
            };
        }
        outliner.give(&window);
    }
    file.rewind()?;
    Ok(outliner.outlines())
}

/// Copies chunks into recycled buffers. Sending fails only if the main thread is gone, so no data is lost.
struct Sender<'a> {
    pieces: &'a SyncSender<Piece>,
    recycled: &'a Receiver<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Sender<'_> {
    fn send(&mut self, piece: Unpacked<'_>) {
        match piece {
            Unpacked::Data(mut bytes) => {
                while !bytes.is_empty() {
                    let room = SEND_BYTES.saturating_sub(self.buffer.len()).min(bytes.len());
                    let (now, later) = bytes.split_at(room);
                    self.buffer.extend_from_slice(now);
                    bytes = later;
                    if self.buffer.len() >= SEND_BYTES {
                        self.flush();
                    }
                }
            }
            Unpacked::Begin { path, size } => {
                self.flush();
                let _ = self.pieces.send(Piece::Begin { path: path.to_owned(), size });
            }
            Unpacked::End => {
                self.flush();
                let _ = self.pieces.send(Piece::End);
            }
            Unpacked::Warning(warning) => {
                self.flush();
                let _ = self.pieces.send(Piece::Warning(warning));
            }
        }
    }

    fn flush(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        let mut next = match self.recycled.try_recv() {
            Ok(buffer) => buffer,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Vec::with_capacity(SEND_BYTES),
        };
        next.clear();
        let _ = self.pieces.send(Piece::Data(std::mem::replace(&mut self.buffer, next)));
    }
}
