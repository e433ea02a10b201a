//! Sentences about the host while devices are idle: the functions that it runs, or the event that it waits for.

use super::limits::INPUT_BOUND_PERCENT;
use super::numbers::{Numbers, shown};
use base::format;
use facts::host_spans::{self, HostWork};
use facts::python_waits::{self, PythonWait};
use metrics::{StepPart, WithoutInput, without_input};
use report::{HostCall, HostMeanwhile, HostRangeTime};

/// Sentences name an activity of the host if it takes at least this percentage of the idle time.
const NAMED_PERCENT: f64 = 5.0;
/// Number of activities that a sentence names.
const MOST_NAMED: usize = 3;
/// Sentences state the number of calls if there are at least this many: several in each of the usual 5 to 10 steps.
const MANY_CALLS: u64 = 50;
/// A range is the host's main activity if it takes more than this percentage of the idle time. Such a range takes
/// longer than all other ranges together.
const MOST_PERCENT: f64 = 50.0;
/// The host waits for devices if its waits take at least this percentage of the idle time.
const READS_PERCENT: f64 = 20.0;
/// Minimum mean size in bytes of copies to the host that the host may compute on. We chose this limit because training
/// losses and other metrics are smaller.
const RESULT_BYTES: u64 = 4096;

/// Activities of the host while devices are idle.
#[derive(Clone, Copy)]
pub(super) struct HostSide<'a> {
    meanwhile: &'a HostMeanwhile,
    idle_us: f64,
    /// Name of the annotations that mark the steps. The host is always in such an annotation, so the annotation
    /// explains nothing.
    step: Option<&'a str>,
    /// Number of steps in which the calls are counted. `None` if unknown.
    steps: Option<f64>,
    /// True if the host reads device results that are large enough to compute on.
    reads_results: bool,
}

/// A wait of the host while devices are idle, so that both wait for something else.
#[derive(Clone, Copy)]
pub(super) struct BothWait<'a> {
    /// Call in which the host waits.
    pub call: &'a HostRangeTime,
    /// Main activity of the host's other threads during the wait. `None` if the capture does not contain this activity.
    pub behind: Option<&'a HostRangeTime>,
}

impl<'a> Numbers<'a> {
    /// Returns the host's activities while devices are idle. `None` if the trace has no host events or devices are not idle.
    pub(crate) fn host_side(&self) -> Option<HostSide<'a>> {
        let breakdown = self.profile.step_breakdown.as_ref()?;
        let (meanwhile, idle_us) = (breakdown.host_meanwhile.as_ref()?, breakdown.parts.idle_us());
        let step = self.profile.step_timing.annotation();
        let steps = self.steps_in_window();
        (idle_us > 0.0).then(|| HostSide { meanwhile, idle_us, step, steps, reads_results: self.reads_results() })
    }

    /// Returns true if the host reads device results that are large enough to compute on.
    fn reads_results(&self) -> bool {
        let transfers = self.profile.memory_operations.iter().flat_map(|memory| &memory.transfers);
        let mut to_host = transfers.filter(|it| it.direction == "d2h" && it.sized_count > 0);
        to_host.any(|it| it.total_bytes.is_some_and(|bytes| bytes / it.sized_count >= RESULT_BYTES))
    }

    /// Describes the host's activities while devices are idle, as sentences that start with a space. Empty if the trace has no
    /// host events.
    pub(crate) fn host_meanwhile(&self) -> String {
        self.host_side().map_or(String::new(), HostSide::sentences)
    }

    /// Returns the host's activities during the idle time that the input pipeline does not explain. `None` if the
    /// pipeline explains no idle time, because [`Numbers::host_side`] then describes all idle time.
    pub(crate) fn besides_input(&self) -> Option<BesidesInput> {
        self.part_percent(StepPart::InputBound).filter(|share| *share >= INPUT_BOUND_PERCENT.good)?;
        let found = without_input(&self.context.run.trace, self.context.analysis)?;
        let step = self.profile.step_timing.annotation().map(str::to_owned);
        Some(BesidesInput { found, step, steps: self.steps_in_window(), reads_results: self.reads_results() })
    }

    /// Returns the wait of the host if it takes most of the idle time.
    pub(crate) fn both_wait(&self) -> Option<BothWait<'a>> {
        self.host_side()?.both_wait()
    }

    /// Names a range of the host with its file and line, and with the call inside it that takes most of its time:
    /// `on_step_end (train.py:21), mostly in savez_compressed`. Returns only the name if the file and the call are
    /// unknown.
    pub(crate) fn host_range(&self, name: &str) -> String {
        let meanwhile = self.profile.step_breakdown.as_ref().and_then(|it| it.host_meanwhile.as_ref());
        let known = meanwhile.and_then(|it| it.ranges.iter().find(|range| range.name == name));
        let Some(range) = known else { return shown(name) };
        let call = public_calls(range).next().map(|call| format!(", mostly in {}", shown(&call.name)));
        format!("{}{}{}", shown(name), source(range), call.unwrap_or_default())
    }
}

