//! Loads many files in parallel. Each thread unpacks and decodes one file at a time, so that several hosts of a run are
//! decoded at the same time.
//!
//! ```text
//!  thread 1   file 1 ------> session 1   file 3 --> session 3
//!  thread 2   file 2 --> session 2   file 4 ------> session 4     --> one session, in the order of the files
//! ```

use std::io::{ErrorKind, Read};
use std::sync::Mutex;

use crossprof::Session;

use super::{READ_BYTES, complaint, outlines};
use crate::cli::in_order::in_order;
use crate::cli::input::{Input, Source};
use crate::cli::progress::Progress;

/// The session of a decoded file, and the file's problem, if any.
type Decoded = (Session, Option<String>);

/// Reads the files into `session` in order, and returns their problems in the same order.
pub(super) fn read(session: &mut Session, inputs: &[&Input], threads: usize, progress: &mut Progress) -> Vec<String> {
    let progress = Mutex::new(progress);
    let decoded = in_order(inputs.len(), threads, |index| inputs.get(index).map(|input| decode(input, &progress)));
    let mut messages = Vec::new();
    for (files, message) in decoded.into_iter().flatten() {
        session.append(files);
        messages.extend(message);
    }
    messages
}

/// Reads, unpacks and decodes one file.
fn decode(input: &Input, progress: &Mutex<&mut Progress>) -> Decoded {
    let mut session = Session::new();
    let file = session.begin(&input.name, input.size);
    let mut read_all = || -> std::io::Result<()> {
        let mut source = input.source()?;
        if let (Source::File(opened), Some(size)) = (&mut source, input.size) {
            outlines(opened, size)?.into_iter().for_each(|outline| session.add_outline(file, outline));
        }
        let bytes: &mut dyn Read = match &mut source {
            Source::File(file) => file,
            Source::Stream(stream) => stream,
        };
        let mut chunk = vec![0; READ_BYTES];
        loop {
            let read = match bytes.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if let Ok(mut progress) = progress.lock() {
                progress.advance(read as u64);
            }
            session.push(file, chunk.get(..read).unwrap_or_default());
        }
    };
    let failure = read_all().err();
    let result = session.finish(file);
    let message = complaint(input, failure, &result);
    (session, message)
}
