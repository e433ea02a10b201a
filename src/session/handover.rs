//! Hands runs from one session to another as bytes. The page decodes in one worker and analyses in another, so each worker's
//! program is half the size, and the first worker's memory can be freed.

use serde::{Deserialize, Serialize};

use super::runs::{Imported, LoadedRun, Traced, link_heap_profiles};
use super::{FileId, Session};
use base::{Warning, json};
use input::Sidecar;
use metrics::Run;
use report::{SourceFile, UnifiedProfile};
use trace::snapshot::{Damaged, Reader, Writer};
use trace::{RowBlock, Trace};

/// Separates the notes from the bytes of a device memory profile. The notes are JSON text, which never contains this byte.
const END_OF_TEXT: u8 = 0;

/// Everything in a run except its events.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Notes {
    name: String,
    sidecar: Sidecar,
    files: Vec<SourceFile>,
    warnings: Vec<Warning>,
    trace_warnings: Vec<Warning>,
    /// An imported result and the file that it was read from.
    imported: Option<(String, Box<UnifiedProfile>)>,
    /// The picture of the median step, as text.
    median_step: Option<String>,
    /// Text of an out-of-memory error.
    memory_error: Option<String>,
}

impl Session {
    /// Takes the events that are already final out of a file that is being read. They are the first part of the image of its
    /// run, and [`hand_over`](Session::hand_over) then leaves them out. Use it only if the session has this one file: events
    /// of several hosts must first be set to a common clock.
    pub fn early_rows(&mut self, file: FileId) -> Vec<RowBlock> {
        let intake = self.files.get_mut(file.0 as usize).and_then(|file| file.intake.as_mut());
        intake.map(|intake| intake.early_rows()).unwrap_or_default()
    }

    /// Takes the first run out of this session and returns its image, in chunks for another session's [`Reader`]. Memory is
    /// freed as the chunks are taken. `None` if no run is left.
    pub fn hand_over(&mut self) -> Option<Writer> {
        let (notes, trace, heap_profile) = match self.runs.pop_front()? {
            LoadedRun::Traced(traced) => {
                let Run {
                    name,
                    mut trace,
                    model,
                    device,
                    tracing,
                    capture_notes,
                    files,
                    warnings,
                    heap_profile,
                    earlier_heap_profile: _,
                    memory_error,
                    sorted: _,
                    compiled: _,
                } = traced.into_run();
                let trace_warnings = std::mem::take(&mut trace.warnings);
                let memory_error = memory_error.map(|text| text.to_string());
                // The clocks were already aligned when the run was built.
                let sidecar = Sidecar { model, device, tracing, capture_notes, clock_ahead_ns: None };
                let notes = Notes { name, sidecar, files, warnings, trace_warnings, memory_error, ..Notes::default() };
                (notes, trace, heap_profile)
            }
            LoadedRun::Imported(imported) => {
                let Imported { name, file, profile, sidecar, sidecar_files: files, warnings, median_step } = *imported;
                let imported = Some((file, Box::new(profile)));
                let notes = Notes { name, sidecar, files, warnings, imported, median_step, ..Notes::default() };
                (notes, Trace::default(), None)
            }
        };
        // Serialization fails only for maps with keys that are not strings, and there are none.
        let mut notes = serde_json::to_vec(&notes).unwrap_or_default();
        if let Some(bytes) = heap_profile {
            notes.push(END_OF_TEXT);
            notes.extend_from_slice(&bytes);
        }
        Some(Writer::new(trace, notes))
    }

    /// Adds the run whose image was read, after the existing runs.
    ///
    /// # Errors
    ///
    /// [`Damaged`] if the bytes are not a complete image.
    pub fn take_over(&mut self, image: Reader) -> Result<(), Damaged> {
        let (mut trace, notes) = image.finish()?;
        let mut parts = notes.splitn(2, |&byte| byte == END_OF_TEXT);
        let (notes, heap_profile) = (parts.next().unwrap_or_default(), parts.next());
        let notes = std::str::from_utf8(notes).map_err(|_| Damaged)?;
        let notes: Notes = json::from_str(notes).map_err(|_| Damaged)?;
        let Notes { name, sidecar, files, warnings, trace_warnings, imported, median_step, memory_error } = notes;
        trace.warnings = trace_warnings;
        self.runs.push_back(match imported {
            Some((file, profile)) => LoadedRun::Imported(Box::new(Imported {
                name,
                file,
                profile: *profile,
                sidecar,
                sidecar_files: files,
                warnings,
                median_step,
            })),
            None => LoadedRun::Traced(Box::new(Traced::new(Run {
                name,
                trace,
                model: sidecar.model,
                device: sidecar.device,
                tracing: sidecar.tracing,
                capture_notes: sidecar.capture_notes,
                files,
                warnings,
                heap_profile: heap_profile.map(Into::into),
                memory_error: memory_error.map(Into::into),
                ..Run::default()
            }))),
        });
        link_heap_profiles(&mut self.runs);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::Settings;
    use trace::snapshot::Piece;

    fn take(reader: &mut Reader, piece: Piece) {
        match piece {
            Piece::Rows(rows) => reader.push_rows(rows),
            Piece::Bytes(bytes) => reader.push(&bytes),
        }
    }

    fn report_after_a_handover(paths: &[(&str, Vec<u8>)]) -> (String, String) {
        let mut session = Session::new();
        for (path, bytes) in paths {
            let file = session.begin(path, Some(bytes.len() as u64));
            session.push(file, bytes);
            session.finish(file);
        }
        session.runs();
        let text = |session: &mut Session| {
            let report = session.report(0, &Settings::default());
            report.map(|report| view::export::json::profile(&report)).unwrap_or_default()
        };
        let before = text(&mut session);
        let mut other = Session::new();
        while let Some(image) = session.hand_over() {
            let mut reader = Reader::new();
            image.for_each(|piece| take(&mut reader, piece));
            other.take_over(reader).unwrap();
        }
        assert_eq!(other.runs().len(), 1);
        (before, text(&mut other))
    }

    #[test]
    fn every_fixture_gives_the_same_report_after_a_handover() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/");
        let files = [
            "www/assets/examples/tpu-training.trace.json.gz",
            "www/assets/examples/gpu-training.trace.json.gz",
            "www/assets/examples/jax-cpu-train.xplane.pb",
            // The ops of this capture outlast their events: the first report extends the events.
            "tests/data/jax-cpu-async/host.xplane.pb.gz",
        ];
        for file in files {
            let bytes = std::fs::read(format!("{root}{file}")).unwrap();
            let sidecar = ("crossprof.json", br#"{"batch_size":8}"#.to_vec());
            let (before, after) = report_after_a_handover(&[(file, bytes), sidecar]);
            assert!(before.len() > 1000);
            assert_eq!(after, before, "{file}");
            // An exported report that is read again becomes an imported run.
            let (before, after) = report_after_a_handover(&[("result.json", before.into_bytes())]);
            assert!(before.len() > 1000);
            assert_eq!(after, before, "{file}");
        }
    }

    #[test]
    fn invalid_images_are_refused() {
        let mut session = Session::new();
        let mut reader = Reader::new();
        reader.push(b"not an image at all, but long enough");
        assert_eq!(session.take_over(reader), Err(Damaged));
        let mut reader = Reader::new();
        Writer::new(Trace::default(), b"{}".to_vec()).for_each(|piece| take(&mut reader, piece));
        assert_eq!(session.take_over(reader), Err(Damaged));
        assert!(session.hand_over().is_none());
    }
}