/// Activities of the host during the idle time that the input pipeline does not explain.
pub(super) struct BesidesInput {
    found: WithoutInput,
    step: Option<String>,
    steps: Option<f64>,
    reads_results: bool,
}

impl BesidesInput {
    /// Returns the activities.
    pub(crate) fn host_side(&self) -> HostSide<'_> {
        let WithoutInput { meanwhile, idle_us, .. } = &self.found;
        let (step, steps, reads_results) = (self.step.as_deref(), self.steps, self.reads_results);
        HostSide { meanwhile, idle_us: *idle_us, step, steps, reads_results }
    }

    /// Describes the activities and the concurrent transfers, as sentences that start with a space.
    pub(crate) fn sentences(&self) -> String {
        let host = self.host_side();
        let mut text =
            host.sentences().replacen("While devices are idle", "While devices are idle and do not wait for input", 1);
        let share = host.share(self.found.transfer_us);
        if let Some((name, thread)) = self.found.transfer.as_ref().filter(|_| share >= NAMED_PERCENT) {
            text.push_str(&format!(
                " The host transfers data during {} of this idle time, mostly in {} (thread {}).",
                format::percent(share),
                shown(name),
                shown(thread)
            ));
        }
        text
    }

    /// Returns the advice about transfers if they take most of the time.
    pub(crate) fn remedy(&self, numbers: &Numbers<'_>) -> Option<String> {
        (self.host_side().share(self.found.transfer_us) > MOST_PERCENT).then(|| transfer_less(numbers))
    }
}

/// Returns the advice for devices that wait for transfers.
fn transfer_less(numbers: &Numbers<'_>) -> String {
    format!(
        "Transfer less data, and start earlier: keep data that does not change between steps on the device, copy the next batch \
         while the step runs ({}), and combine many small copies into few large ones.",
        numbers.words().copy_ahead
    )
}

impl<'a> HostSide<'a> {
    fn share(self, us: f64) -> f64 {
        (100.0 * us / self.idle_us).min(100.0)
    }

    fn named(self, list: &'a [HostRangeTime]) -> impl Iterator<Item = (&'a HostRangeTime, f64)> {
        let with_share = list.iter().map(move |it| (it, self.share(it.time_us)));
        with_share.filter(|(_, share)| *share >= NAMED_PERCENT).take(MOST_NAMED)
    }

