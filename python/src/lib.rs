//! `crossprof._native`: the library for Python. What a user calls is in `python/crossprof`, which gives these functions their shape.

mod building;
mod columns;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use crossprof::cli::open::{Known, Opened, Watched, compared, peak_flops};
use crossprof::{Query, Sort, UnifiedProfile, export};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use columns::Columns;

/// While another thread works, Ctrl+C is looked for this often.
const POLL: Duration = Duration::from_millis(50);

/// The runs of some files.
#[pyclass(frozen)]
struct Runs(Mutex<Opened>);

impl Runs {
    fn opened(&self) -> MutexGuard<'_, Opened> {
        // A question changes nothing that the next one needs.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn profile(&self, run: usize) -> PyResult<UnifiedProfile> {
        self.opened().profiles().get(run).cloned().ok_or_else(|| PyKeyError::new_err(format!("There is no run {run}.")))
    }
}

#[pymethods]
impl Runs {
    /// Number of runs.
    fn __len__(&self) -> usize {
        self.opened().profiles().len()
    }

    /// What could not be read, each as a sentence.
    fn problems(&self) -> Vec<String> {
        self.opened().problems().to_vec()
    }

    /// The profile of a run as JSON text.
    fn report(&self, py: Python<'_>, run: usize) -> PyResult<String> {
        py.detach(|| self.profile(run).map(|profile| export::json::profile(&profile)))
    }

    /// The report of a run as an HTML page that fetches nothing.
    fn html(&self, py: Python<'_>, run: usize) -> PyResult<String> {
        py.detach(|| self.profile(run).map(|profile| export::html::report(&profile)))
    }

    /// A run on one screen of an HTML page that fetches nothing.
    fn card(&self, py: Python<'_>, run: usize) -> PyResult<String> {
        let card = py.detach(|| self.opened().card(run));
        card.ok_or_else(|| PyKeyError::new_err(format!("There is no run {run}.")))
    }

    /// A table of a run.
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
        let columns =
            py.detach(|| self.opened().rows(run, name, by, &query, Columns::of)).map_err(PyValueError::new_err)?;
        columns.map_err(|error| PyRuntimeError::new_err(format!("{error}. This is a mistake of crossprof.")))
    }
}

/// Reads and analyses files and folders. Ctrl+C ends the waiting. `watch` is called with the bytes that are read and the bytes of all files, 0 while
/// these are not known, every now and then.
#[pyfunction]
#[pyo3(signature = (paths, watch, *, num_steps=None, batch_size=None, seq_length=None, device=None, model_config=None, window=None))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
fn read(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    watch: Bound<'_, PyAny>,
    num_steps: Option<u64>,
    batch_size: Option<u64>,
    seq_length: Option<u64>,
    device: Option<String>,
    model_config: Option<PathBuf>,
    window: Option<String>,
) -> PyResult<Runs> {
    let known = Known { num_steps, batch_size, seq_length, device, model_config, window };
    let (sender, receiver) = mpsc::channel();
    let watched = Arc::new(Watched::default());
    let counted = watched.clone();
    // Python hears signals in the thread that waits. Who stops waiting leaves the files to the other, which then throws them away.
    std::thread::Builder::new()
        .name("crossprof".to_owned())
        .spawn(move || drop(sender.send(Opened::read(&paths, &known, counted))))?;
    // One thread waits; which, the compiler cannot know.
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
                return Err(PyValueError::new_err("Reading ended before its end. This is a mistake of crossprof."));
            }
        }
    }
}

/// The comparison of these runs as JSON text; the first is the baseline.
#[pyfunction]
fn compare(py: Python<'_>, runs: Vec<(PyRef<'_, Runs>, usize)>) -> PyResult<String> {
    let profiles = runs.iter().map(|(runs, run)| runs.profile(*run)).collect::<PyResult<Vec<_>>>()?;
    Ok(py.detach(|| compared(&profiles)))
}

/// Runs the command-line tool with these arguments, the first of which is its name, and returns its exit status.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| crossprof::cli::run(arguments.into_iter()))
}

/// The dense bf16 peak of a device in FLOP/s, by what JAX calls it.
#[pyfunction(name = "peak_flops")]
fn device_peak(device: &str) -> Option<f64> {
    peak_flops(device)
}

/// See the crate.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Runs>()?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(compare, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(device_peak, module)?)
}
