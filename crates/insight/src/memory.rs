//! What rules about memory have in common: which program they look at, and what they say where there is none.

use super::Verdict;
use super::draft::lacks;
use super::numbers::Numbers;
use base::format;
use metrics::memory_use::ProgramUse;
use report::DeviceMemory;
use trace::{Framework, Platform, SourceFormat};

/// The view with the evidence.
pub(super) const VIEW: &str = "memory";

/// Fewer bytes are not worth a change of a program (ours).
pub(super) const LEAST_BYTES: u64 = 1 << 20;

/// The program with the largest peak.
///
/// # Errors
/// What to say where the file holds no program with its buffers.
pub(super) fn largest_program<'a>(numbers: &Numbers<'a>) -> Result<&'a ProgramUse, Verdict> {
    // A memory profile holds arrays, and PyTorch compiles no program whose buffers a trace could hold.
    if numbers.context.run.heap_profile.is_some() || numbers.trace.framework == Framework::PyTorch {
        return Err(Verdict::Irrelevant);
    }
    let largest = numbers.context.analysis.memory.largest();
    // The text of an error may be of an allocation alone.
    if largest.is_none() && numbers.context.run.memory_error.is_some() {
        return Err(Verdict::Irrelevant);
    }
    largest.ok_or_else(|| {
        let what = "the file holds no compiled program with its buffers.";
        if numbers.trace.format == Some(SourceFormat::ChromeJson) {
            return numbers.lacks_in_json(what);
        }
        lacks(&format!(
            "{what} {} Or open the folder that XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_proto\" writes.",
            numbers.words().keep_hlo
        ))
    })
}

/// The device whose memory is fullest, by its share of the capacity.
///
/// # Errors
/// What to say where that is known of none.
pub(super) fn fullest_device<'a>(numbers: &Numbers<'a>) -> Result<(&'a DeviceMemory, f64), Verdict> {
    // Of an error, the rule `out_of_memory` says why it happened.
    if numbers.context.run.heap_profile.is_some() || numbers.context.run.memory_error.is_some() {
        return Err(Verdict::Irrelevant);
    }
    let devices = numbers.context.analysis.memory.devices.iter();
    let known = devices.filter_map(|device| Some((device, device.peak_percent?)));
    known.reduce(|most, it| if it.1 > most.1 { it } else { most }).ok_or_else(|| {
        let words = numbers.words();
        let remedy = match words.allocations {
            // Another capture would not hold it either.
            _ if numbers.platform == Some(Platform::Cpu) => String::new(),
            "" => format!(" Print it in the program: {}.", words.print_memory),
            option => format!(" Capture with {option} while a step allocates, or choose the device on the Model page."),
        };
        lacks(&format!("how full the memory of a device gets, or how large it is, is not in the file.{remedy}"))
    })
}

/// A part of the peak of a program, percent.
pub(super) fn of_peak(bytes: u64, program: &ProgramUse) -> f64 {
    let peak = program.figures.peak_heap_bytes;
    if peak > 0 { 100.0 * bytes as f64 / peak as f64 } else { 0.0 }
}

/// The name of a program as messages have it.
pub(super) fn name(program: &ProgramUse) -> String {
    format::printable(&format::shorten(&program.figures.module, 60))
}