    /// Returns the range or function that the host is in for most of the idle time. `None` if the host waits for devices there.
    fn main_range(self) -> Option<&'a HostRangeTime> {
        let behind = self.meanwhile.behind.iter().filter(|_| self.meanwhile.ranges.is_empty());
        let longest = self.meanwhile.ranges.iter().filter(|it| !self.is_step(it)).chain(behind).next()?;
        (!longest.waits && self.share(longest.time_us) > MOST_PERCENT).then_some(longest)
    }

    /// Describes the host's main activity during the idle time, for a title: `the host is in on_step_end (savez_compressed)`.
    pub(crate) fn activity(self) -> Option<String> {
        let range = self.main_range()?;
        // A function has a file and line, and an annotation does not.
        let name = format!("{}{}", shown(&range.name), if range.place.is_some() { "()" } else { "" });
        let call = public_calls(range).next().map(public_name);
        Some(match call {
            _ if self.waits_for_queue().is_some() => format!("the host waits in {name} for a queue"),
            _ if range.other_thread.is_some() => format!("the host waits in {name} for another thread"),
            _ if formats(range) => format!("the host formats arrays as text in {name}"),
            _ if converts(range) => format!("the host converts Python numbers to arrays in {name}"),
            Some(call) => format!("the host is in {name} ({call})"),
            None => format!("the host is in {name}"),
        })
    }

    /// Returns the range or function in which the host waits for most of the idle time until another thread puts an item into a
    /// queue (`queue.Queue.get`).
    pub(crate) fn waits_for_queue(self) -> Option<&'a HostRangeTime> {
        let is_queue = |call: &HostCall| call.place.as_ref().is_some_and(|place| place.starts_with("queue.py:"));
        let longest = self.meanwhile.ranges.iter().find(|it| !self.is_step(it))?;
        let waits = longest.calls.iter().any(|call| call.name == "get" && is_queue(call));
        (waits && self.share(longest.time_us) > MOST_PERCENT).then_some(longest)
    }

    /// Returns true if the host waits for devices for much of the idle time, as it does when it reads results.
    pub(crate) fn waits_for_devices(self) -> bool {
        let is_wait = |name: &str| READS.contains(&name) || python_waits::is(PythonWait::Device, name);
        let waits = |call: &HostCall| call.percent >= READS_PERCENT && is_wait(&call.name);
        let waits_itself = |range: &HostRangeTime| range.waits && self.share(range.time_us) >= READS_PERCENT;
        self.meanwhile.ranges.iter().any(waits_itself)
            || self.main_range().is_some_and(|range| range.calls.iter().any(waits))
    }

    /// Names the host's main activity during the idle time with its file and line: `update (train.py:27)`.
    pub(crate) fn place(self) -> Option<String> {
        self.main_range().map(|range| format!("{}{}", shown(&range.name), source(range)))
    }

    /// In the host's main activity, returns the innermost call that is defined in one of these files, with its place
    /// and its share of the activity's time: `__getitem__ (data.py:16)`.
    pub(crate) fn innermost(self, is_file: impl Fn(&str) -> bool) -> Option<(&'a str, String, f64)> {
        let is_wanted = |call: &&HostCall| {
            let file = call.place.as_ref().and_then(|place| place.rsplit_once(':')).map(|(file, _)| file);
            !call.name.starts_with('<') && file.is_some_and(&is_file)
        };
        let call = self.main_range()?.calls.iter().rfind(is_wanted)?;
        let place = call.place.as_ref().map_or(String::new(), |place| format!(" ({})", shown(place)));
        Some((&call.name, format!("{}{place}", shown(&call.name)), call.percent))
    }

    /// Returns the advice to move a computation to the devices. The advice applies if the host's main activity is a
    /// NumPy function and the host reads device results, because the function then probably works on these results.
    /// `None` for other activities.
    pub(crate) fn to_device(self) -> Option<String> {
        let range = self.main_range().filter(|range| self.reads_results && range.other_thread.is_none())?;
        let call = public_calls(range).find_map(numpy_function).filter(|_| !formats(range))?;
        Some(format!(
            "Compute {call} of {}{} on the device, inside the compiled function (jax.numpy, jax.lax.top_k, jax.random), and copy only \
             its small result to the host.",
            shown(&range.name),
            source(range)
        ))
    }

    /// Returns the advice for the host's main activity during the idle time. `None` if the host has no main activity.
    pub(crate) fn remedy(self) -> Option<String> {
        let range = self.main_range()?;
        let name = shown(&range.name);
        if let Some(other) = &range.other_thread {
            let holder = other.calls.first().map_or_else(|| "the other thread".to_owned(), |call| shown(&call.name));
            if self.waits_for_queue().is_some() {
                return Some(format!(
                    "Make {holder}, which fills the queue that {name} waits for, as fast as the step: run it in several workers, and give it less work per item."
                ));
            }
            return Some(format!(
                "Find out whether {holder} holds the lock that {name} waits for. Hold a lock only to read or replace a value, and do \
                 slow work without it."
            ));
        }
        let source = source(range);
        if let Some(advice) = [(formats(range), FORMATS), (converts(range), CONVERTS)].iter().find(|(is, _)| *is) {
            return Some(format!("Look at {name}{source}: devices are idle until it returns. {}", advice.1));
        }
        if let Some(advice) = public_calls(range).rev().find_map(|call| of_call(&call.name)) {
            return Some(format!("Look at {name}{source}: devices are idle until it returns. {advice}"));
        }
        let what = public_calls(range).next().map_or_else(|| "its work".to_owned(), public_name);
        Some(format!(
            "Look at {name}{source}: devices are idle until it returns. Launch the next step first, replace Python loops over \
             elements with operations on whole arrays, or run {what} less often or in a background thread or process."
        ))
    }

    fn is_step(self, range: &HostRangeTime) -> bool {
        facts::marks_step(self.step, &range.name)
    }

    /// Returns the wait of the host if it takes most of the idle time.
    pub(crate) fn both_wait(self) -> Option<BothWait<'a>> {
        let waits = |it: &&HostRangeTime| it.waits && self.share(it.time_us) > MOST_PERCENT;
        let lists = [&self.meanwhile.ranges, &self.meanwhile.behind];
        let call = lists.iter().find_map(|list| list.first().filter(waits))?;
        let behind = self.named(&self.meanwhile.behind).map(|(it, _)| it).find(|it| !it.waits);
        Some(BothWait { call, behind })
    }

    fn sentences(self) -> String {
        let places = |list: &'a [HostRangeTime], with_thread: bool| -> Vec<String> {
            let place = |(it, share): (&HostRangeTime, f64)| {
                let thread = it.thread.as_deref().filter(|_| with_thread);
                let thread = thread.map_or(String::new(), |thread| format!(" (thread {})", shown(thread)));
                if self.is_step(it) {
                    return format!(
                        "in the step, in code that the capture does not name, for {}",
                        format::percent(share)
                    );
                }
                format!("in {}{}{thread} for {}", shown(&it.name), source(it), format::percent(share))
            };
            self.named(list).map(place).collect()
        };
        let mut ranges = places(&self.meanwhile.ranges, false);
        let behind = places(&self.meanwhile.behind, true);
        let silent = self.meanwhile.silent_us.map(|us| self.share(us)).filter(|share| *share >= NAMED_PERCENT);
        let silent = silent.map(|share| format!("in no recorded event for {}", format::percent(share)));
        let waits = self.both_wait().is_some();
        if ranges.is_empty() {
            let all: Vec<String> = behind.into_iter().chain(silent).collect();
            return if all.is_empty() {
                String::new()
            } else {
                format!(" While devices are idle, the host is {} of that time.", all.join(", "))
            };
        }
        ranges.extend(silent);
        let also = if waits { "waits too: it is " } else { "is " };
        let mut text = format!(" While devices are idle, the host {also}{} of that time.", ranges.join(", "));
        if !behind.is_empty() {
            let when = if waits { "Meanwhile" } else { "Outside these ranges" };
            text.push_str(&format!(" {when}, its threads are {}.", behind.join(", ")));
        }
        text.push_str(&self.main_range().map_or(String::new(), |range| inside(range, self.steps)));
        text
    }
}

