//! Drives saved cases again, with the same time and memory limits as in a run.

use std::path::PathBuf;

use crate::Result;
use crate::child::{self, End, MOST_TIME};

/// Drives each file in a separate process.
pub(crate) fn replay(files: &[PathBuf]) -> Result {
    let mut failed = 0;
    for file in files {
        let verdict = match child::alone(file)? {
            End::Done => "holds".to_owned(),
            End::Hangs | End::TimeOver => format!("takes longer than {} s", MOST_TIME.as_secs()),
            End::Fails(said) => said,
        };
        failed += usize::from(verdict != "holds");
        println!("{}: {verdict}", file.display());
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} cases fail.", files.len())) }
}
