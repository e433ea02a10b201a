//! Assigns device memory profiles to the runs in which they were saved.
//!
//! ```text
//! log/plugins/profile/r/h.xplane.pb
//! log/plugins/profile/r/h.memory_start.prof, h.memory_end.prof   memory of r: the only run in or below their folder
//! log/memory_a.prof, log/memory_b.prof                           memory of r, if r is the only run in or below log
//! log/memory/1.prof, log/memory/2.prof                           memory of r, if r is the only run of log
//! ```
//!
//! Only the first and the last profile of a run are read, because their difference shows the growth. JAX records no
//! time in device memory profiles, and file times change when files are copied. Therefore, the names of the files
//! determine the order. A name with a word for the start (`start`, `before`) comes first, and a name with a word for
//! the end (`end`, `after`) comes last. Numbers in names are compared by value.

use std::collections::BTreeMap;

use super::{Candidate, FileKind, Ignored, Plan, PlannedRun, file_name, folder, kind_of, run_folder};
use base::{moment, sort};

const BETWEEN: &str = "Only the first and the last device memory profile of a run are read.";
const OTHER_HOST: &str = "The device memory profiles of another host of this run are read.";

/// Number of runs that a folder has: a single run, or several.
#[derive(Clone, Copy, PartialEq)]
enum Runs {
    One(usize),
    Several,
}

/// Adds each device memory profile to the run that it belongs to. If no run or several runs are possible, adds a
/// separate run for the profile.
pub(super) fn add(files: &[Candidate<'_>], plan: &mut Plan) {
    let is_of_memory =
        |file: usize| matches!(kind_of(files, file), Some(FileKind::MemoryProfile | FileKind::MemoryError));
    let of_memory: Vec<usize> = (0..files.len()).filter(|&file| is_of_memory(file)).collect();
    if of_memory.is_empty() {
        return;
    }
    let folders = Folders::new(files, plan);
    let mut assigned: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for file in of_memory {
        let Some(path) = files.get(file).map(|file| file.path) else { continue };
        let is_profile = kind_of(files, file) == Some(FileKind::MemoryProfile);
        match folders.run_of(path).filter(|_| is_profile) {
            Some(run) => assigned.entry(run).or_default().push(file),
            None => {
                let name = file_name(path).to_owned();
                plan.runs.push(PlannedRun { name, memory: vec![file], ..PlannedRun::default() });
            }
        }
    }
    for (run, profiles) in assigned {
        let Some(run) = plan.runs.get_mut(run) else { continue };
        let (own, others) = of_one_host(files, run, profiles);
        let between = own.get(1..own.len().saturating_sub(1)).unwrap_or_default();
        let ignored = |reason: &str, file: &usize| Ignored { file: *file, reason: reason.to_owned() };
        plan.ignored.extend(between.iter().map(|file| ignored(BETWEEN, file)));
        plan.ignored.extend(others.iter().map(|file| ignored(OTHER_HOST, file)));
        run.memory.extend(own.first());
        run.memory.extend(own.last().filter(|_| own.len() > 1));
    }
}

/// Returns the profiles of one host, sorted by name, and the profiles of the other hosts. Profiles of different
/// processes cannot show growth.
fn of_one_host(files: &[Candidate<'_>], run: &PlannedRun, profiles: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
    let name = |file: usize| files.get(file).map_or("", |file| file_name(file.path));
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for file in profiles {
        let is_of = |host: &str| name(file).strip_prefix(host).is_some_and(|rest| rest.starts_with('.'));
        // The capture kit names the profiles of each process after its trace. Other names belong to no host.
        let host = if run.hosts.len() > 1 { run.hosts.iter().position(|host| is_of(&host.host)) } else { None };
        groups.entry(host.unwrap_or(run.hosts.len())).or_default().push(file);
    }
    let shows_growth = groups.iter().find(|(_, profiles)| profiles.len() > 1);
    let chosen = shows_growth.or(groups.iter().next()).map(|(host, _)| *host);
    let mut own = chosen.and_then(|host| groups.remove(&host)).unwrap_or_default();
    sort::sort_by_key(&mut own, |&file| (moment::of_name(name(file)), natural(name(file)), file));
    (own, groups.into_values().flatten().collect())
}

/// Returns a key that orders names by the values of the numbers in them. For each number in the name, the key contains
/// the text before the number, the count of its digits, and the digits.
fn natural(name: &str) -> Vec<(&str, usize, &str)> {
    let (mut rest, mut key) = (name, Vec::new());
    while !rest.is_empty() {
        let (text, numbered) = rest.split_at(rest.find(|it: char| it.is_ascii_digit()).unwrap_or(rest.len()));
        let (digits, after) =
            numbered.split_at(numbered.find(|it: char| !it.is_ascii_digit()).unwrap_or(numbered.len()));
        let digits = digits.trim_start_matches('0');
        key.push((text, digits.len(), digits));
        rest = after;
    }
    key
}

/// The runs of each folder that contains traces.
struct Folders<'a> {
    /// Runs with a trace in or below each folder.
    below: BTreeMap<&'a str, Runs>,
    /// Runs of each folder that was passed to the profiler.
    home: BTreeMap<&'a str, Runs>,
}

impl<'a> Folders<'a> {
    fn new(files: &[Candidate<'a>], plan: &Plan) -> Folders<'a> {
        let mut folders = Folders { below: BTreeMap::new(), home: BTreeMap::new() };
        let add = |runs: &mut BTreeMap<&'a str, Runs>, folder: &'a str, run: usize| {
            let known = runs.entry(folder).or_insert(Runs::One(run));
            if *known != Runs::One(run) {
                *known = Runs::Several;
            }
        };
        for (index, run) in plan.runs.iter().enumerate() {
            let traces = run.hosts.iter().filter_map(|host| files.get(host.file));
            for trace in traces.filter(|file| matches!(file.kind, FileKind::XPlane | FileKind::TraceJson)) {
                add(&mut folders.home, home(trace.path), index);
                ancestors(trace.path).for_each(|folder| add(&mut folders.below, folder, index));
            }
        }
        folders
    }

    /// Returns the only run in or below the folder of a file. If that folder has no run, returns the only run of the
    /// nearest enclosing folder that was passed to the profiler.
    fn run_of(&self, path: &str) -> Option<usize> {
        let named = |folder: &&str| !folder.is_empty();
        let above = || ancestors(path).filter(named).find_map(|folder| self.home.get(folder));
        match self.below.get(folder(path)).or_else(above)? {
            Runs::One(run) => Some(*run),
            Runs::Several => None,
        }
    }
}

/// Returns the folder that was passed to the profiler, or the folder of the trace if the profiler's folder is unknown.
fn home(path: &str) -> &str {
    let log = run_folder(path).map(folder).and_then(|it| it.strip_suffix("plugins/profile"));
    log.map_or_else(|| folder(path), |log| log.trim_end_matches('/'))
}

/// Returns the folders that contain a path, from the innermost to the outermost.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder(path)), |it| (!it.is_empty()).then(|| folder(it)))
}