/// Returns the file and line of a range, with a leading space: ` (train.py:12)`. Empty if they are unknown.
fn source(range: &HostRangeTime) -> String {
    range.place.as_ref().map_or(String::new(), |place| format!(" ({})", shown(place)))
}

/// Calls that read results of the devices.
const READS: [&str; 5] = ["np.asarray(jax.Array)", "device_get", "item", "tolist", "__float__"];

/// Calls that have a known remedy.
const REMEDIES: [(&[&str], &str); 5] = [
    (
        &["gc.collect"],
        "Do not collect garbage in each step: call gc.collect rarely, or gc.freeze() once before the loop so that Python skips \
         long-lived objects.",
    ),
    (
        &["hash"],
        "It computes a hash. JAX hashes the static arguments of a jitted function in each call. Give the argument a cheap hash \
         (store the hash, or compare by identity), or pass large data as arrays.",
    ),
    (
        &["device_put", "make_array_from_callback", "make_array_from_process_local_data"],
        "Place arrays on the devices once, before the loop, with the sharding that the program needs. Copy the next \
         batch while the step runs.",
    ),
    (
        &READS,
        "Read results less often, and several at once: keep metrics on the device, combine them into one array, and \
         read that array every n-th step.",
    ),
    (
        &[
            "urlopen",
            "getresponse",
            "readline",
            "recv",
            "recv_into",
            "readinto",
            "connect",
            "time.sleep",
            "sleep",
            "open",
            "fsync",
        ],
        "It waits for a reply or a file: do that in a background thread while the devices run, or less often.",
    ),
];

