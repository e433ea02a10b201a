//! Completes a trace after the whole file was read: sets the kinds of planes and the writer, and reports lost data.

use std::collections::BTreeSet;

use super::id::Id;
use super::losses::JsonLoss;
use super::metadata::TopLevel;
use super::modules;
use super::outliers::{self, Plausible};
use super::scanner::{Scanner, ScannerState};
use super::store::Store;
use super::{device_stats, legacy, tf_timeline};
use crate::sniff;
use base::{Error, Warning, WarningCode};
use trace::{
    Framework, LineKind, Plane, PlaneKind, Platform, SourceFormat, StatValue, StrId, Trace, copies, is_gpu_cat,
};

/// Numbers of complete events after which XLA's writer stops, in older and in newer versions.
const WRITER_LIMITS: [u64; 2] = [1_000_000, 5_000_000];
/// Names of host events that TensorFlow's runtime uses and JAX does not.
const TENSORFLOW_EVENTS: [&str; 3] = ["ExecutorState::Process", "EagerKernelExecute", "TFE_Py_ExecuteCancelable"];
/// Categories of Kineto's host events, in the newer and the older spelling.
const KINETO_HOST_CATS: [&str; 8] = [
    "cpu_op",
    "user_annotation",
    "cuda_runtime",
    "cuda_driver",
    "hip_runtime",
    "python_function",
    "Operator",
    "Runtime",
];

/// Builds the trace of a file. Of the file's `length` bytes, the scanner read the first `done` bytes as complete
/// tokens.
pub(super) fn finish(scanner: Scanner, path: &str, done: u64, length: u64) -> Result<Trace, Error> {
    if let Some(error) = not_a_trace(&scanner, length) {
        return Err(error);
    }
    let Scanner { state, mut store, top_level, is_array, has_list, .. } = scanner;
    store.finish();
    let Store { pairs, losses, .. } = &mut store;
    pairs.count_open(losses);
    label_the_nameless(&mut store.trace);
    name_the_nameless(&mut store);
    legacy::name_devices(&mut store);
    kineto_kinds(&mut store.trace, &store.plane_ids);
    label_the_devices(&mut store.trace);
    number_the_devices(&mut store);
    store.trace.settle_clocks();
    let is_tf_timeline = tf_timeline::arrange(&mut store.trace);
    store.trace.format = Some(SourceFormat::ChromeJson);
    store.trace.framework = match framework(&store.trace, &top_level) {
        Framework::Jax | Framework::Unknown if is_tf_timeline => Framework::TensorFlow,
        framework => framework,
    };
    device_stats::set(&mut store, &top_level);

    let mut warnings: Vec<Warning> = Vec::new();
    if let Some(Plausible { events, mut left_out, untimed }) = outliers::plausible(&store.trace.events) {
        store.losses.add_all(JsonLoss::Untimed, untimed, store.first_untimed.unwrap_or(0));
        let far = (left_out.len() as u64).saturating_sub(untimed);
        warnings.extend((far > 0).then(|| far_off(far)));
        left_out.retain(|place| place.index() < events.len());
        (store.trace.events, store.trace.far_off) = (events, left_out);
    }
    warnings.extend(cut_off(state, [is_array, has_list], store.trace.events.len(), done, length));
    warnings.extend(store.losses.warnings());
    warnings.extend(store.trace.strings.take_warning());
    let mut trace = store.trace;
    if trace.framework == Framework::PyTorch {
        set_unix_time(&mut trace, &top_level);
    } else if WRITER_LIMITS.contains(&trace.complete_events) {
        warnings.push(truncated_by_writer(trace.complete_events));
    }
    if trace.events.is_empty() {
        let message = "The event list contains no event with a duration, so there is nothing to measure.";
        warnings.push(Warning::new(WarningCode::NoEvents, message));
    }
    trace.warnings.extend(warnings.into_iter().map(|warning| warning.with_file(path)));
    trace::classify(&mut trace);
    modules::name_programs(&mut trace);
    copies::complete(&mut trace);
    Ok(trace)
}

fn not_a_trace(scanner: &Scanner, length: u64) -> Option<Error> {
    if length == 0 {
        return Some(Error::Empty);
    }
    let remedy = "Open a trace.json or trace.json.gz of the JAX profiler, or the xplane.pb next to it.";
    if scanner.state == ScannerState::Start {
        return Some(Error::not_a_profile("an empty text", remedy));
    }
    let is_trace = scanner.has_list && (!scanner.is_array || scanner.store.events_seen > 0);
    if is_trace {
        return None;
    }
    if scanner.is_array {
        return Some(Error::not_a_profile("a JSON array without trace events", remedy));
    }
    if scanner.keys.iter().any(|key| sniff::is_profile_section(key)) {
        return Some(Error::Malformed {
            what: "a unified profile".to_owned(),
            reason: "the text before its sections is too large or nested too deeply".to_owned(),
            remedy: "Export it again, or open the original trace.".to_owned(),
        });
    }
    let keys = scanner.keys.iter().map(|key| format!("\"{key}\"")).collect::<Vec<_>>().join(", ");
    let what = match (scanner.state == ScannerState::Done, keys.is_empty()) {
        (true, true) => "an empty JSON object".to_owned(),
        (true, false) => format!("a JSON object without \"traceEvents\" (it has {keys})"),
        (false, true) => "a JSON object that is truncated before its first key".to_owned(),
        (false, false) => {
            format!("a JSON object that is truncated or malformed before any \"traceEvents\" (it has {keys})")
        }
    };
    Some(Error::not_a_profile(what, remedy))
}

