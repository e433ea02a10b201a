//! Writes output files completely or not at all, and never over an input.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Path that stands for standard output. A file at this path is written through the same handle as the printed result,
/// so that the printed result follows the file.
const STANDARD_OUTPUT: &str = "/dev/stdout";

#[derive(Debug, Default)]
pub(super) struct Outputs(Vec<PathBuf>);

impl Outputs {
    /// Creates the set of output files at these paths. The paths need not exist.
    pub(super) fn new<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Outputs {
        Outputs(paths.into_iter().cloned().collect())
    }

    /// Checks that no output would overwrite `input`, even through a link.
    ///
    /// # Errors
    ///
    /// Fails with a message if an output would overwrite `input`.
    pub(super) fn spare(&self, input: &Path) -> Result<(), String> {
        let read = identity(input);
        match self.0.iter().find(|output| read.is_some() && identity(output) == read) {
            None => Ok(()),
            Some(output) => {
                let input = if input == output { String::new() } else { format!(" ({})", input.display()) };
                Err(format!(
                    "{}: this file is an input{input} and would be overwritten. Specify another name for the output.",
                    output.display()
                ))
            }
        }
    }
}

/// Returns an identifier that is the same for all paths of one regular file, including links.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((metadata.dev(), metadata.ino()))
}

/// Returns an identifier that is the same for all paths of one regular file.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().filter(|path| path.is_file())
}

/// Writes the file. Replaces an existing file only after all of `content` is written.
///
/// # Errors
///
/// Fails with a message that contains the file's name.
pub(super) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    put(path, content.as_ref()).map_err(|error| format!("{}: cannot be written: {error}", path.display()))
}

fn put(path: &Path, text: &[u8]) -> io::Result<()> {
    if path == Path::new(STANDARD_OUTPUT) {
        let mut output = io::stdout().lock();
        let written = output.write_all(text).and_then(|()| output.flush());
        // It is not a failure if the reader stops early.
        return written.or_else(|error| if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) });
    }
    let Some(target) = replaceable(path)? else { return fs::write(path, text) };
    match replace(&target, text) {
        // No file can be created in the folder, or the file is a mount point, so it must be overwritten in place.
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ResourceBusy) => {
            fs::write(path, text)
        }
        other => other,
    }
}

/// Returns the path of the regular file that `path` leads to, if that file can be replaced. Returns `None` for a pipe,
/// a device or a dangling link.
fn replaceable(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && !path.starts_with("/dev") => {
            // A read-only file must not be replaced either.
            OpenOptions::new().write(true).open(path)?;
            fs::canonicalize(path).map(Some)
        }
        Ok(_) => Ok(None),
        Err(_) if fs::symlink_metadata(path).is_ok() => Ok(None),
        Err(_) => Ok(Some(path.to_owned())),
    }
}

/// Writes a temporary file next to the target and renames it. The temporary name is unique to this call, and a killed
/// process does not leave a file that blocks later calls.
fn replace(target: &Path, text: &[u8]) -> io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Check the folder first, because an error about the temporary file would show the temporary name.
    fs::metadata(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".crossprof-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Normal permissions of a new file, before the umask.
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
    // Some file systems report only here that they are full.
    file.sync_all()
}
