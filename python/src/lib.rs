//! `crossprof._native`: the Python bindings of the library. Users call `python/crossprof`, which wraps these functions.

mod building;
mod columns;
mod lake;
mod stream;

use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use crossprof::cli::open::{
    Against, Asked, AskedHlo, Drawing, Known, Opened, Registry, Said, Watched, checked, compared, describes_model,
    peak_flops,
};
use crossprof::{Query, Sort, TableName, UnifiedProfile, export};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use columns::Columns;
use stream::{GivenStreams, streams};

/// Interval between checks for Ctrl+C while another thread works.
const POLL: Duration = Duration::from_millis(50);

/// The runs of some files.
#[pyclass(frozen)]
struct Runs(Mutex<Opened>);

impl Runs {
    fn opened(&self) -> MutexGuard<'_, Opened> {
        // A poisoned lock is safe to use, because a failed call changes nothing that later calls need.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what `look` makes of the profile of a run.
    fn profile<T>(&self, run: usize, look: impl FnOnce(&UnifiedProfile) -> T) -> PyResult<T> {
        let opened = self.opened();
        let profile = opened.profiles().get(run);
        profile.map(look).ok_or_else(|| PyKeyError::new_err(format!("There is no run {run}.")))
    }
}

#[pymethods]
impl Runs {
    /// Returns the number of runs.
    fn __len__(&self) -> usize {
        self.opened().profiles().len()
    }

    /// Returns the inputs that could not be read, one sentence each.
    fn problems(&self) -> Vec<String> {
        self.opened().problems().to_vec()
    }

    /// Returns the profile of a run as JSON text.
    fn report(&self, py: Python<'_>, run: usize) -> PyResult<String> {
        py.detach(|| self.profile(run, export::json::profile))
    }

    /// Returns the report of a run as a self-contained HTML page.
    fn html(&self, py: Python<'_>, run: usize) -> PyResult<String> {
        py.detach(|| self.profile(run, export::html::report))
    }

    /// Returns a one-screen summary of a run as a self-contained HTML page.
    fn card(&self, py: Python<'_>, run: usize) -> PyResult<String> {
        let card = py.detach(|| self.opened().card(run));
        card.ok_or_else(|| PyKeyError::new_err(format!("There is no run {run}.")))
    }

    /// Returns the digest of a run as text, or as JSON, in at most `max_bytes` bytes.
    fn digest(&self, py: Python<'_>, run: usize, max_bytes: usize, as_json: bool) -> PyResult<String> {
        let digest = py.detach(|| self.opened().digest(run, max_bytes, as_json));
        digest.ok_or_else(|| PyKeyError::new_err(format!("There is no run {run}.")))
    }

    /// Returns a table of a run.
    #[pyo3(signature = (run, name, by, filter, sort, top))]
    #[expect(clippy::too_many_arguments, reason = "what a table is asked for")]
    fn table(
        &self,
        py: Python<'_>,
        run: usize,
        name: &str,
        by: &str,
        filter: &str,
        sort: Option<&str>,
        top: Option<u32>,
    ) -> PyResult<Columns> {
        let query = Query { filter: filter.to_owned(), sort: sort.map(Sort::parse), top };
        let columns = py.detach(|| self.opened().rows(run, name, by, &query, Columns::of));
        columns.and_then(|columns| columns).map_err(PyValueError::new_err)
    }

    /// Returns the name, the number of instructions (`None` for an earlier stage) and the self time in microseconds of each compiled program of a run.
    fn programs(&self, py: Python<'_>, run: usize) -> Vec<(String, Option<usize>, Option<f64>)> {
        let programs = py.detach(|| self.opened().programs(run));
        programs.into_iter().map(|it| (it.name, it.instructions, it.time.map(|time| time.as_us()))).collect()
    }