/// Returns the label of a process (`process_labels`), if the process has one.
fn label(trace: &Trace, plane: &Plane) -> Option<StrId> {
    match trace.plane_stat(plane, "labels")? {
        StatValue::Text(label) if !label.is_empty() => Some(label),
        _ => None,
    }
}

/// If `wanted` returns true for a process, sets the name of the process to its label.
fn label_the(trace: &mut Trace, wanted: impl Fn(&Trace, &Plane) -> bool) {
    let found: Vec<Option<StrId>> =
        trace.planes.iter().map(|plane| label(trace, plane).filter(|_| wanted(trace, plane))).collect();
    for (plane, label) in trace.planes.iter_mut().zip(found) {
        plane.name = label.unwrap_or(plane.name);
    }
}

fn label_the_nameless(trace: &mut Trace) {
    label_the(trace, |_, plane| plane.name.is_empty());
}

/// Sets the names of devices to their labels, such as `GPU 0`. Kineto names every process after the executable
/// (`python3`).
fn label_the_devices(trace: &mut Trace) {
    let is_device = |plane: &Plane| matches!(plane.kind, PlaneKind::Device { .. });
    label_the(trace, |trace, plane| is_device(plane) && trace::plane_kind(trace.text(plane.name)) == PlaneKind::Other);
}

/// If a Kineto trace has no metadata, names each process with GPU work after its number (`GPU 0`), and its threads as
/// streams. A number of more than 32 bits is a process id and not the number of a GPU.
fn number_the_devices(store: &mut Store) {
    let Trace { strings, planes, lines, .. } = &mut store.trace;
    let mut nameless = vec![false; planes.len()];
    for ((plane, &id), is_nameless) in planes.iter_mut().zip(&store.plane_ids).zip(&mut nameless) {
        let PlaneKind::Device { platform: Platform::Gpu, ordinal } = plane.kind else { continue };
        *is_nameless = matches!(id, Id::Number(number)
            if u32::try_from(number).is_ok() && strings.get(plane.name) == format!("process {number}"));
        if *is_nameless {
            plane.name = strings.intern(&format!("GPU {ordinal}"));
        }
    }
    for (line, &id) in lines.iter_mut().zip(&store.line_ids) {
        if let Id::Number(number) = id
            && nameless.get(line.plane.index()) == Some(&true)
            && strings.get(line.name) == format!("thread {number}")
        {
            line.name = strings.intern(&format!("stream {number}"));
        }
    }
}

/// Gives unnamed processes and threads a name from their ids.
fn name_the_nameless(store: &mut Store) {
    let Trace { strings, planes, lines, .. } = &mut store.trace;
    let mut label = |kind: &str, id: Id| {
        let text = match id {
            Id::Missing => format!("unnamed {kind}"),
            Id::Number(number) => format!("{kind} {number}"),
            Id::Text(text) => return text,
            Id::Async => "async events".to_owned(),
        };
        strings.intern(&text)
    };
    for (plane, &id) in planes.iter_mut().zip(&store.plane_ids).filter(|(plane, _)| plane.name.is_empty()) {
        plane.name = label("process", id);
    }
    for (line, &id) in lines.iter_mut().zip(&store.line_ids).filter(|(line, _)| line.name.is_empty()) {
        line.name = label("thread", id);
    }
}

/// Derives the kinds of planes from Kineto's event categories, because Kineto's process names do not show the kinds. A
/// process with GPU work is a device, and its number is in the argument `device` or in the process id. A process with
/// host work is a host. A plane with a clear name (`/device:GPU:0`) keeps the kind that follows from the name.
fn kineto_kinds(trace: &mut Trace, plane_ids: &[Id]) {
    #[derive(Clone, Copy, PartialEq)]
    enum Side {
        Neither,
        Host,
        Gpu,
    }
    let sides: Vec<Side> = (0..trace.args.len())
        .map(|index| match trace.args.set(index).map_or("", |args| trace.strings.get(args.cat)) {
            "" => Side::Neither,
            cat if is_gpu_cat(cat) => Side::Gpu,
            cat if KINETO_HOST_CATS.contains(&cat) => Side::Host,
            _ => Side::Neither,
        })
        .collect();
    if sides.iter().all(|side| *side == Side::Neither) {
        return;
    }
    // Processes with GPU work but without a GPU number.
    let mut unnumbered: Vec<usize> = Vec::new();
    for event in trace.events.iter() {
        let side = sides.get(event.args.index()).copied().unwrap_or(Side::Neither);
        let Some(line) = trace.lines.get_mut(event.line.index()) else { continue };
        let plane = line.plane.index();
        let Some(found) = trace.planes.get_mut(plane) else { continue };
        if side == Side::Neither || trace::plane_kind(trace.strings.get(found.name)) != PlaneKind::Other {
            continue;
        }
        if side == Side::Host {
            if found.kind == PlaneKind::Other {
                found.kind = PlaneKind::Host;
            }
            continue;
        }
        line.kind = LineKind::DeviceOps;
        if !matches!(found.kind, PlaneKind::Device { .. }) {
            let given = trace.args.get(event.args).device_ordinal;
            let by_process = match plane_ids.get(plane) {
                Some(&Id::Number(pid)) => Some(pid),
                _ => None,
            };
            let ordinal = given.or(by_process).and_then(|ordinal| u32::try_from(ordinal).ok());
            if ordinal.is_none() {
                unnumbered.push(plane);
            }
            found.kind = PlaneKind::Device { platform: Platform::Gpu, ordinal: ordinal.unwrap_or(u32::MAX) };
        }
    }
    number(&mut trace.planes, &unnumbered);
}

