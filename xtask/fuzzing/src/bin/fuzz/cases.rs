//! The work of the child processes, and functions that write and read the corpus as files.

use std::io::Write;
use std::path::Path;

use fuzzing::corpus::Sample;
use fuzzing::{Format, drive, mutate};

use crate::Result;

/// Drives cases in order, and prints the number of each case before it starts. Continues until a case fails or the
/// parent process ends.
pub(crate) fn cases(corpus: &[Sample], seed: u64, first: u64, step: u64) -> Result {
    let mut out = std::io::stdout().lock();
    for number in (first..).step_by(usize::try_from(step).unwrap_or(1)) {
        // Writing fails once the parent process has stopped reading, so the run is over.
        if writeln!(out, "{number}").and_then(|()| out.flush()).is_err() {
            break;
        }
        let (format, bytes) = mutate::case(corpus, seed, number);
        drive::drive(format, &bytes)?;
    }
    Ok(())
}

/// Drives the case in a file. The name of the file must contain the format.
pub(crate) fn drive_file(file: &Path) -> Result {
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    drive::drive(format_of(file)?, &bytes)
}

fn format_of(file: &Path) -> Result<Format> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Format::of_file_name(&name).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        format!("{}: the name must begin with its format ({}).", file.display(), names.join(", "))
    })
}

/// Writes the samples into a folder that has one subfolder per format. cargo-fuzz expects this form.
pub(crate) fn write_corpus(folder: &Path, samples: &[Sample]) -> Result {
    for sample in samples {
        let of_format = folder.join(sample.format.name());
        let file = of_format.join(&sample.name);
        std::fs::create_dir_all(of_format)
            .and_then(|()| std::fs::write(&file, &sample.bytes))
            .map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
    }
    println!("{} samples are in {}.", samples.len(), folder.display());
    Ok(())
}

/// Reads the samples of a folder, in the order of their file names.
pub(crate) fn read_corpus(folder: &Path) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for format in Format::ALL {
        let folder = folder.join(format.name());
        let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
        let mut files: Vec<_> =
            std::fs::read_dir(&folder).map_err(wrong)?.flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            samples.push(Sample { format, name, bytes: std::fs::read(&file).map_err(wrong)? });
        }
    }
    Ok(samples)
}
