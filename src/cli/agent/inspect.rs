//! Checks whether a capture contains the data that a question needs, and names the options that record missing data.
//!
//! A gate only reports whether data is present. The checklist, in contrast, judges how good a number is.

use base::{cut, suggest};
use crossprof::export::digest::CaptureDigest;
use crossprof::report::{Framework, Words};
use crossprof::{Severity, UnifiedProfile};
use serde_json::Value;

use super::answer::{Answer, text};
use super::captures::no_run;
use crate::cli::open::Opened;

/// Minimum number of counted steps for comparing captures. We chose this limit because the spread of fewer steps is too
/// uncertain.
const FEW_STEPS: u64 = 3;
/// Minimum share of the op time, in percent, that ops with known costs must have. If the share is lower, rates do not
/// describe the program.
const MOST_COSTS: f64 = 90.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Yes,
    Partly,
    No,
}

/// A kind of data in a capture that questions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    DeviceEvents,
    Complete,
    Steps,
    Length,
    Warm,
    SeveralDevices,
    Collectives,
    Program,
    Scopes,
    Sources,
    Costs,
    Peaks,
    Counters,
    HostEvents,
    Input,
    Memory,
}

/// A question: its name, its synonyms, the gates that it needs, and the gates that only improve the answer.
type Question = (&'static str, &'static [&'static str], &'static [Gate], &'static [Gate]);

/// All questions.
const QUESTIONS: [Question; 11] = {
    use Gate::*;
    [
        ("step time", &["step", "slow", "time", "throughput"], &[DeviceEvents, Complete, Steps], &[Length, Warm]),
        ("ops", &["op", "ops", "hot", "fusion", "hlo"], &[DeviceEvents, Complete], &[Program, Sources]),
        (
            "collectives",
            &["collective", "communication", "reduce", "straggler", "overlap"],
            &[DeviceEvents, Complete, SeveralDevices, Collectives],
            &[Steps, Program],
        ),
        ("kernels", &["kernel", "counter", "occupancy"], &[DeviceEvents, Complete], &[Counters]),
        (
            "roofline",
            &["roofline", "flop", "mfu", "bandwidth", "bound"],
            &[DeviceEvents, Complete, Costs, Peaks],
            &[Program],
        ),
        ("memory", &["memory", "oom", "hbm", "buffer", "allocat"], &[Memory], &[]),
        ("input", &["input", "data", "loader", "pipeline"], &[DeviceEvents, Steps, HostEvents], &[Input]),
        ("host", &["host", "idle", "launch", "python"], &[DeviceEvents, Complete, HostEvents], &[Steps]),
        ("layers", &["layer", "scope", "phase", "forward", "backward"], &[DeviceEvents, Complete, Scopes], &[Program]),
        ("source", &["source", "line", "code", "file"], &[DeviceEvents, Sources], &[Program]),
        (
            "compare",
            &["compare", "verdict", "regress", "baseline", "change"],
            &[DeviceEvents, Complete, Steps],
            &[Length, Warm, Program],
        ),
    ]
};

/// Checks the gates of a question for a run. An empty question checks all gates.
///
/// # Errors
///
/// Fails with a message if the question is unknown, or if there is no such run.
pub(super) fn of_run(opened: &mut Opened, run: usize, question: &str) -> Result<Answer, String> {
    let gates = gates_of(question)?;
    let index = u32::try_from(run).unwrap_or(u32::MAX);
    let has_counters =
        opened.session.timeline(index, &opened.settings, |context, _| !context.captured_trace().counters.is_empty());
    let profile = opened.profiles.get(run).ok_or_else(|| no_run(run, opened.profiles.len()))?;
    Ok(inspection(profile, has_counters, question, &gates))
}

/// Returns the gates of a question, each with true if the question needs it. An empty question has all gates, and needs only
/// device events.
fn gates_of(question: &str) -> Result<Vec<(Gate, bool)>, String> {
    let lower = question.to_lowercase();
    let mut gates: Vec<(Gate, bool)> = Vec::new();
    let is_meant = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let meant: Vec<&Question> = match QUESTIONS.iter().find(|(name, ..)| *name == lower) {
        Some(named) => vec![named],
        None => QUESTIONS.iter().filter(|(_, words, ..)| lower.is_empty() || is_meant(words)).collect(),
    };
    let needed = meant.iter().flat_map(|(_, _, needed, _)| needed.iter().map(|&gate| (gate, true)));
    let useful = meant.iter().flat_map(|(_, _, _, useful)| useful.iter().map(|&gate| (gate, false)));
    for (gate, is_needed) in needed.chain(useful) {
        if !gates.iter().any(|(known, _)| *known == gate) {
            gates.push((gate, is_needed && (!lower.is_empty() || gate == Gate::DeviceEvents)));
        }
    }
    if gates.is_empty() {
        let names = QUESTIONS.map(|(name, ..)| name);
        let question = suggest::question(&suggest::words(&lower, &names));
        return Err(format!("for: this question is unknown. The questions are {}.{question}", names.join(", ")));
    }
    Ok(gates)
}

/// Returns the answer: one row per gate, and the capture options that record what is missing.
fn inspection(profile: &UnifiedProfile, has_counters: Option<bool>, question: &str, gates: &[(Gate, bool)]) -> Answer {
    let mut answer = Answer::about("open", profile);
    answer.columns = ["gate", "present", "found", "remedy"].map(str::to_owned).to_vec();
    let mut worst = State::Yes;
    for &(gate, is_needed) in gates {
        let (state, found, remedy) = checked(gate, profile, has_counters);
        worst = worst.max(if is_needed { state } else { state.min(State::Partly) });
        let word = match state {
            State::Yes => "yes",
            State::Partly => "partly",
            State::No => "no",
        };
        let remedy = if state == State::Yes { String::new() } else { remedy };
        if state == State::No {
            answer.missing(&format!("gate:{}", key(gate)), &found, Some(&remedy));
        }
        answer.rows.push(vec![key(gate).into(), word.into(), text(&found).into(), text(&remedy).into()]);
        answer.evidence.push(format!("gate:{}", key(gate)));
    }
    let verdict = match worst {
        State::Yes => "sufficient",
        State::Partly => "partly sufficient",
        State::No => "insufficient",
    };
    answer.fact("for", if question.is_empty() { "all questions".to_owned() } else { text(question) });
    answer.fact("verdict", verdict);
    answer.define(
        "verdict",
        "",
        "insufficient if a part that the question needs is missing, partly sufficient if a useful part is missing.",
    );
    answer
}

fn key(gate: Gate) -> &'static str {
    match gate {
        Gate::DeviceEvents => "device_events",
        Gate::Complete => "complete",
        Gate::Steps => "steps",
        Gate::Length => "length",
        Gate::Warm => "without_compilation",
        Gate::SeveralDevices => "several_devices",
        Gate::Collectives => "collectives",
        Gate::Program => "compiled_programs",
        Gate::Scopes => "name_scopes",
        Gate::Sources => "source_lines",
        Gate::Costs => "op_costs",
        Gate::Peaks => "device_peaks",
        Gate::Counters => "counters",
        Gate::HostEvents => "host_events",
        Gate::Input => "input_pipeline",
        Gate::Memory => "memory",
    }
}

fn yes_if(present: bool) -> State {
    if present { State::Yes } else { State::No }
}

/// Returns the state of a gate, a description of the data in the capture, and the way to record missing data.
fn checked(gate: Gate, profile: &UnifiedProfile, has_counters: Option<bool>) -> (State, String, String) {
    let words = profile.metadata.framework().words();
    let timing = &profile.step_timing;
    let counted = timing.num_steps_counted.unwrap_or(0);
    let devices = profile.metadata.num_devices;
    let known = |present: bool, yes: &str, no: &str| if present { yes.to_owned() } else { no.to_owned() };
    match gate {
        Gate::DeviceEvents => (
            yes_if(devices > 0),
            format!("Devices that ran ops: {devices}."),
            format!("{} {}", words.record_ops, words.check_devices),
        ),
        Gate::Complete => completeness(profile),
        Gate::Steps => (
            yes_if(counted > 0),
            format!("Counted steps: {counted} of {}, from {}.", timing.num_steps, timing.step_count_source),
            format!("{}.", words.mark_steps),
        ),
        Gate::Length => {
            let state = match counted {
                0 => State::No,
                counted if counted < FEW_STEPS => State::Partly,
                _ => State::Yes,
            };
            let remedy = match is_jax(profile) {
                true => "crossprof.capture(\"profiles\", wait=10, active=5) records five steps after ten.".to_owned(),
                false => "Record at least three steps after the first compilation.".to_owned(),
            };
            (state, format!("Counted steps: {counted}."), remedy)
        }
        Gate::Warm => {
            let compiling = profile.steps.iter().filter(|step| step.counted && step.compiles).count();
            let state = if compiling == 0 { State::Yes } else { State::Partly };
            let remedy = "Capture later, after the last compilation: crossprof.capture(\"profiles\", wait=10).";
            (state, format!("Counted steps during which a program was compiled: {compiling}."), remedy.to_owned())
        }
        Gate::SeveralDevices => (
            yes_if(devices > 1),
            format!("Devices that ran ops: {devices}."),
            "Capture on all processes of the job, and open the folder that contains all of their files.".to_owned(),
        ),
        Gate::Collectives => {
            let found = profile.communication.as_ref();
            let state = yes_if(found.is_some_and(|it| it.num_collectives > 0));
            let found = format!("Runs of collectives: {}.", found.map_or(0, |it| it.num_collectives));
            (state, found, "Capture a step in which devices communicate.".to_owned())
        }
        Gate::Program => (
            yes_if(!profile.programs.is_empty()),
            format!("Compiled programs that ran in the window: {}.", profile.programs.len()),
            format!("{} Open the *.xplane.pb of the run, not its JSON.", words.keep_hlo).trim_start().to_owned(),
        ),
        Gate::Scopes => (
            yes_if(profile.layers.as_ref().is_some_and(|it| !it.layers.is_empty())),
            format!("Name scopes with time: {}.", profile.layers.as_ref().map_or(0, |it| it.layers.len())),
            scopes_remedy(words, profile),
        ),
        Gate::Sources => {
            let ops = profile.op_statistics.as_ref().map_or(&[][..], |it| it.top_ops.as_slice());
            let with = ops.iter().filter(|op| op.source.is_some()).count();
            let found = format!("Top ops with a source line: {with} of {}.", ops.len());
            (yes_if(with > 0), found, words.keep_hlo.to_owned())
        }
        Gate::Costs => {
            let percent = profile.op_statistics.as_ref().and_then(|it| it.known_cost_percent).unwrap_or(0.0);
            let state = match percent {
                percent if percent >= MOST_COSTS => State::Yes,
                percent if percent > 0.0 => State::Partly,
                _ => State::No,
            };
            let remedy = "Custom calls need a cost estimate in the program: pl.pallas_call(..., cost_estimate=...).";
            (state, format!("Op time with known FLOPs or bytes: {percent:.1} %."), remedy.to_owned())
        }
        Gate::Peaks => (
            yes_if(profile.roofline.is_some()),
            known(
                profile.roofline.is_some(),
                "The peaks of the device are known.",
                "The peaks of the device are unknown.",
            ),
            "Specify the device: --device NAME.".to_owned(),
        ),
        Gate::Counters => {
            let has = has_counters == Some(true);
            let found = known(has, "The capture contains counters.", "The capture contains no counters.");
            let remedy = match profile.metadata.platform.as_str() {
                "GPU" => {
                    "crossprof.capture(..., advanced={\"gpu_pm_sample_counters\": \"NAME,...\", \
                          \"gpu_pm_sample_interval_us\": 500})"
                }
                "TPU" => "crossprof.capture(..., advanced={\"tpu_enable_periodic_counter_sampling\": True})",
                _ => "This platform has no counters.",
            };
            (yes_if(has), found, remedy.to_owned())
        }
        Gate::HostEvents => {
            let has = profile.host_activity.is_some()
                || profile.step_breakdown.as_ref().is_some_and(|it| it.host_busy_us.is_some());
            let found =
                known(has, "The capture contains events of host threads.", "The capture contains no host thread.");
            (yes_if(has), found, format!("Capture with {}.", words.host_events))
        }
        Gate::Input => {
            let has = profile.input_pipeline.is_some();
            let found = known(
                has,
                "The capture contains spans of an input pipeline.",
                "No span of an input pipeline was found.",
            );
            (yes_if(has), found, format!("Wrap the call that returns the next batch in {}.", words.next_batch_range))
        }
        Gate::Memory => {
            let has = profile.memory.is_some();
            let found = known(has, "The capture contains memory data.", "The capture contains no memory data.");
            let remedy = "crossprof.capture(\"profiles\", memory_every=1) saves a memory profile with each step; programs \
                          dumped with XLA_FLAGS=--xla_dump_to=FOLDER contain their buffers.";
            (yes_if(has), found, remedy.to_owned())
        }
    }
}

/// Returns the completeness of the capture, with the remedy of the warning that reports the loss.
fn completeness(profile: &UnifiedProfile) -> (State, String, String) {
    let word = CaptureDigest::of(profile).completeness;
    if word == "complete" {
        return (State::Yes, "No event is known to be missing.".to_owned(), String::new());
    }
    let reports = |warning: &&base::Warning| cut([*warning]).is_some();
    let mut warnings: Vec<&base::Warning> = profile.warnings.iter().filter(reports).collect();
    base::sort::sort_by(&mut warnings, |a, b| b.severity.cmp(&a.severity));
    let warning = warnings.first();
    let message = warning.map_or(word.as_str(), |it| it.message.as_str()).to_owned();
    let is_damage = warning.is_some_and(|it| it.severity == Severity::Damage);
    let state = if word == "cut_in_time" && !is_damage { State::Partly } else { State::No };
    (state, message, warning.and_then(|it| it.remedy.clone()).unwrap_or_default())
}

fn scopes_remedy(words: &Words, profile: &UnifiedProfile) -> String {
    match is_jax(profile) {
        true => "Wrap the layers in jax.named_scope(\"NAME\"). Flax modules have scopes by themselves.".to_owned(),
        false => words.keep_hlo.to_owned(),
    }
}

fn is_jax(profile: &UnifiedProfile) -> bool {
    matches!(profile.metadata.framework(), Framework::Jax | Framework::Unknown)
}

/// Returns an answer as text, with one gate per line.
pub(crate) fn to_text(answer: &Value) -> String {
    let part = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let fact = |name: &str| part(answer.pointer(&format!("/facts/{name}")));
    let mut text = format!("{} for {}\n", fact("verdict"), fact("for"));
    for row in answer.get("rows").and_then(Value::as_array).into_iter().flatten() {
        let [gate, present, found, remedy] = [0, 1, 2, 3].map(|at| part(row.get(at)));
        text += &format!("  {present:<7}{gate:<20} {found}");
        if !remedy.is_empty() {
            text += &format!(" To record it: {remedy}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_selects_its_gates() {
        assert!(gates_of("collectives").unwrap().contains(&(Gate::SeveralDevices, true)));
        assert!(gates_of("collectives").unwrap().contains(&(Gate::Program, false)));
        assert!(gates_of("Why is the all-reduce slow?").unwrap().contains(&(Gate::Collectives, true)));
        assert!(gates_of("memory").unwrap() == [(Gate::Memory, true)]);
        assert_eq!(gates_of("").unwrap().len(), 16);
        assert!(gates_of("weather").unwrap_err().contains("collectives"));
    }

    #[test]
    fn a_missing_part_has_a_remedy() {
        let empty = UnifiedProfile::default();
        for (gate, _) in gates_of("").unwrap() {
            if matches!(gate, Gate::Complete | Gate::Warm) {
                continue;
            }
            let (state, found, remedy) = checked(gate, &empty, Some(false));
            assert_eq!(state, State::No, "{gate:?}");
            assert!(!found.is_empty() && !remedy.is_empty(), "{gate:?}");
        }
    }
}
