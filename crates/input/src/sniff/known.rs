//! Recognises files that users open by mistake, by their first bytes.

use super::{DROP_A_PROFILE, Format};
use base::{Error, out_of_memory};

/// Advice about a known kind of file.
#[derive(Clone, Copy)]
enum Advice {
    /// Give the usual advice.
    DropAProfile,
    /// The file is compressed with an unsupported method. Advise the user to unpack it.
    Unpack,
    /// The file is a leftover next to profiles. Ignore it.
    Derived,
    /// Give this advice.
    Custom(&'static str),
}

/// Advice for a host profile, which explains how to write a device memory profile.
const SAVE_MEMORY: &str = "It contains host times. To record device memory, call jax.profiler.save_device_memory_profile(\"memory.prof\"). To record device times, use jax.profiler.trace.";

/// Advice for a trace that Perfetto recorded.
pub(super) const FROM_PERFETTO: &str = "Open the *.xplane.pb or *.trace.json.gz that the profiler wrote next to it, or convert it to JSON: \
                                        traceconv json FILE trace.json.";

/// Advice for an output of rocprof.
pub(super) const FROM_ROCPROF: &str =
    "Capture with jax.profiler.trace, or with torch.profiler and export_chrome_trace. Both record AMD GPUs.";

/// Advice for a program in a form that lacks the compiled instructions.
const AS_HLO: &str = "crossprof reads compiled programs as HLO, text or proto: set XLA_FLAGS=--xla_dump_to=DIR before JAX starts, and open \
                      DIR. A *.xplane.pb also contains the programs.";

/// Known kinds of files. Each entry has the first bytes of a file, its kind, and the advice.
const MAGIC: &[(&[u8], &str, Advice)] = &[
    (b"BZh", "a bzip2 file", Advice::Unpack),
    (b"\xfd7zXZ\0", "an xz file", Advice::Unpack),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", Advice::Unpack),
    (b"\x04\x22\x4d\x18", "an LZ4 file", Advice::Unpack),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", Advice::Unpack),
    (b"Rar!\x1a\x07", "a RAR archive", Advice::Unpack),
    (b"\x1f\x9d", "a compress (.Z) file", Advice::Unpack),
    (
        b"\x1f\xef\xbf\xbd",
        "a gzip file that was decoded as text (its bytes above 127 became U+FFFD)",
        Advice::Custom("Its content is lost. Copy the original again, as a binary file."),
    ),
    (
        b"\xff\xfe",
        "text in UTF-16",
        Advice::Custom("Save it as UTF-8. (PowerShell's > writes UTF-16, so copy the file instead.)"),
    ),
    (
        b"\xfe\xff",
        "text in UTF-16",
        Advice::Custom("Save it as UTF-8. (PowerShell's > writes UTF-16, so copy the file instead.)"),
    ),
    (
        b"version https://git-lfs",
        "a Git LFS pointer",
        Advice::Custom("It represents a file that was not downloaded. Run git lfs pull."),
    ),
    (
        b"SQLite format 3\0",
        "an SQLite database",
        Advice::Custom("Nsight Systems exports such files. Capture with the JAX profiler, which writes *.xplane.pb."),
    ),
    (
        b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f",
        "a Riegeli file",
        Advice::Custom("Capture again without continuous mode, which writes *.xplane.pb."),
    ),
    (b"\xfb)\x03", "a profile of Python functions (cProfile)", Advice::Custom(SAVE_MEMORY)),
    (b"\xfb\xa9\x03", "a profile of Python functions (cProfile)", Advice::Custom(SAVE_MEMORY)),
    (b"\0\x05\x16\x07", "a macOS companion file", Advice::Derived),
    (b"\0\0\0\x01Bud1", "a macOS file with folder settings", Advice::Derived),
    (b"module @", "MLIR (StableHLO), a program before compilation", Advice::Custom(AS_HLO)),
    (b"module attributes {", "MLIR, one kernel or a program before compilation", Advice::Custom(AS_HLO)),
    (b"module {", "MLIR, one kernel or a program before compilation", Advice::Custom(AS_HLO)),
    (b"\"builtin.module\"(", "MLIR, one kernel or a program before compilation", Advice::Custom(AS_HLO)),
    (b"#loc", "MLIR, one kernel or a program before compilation", Advice::Custom(AS_HLO)),
    (b"#map", "MLIR, one kernel or a program before compilation", Advice::Custom(AS_HLO)),
    (b"ML\xefR", "MLIR bytecode, a program before compilation", Advice::Custom(AS_HLO)),
    (b"= control target key start", "LLO, the machine code of a TPU kernel", Advice::Custom(AS_HLO)),
    (b"// kernel: ", "LLO, the machine code of a TPU kernel", Advice::Custom(AS_HLO)),
    (b"; ModuleID = ", "LLVM IR, the code of one kernel", Advice::Custom(AS_HLO)),
    (b"\nTotal bytes used: ", "a list of a program's values, which its buffer assignment also has", Advice::Derived),
    (b"Total bytes used: ", "a summary of a program's buffer assignment", Advice::Derived),
    (b"Memory Space: ", "a summary of a program's buffer assignment", Advice::Derived),
    (b"\"Index\",\"KernelName\"", "a table of rocprof", Advice::Custom(FROM_ROCPROF)),
    (b"\"Kind\",\"Agent_Id\"", "a table of rocprofv3", Advice::Custom(FROM_ROCPROF)),
    (b"\x89PNG", "a PNG image", Advice::DropAProfile),
    (b"\xff\xd8\xff", "a JPEG image", Advice::DropAProfile),
    (b"GIF8", "a GIF image", Advice::DropAProfile),
    (b"%PDF", "a PDF document", Advice::DropAProfile),
    (b"\x7fELF", "a program or library", Advice::DropAProfile),
    (b"\0asm", "a WebAssembly module", Advice::DropAProfile),
    (b"\x93NUMPY", "a NumPy array", Advice::DropAProfile),
    (b"\x89HDF", "an HDF5 file", Advice::DropAProfile),
    (b"PAR1", "a Parquet file", Advice::DropAProfile),
    (b"\x80\x04\x95", "a Python pickle", Advice::DropAProfile),
    (b"\x80\x05\x95", "a Python pickle", Advice::DropAProfile),
];

/// Returns the format of a file whose first bytes identify it.
pub(super) fn by_magic(head: &[u8]) -> Option<Format> {
    let (_, what, advice) = MAGIC.iter().find(|(magic, _, _)| head.starts_with(magic))?;
    let remedy = match advice {
        Advice::Derived => return Some(Format::Derived(format!("This is {what}."))),
        Advice::DropAProfile => DROP_A_PROFILE,
        Advice::Custom(remedy) => remedy,
        Advice::Unpack => {
            let what = capitalised(what);
            let remedy = "Unpack it, or pack it again with gzip or zip.".to_owned();
            return Some(Format::Other(Error::Unsupported { what, remedy }));
        }
    };
    Some(Format::Other(Error::not_a_profile(*what, remedy)))
}

/// Returns the format of a file whose first bytes do not identify it.
pub(super) fn by_appearance(head: &[u8]) -> Format {
    match odd_text(head) {
        Some(error) => Format::Other(error),
        None => Format::Log,
    }
}

/// Control characters that occur in terminal logs: ESC before colours, and backspace.
const TERMINAL: [char; 2] = ['\u{1b}', '\u{8}'];

/// Returns an error for a file that is not plain text.
fn odd_text(head: &[u8]) -> Option<Error> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The head can end inside a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(head.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        Err(_) => return Some(Error::not_a_profile("an unknown binary file", DROP_A_PROFILE)),
    };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let starts = |start: &str| text.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start));
    let error = if text.is_empty() {
        Error::not_a_profile("a file with only white space", DROP_A_PROFILE)
    } else if text.chars().any(|c| c.is_control() && !c.is_whitespace() && !TERMINAL.contains(&c)) {
        Error::not_a_profile("an unknown binary file", DROP_A_PROFILE)
    } else if starts("<!doctype html") || starts("<html") {
        let remedy =
            "It was saved in place of the profile (an error or sign-in page, or a viewer). Download the file itself.";
        Error::not_a_profile("an HTML page", remedy)
    } else if starts("<") && !out_of_memory::is_said(head) {
        Error::not_a_profile("an XML file", DROP_A_PROFILE)
    } else {
        return None;
    };
    Some(error)
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