/// Assigns the lowest free numbers to the devices that have no number.
fn number(planes: &mut [Plane], unnumbered: &[usize]) {
    let ordinal = |plane: &Plane| match plane.kind {
        PlaneKind::Device { ordinal, .. } => Some(ordinal),
        _ => None,
    };
    let taken: BTreeSet<u32> = planes.iter().filter_map(ordinal).collect();
    let free = (0..u32::MAX).filter(|number| !taken.contains(number));
    for (&place, ordinal) in unnumbered.iter().zip(free) {
        if let Some(plane) = planes.get_mut(place) {
            plane.kind = PlaneKind::Device { platform: Platform::Gpu, ordinal };
        }
    }
}

fn framework(trace: &Trace, top_level: &TopLevel) -> Framework {
    let has = |text: &str| trace.strings.find(text).is_some();
    if top_level.is_kineto || has("PyTorch Profiler") || has("cpu_op") || legacy::is_writer(trace) {
        return Framework::PyTorch;
    }
    let is_xla = top_level.is_xla
        || trace.planes.iter().any(|plane| trace::plane_kind(trace.strings.get(plane.name)) != PlaneKind::Other);
    match is_xla {
        true if TENSORFLOW_EVENTS.into_iter().any(has) => Framework::TensorFlow,
        true => Framework::Jax,
        false => Framework::Unknown,
    }
}

/// Derives the start time of the capture from the first event. Kineto's times are relative to the file's base time, or
/// to the Unix epoch if the file has no base time.
fn set_unix_time(trace: &mut Trace, top_level: &TopLevel) {
    let starts = trace.events.iter().map(|event| event.start.as_ps());
    let base_ns = top_level.base_time_ns.unwrap_or(0);
    let Some(first) = starts.min() else { return };
    let unix_ns = trace.capture.anchor_ns.checked_add(base_ns).and_then(|ns| ns.checked_add(first.div_euclid(1_000)));
    // Without a base time, times may be relative to the boot of the machine. A Unix time must be after 2001.
    trace.capture.start_unix_ns = unix_ns.filter(|&ns| ns > 1_000_000_000_000_000_000);
}

fn cut_off(
    state: ScannerState,
    [is_array, has_list]: [bool; 2],
    events: usize,
    done: u64,
    length: u64,
) -> Option<Warning> {
    match state {
        ScannerState::Done => None,
        // The end of the file is in unreadable text, which has its own warning.
        ScannerState::Lost { previous: b'}' | b']' } => None,
        // The format allows a list without its closing bracket, because writers append to it until they stop.
        ScannerState::Events if is_array && done == length => Some(
            Warning::new(WarningCode::JsonUnterminated, "The event list has no closing bracket. Every event in it was read.")
                .with_offset(length),
        ),
        ScannerState::Object if has_list && done == length => Some(
            Warning::new(WarningCode::JsonUnterminated, "The file has no closing brace. Its event list is complete.").with_offset(length),
        ),
        _ => Some(
            Warning::new(
                WarningCode::JsonCutOff,
                format!(
                    "The JSON text ends after {length} bytes, in the middle of the trace. The {events} event(s) before byte {done} \
                     were kept. The rest is lost."
                ),
            )
            .with_remedy("Copy the file again from where it was captured. If the original is truncated too, the capture was interrupted.")
            .with_offset(done),
        ),
    }
}

fn truncated_by_writer(count: u64) -> Warning {
    Warning::new(
        WarningCode::JsonTruncated,
        format!(
            "The file contains exactly {count} events, the limit of its writer. The writer kept the earliest events and \
             dropped the rest of the capture."
        ),
    )
    .with_remedy("Read the xplane.pb of the same run, which has no such limit.")
    .with_count(count)
}

fn far_off(count: u64) -> Warning {
    Warning::new(
        WarningCode::TimeFarOff,
        format!("{count} event(s) more than an hour away from all others were skipped, since they would stretch the capture."),
    )
    .with_count(count)
}
