//! Words for workloads, captures and recorded comparisons.

use base::format::{self, cut, printable};
use insight::rules;
use report::{LakeCapture, LakeVerdict, LakeWorkload, STEP_PARTS};

/// Number of characters of a name.
const NAME: usize = 60;
/// Number of characters of a commit.
const COMMIT: usize = 12;

/// Returns text from a file in a form that is safe to show, with a limited length.
pub(super) fn shown(text: &str) -> String {
    printable(&cut(text, NAME))
}

/// Returns the name of a workload: its program and devices.
pub(super) fn name(workload: &LakeWorkload) -> String {
    [program(workload)].into_iter().chain(details(workload)).collect::<Vec<_>>().join(", ")
}

/// Returns the name of a workload's program.
pub(super) fn program(workload: &LakeWorkload) -> String {
    let program = workload.program.as_deref().filter(|name| !name.is_empty());
    program.map_or_else(|| format!("workload {}", shown(&workload.key)), shown)
}

/// Returns the devices of a workload, and its batch size and sequence length.
pub(super) fn details(workload: &LakeWorkload) -> Vec<String> {
    let devices = match (workload.num_devices, workload.device_kind.as_deref().map(shown)) {
        (Some(count), Some(kind)) => Some(format!("{} × {kind}", format::count(count))),
        (Some(count), None) => Some(format::counted(count, "device")),
        (None, kind) => kind,
    };
    let sizes = [("batch", workload.batch_size), ("length", workload.seq_length)];
    let sizes = sizes.into_iter().filter_map(|(what, size)| Some(format!("{what} {}", format::count(size?))));
    devices.into_iter().chain(sizes).collect()
}

/// Returns the word and the key that identify a workload in queries.
pub(super) fn work(workload: &LakeWorkload) -> String {
    format!("workload_key {}", shown(&workload.key))
}

/// Returns the time of a capture.
pub(super) fn moment(capture: &LakeCapture) -> String {
    capture.time.as_deref().map_or_else(|| "time unknown".to_owned(), at)
}

/// Formats a time: `2026-11-02 10:00 UTC`. Returns any other text unchanged.
fn at(time: &str) -> String {
    match (time.get(..10), time.get(10..11), time.get(11..16)) {
        (Some(day), Some("T"), Some(minute)) => {
            let zone = if time.ends_with('Z') { " UTC" } else { "" };
            shown(&format!("{day} {minute}{zone}"))
        }
        _ => shown(time),
    }
}

/// Returns the times of the first and the last capture.
pub(super) fn period(first: &LakeCapture, last: &LakeCapture) -> String {
    if first.time == last.time { moment(last) } else { format!("{} to {}", moment(first), moment(last)) }
}

/// Returns the start of a commit's hash. Empty if the commit is unknown.
pub(super) fn commit(capture: &LakeCapture) -> String {
    capture.git_sha.as_deref().map_or_else(String::new, |sha| printable(&sha.chars().take(COMMIT).collect::<String>()))
}

/// Returns the change with its sign.
pub(super) fn change(verdict: &LakeVerdict) -> String {
    verdict.change_percent.map_or_else(|| format::DASH.to_owned(), signed)
}

fn signed(percent: f64) -> String {
    let sign = if percent > 0.0 { "+" } else { "" };
    format!("{sign}{}", format::percent(percent))
}

