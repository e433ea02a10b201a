//! Reads files below the served folder, and writes their names.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use crossprof::input::plan::{FileKind, is_called_profile};
use crossprof::session;

/// Number of bytes at the start of a file that suffice to detect the kind of most files.
const FEW_BYTES: u64 = 4 << 10;

/// Number of bytes at the start of a file that suffice to detect the kind of any file.
const HEAD_BYTES: u64 = 64 << 10;

/// Opens a regular file and returns it with its size. Rejects other kinds of files, because reading a pipe without a
/// writer would never return.
///
/// # Errors
///
/// Fails if the file cannot be opened or is not a regular file.
pub(super) fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // These flags make opening a pipe return immediately.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok((file, metadata.len()))
}

/// Detects the kind of a file, and reads as little of the file's start as possible.
///
/// # Errors
///
/// Fails if the file cannot be read.
pub(super) fn kind_of_start(path: &Path) -> io::Result<FileKind> {
    let (mut file, size) = open_regular(path)?;
    let name = shown(path);
    let mut head = Vec::new();
    (&mut file).take(FEW_BYTES).read_to_end(&mut head)?;
    let kind = session::peek(&name, &head, size <= FEW_BYTES);
    // In JSON, the key that identifies the kind can be far from the start.
    if kind == FileKind::TraceJson && size > FEW_BYTES && !is_called_profile(&name) {
        file.take(HEAD_BYTES - FEW_BYTES).read_to_end(&mut head)?;
        return Ok(session::peek(&name, &head, size <= HEAD_BYTES));
    }
    Ok(kind)
}

/// Returns a path as text, with `/` between folders. Bytes that are not UTF-8 are written in the form `\xff`, so that
/// different names stay different.
pub(super) fn shown(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text += &format!("\\x{byte:02x}");
        }
    }
    if cfg!(windows) { text.replace('\\', "/") } else { text }
}

pub(super) fn name_of(path: &Path) -> String {
    shown(Path::new(path.file_name().unwrap_or(path.as_os_str())))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_bytes_stay_different() {
        use std::os::unix::ffi::OsStrExt;
        let name = |bytes: &[u8]| shown(Path::new(std::ffi::OsStr::from_bytes(bytes)));
        assert_eq!(name(b"a/\xff\xfe.pb"), "a/\\xff\\xfe.pb");
        assert_eq!(name(b"a\\b.pb"), "a\\b.pb");
        assert_ne!(name(b"\xff"), name(b"\xfe"));
    }

    #[test]
    fn only_regular_files_are_opened() {
        assert!(open_regular(Path::new("/dev/zero")).is_err());
        assert!(open_regular(Path::new("/")).is_err());
        assert!(open_regular(Path::new("Cargo.toml")).is_ok());
    }
}
