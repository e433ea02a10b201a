//! Groups the files that a user dropped, or the files in a folder or archive, into runs. The functions have no side
//! effects: they take paths and kinds, and return a plan.
//!
//! The kind of a file comes from its content ([`FileKind`]). The path of a file only determines its run:
//!
//! ```text
//! log/plugins/profile/2026_01_05_10_00_00/hostA.xplane.pb        one run, two hosts: the folder is the run
//! log/plugins/profile/2026_01_05_10_00_00/hostA.trace.json.gz    not read: the xplane of hostA is there
//! log/plugins/profile/2026_01_05_10_00_00/hostB.xplane.pb
//! log/plugins/profile/2026_01_05_10_00_00/hostB.hlo_proto.pb     ignored: XProf derived it
//! log/plugins/profile/config.json                                model configuration of every run below its folder
//! other/x.xplane.pb, other/x.trace.json                          one run: same folder, same stem
//! other/y.json                                                   a separate run
//! dump/module_0001.jit_f.hlo.pb, dump/module_0003.jit_g.hlo.pb   one run of compiled programs: same folder
//! log/memory_a.prof, log/memory_b.prof                           memory of the only run below their folder
//! ```

mod memory;

use base::sort;
use std::collections::{BTreeMap, BTreeSet};

/// Kind of a file, detected from its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum FileKind {
    /// An XSpace: the complete recording of the profiler.
    XPlane,
    /// A Chrome trace: an export of the recording that lacks some data.
    TraceJson,
    /// A result of an earlier run of crossprof.
    UnifiedProfile,
    /// Trends of a lake.
    LakeTrends,
    /// A model configuration (`config.json`, `crossprof.json`). The configuration belongs to the runs in its folder or
    /// below.
    ModelConfig,
    /// A device memory profile (pprof): the contents of device memory at one moment.
    MemoryProfile,
    /// Text of an out-of-memory error.
    MemoryError,
    /// A compiled program (`xla.HloProto` or HLO text), or its buffer assignment as text.
    Program,
    /// A zip or tar archive. The members of the archive are planned once it is opened.
    Archive,
    /// A file of an unknown kind.
    Unknown,
}

/// A file that may belong to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Path that the user gave, with `/` between folders. The path of an archive member starts with the path of the
    /// archive.
    pub path: &'a str,
    /// Kind of the file.
    pub kind: FileKind,
}

/// Assignment of the candidates to runs. All indices refer to the list of candidates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The runs, in the order of the first file of each run.
    pub runs: Vec<PlannedRun>,
    /// Archives to open.
    pub archives: Vec<usize>,
    /// Files that do not belong to any run.
    pub ignored: Vec<Ignored>,
}

impl Plan {
    /// Returns the device memory profiles that may belong to any of several traces. If no evidence assigns such a
    /// profile to one trace, it becomes a separate run.
    pub fn unclear_memory<'a>(&'a self, files: &'a [Candidate<'_>]) -> impl Iterator<Item = usize> + 'a {
        let has_traces = self.runs.iter().any(|run| !run.hosts.is_empty());
        let alone = self.runs.iter().filter(move |run| has_traces && run.hosts.is_empty());
        let profiles = alone.flat_map(|run| run.memory.iter().copied());
        profiles.filter(|&file| kind_of(files, file) == Some(FileKind::MemoryProfile))
    }
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedRun {
    /// Name of the run's folder, or name of the run's file without suffixes.
    pub name: String,
    /// The file to read for each host.
    pub hosts: Vec<HostFile>,
    /// Files of compiled programs. If a folder has programs but no trace, the programs form a run without hosts.
    pub programs: Vec<usize>,
    /// Device memory profiles, sorted by name. A run with hosts has the first and the last profile. A run without hosts
    /// and programs has one profile, or one text of an out-of-memory error.
    pub memory: Vec<usize>,
    /// Files that are not read because they repeat a file in `hosts`.
    pub repeated: Vec<Repeated>,
    /// Model configurations of the run. Later configurations override earlier ones.
    pub sidecars: Vec<usize>,
}

/// The file of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFile {
    /// Index of the file.
    pub file: usize,
    /// Name of the host, taken from the file's name without suffixes.
    pub host: String,
}

/// A file that is not read because another file contains the same events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Index of the file.
    pub file: usize,
    /// Index of the file that is read instead.
    pub instead: usize,
}

/// A file that does not belong to any run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Index of the file.
    pub file: usize,
    /// Reason why the file is not read, as a sentence.
    pub reason: String,
}

