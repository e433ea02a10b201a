//! Starts the browser. Its command line, which every user of the machine can read, does not contain the link: a file that only this
//! user can read leads there.

use std::io::Write;

use tempfile::{Builder, NamedTempFile};

/// Opens the link in a browser. The file that is returned has to stay until the browser has read it.
///
/// # Errors
///
/// The file cannot be written, or no browser could be started.
pub fn open(link: &str) -> std::io::Result<NamedTempFile> {
    // On Unix only its owner can read such a file.
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