/// Returns the verdict in a few words.
pub(super) fn short(verdict: &LakeVerdict) -> String {
    let margin = verdict.margin_percent.map_or_else(String::new, |it| format!(" (± {})", format::percent(it)));
    match verdict.verdict.as_str() {
        "slower" => format!("slower{margin}"),
        "faster" => format!("faster{margin}"),
        "same" | "equal" => format!("same{margin}"),
        "within_noise" => format!("within the noise{margin}"),
        "unstable" => "the captures vary too much".to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// Describes the last recorded comparison: its numbers, its cause, and the captures between which the change is.
pub(super) fn sentences(workload: &LakeWorkload) -> Vec<String> {
    let Some(verdict) = workload.verdicts.last() else { return Vec::new() };
    let time = |ps: Option<f64>| format::optional_time_us(ps.map(|ps| ps / 1e6));
    let (before, after) = (time(verdict.before_ps), time(verdict.after_ps));
    let percent = |percent: Option<f64>| format::optional_percent(percent.map(f64::abs));
    let by = percent(verdict.change_percent);
    let margin = verdict.margin_percent.map_or_else(String::new, |it| format!(" ± {}", format::percent(it)));
    let mut sentences = vec![match verdict.verdict.as_str() {
        "slower" => format!("Steps became slower by {by}{margin}, from {before} to {after}."),
        "faster" => format!("Steps became faster by {by}{margin}, from {before} to {after}."),
        "same" | "equal" => format!(
            "Steps are as fast as before: {before} and {after}. The last comparison ignored changes below {}.",
            percent(verdict.threshold_percent)
        ),
        "within_noise" | "unstable" => format!(
            "No change is proven: {before} before, {after} after, with a margin of {}. These captures would show a change of {}.",
            percent(verdict.margin_percent),
            percent(verdict.least_provable_percent)
        ),
        _ => "The last comparison has no result.".to_owned(),
    }];
    let causes = causes(verdict);
    if !causes.is_empty() {
        sentences.push(format!("More time is spent in: {}.", causes.join(", ")));
    }
    let find = |id: &Option<String>| id.as_ref().and_then(|id| workload.captures.iter().find(|it| it.id == *id));
    let (bad, good) = (find(&verdict.first_bad_capture_id), find(&verdict.last_good_capture_id));
    if let Some(bad) = bad {
        sentences.push(format!("The first slow capture is {}.{}", described(bad), before_it(good)));
    }
    if let Some((good, bad)) = good.zip(bad)
        && let Some((good, bad)) = quoted(&good.path).zip(quoted(&bad.path))
    {
        sentences.push(format!("Compare both: crossprof compare {good} {bad}"));
    }
    sentences
}

fn before_it(good: Option<&LakeCapture>) -> String {
    good.map_or_else(String::new, |good| format!(" The last one before it is {}.", described(good)))
}

fn described(capture: &LakeCapture) -> String {
    format!("{}{}, {}", shown(&capture.run), of_commit(capture), moment(capture))
}

/// Returns the commit of a capture as the end of a sentence. Empty if the commit is unknown.
pub(super) fn of_commit(capture: &LakeCapture) -> String {
    match commit(capture) {
        sha if sha.is_empty() => sha,
        sha => format!(" of commit {sha}"),
    }
}

/// Lists the part of the step, the op, the scope and the host whose time grew.
fn causes(verdict: &LakeVerdict) -> Vec<String> {
    let part = verdict.cause_part.as_deref().map(|part| {
        let known = STEP_PARTS.iter().find(|(name, _)| *name == part);
        known.map_or_else(|| shown(part), |(_, title)| (*title).to_owned())
    });
    let of_kind = |kind: &str, name: &Option<String>| name.as_deref().map(|name| format!("{kind} {}", shown(name)));
    let others = [
        of_kind("op", &verdict.cause_op),
        of_kind("scope", &verdict.cause_scope),
        of_kind("host", &verdict.cause_host),
    ];
    part.into_iter().chain(others.into_iter().flatten()).collect()
}

/// Quotes a path for a shell. Returns `None` if the path has characters that are invisible or that a command cannot contain, or
/// if it is not a local path.
fn quoted(path: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@%,".contains(c);
    if path.is_empty() || path.starts_with('-') || path.contains("://") || printable(path) != path {
        return None;
    }
    Some(if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) })
}

/// Returns the quartiles of the steps, and their number.
pub(super) fn quartiles(capture: &LakeCapture) -> String {
    let steps = capture.num_steps_counted.map_or_else(String::new, |count| format::counted(count, "step"));
    let time = |ps: f64| format::time_us(ps / 1e6);
    match capture.p25_step_time_ps.zip(capture.p75_step_time_ps) {
        Some((low, high)) => {
            format!("{} to {}, {steps}", time(low), time(high)).trim_end_matches([',', ' ']).to_owned()
        }
        None => steps,
    }
}

/// Returns the lines of a point's tooltip.
pub(super) fn notes(capture: &LakeCapture) -> Vec<String> {
    let step = format::optional_time_us(capture.typical_step_ps.map(|ps| ps / 1e6));
    let commit = Some(commit(capture)).filter(|it| !it.is_empty()).map(|sha| format!("commit {sha}"));
    let notes =
        [Some(shown(&capture.run)), Some(step), Some(quartiles(capture)), commit, Some(printable(&capture.path))];
    notes.into_iter().flatten().filter(|it| !it.is_empty()).collect()
}

/// Lists the titles of the findings.
pub(super) fn findings(capture: &LakeCapture) -> String {
    let title = |(id, _): &(String, String)| {
        rules().find(|rule| rule.id == id).map_or_else(|| shown(id), |rule| rule.title.to_owned())
    };
    capture.findings.iter().map(title).collect::<Vec<_>>().join(", ")
}