    /// Returns a compiled program of a run in the requested format, or its difference from a program of another run.
    #[pyo3(signature = (run, *, program, op, radius, computation, by, open, critical_path, against, against_program, format))]
    #[expect(clippy::too_many_arguments, reason = "the options of a program")]
    fn hlo(
        slf: &Bound<'_, Self>,
        run: usize,
        program: Option<String>,
        op: Option<String>,
        radius: u32,
        computation: Option<String>,
        by: String,
        open: Vec<String>,
        critical_path: bool,
        against: Option<(Bound<'_, Runs>, usize)>,
        against_program: Option<String>,
        format: String,
    ) -> PyResult<String> {
        let asked = AskedHlo { program, op, radius, computation, by, open, critical_path, against_program, format };
        let own = slf.get();
        let made = match against {
            None => slf.py().detach(|| own.opened().hlo(run, &asked, Against::Nothing)),
            Some((other, at)) if other.is(slf) => {
                slf.py().detach(|| own.opened().hlo(run, &asked, Against::RunOfSame(at)))
            }
            Some((other, at)) => {
                let other = other.get();
                slf.py().detach(|| {
                    // All threads lock in the same order, so that two calls never wait for each other.
                    let (mut opened, mut others);
                    if std::ptr::from_ref(own) < std::ptr::from_ref(other) {
                        opened = own.opened();
                        others = other.opened();
                    } else {
                        others = other.opened();
                        opened = own.opened();
                    }
                    opened.hlo(run, &asked, Against::RunOf(&mut others, at))
                })
            }
        };
        made.map_err(PyValueError::new_err)
    }

    /// Returns a range of a run as an SVG or a Chrome trace, and messages about parts that were left out.
    #[pyo3(signature = (run, *, step, start, end, lines, width, dark, hosts, output))]
    #[expect(clippy::too_many_arguments, reason = "the options of a picture")]
    fn timeline<'py>(
        &self,
        py: Python<'py>,
        run: usize,
        step: Option<String>,
        start: Option<String>,
        end: Option<String>,
        lines: Vec<String>,
        width: u32,
        dark: bool,
        hosts: bool,
        output: Option<PathBuf>,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
        let drawing = Drawing { step, start, end, lines, width, dark, hosts, output };
        let (bytes, left_out) = py.detach(|| self.opened().timeline(run, &drawing)).map_err(PyValueError::new_err)?;
        Ok((PyBytes::new(py, &bytes), left_out))
    }
}

/// The tools for agents, with the captures that they have opened.
static TOOLS: LazyLock<Mutex<Registry>> = LazyLock::new(|| Mutex::new(Registry::new(None)));

/// Calls a tool for agents. Arguments and answer are JSON text.
#[pyfunction]
fn ask(py: Python<'_>, tool: &str, arguments: &str) -> PyResult<String> {
    let arguments = serde_json::from_str(arguments).map_err(|error| PyValueError::new_err(error.to_string()))?;
    // A poisoned lock is safe to use: a failed call changes nothing that later calls need.
    let called = py.detach(|| TOOLS.lock().unwrap_or_else(PoisonError::into_inner).call(tool, arguments));
    called.map(|answer| answer.to_string()).map_err(PyValueError::new_err)
}

/// Opens the run in a profile's JSON.
#[pyfunction]
fn of_document(py: Python<'_>, text: &str) -> PyResult<Runs> {
    py.detach(|| Opened::of_document(text)).map(|opened| Runs(Mutex::new(opened))).map_err(PyValueError::new_err)
}

/// Returns the name, a one-line description and the forms of each table.
#[pyfunction]
fn tables() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    TableName::ALL.into_iter().map(|table| (table.key(), table.about(), table.forms().to_vec())).collect()
}

/// Returns ` Did you mean ...?` with the nearest words, or an empty text if none is close.
#[pyfunction]
fn suggestion(word: &str, known: Vec<String>) -> String {
    crossprof::cli::open::suggestion(word, &known)
}

/// Returns true if these bytes describe a model: a `config.json` or a `crossprof.json`.
#[pyfunction(name = "describes_model")]
fn is_model(bytes: &[u8]) -> bool {
    describes_model(bytes)
}

/// Reads and analyses files, folders and streams. Ctrl+C interrupts the read. Calls `watch` periodically with the
/// number of bytes read and the total number of bytes (0 while it is unknown).
#[pyfunction]
#[pyo3(signature = (paths, given, watch, *, num_steps=None, batch_size=None, seq_length=None, device=None, model_config=None, window=None, price=None))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
fn read(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    given: Vec<GivenStreams>,
    watch: Bound<'_, PyAny>,
    num_steps: Option<u64>,
    batch_size: Option<u64>,
    seq_length: Option<u64>,
    device: Option<String>,
    model_config: Option<PathBuf>,
    window: Option<String>,
    price: Option<f64>,
) -> PyResult<Runs> {
    let known = Known { num_steps, batch_size, seq_length, device, model_config, window, price };
    let (sender, receiver) = mpsc::channel();
    let watched = Arc::new(Watched::default());
    let counted = watched.clone();
    // Python delivers signals to the waiting thread. If the wait is interrupted, the other thread finishes reading and
    // discards the files.
    std::thread::Builder::new()
        .name("crossprof".to_owned())
        .spawn(move || drop(sender.send(Opened::read(&paths, streams(given), &known, counted))))?;
    // Only one thread waits, but the compiler cannot prove it.
    let receiver = Mutex::new(receiver);
    let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL);
    loop {
        match py.detach(wait) {
            Ok(opened) => return opened.map(|opened| Runs(Mutex::new(opened))).map_err(PyValueError::new_err),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                watch.call1(watched.bytes())?;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(PyValueError::new_err("Reading ended before its end. This is a bug in crossprof."));
            }
        }
    }
}