/// Files of NumPy that define functions on whole arrays.
const NUMPY_FILES: [&str; 8] = [
    "fromnumeric.py",
    "numeric.py",
    "_methods.py",
    "_function_base_impl.py",
    "function_base.py",
    "_arraysetops_impl.py",
    "arraysetops.py",
    "_linalg.py",
];
/// NumPy functions on whole arrays. Many are written in C, so the capture has no file for them.
const NUMPY_FUNCTIONS: [&str; 14] = [
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "bincount",
    "choice",
    "cumsum",
    "histogram",
    "lexsort",
    "multinomial",
    "partition",
    "searchsorted",
    "sort",
    "unique",
];

/// Names the call if it is a function of NumPy that computes on whole arrays: `numpy.argpartition`.
fn numpy_function(call: &HostCall) -> Option<String> {
    let is_listed = || call.place.is_none() && NUMPY_FUNCTIONS.contains(&call.name.as_str());
    let is_numpy = NUMPY_FILES.iter().any(|file| is_in(call, file)) || is_listed();
    is_numpy.then(|| format!("numpy.{}", shown(&call.name)))
}

/// Advice for a range that formats arrays as text.
const FORMATS: &str = "It formats whole arrays as text. To do so, it waits until they are computed, and copies them to \
    the host. Do not put arrays into strings in each step: log scalars or summaries, pass values to the logger as arguments \
    (log.debug(\"%s\", x), so that a message below the level is not formatted), or print only in every n-th step.";
/// Advice for a range that converts Python numbers to arrays.
const CONVERTS: &str = "The argument is a Python list or tuple of numbers, and JAX infers the type of each number in Python. Convert it \
    with NumPy first: np.asarray(x, dtype=np.float32), and pass that array to JAX. Better still, keep the data in NumPy arrays \
    from the start.";
const PRINTING: [&str; 6] = ["__repr__", "__str__", "__format__", "array2string", "array_repr", "array_str"];
/// Library files, each with the module and the function names that users know.
const LIBRARIES: [(&str, &str, &[&str]); 2] = [
    ("array_constructors.py", "jax.numpy", &["array", "asarray"]),
    ("arrayprint.py", "numpy", &["array2string", "array_repr", "array_str"]),
];

/// Returns true if the range spends its time formatting arrays as text.
fn formats(range: &HostRangeTime) -> bool {
    let in_library = |call: &HostCall| is_in(call, "arrayprint.py") || is_in(call, "array.py");
    range.calls.iter().any(|call| PRINTING.contains(&call.name.as_str()) && in_library(call))
}

/// Returns true if the range spends its time in constructors of JAX arrays, and mostly on type inference there.
fn converts(range: &HostRangeTime) -> bool {
    let mut calls = range.calls.iter().skip_while(|call| !is_in(call, "array_constructors.py"));
    calls.next().is_some() && calls.any(|call| is_in(call, "dtypes.py"))
}

fn is_in(call: &HostCall, file: &str) -> bool {
    call.place.as_ref().and_then(|place| place.rsplit_once(':')).is_some_and(|(of, _)| of == file)
}

/// Names a call. Library functions get the name that users know: `jax.numpy.array`.
fn public_name(call: &HostCall) -> String {
    let known = LIBRARIES.iter().find(|(file, _, names)| is_in(call, file) && names.contains(&call.name.as_str()));
    let name = shown(&call.name);
    known.map_or_else(|| name.clone(), |(_, module, _)| format!("{module}.{name}"))
}

/// Returns the advice for a call inside a range.
fn of_call(name: &str) -> Option<&'static str> {
    REMEDIES.iter().find(|(names, _)| names.contains(&name)).map(|(_, advice)| *advice)
}