/// Plans the runs of `files`. The order of `files` affects only the order of the runs.
pub fn plan(files: &[Candidate<'_>]) -> Plan {
    let mut plan = Plan::default();
    // Traces of each host by run key, and the keys in the order of their first file.
    let mut groups: BTreeMap<String, RunTraces> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    for (file, candidate) in files.iter().enumerate() {
        match candidate.kind {
            FileKind::XPlane | FileKind::TraceJson | FileKind::UnifiedProfile | FileKind::LakeTrends => {
                let place = TracePlace::of(candidate);
                if !groups.contains_key(&place.run) {
                    order.push(place.run.clone());
                }
                let group = groups.entry(place.run).or_default();
                group.name = place.name;
                group.hosts.entry(place.host).or_default().push(file);
            }
            FileKind::Archive => plan.archives.push(file),
            FileKind::ModelConfig | FileKind::Program | FileKind::MemoryProfile | FileKind::MemoryError => {}
            FileKind::Unknown => plan.ignored.push(Ignored { file, reason: unknown_reason(candidate.path) }),
        }
    }
    merge_perfetto_copies(files, &mut groups);
    for key in order {
        let Some(group) = groups.remove(&key) else { continue };
        plan.runs.push(group.into_run(files));
    }
    add_programs(files, &mut plan);
    memory::add(files, &mut plan);
    assign_sidecars(files, &mut plan);
    plan
}

/// Adds a run for each folder with compiled programs. Skips the copies that XProf writes next to a profile, because
/// they repeat the profile's programs.
fn add_programs(files: &[Candidate<'_>], plan: &mut Plan) {
    let is_program = |file: &usize| kind_of(files, *file) == Some(FileKind::Program);
    let xplanes = files.iter().filter(|file| file.kind == FileKind::XPlane);
    let profiled: BTreeSet<&str> = xplanes.filter_map(|file| run_folder(file.path)).collect();
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for file in (0..files.len()).filter(is_program) {
        let Some(path) = files.get(file).map(|file| file.path) else { continue };
        if run_folder(path).is_some_and(|folder| profiled.contains(folder)) {
            let reason = cache_reason(path).unwrap_or(PROGRAM_OF_PROFILE).to_owned();
            plan.ignored.push(Ignored { file, reason });
            continue;
        }
        let of_folder = *folders.entry(folder(path)).or_insert_with(|| {
            let name = if folder(path).is_empty() { stem(path) } else { folder(path) };
            plan.runs.push(PlannedRun { name: file_name(name).to_owned(), ..PlannedRun::default() });
            plan.runs.len() - 1
        });
        if let Some(run) = plan.runs.get_mut(of_folder) {
            run.programs.push(file);
        }
    }
}

/// Returns the reason for not reading a file that XProf derived from a profile. Returns `None` for any other file.
/// Detects such files by their names.
///
/// Callers use this function only for files that are not profiles.
pub fn cache_reason(path: &str) -> Option<&'static str> {
    let name = file_name(path);
    let cached = name.ends_with(".hlo_proto.pb")
        || name.contains(".op_stats")
        || name.contains(".SSTABLE")
        || name.ends_with(".tracetable")
        || name.ends_with(".ldb")
        || name.contains("cached_")
        || ["memory_profile.json", "op_profile.json", "overview_page.json"]
            .iter()
            .any(|derived| name.trim_end_matches(".gz").ends_with(derived))
        || path.split('/').any(|part| part.ends_with(".leveldb"));
    cached.then_some("XProf derived this file from the profile next to it. The profile contains all of its data.")
}

/// Reason for not reading device memory profiles in a folder of traces.
pub const UNCLEAR_MEMORY: &str = "These device memory profiles were not read, because they may belong to several runs or to \
                                  none. Move them into the folder of their run, or open them without a trace:";

/// Reason for not reading a compiled program next to the profile of its run.
const PROGRAM_OF_PROFILE: &str = "The profile next to this file contains its compiled programs.";

fn unknown_reason(path: &str) -> String {
    cache_reason(path).unwrap_or("crossprof does not recognise this file as a profile.").to_owned()
}

/// The traces of each host of one run.
#[derive(Default)]
struct RunTraces {
    name: String,
    hosts: BTreeMap<String, Vec<usize>>,
}

impl RunTraces {
    fn into_run(self, files: &[Candidate<'_>]) -> PlannedRun {
        let mut run = PlannedRun { name: self.name, ..PlannedRun::default() };
        let kind = |file: usize| files.get(file).map(|candidate| (candidate.kind, candidate.path));
        for (host, mut of_host) in self.hosts {
            // Sort the xplane first, then by path. The first file is read.
            sort::sort_by_key(&mut of_host, |&file| (kind(file), file));
            let mut of_host = of_host.into_iter();
            let Some(read) = of_host.next() else { continue };
            run.repeated.extend(of_host.map(|file| Repeated { file, instead: read }));
            let host = file_name(&host).to_owned();
            run.hosts.push(HostFile { file: read, host });
        }
        run
    }
}

/// The run and the host that a trace belongs to.
struct TracePlace {
    /// Key of the trace's run: the folder, or the folder and the file name without suffixes.
    run: String,
    /// Name of the trace's run.
    name: String,
    /// Key of the trace's host among the hosts of the run.
    host: String,
}

impl TracePlace {
    fn of(candidate: &Candidate<'_>) -> TracePlace {
        let stem = stem(candidate.path);
        if matches!(candidate.kind, FileKind::UnifiedProfile | FileKind::LakeTrends) {
            // A result is a separate run, even in a run's folder.
            return TracePlace {
                run: candidate.path.to_owned(),
                name: file_name(stem).to_owned(),
                host: stem.to_owned(),
            };
        }
        match run_folder(candidate.path) {
            Some(folder) => TracePlace {
                run: folder.to_owned(),
                name: file_name(folder).to_owned(),
                host: stem.get(folder.len() + 1..).unwrap_or(stem).to_owned(),
            },
            None => TracePlace { run: stem.to_owned(), name: file_name(stem).to_owned(), host: stem.to_owned() },
        }
    }
}

/// Returns the folder of the run that a path belongs to: `.../plugins/profile/<run>`, or a folder that is named after
/// the time of the capture (`2026_01_05_10_00_00`). A path has the second form if the user dropped only the run's
/// folder.
pub fn run_folder(path: &str) -> Option<&str> {
    let folders = path.rfind('/').and_then(|end| path.get(..end))?;
    let mut end = 0;
    let (mut two_up, mut one_up) = ("", "");
    for part in folders.split('/') {
        end += part.len();
        if (two_up == "plugins" && one_up == "profile" && !part.is_empty()) || is_capture_time(part) {
            return path.get(..end);
        }
        end += 1;
        (two_up, one_up) = (one_up, part);
    }
    None
}

/// Returns the folder in the path that is named after the time of a capture. If these names are sorted as text, they
/// are sorted by time.
pub fn capture_time(path: &str) -> Option<&str> {
    path.split('/').rfind(|part| is_capture_time(part))
}

/// Returns true for `YYYY_MM_DD_HH_MM_SS`, with or without a suffix.
fn is_capture_time(name: &str) -> bool {
    let pattern = b"dddd_dd_dd_dd_dd_dd";
    name.len() >= pattern.len()
        && name
            .bytes()
            .zip(pattern)
            .all(|(byte, &want)| if want == b'd' { byte.is_ascii_digit() } else { byte == want })
}

/// Marks each `perfetto_trace.json.gz` as a copy of another trace in the same folder. JAX writes this file in addition
/// to `<host>.trace.json.gz`. If the folder has no other trace, this file is a separate run.
fn merge_perfetto_copies(files: &[Candidate<'_>], groups: &mut BTreeMap<String, RunTraces>) {
    let traces =
        files.iter().enumerate().filter(|(_, file)| matches!(file.kind, FileKind::XPlane | FileKind::TraceJson));
    // The trace to read in each folder, and the copies.
    let mut originals: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let mut copies: Vec<(usize, &str)> = Vec::new();
    for (index, file) in traces {
        let of_folder = folder(file.path);
        if file_name(stem(file.path)) == "perfetto_trace" {
            copies.push((index, of_folder));
        } else if file.path.contains(".trace.json") || file.path.contains(".xplane.pb") {
            let first = originals.entry(of_folder).or_insert((file.path, index));
            *first = (*first).min((file.path, index));
        }
    }
    // Each copy, and the file that it repeats.
    let copies: BTreeMap<usize, usize> = copies
        .iter()
        .filter_map(|&(copy, folder)| originals.get(folder).map(|&(_, original)| (copy, original)))
        .collect();
    if copies.is_empty() {
        return;
    }
    let mut of_original: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (&copy, &original) in &copies {
        of_original.entry(original).or_default().push(copy);
    }
    for of_host in groups.values_mut().flat_map(|group| group.hosts.values_mut()) {
        of_host.retain(|file| !copies.contains_key(file));
        let repeating: Vec<usize> =
            of_host.iter().filter_map(|file| of_original.get(file)).flatten().copied().collect();
        of_host.extend(repeating);
    }
    groups.values_mut().for_each(|group| group.hosts.retain(|_, of_host| !of_host.is_empty()));
    groups.retain(|_, group| !group.hosts.is_empty());
}

/// Maximum number of model configurations that a run uses from one folder. If there are more, the last ones are used.
/// Every run below a folder lists the configurations of the folder, so thousands of runs and configurations would give
/// millions of entries.
const MAX_SIDECARS: usize = 16;

/// Assigns each model configuration to the runs that have a file in or below the configuration's folder. If there are
/// no such runs, the configuration applies to all runs. The configuration in the deepest folder takes precedence.
/// Within a folder, `crossprof.json` takes precedence over `config.json`.
fn assign_sidecars(files: &[Candidate<'_>], plan: &mut Plan) {
    let mut sidecars: Vec<usize> =
        (0..files.len()).filter(|&i| kind_of(files, i) == Some(FileKind::ModelConfig)).collect();
    sort::sort_by_key(&mut sidecars, |&i| files.get(i).map(|f| (folder(f.path).split('/').count(), f.path)));
    let folder_of = |sidecar: usize| files.get(sidecar).map_or("", |file| folder(file.path));
    let folders: BTreeSet<&str> = sidecars.iter().map(|&sidecar| folder_of(sidecar)).collect();
    let below = runs_below(files, plan, &folders);
    let mut without_runs = 0;
    // Configurations of one folder are adjacent and belong to the same runs.
    for together in sidecars.chunk_by(|&a, &b| folder_of(a) == folder_of(b)) {
        let together = together.get(together.len().saturating_sub(MAX_SIDECARS)..).unwrap_or_default();
        let Some(folder) = together.first().map(|&sidecar| folder_of(sidecar)) else { continue };
        match below.get(folder) {
            Some(runs) => {
                for &run in runs {
                    if let Some(run) = plan.runs.get_mut(run) {
                        run.sidecars.extend(together);
                    }
                }
            }
            None if without_runs < MAX_SIDECARS => {
                without_runs += together.len();
                plan.runs.iter_mut().for_each(|run| run.sidecars.extend(together));
            }
            None => {}
        }
    }
}

/// For each folder, returns the runs that have a file in or below it. The parent folders of each file are visited only
/// once, because thousands of runs may have one configuration each.
fn runs_below<'a>(files: &[Candidate<'a>], plan: &Plan, folders: &BTreeSet<&'a str>) -> BTreeMap<&'a str, Vec<usize>> {
    // `..` contains every relative path that does not go up further.
    let upwards: Vec<&str> = folders.iter().copied().filter(|it| is_only_ups(it)).collect();
    let mut below: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, run) in plan.runs.iter().enumerate() {
        let read = run.hosts.iter().map(|host| host.file).chain(run.programs.iter().copied());
        for path in read.filter_map(|file| files.get(file)).map(|file| file.path) {
            let ancestors = std::iter::successors(Some(folder(path)), |it| (!it.is_empty()).then(|| folder(it)));
            let held = ancestors.filter_map(|it| folders.get(it).copied());
            let over = upwards.iter().copied().filter(|it| is_above(it, path));
            for folder in held.chain(over) {
                let runs = below.entry(folder).or_default();
                // The run's other files come directly after this one.
                if runs.last() != Some(&index) {
                    runs.push(index);
                }
            }
        }
    }
    below
}

fn kind_of(files: &[Candidate<'_>], file: usize) -> Option<FileKind> {
    files.get(file).map(|candidate| candidate.kind)
}

/// Returns true for a folder that consists only of `..`.
fn is_only_ups(folder: &str) -> bool {
    !folder.is_empty() && folder.split('/').all(|part| part == "..")
}

/// Returns true if `ups`, a folder that consists only of `..`, contains `path`. It contains relative paths that do not
/// go up further.
fn is_above(ups: &str, path: &str) -> bool {
    let count = |path: &str| path.split('/').take_while(|part| *part == "..").count();
    !path.starts_with('/') && count(path) <= count(ups)
}

fn folder(path: &str) -> &str {
    path.rfind('/').and_then(|end| path.get(..end)).unwrap_or("")
}

/// Returns the last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the path without the suffixes of profile files.
fn stem(path: &str) -> &str {
    let path = path.strip_suffix(".gz").unwrap_or(path);
    [".xplane.pb", ".trace.json", ".json", ".pb", ".trace"]
        .iter()
        .find_map(|suffix| path.strip_suffix(suffix))
        .filter(|stem| !file_name(stem).is_empty())
        .unwrap_or(path)
}

/// Returns true if a file is named like a profile. If such a file cannot be read, users expect to see the reason.
pub fn is_called_profile(path: &str) -> bool {
    [".xplane.pb", ".trace.json", ".trace.json.gz"].iter().any(|suffix| path.ends_with(suffix))
}

#[cfg(test)]
mod tests;
