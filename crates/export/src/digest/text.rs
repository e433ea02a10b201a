//! Renders a digest as text: one item per line, with texts from the trace in quotation marks.

use base::format::{bytes, count, counted, percent, time_us, with_plain_spaces};
use base::home::shared;

use super::{CaptureDigest, DATA_NOTE, Digest, MemoryDigest, OpDigest, StepDigest, VERSION};

pub(super) fn render(digest: &Digest) -> String {
    let mut lines = vec![format!("crossprof digest {VERSION}. {DATA_NOTE}")];
    capture(&digest.capture, &mut lines);
    if let Some(it) = &digest.step {
        step(it, &mut lines);
    }
    if let Some(it) = &digest.memory {
        lines.push(memory(it));
    }
    let mut list = |title: &str, items: Vec<String>| {
        if !items.is_empty() {
            lines.push(title.to_owned());
            lines.extend(items.into_iter().map(|item| format!("  {item}")));
        }
    };
    let findings = digest.findings.iter().map(|it| {
        let saves = it.saves_at_most_percent.map_or(String::new(), |most| format!(", saves at most {}", percent(most)));
        let remedy = if it.remedy.is_empty() { String::new() } else { format!(" Remedy: \"{}\"", it.remedy) };
        format!("[{}] {}, confidence {}{saves}: \"{}\".{remedy}", it.id, it.severity, it.confidence, it.title)
    });
    list("Findings, most important first:", findings.collect());
    let share = |percent_of: Option<f64>, time: f64| {
        percent_of.map_or_else(|| time_us(time), |share| format!("{}, {}", percent(share), time_us(time)))
    };
    let scopes = digest
        .scopes
        .iter()
        .map(|it| format!("[{}]{} {}", it.id, named(&it.name), share(it.busy_percent, it.self_time_us)));
    list("Hot scopes (share of op time, time over all devices):", scopes.collect());
    let ops = digest
        .ops
        .iter()
        .map(|it| format!("[{}]{} {}{}", it.id, named(&it.name), share(it.busy_percent, it.self_time_us), op(it)));
    list("Hot ops (share of op time, time over all devices):", ops.collect());
    let warnings = digest.warnings.iter().map(|it| format!("[{}] {}: \"{}\"", it.id, it.severity, it.message));
    list("Warnings:", warnings.collect());
    let missing = digest.not_measured.iter().map(|it| {
        let remedy = it.remedy.as_ref().map_or(String::new(), |remedy| format!(" Record it: \"{remedy}\""));
        format!("[{}] \"{}\"{remedy}", it.id, it.reason)
    });
    list("Not measured:", missing.collect());
    let next = digest.next.iter().map(|it| format!("{}  # {}", it.command, it.gives));
    list("Next (CAPTURE is the path that was read):", next.collect());
    if !digest.left_out.is_empty() {
        let counts = digest.left_out.iter().map(|(list, &number)| match list.as_str() {
            "rules_not_checked" => format!("{} not checked", counted(number, "rule")),
            "not_measured" => format!("{} not measured", counted(number, "number")),
            "next" => counted(number, "next command"),
            list => counted(number, list.strip_suffix('s').unwrap_or(list)),
        });
        lines.push(format!("Left out: {}.", counts.collect::<Vec<_>>().join(", ")));
    }
    lines.push(String::new());
    shared(with_plain_spaces(&lines.join("\n")))
}

fn capture(it: &CaptureDigest, lines: &mut Vec<String>) {
    let mut parts = vec![format!("\"{}\"", it.run), format!("\"{}\"", it.device), counted(it.num_devices, "device")];
    parts.extend(it.num_hosts.map(|hosts| counted(hosts, "host")));
    parts.push(counted(it.num_files, "file"));
    if !it.framework.is_empty() {
        parts.push(format!("\"{}\"", it.framework));
    }
    parts.extend(it.start.as_ref().map(|start| format!("started \"{start}\"")));
    parts.extend(it.duration_us.map(|duration| format!("{} captured", time_us(duration))));
    parts.extend(it.num_events.map(|events| counted(events, "event")));
    parts.push(it.completeness.replace('_', " "));
    lines.push(format!("Capture: {}", parts.join(", ")));
    let sentences = [&it.caution, &it.window].into_iter().flatten().map(|text| format!("\"{text}\""));
    let sentences: Vec<String> = sentences.collect();
    if !sentences.is_empty() {
        lines.push(format!("Window: {}", sentences.join(" ")));
    }
}

fn step(it: &StepDigest, lines: &mut Vec<String>) {
    let mut parts = Vec::new();
    if let Some(time) = it.step_time_us {
        let spread = it.stddev_us.map_or(String::new(), |spread| format!(" ± {}", time_us(spread)));
        parts.push(format!("{}{spread}", time_us(time)));
    }
    parts.push(format!("{} found", counted(it.num_steps, "step")));
    parts.extend(it.num_counted.map(|number| format!("{} counted", count(number))));
    for (number, word) in [(it.num_compiling, "compiling"), (it.num_partial, "partial")] {
        if number > 0 {
            parts.push(format!("{} {word}", count(number)));
        }
    }
    parts.extend(it.busy_percent.map(|busy| format!("devices busy {}", percent(busy))));
    parts.extend(it.known_cost_percent.map(|known| format!("FLOPs or bytes known for {} of op time", percent(known))));
    lines.push(format!("Step: {}", parts.join(", ")));
    if !it.parts.is_empty() {
        let parts = it.parts.iter().map(|part| format!("{} {}", part.title, percent(part.percent)));
        lines.push(format!("Parts: {}", parts.collect::<Vec<_>>().join("; ")));
    }
}

/// Returns the quoted name for an item whose id is a hash, and otherwise nothing.
fn named(name: &Option<String>) -> String {
    name.as_ref().map_or(String::new(), |name| format!(" \"{name}\""))
}

fn memory(it: &MemoryDigest) -> String {
    let known = [(it.peak_bytes, "at the peak"), (it.live_bytes, "live"), (it.capacity_bytes, "capacity")];
    let known = known.into_iter().filter_map(|(number, what)| Some(format!("{} {what}", bytes(number?))));
    let known: Vec<String> = known.collect();
    format!("Memory: \"{}\" {}, from \"{}\"", it.device, known.join(", "), it.source)
}

fn op(it: &OpDigest) -> String {
    let mut text = format!(", \"{}\"", it.category);
    if let Some(source) = &it.source {
        text += &format!(", at \"{source}\"");
    }
    match &it.bound_by {
        Some(bound) => text += &format!(", bound by \"{bound}\""),
        None if !it.cost_is_known => text += ", cost unknown",
        None => {}
    }
    text
}