/// Returns the calls inside a range whose functions users know by name. Excludes names with a leading underscore, and the
/// wrapper that JAX uses to annotate its own functions.
fn public_calls(range: &HostRangeTime) -> impl DoubleEndedIterator<Item = &HostCall> {
    let is_of_jax = |call: &HostCall| call.place.as_ref().is_some_and(|place| place.starts_with("profiler.py:"));
    range
        .calls
        .iter()
        .filter(move |call| call.name.starts_with(|first: char| first.is_alphabetic()) && !is_of_jax(call))
}

/// Describes the calls inside a range as sentences that start with a space. If the range waits for a lock, also
/// describes what another thread does during the wait.
fn inside(range: &HostRangeTime, steps: Option<f64>) -> String {
    let named = |call: &HostCall| {
        let place = call.place.as_ref().map_or(String::new(), |place| format!(" ({})", shown(place)));
        let per_step = steps.map(|steps| (call.count as f64 / steps).round() as u64).filter(|&calls| calls > 1);
        let count = match per_step {
            _ if call.count < MANY_CALLS => String::new(),
            Some(calls) => format!(" ({} calls per step)", format::count(calls)),
            None => format!(" ({} calls)", format::count(call.count)),
        };
        format!("{}{place}{count}", public_name(call))
    };
    let mut calls = public_calls(range);
    let Some(first) = calls.next() else { return String::new() };
    let name = shown(&range.name);
    let mut text = format!(" {name} spends {} of its time in {}", format::percent(first.percent), named(first));
    // A NumPy function calls another function that has the same name and is not written in Python.
    if let Some(last) = calls.rfind(|call| call.name != first.name) {
        text.push_str(&format!(", and {} in {} inside it", format::percent(last.percent), named(last)));
    }
    text.push('.');
    let Some(other) = &range.other_thread else { return text };
    let thread = other.thread.as_ref().map_or("another thread".to_owned(), |it| format!("the thread {}", shown(it)));
    let path: Vec<String> = other.calls.iter().map(named).collect();
    let share = other.calls.last().map_or(0.0, |call| call.percent);
    text.push_str(&format!(
        " It waits there for a lock or for another thread. For {} of that time, {thread} is in {}.",
        format::percent(share),
        path.join(" > ")
    ));
    text
}

