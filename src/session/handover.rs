//! Hands runs from one session to another as bytes. The page decodes in one worker and analyses in another. Each
//! worker's program is therefore only half as large, and the memory of the first worker can be freed.

use serde::{Deserialize, Serialize};

use super::imported::Imported;
use super::runs::{LoadedRun, link_heap_profiles};
use super::{FileId, Session};
use base::{Warning, json};
use input::Sidecar;
use report::{SourceFile, UnifiedProfile};
use run::{EarlierHeapProfile, Run};
use trace::RowBlock;
use trace::snapshot::{Damaged, Reader, Writer};

/// Byte between the notes and the bytes of the device memory profiles or of a lake's trends. The notes are JSON text,
/// which never contains this byte.
const END_OF_TEXT: u8 = 0;

/// All data of a run except its events.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Notes {
    name: String,
    sidecar: Sidecar,
    files: Vec<SourceFile>,
    warnings: Vec<Warning>,
    trace_warnings: Vec<Warning>,
    /// An imported result and the file that it was read from.
    imported: Option<(String, Box<UnifiedProfile>)>,
    median_step: Option<String>,
    /// True if the imported result contains the trends of a lake. The bytes of the trends follow the notes.
    has_trends: bool,
    memory_error: Option<String>,
    /// Name of the earlier device memory profile, and the length of the run's own profile. The bytes of the earlier profile
    /// follow the bytes of the run's own profile.
    earlier_heap_profile: Option<(String, usize)>,
}

impl Session {
    /// Takes the events that are already final out of a file that is being read. The events that this function takes
    /// are the first part of the run's image, and [`hand_over`](Session::hand_over) leaves them out. Call this function
    /// only if the session has no other file, because events of several hosts must first be aligned to a common clock.
    pub fn early_rows(&mut self, file: FileId) -> Vec<RowBlock> {
        let intake = self.files.get_mut(file.0 as usize).and_then(|file| file.intake.as_mut());
        intake.map(|intake| intake.early_rows()).unwrap_or_default()
    }

    /// Takes the first run out of this session and returns its image, in chunks for another session's [`Reader`].
    /// When a chunk is taken, the memory of its events is freed. `None` if no run is left.
    pub fn hand_over(&mut self) -> Option<Writer> {
        let (run, imported) = self.runs.pop_front()?.into_parts();
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
            earlier_heap_profile: earlier,
            memory_error,
            sorted: _,
            compiled: _,
            graph_kernels: _,
        } = run;
        // The clocks were already aligned when the run was built.
        let sidecar = Sidecar { model, device, tracing, capture_notes, ..Sidecar::default() };
        let own_bytes = heap_profile.as_ref().map_or(0, |bytes| bytes.len());
        let (imported, median_step, trends) = match imported.map(|imported| *imported) {
            Some(Imported { file, profile, median_step, trends }) => {
                (Some((file, Box::new(profile))), median_step, trends)
            }
            None => (None, None, None),
        };
        let notes = Notes {
            name,
            sidecar,
            files,
            warnings,
            trace_warnings: std::mem::take(&mut trace.warnings),
            imported,
            median_step,
            has_trends: trends.is_some(),
            memory_error: memory_error.map(|text| text.to_string()),
            earlier_heap_profile: earlier.as_ref().map(|earlier| (earlier.name.clone(), own_bytes)),
        };
        let bytes = [heap_profile, earlier.map(|earlier| earlier.bytes), trends.map(Into::into)];
        // Serialisation fails only for maps with keys that are not strings, and there are none.
        let mut notes = serde_json::to_vec(&notes).unwrap_or_default();
        if bytes.iter().any(Option::is_some) {
            notes.push(END_OF_TEXT);
        }
        bytes.iter().flatten().for_each(|bytes| notes.extend_from_slice(bytes));
        Some(Writer::new(trace, notes))
    }

    /// Adds the run whose image was read, after the existing runs.
    ///
    /// # Errors
    ///
    /// Returns [`Damaged`] if the bytes are not a complete image.
    pub fn take_over(&mut self, image: Reader) -> Result<(), Damaged> {
        let (mut trace, notes) = image.finish()?;
        let mut parts = notes.splitn(2, |&byte| byte == END_OF_TEXT);
        let (notes, heap_profiles) = (parts.next().unwrap_or_default(), parts.next());
        let notes = std::str::from_utf8(notes).map_err(|_| Damaged)?;
        let mut notes: Notes = json::from_str(notes).map_err(|_| Damaged)?;
        let earlier = notes.earlier_heap_profile.take();
        // A run with the trends of a lake has no device memory profile.
        let trends = heap_profiles.filter(|_| notes.has_trends).map(<[u8]>::to_vec);
        let heap_profiles = heap_profiles.filter(|_| !notes.has_trends);
        let Notes { name, sidecar, files, warnings, trace_warnings, imported, median_step, memory_error, .. } = notes;
        trace.warnings = trace_warnings;
        let (mut heap_profile, mut earlier_heap_profile) = (heap_profiles, None);
        if let Some((name, own_bytes)) = earlier {
            let (own, earlier) = heap_profiles.and_then(|bytes| bytes.split_at_checked(own_bytes)).ok_or(Damaged)?;
            (heap_profile, earlier_heap_profile) =
                (Some(own), Some(EarlierHeapProfile { name, bytes: earlier.into() }));
        }
        let run = Run {
            name,
            trace,
            model: sidecar.model,
            device: sidecar.device,
            tracing: sidecar.tracing,
            capture_notes: sidecar.capture_notes,
            files,
            warnings,
            heap_profile: heap_profile.map(Into::into),
            earlier_heap_profile,
            memory_error: memory_error.map(Into::into),
            ..Run::default()
        };
        let imported = imported.map(|(file, profile)| Imported { file, profile: *profile, median_step, trends });
        self.runs.push_back(LoadedRun::new(run, imported));
        link_heap_profiles(&mut self.runs);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Settings;
    use trace::Trace;
    use trace::snapshot::Piece;
    use wire_writer::message;

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
            report.map(|report| export::json::profile(&report)).unwrap_or_default()
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

    /// Returns a device memory profile with one array.
    fn heap(bytes: i64) -> Vec<u8> {
        let sums = message().message(1, message().int(1, 1).int(2, 1)).message(1, message().int(1, 1).int(2, 2));
        let sample = sums.message(2, message().int(2, 1).int(2, bytes));
        ["", "space", "bytes"].into_iter().fold(sample, |profile, text| profile.bytes(6, text)).0
    }

    #[test]
    fn both_memory_profiles_of_a_run_are_handed_over() {
        let trace = "www/assets/examples/jax-cpu-train.xplane.pb";
        let bytes = std::fs::read(format!("{}/{trace}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let files = [("r/h.xplane.pb", bytes), ("r/a.prof", heap(2 << 20)), ("r/b.prof", heap(5 << 20))];
        let (before, after) = report_after_a_handover(&files);
        assert!(before.contains("Memory has grown by 150"), "{before}");
        assert_eq!(after, before);
        let (before, after) = report_after_a_handover(&files[1..2]);
        assert!(before.contains("memory_profile"), "{before}");
        assert_eq!(after, before, "a memory profile without a trace");
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
