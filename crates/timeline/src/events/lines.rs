//! Labels for lines, and the selection of lines by a pattern.

use std::borrow::Cow;
use std::collections::BTreeSet;

use base::{sort, suggest};
use metrics::{Context, Device};
use rustc_hash::FxHashMap;
use trace::{LineId, Plane, PlaneId, Platform, StrId, Trace};

/// Returns the name of a plane. If the run has several hosts, the name begins with the host's name.
pub fn process_name<'t>(trace: &'t Trace, plane: &Plane) -> Cow<'t, str> {
    let name = trace.text(plane.name);
    let host = trace.hosts.get(plane.host as usize).filter(|_| trace.hosts.len() > 1);
    host.map_or(Cow::Borrowed(name), |host| Cow::Owned(format!("{host} {name}")))
}

/// Returns the label of each line, which is `process/line`. If several lines of a process have the same name, each
/// label also contains the line's number.
pub fn line_labels(trace: &Trace) -> Vec<String> {
    let mut of_name: FxHashMap<(PlaneId, StrId), u32> = FxHashMap::default();
    trace.lines.iter().for_each(|line| *of_name.entry((line.plane, line.name)).or_default() += 1);
    let label = |line: &trace::Line| {
        let process = trace.plane_of(line).map_or(Cow::Borrowed(""), |plane| process_name(trace, plane));
        let is_shared = of_name.get(&(line.plane, line.name)).is_some_and(|&lines| lines > 1);
        let number = line.id.filter(|_| is_shared).map_or(String::new(), |id| format!(" ({id})"));
        format!("{process}/{}{number}", trace.text(line.name))
    };
    trace.lines.iter().map(label).collect()
}

/// Error if no line matches the pattern. The message lists names that the capture contains.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no line matches {pattern}{known}")]
pub struct NoLine {
    /// The pattern.
    pub pattern: String,
    /// Names in the capture, as the end of the error message.
    known: String,
}

/// Maximum number of lines that the error message lists.
const MOST_LISTED: usize = 8;

/// Returns the lines that match a pattern. In a pattern, `*` matches any characters. The pattern must match the whole
/// name of the line or of its process, or both names with a slash between them (`GPU:0/Stream*`). The `/device:` or
/// `/host:` at the start of a process name is optional. If no line matches, the pattern selects devices by their names
/// in reports, for example `CPU:2`. The function then returns all lines that ran an op of a selected device.
///
/// # Errors
///
/// Fails if nothing matches. The error message lists the names that are most similar to the pattern.
pub fn chosen_lines(context: Context<'_>, pattern: &str) -> Result<Vec<LineId>, NoLine> {
    let trace = context.captured_trace();
    let labels = line_labels(trace);
    let mut chosen = matching(trace, &labels, pattern);
    let devices = &context.analysis.devices.used;
    if chosen.is_empty() {
        chosen =
            sort::set(devices.iter().flat_map(|device| lines_of_device(trace, device, pattern))).into_iter().collect();
    }
    // Other devices have their own processes with the device's name.
    let is_on_threads = |device: &&Device| device.platform == Platform::Cpu;
    let devices: Vec<&str> = devices.iter().filter(is_on_threads).map(|device| device.name.as_str()).collect();
    if chosen.is_empty() { Err(no_match(trace, &labels, &devices, pattern)) } else { Ok(chosen) }
}

/// Returns the lines whose names match a pattern.
fn matching(trace: &Trace, labels: &[String], pattern: &str) -> Vec<LineId> {
    let is_meant = |line: &LineId| {
        let (Some(of), Some(label)) = (trace.lines.get(line.index()), labels.get(line.index())) else { return false };
        let process = trace.plane_of(of).map_or("", |plane| trace.text(plane.name));
        let (line, host) = (trace.text(of.name), label.split_once(process).map_or("", |(host, _)| host));
        let short = short(process);
        let with_line = [process, short].map(|process| format!("{process}/{line}"));
        let of_host = format!("{host}{process}");
        let names = [line, process, short, &with_line[0], &with_line[1], &of_host, label];
        names.iter().any(|name| fits(pattern, name))
    };
    trace.line_ids().filter(is_meant).collect()
}

/// Returns the name of a process without `/device:` or `/host:`.
fn short(process: &str) -> &str {
    ["/device:", "/host:"].iter().find_map(|prefix| process.strip_prefix(prefix)).unwrap_or(process)
}