impl BothWait<'_> {
    /// Names the work that host and devices wait for, such as `transfers (BufferSequencingEvent::Execute)`. `None` if
    /// the capture does not contain this work.
    pub(crate) fn for_what(self) -> Option<String> {
        let name = &self.behind?.name;
        let what = match host_spans::work(name) {
            Some(HostWork::Transfer) => "transfers",
            Some(HostWork::Compile) => "compilation",
            Some(HostWork::Input) => "input",
            Some(HostWork::Launch) => "launches",
            Some(HostWork::Wait) | None => return Some(shown(name)),
        };
        Some(format!("{what} ({})", shown(name)))
    }

    /// Returns the advice for the work that host and devices wait for. Never advises the user to wait less often,
    /// because that would not help.
    pub(crate) fn remedy(self, numbers: &Numbers<'_>) -> String {
        let words = numbers.words();
        let work = self.behind.and_then(|it| host_spans::work(&it.name));
        let remedy = match (work, self.behind) {
            (Some(HostWork::Transfer), _) => transfer_less(numbers),
            (Some(HostWork::Input), _) => format!(
                "Prepare batches ahead of time, in other threads or processes \
                ({}).",
                words.loader
            ),
            (Some(HostWork::Compile), _) => format!(
                "Run a few steps before the capture starts, and cache compiled programs between runs with {}.",
                words.compilation_cache
            ),
            (_, Some(behind)) => {
                let thread = behind
                    .thread
                    .as_deref()
                    .map_or(String::new(), |thread| format!(" on the thread {}", shown(thread)));
                format!("Look at {}{thread} on the timeline: host and devices wait for it.", shown(&behind.name))
            }
            (_, None) => {
                "Find out why host and devices wait. Usual causes: another process or host, a transfer, or a thread \
                 that the profiler did not record."
                    .to_owned()
            }
        };
        format!("{remedy} Calling {} less often does not help until then.", shown(&self.call.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, place: &str, count: u64) -> HostCall {
        HostCall { name: name.to_owned(), place: Some(place.to_owned()), percent: 90.0, count }
    }

    /// Returns title, sentences and remedy for a host that is in `work` for all of the idle time.
    fn words(calls: Vec<HostCall>) -> (String, String, String) {
        let place = Some("main.py:29".to_owned());
        let range = HostRangeTime { name: "work".to_owned(), time_us: 90.0, place, calls, ..HostRangeTime::default() };
        let meanwhile = HostMeanwhile { ranges: vec![range], ..HostMeanwhile::default() };
        let host =
            HostSide { meanwhile: &meanwhile, idle_us: 100.0, step: None, steps: Some(10.0), reads_results: true };
        (host.activity().unwrap(), host.sentences(), host.remedy().unwrap())
    }

    #[test]
    fn a_conversion_of_python_numbers_is_named() {
        let array = || call("array", "array_constructors.py:107", 10);
        let (title, text, remedy) = words(vec![array(), call("lattice_result_type", "dtypes.py:1079", 10)]);
        assert_eq!(title, "the host converts Python numbers to arrays in work()");
        assert!(text.contains("90.0 % of its time in jax.numpy.array (array_constructors.py:107)"), "{text}");
        assert!(remedy.contains("np.asarray(x, dtype=np.float32)"), "{remedy}");
        // The `array` call may wait for a copy.
        let (title, _, remedy) = words(vec![array(), call("device_put", "api.py:1", 10)]);
        assert_eq!(title, "the host is in work() (jax.numpy.array)");
        assert!(!remedy.contains("Python list"), "{remedy}");
        let user = words(vec![call("array", "shapes.py:3", 10), call("f", "dtypes.py:3", 10)]).0;
        assert_eq!(user, "the host is in work() (array)");
    }

    #[test]
    fn text_of_arrays_is_named_with_its_calls_per_step() {
        let (title, text, remedy) = words(vec![call("array2string", "arrayprint.py:635", 160)]);
        assert_eq!(title, "the host formats arrays as text in work()");
        assert!(text.contains("in numpy.array2string (arrayprint.py:635) (16 calls per step)"), "{text}");
        assert!(remedy.contains("log.debug") && !remedy.contains("move"), "{remedy}");
    }

    #[test]
    fn the_innermost_call_of_a_file_is_found() {
        let calls = vec![call("<listcomp>", "data.py:40", 10), call("__getitem__", "data.py:16", 120)];
        let range = HostRangeTime { name: "one".to_owned(), time_us: 90.0, calls, ..HostRangeTime::default() };
        let meanwhile = HostMeanwhile { ranges: vec![range], ..HostMeanwhile::default() };
        let host = HostSide { meanwhile: &meanwhile, idle_us: 100.0, step: None, steps: None, reads_results: true };
        let found = host.innermost(|file| file == "data.py");
        assert_eq!(found, Some(("__getitem__", "__getitem__ (data.py:16)".to_owned(), 90.0)));
        assert_eq!(host.innermost(|file| file == "main.py"), None);
    }

    #[test]
    fn numpy_on_results_belongs_on_the_device() {
        let calls = || {
            let inner = HostCall { place: None, ..call("argpartition", "", 10) };
            vec![call("argpartition", "fromnumeric.py:848", 10), inner]
        };
        // A function that calls its namesake is named only once.
        let text = words(calls()).1;
        assert!(text.ends_with("work spends 90.0 % of its time in argpartition (fromnumeric.py:848)."), "{text}");
        let range =
            HostRangeTime { name: "choose".to_owned(), time_us: 90.0, calls: calls(), ..HostRangeTime::default() };
        let meanwhile = HostMeanwhile { ranges: vec![range], ..HostMeanwhile::default() };
        let host = HostSide { meanwhile: &meanwhile, idle_us: 100.0, step: None, steps: None, reads_results: true };
        let advice = host.to_device().unwrap();
        assert!(advice.starts_with("Compute numpy.argpartition of choose on the device"), "{advice}");
        // Without a large copy to the host, NumPy may prepare input.
        assert_eq!(HostSide { reads_results: false, ..host }.to_device(), None);
    }
}
