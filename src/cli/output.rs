//! Files that results are written to: whole or not at all, and never over what the call reads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Standard output as a file: written to by the same handle as the printed result, which then comes behind.
const STANDARD_OUTPUT: &str = "/dev/stdout";

/// The files that a call writes.
#[derive(Debug, Default)]
pub struct Outputs(Vec<PathBuf>);

impl Outputs {
    /// The outputs at these paths, which need not exist.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Outputs {
        Outputs(paths.into_iter().cloned().collect())
    }

    /// Says that `input` would be overwritten, whatever names lead to it.
    ///
    /// # Errors
    ///
    /// The sentence.
    pub fn spare(&self, input: &Path) -> Result<(), String> {
        let read = identity(input);
        match self.0.iter().find(|output| read.is_some() && identity(output) == read) {
            None => Ok(()),
            Some(output) => {
                let input = if input == output { String::new() } else { format!(" ({})", input.display()) };
                Err(format!(
                    "{}: this file is an input{input} and would be overwritten. Give another name to write to.",
                    output.display()
                ))
            }
        }
    }
}

/// What two paths have in common that lead to one regular file, by a link or not.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((metadata.dev(), metadata.ino()))
}

/// What two paths have in common that lead to one regular file.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().filter(|path| path.is_file())
}

/// Writes the file; an earlier one stays as it was unless all of `text` is written.
///
/// # Errors
///
/// What is wrong, as a sentence with the file's name.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    put(path, content.as_ref()).map_err(|error| format!("{}: cannot be written: {error}", path.display()))
}

fn put(path: &Path, text: &[u8]) -> io::Result<()> {
    if path == Path::new(STANDARD_OUTPUT) {
        let mut output = io::stdout().lock();
        let written = output.write_all(text).and_then(|()| output.flush());
        // A reader that stops early is no failure.
        return written.or_else(|error| if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) });
    }
    let Some(target) = replaceable(path)? else { return fs::write(path, text) };
    match replace(&target, text) {
        // A folder in which no file can be made, or a file that is mounted: there is only the file itself to write to.
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ResourceBusy) => {
            fs::write(path, text)
        }
        other => other,
    }
}

/// The file that another can take the place of; `None` for a pipe or a device, and for a link that leads nowhere yet.
fn replaceable(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && !path.starts_with("/dev") => {
            // A file that must not be written to is not replaced either.
            OpenOptions::new().write(true).open(path)?;
            fs::canonicalize(path).map(Some)
        }
        Ok(_) => Ok(None),
        Err(_) if fs::symlink_metadata(path).is_ok() => Ok(None),
        Err(_) => Ok(Some(path.to_owned())),
    }
}

/// Writes beside the file and renames. No other call uses the name beside it, wherever it runs, and one that was killed leaves nothing in
/// the way.
fn replace(target: &Path, text: &[u8]) -> io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Its error names the file beside.
    fs::metadata(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".crossprof-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for any new file, less what the umask takes away.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut beside = builder.tempfile_in(folder)?;
    fill(beside.as_file_mut(), target, text)?;
    beside.persist(target).map_err(|error| error.error)?;
    Ok(())
}

fn fill(file: &mut File, target: &Path, text: &[u8]) -> io::Result<()> {
    if let Ok(earlier) = fs::metadata(target) {
        file.set_permissions(earlier.permissions())?;
    }
    file.write_all(text)?;
    // Some file systems only now notice that they are full.
    file.sync_all()
}