/// A run, with an optional batch size and sequence length that replace the values in the run.
type ComparedRun<'py> = (PyRef<'py, Runs>, usize, Option<u64>, Option<u64>);

/// Compares runs and returns the comparison as JSON text.
#[pyfunction]
#[pyo3(signature = (runs, *, names, power, price, baseline, weak_scaling, threshold, output))]
#[expect(clippy::too_many_arguments, reason = "what a user can say of a comparison")]
fn compare(
    py: Python<'_>,
    runs: Vec<ComparedRun<'_>>,
    names: Vec<String>,
    power: Vec<f64>,
    price: Vec<f64>,
    baseline: Option<String>,
    weak_scaling: Option<bool>,
    threshold: Option<f64>,
    output: Option<PathBuf>,
) -> PyResult<String> {
    let mut compared_runs = Vec::with_capacity(runs.len());
    for (runs, run, batch_size, seq_length) in &runs {
        let mut opened = runs.opened();
        let profile = opened.profile_of(*run, *batch_size, *seq_length);
        let profile = profile.ok_or_else(|| PyKeyError::new_err(format!("There is no run {run}.")))?;
        compared_runs.push((profile, opened.compared_programs(*run)));
    }
    let said = Said { names, power, price, baseline, weak_scaling, threshold };
    py.detach(|| compared(compared_runs, &said, output.as_ref())).map_err(PyValueError::new_err)
}

/// A run, with the file that it came from.
type NamedRun<'py> = (PyRef<'py, Runs>, usize, String);

/// Checks runs and returns the result as JSON text.
#[pyfunction]
#[pyo3(signature = (runs, *, budget, limits, baseline, baseline_run))]
fn check(
    py: Python<'_>,
    runs: Vec<NamedRun<'_>>,
    budget: Option<PathBuf>,
    limits: Vec<String>,
    baseline: Option<Vec<NamedRun<'_>>>,
    baseline_run: Option<String>,
) -> PyResult<String> {
    let profiles = |runs: &[NamedRun<'_>]| -> PyResult<Vec<_>> {
        runs.iter().map(|(runs, run, file)| Ok((runs.profile(*run, UnifiedProfile::clone)?, file.clone()))).collect()
    };
    let (runs, baseline) = (profiles(&runs)?, baseline.as_deref().map(profiles).transpose()?);
    let asked = Asked { budget, limits, baselines: Vec::new(), baseline_run };
    py.detach(|| checked(&runs, &asked, baseline.as_deref())).map_err(PyValueError::new_err)
}

/// Names and help texts of the commands that are implemented in Python.
const PYTHON_COMMANDS: [(&str, &str); 2] = [
    ("scale", "Run a program on 1, 2, 4, ... devices, capture each, and compare them: how well it scales"),
    ("lake", "Collect thousands of captures in Parquet files, query them with SQL, and find what became slower"),
];

/// Runs the command line and returns its exit status. The first argument is the program's name.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| crossprof::cli::run_with(arguments.into_iter(), &PYTHON_COMMANDS))
}

/// Returns the dense bf16 peak of a device in FLOP/s. `device` may be JAX's name of the device.
#[pyfunction(name = "peak_flops")]
fn device_peak(device: &str) -> Option<f64> {
    peak_flops(device)
}

/// The module `crossprof._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Runs>()?;
    module.add_class::<Columns>()?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(compare, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(ask, module)?)?;
    module.add_function(wrap_pyfunction!(of_document, module)?)?;
    module.add_function(wrap_pyfunction!(tables, module)?)?;
    module.add_function(wrap_pyfunction!(suggestion, module)?)?;
    module.add_function(wrap_pyfunction!(is_model, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    lake::add(module)?;
    module.add_function(wrap_pyfunction!(device_peak, module)?)
}
