//! Starts the browser. All users of a machine can read command lines, so the browser's command line does not contain
//! the link. Instead, the command line names a file that redirects to the link. Only the current user can read that
//! file.

use std::io::Write;

use tempfile::{Builder, NamedTempFile};

/// Opens the link in a browser. The returned file must exist until the browser has read it.
///
/// # Errors
///
/// Fails if the file cannot be written or if no browser can be started.
pub(super) fn open(link: &str) -> std::io::Result<NamedTempFile> {
    // On Unix, only the owner can read the file.
    let mut file = Builder::new().prefix("crossprof-").suffix(".html").tempfile()?;
    write!(
        file,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>crossprof</title>\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\">\n<a href=\"{link}\">crossprof</a>\n"
    )?;
    file.flush()?;
    open::that_detached(file.path())?;
    Ok(file)
}