/// Returns all lines of a device if the pattern matches the device's name. Otherwise, returns the lines for which the
/// pattern matches `device/line`. XLA's CPU devices do not have their own process. The ops of a CPU device run on host
/// threads, which other devices may also use.
fn lines_of_device(trace: &Trace, device: &Device, pattern: &str) -> BTreeSet<LineId> {
    if !pattern.contains('/') && !fits(pattern, &device.name) {
        return BTreeSet::new();
    }
    let ran: BTreeSet<LineId> =
        device.ops.iter().filter_map(|&op| trace.events.get(op)).map(|event| event.line).collect();
    let is_meant = |line: &LineId| {
        let name = trace.lines.get(line.index()).map_or("", |line| trace.text(line.name));
        fits(pattern, &device.name) || fits(pattern, &format!("{}/{name}", device.name))
    };
    ran.into_iter().filter(is_meant).collect()
}

/// Returns the error for a pattern that matches nothing. The error lists the names that are most similar to the
/// pattern.
fn no_match(trace: &Trace, labels: &[String], devices: &[&str], pattern: &str) -> NoLine {
    let error = |known: String| NoLine { pattern: pattern.to_owned(), known };
    if labels.is_empty() {
        return error(": the capture has no lines".to_owned());
    }
    let processes = trace.planes.iter().map(|plane| short(trace.text(plane.name)));
    let lines = trace.lines.iter().map(|line| trace.text(line.name));
    let known: Vec<&str> = sort::set(devices.iter().copied().chain(processes).chain(lines)).into_iter().collect();
    let question = suggest::question(&suggest::words(pattern, &known));
    let rest = labels.len().saturating_sub(MOST_LISTED);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let listed = labels.iter().take(MOST_LISTED).cloned().collect::<Vec<_>>().join(", ");
    let of_devices = match devices {
        [] => String::new(),
        devices => {
            format!(" Its devices: {}.", devices.iter().take(MOST_LISTED).copied().collect::<Vec<_>>().join(", "))
        }
    };
    let end = if of_devices.is_empty() && question.is_empty() { "" } else { "." };
    error(format!("; the capture has {listed}{more}{end}{of_devices}{question}"))
}

/// Returns true if a text matches a pattern. In a pattern, `*` matches any characters. The running time is at most
/// proportional to the product of the two lengths.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    fn trace() -> Trace {
        let mut b = TraceBuilder::new();
        for (process, line) in [
            ("/device:GPU:0", "Stream #13(Compute)"),
            ("/device:GPU:0", "Stream #14(MemcpyD2H)"),
            ("/device:GPU:1", "Stream #13(Compute)"),
            ("/host:CPU", "python"),
        ] {
            b.line(process, line);
        }
        b.build()
    }

    fn chosen(pattern: &str) -> Vec<usize> {
        let trace = trace();
        matching(&trace, &line_labels(&trace), pattern).into_iter().map(LineId::index).collect()
    }

    #[test]
    fn a_pattern_means_lines_processes_or_both() {
        assert_eq!(chosen("GPU:0"), [0, 1]);
        assert_eq!(chosen("/device:GPU:0"), [0, 1]);
        assert_eq!(chosen("GPU:*"), [0, 1, 2]);
        assert_eq!(chosen("GPU:0*"), [0, 1]);
        assert_eq!(chosen("Stream #13*"), [0, 2]);
        assert_eq!(chosen("GPU:1/Stream*"), [2]);
        assert_eq!(chosen("/host:CPU/python"), [3]);
        assert_eq!(chosen("*"), [0, 1, 2, 3]);
        assert_eq!(chosen("*(*D2H)"), [1]);
        assert_eq!(chosen("python"), [3]);
        assert_eq!(chosen("GPU"), [0; 0]);
        assert_eq!(chosen("pyth"), [0; 0]);
    }

    #[test]
    fn a_pattern_without_a_match_lists_the_lines() {
        let message = |trace: &Trace, devices: &[&str], pattern| {
            no_match(trace, &line_labels(trace), devices, pattern).to_string()
        };
        let none = message(&trace(), &[], "TPU:0");
        assert!(
            none.starts_with("no line matches TPU:0; the capture has /device:GPU:0/Stream #13(Compute), "),
            "{none}"
        );
        assert!(none.ends_with(" Did you mean GPU:0 or GPU:1?"), "{none}");
        let device = message(&trace(), &["CPU:0", "CPU:1"], "CPU1");
        assert!(device.ends_with(" Its devices: CPU:0, CPU:1. Did you mean CPU, CPU:1 or CPU:0?"), "{device}");
        assert!(message(&Trace::default(), &[], "x").ends_with("the capture has no lines"));
    }

    #[test]
    fn a_part_is_not_counted_twice() {
        assert!(fits("a*a", "aa") && !fits("a*a", "a") && fits("*", "") && fits("a**b", "ab") && !fits("", "a"));
    }
}
