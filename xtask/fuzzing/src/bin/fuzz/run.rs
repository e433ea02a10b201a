//! A run of the fuzzer, in which child processes drive cases until the time limit. If a case fails, the parent saves
//! the case, and the run continues.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fuzzing::corpus::{self, Sample};
use fuzzing::mutate;

use crate::child::{self, End, MOST_TIME};
use crate::options::Options;
use crate::{Result, cases};

/// Number of failures after which a run ends. Most further failures would be duplicates.
const MOST_FAILURES: usize = 20;

/// The slowest case so far.
#[derive(Default)]
struct Slowest {
    time: Duration,
    number: u64,
}

/// State shared by the threads that watch the children.
struct Run<'a> {
    corpus: &'a [Sample],
    /// Folder from which the children read the samples.
    folder: PathBuf,
    seed: u64,
    deadline: Instant,
    driven: AtomicU64,
    slowest: Mutex<Slowest>,
    failures: Mutex<Vec<String>>,
}

/// Mutates samples and drives cases until the time limit.
pub(crate) fn run(options: &Options) -> Result {
    let folder = folder("corpus");
    let samples = corpus::all()?;
    // Samples of an earlier corpus would change the cases of the same seed.
    if folder.is_dir() {
        std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    cases::write_corpus(&folder, &samples)?;
    // Reads the samples in the order of the files, like the children.
    let samples = cases::read_corpus(&folder)?;
    let run = Run {
        corpus: &samples,
        folder,
        seed: options.seed,
        deadline: Instant::now() + Duration::from_secs(options.seconds),
        driven: AtomicU64::new(0),
        slowest: Mutex::default(),
        failures: Mutex::default(),
    };
    let children = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    println!("Driving cases of seed {} for {} s in {children} processes.", run.seed, options.seconds);
    let outcomes: Vec<Result> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..children)
            .map(|first| {
                scope.spawn({
                    let run = &run;
                    move || run.watch(first, children)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err("A thread ended early.".into()))).collect()
    });
    outcomes.into_iter().collect::<Result>()?;
    let (driven, slowest) = (run.driven.into_inner(), run.slowest.into_inner().unwrap_or_default());
    println!(
        "{driven} cases, {:.0} a second; the slowest is case {} with {:.2} s.",
        driven as f64 / options.seconds.max(1) as f64,
        slowest.number,
        slowest.time.as_secs_f64()
    );
    match run.failures.into_inner().unwrap_or_default().len() {
        _ if driven == 0 => Err("No case was driven.".into()),
        0 => Ok(()),
        count => Err(format!("{count} cases fail; each line above that begins with `cargo` runs one of them again.")),
    }
}

impl Run<'_> {
    /// Drives cases in a child. After each failure, starts another child with the next case.
    fn watch(&self, first: u64, step: u64) -> Result {
        let mut next = first;
        loop {
            let arguments = [
                ("--cases", self.folder.display().to_string()),
                ("--seed", self.seed.to_string()),
                ("--first", next.to_string()),
                ("--step", step.to_string()),
            ];
            let arguments: Vec<String> =
                arguments.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
            let mut started: Option<(u64, Instant)> = None;
            let end = child::watch(child::start(&arguments)?, self.deadline, |line| {
                self.note(started.take());
                started = line.parse().ok().map(|number| (number, Instant::now()));
            });
            let Some((number, _)) = started else {
                return if end == End::TimeOver { Ok(()) } else { Err(format!("A child drove no case: {end:?}")) };
            };
            let what = match end {
                End::TimeOver | End::Done => return Ok(()),
                End::Hangs => None,
                End::Fails(said) => Some(said),
            };
            if self.keep(number, what)? >= MOST_FAILURES {
                return Ok(());
            }
            next = number + step;
        }
    }

    /// Counts a case that was driven, and stores the case if it is the slowest so far.
    fn note(&self, case: Option<(u64, Instant)>) {
        let Some((number, start)) = case else { return };
        self.driven.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut slowest) = self.slowest.lock()
            && slowest.time < start.elapsed()
        {
            *slowest = Slowest { time: start.elapsed(), number };
        }
    }

    /// Saves a failed case, and prints how to run it again. Returns the number of failures so far. A case that was only
    /// slow is first driven again without other cases.
    fn keep(&self, number: u64, said: Option<String>) -> Result<usize> {
        let (format, bytes) = mutate::case(self.corpus, self.seed, number);
        let file = folder("found").join(format!("{}-{}-{number}", format.name(), self.seed));
        write(&file, &bytes)?;
        let said = match said {
            Some(said) => Some(said),
            None => match child::alone(&file)? {
                End::Done => None,
                End::Fails(said) => Some(said),
                End::Hangs | End::TimeOver => Some(format!("it takes longer than {} s", MOST_TIME.as_secs())),
            },
        };
        let mut failures = self.failures.lock().map_err(|_| "A thread ended early.")?;
        if let Some(said) = said {
            let (seed, file) = (self.seed, file.display());
            println!("\nCase {number} of seed {seed} fails: {said}\n\ncargo xtask fuzz --replay {file}\n");
            failures.push(said);
        }
        Ok(failures.len())
    }
}

/// Returns the output folder of a run. The folder is next to the fuzzing program in cargo's target folder.
fn folder(name: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.ancestors().nth(2).unwrap_or(Path::new(".")).join("fuzz").join(name)
}

fn write(file: &Path, bytes: &[u8]) -> Result {
    std::fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))
        .and_then(|()| std::fs::write(file, bytes))
        .map_err(|error| format!("{} cannot be written: {error}", file.display()))
}
