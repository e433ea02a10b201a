//! Turns finished files into runs. The plan decides which files belong to one run. The hosts of a run are then merged,
//! and its report is made.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::imported::{self, Imported};
use super::intake::{Content, Member};
use super::programs;
use base::{Severity, Warning, WarningCode};
use input::Sidecar;
use input::plan::{self, Candidate, FileKind, Plan, PlannedRun};
use metrics::Examined;
use pages::Source;
use pages::memory::KeptMemory;
use report::{LakeTrends, SourceFile, UnifiedProfile};
use run::{EarlierHeapProfile, Run, Settings};
use timeline::Timeline;
use trace::{SourceFormat, StatValue, Trace, merge};

/// Largest number of files that one warning names.
const MOST_NAMED: usize = 10;

/// Summary of a run, which is available before the run's report is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// Index of the run, which [`super::Session::report`] takes as its argument.
    pub index: u32,
    /// Name of the profile folder, or of the file if there is no such folder.
    pub name: String,
    /// Files of the run. The main file comes first.
    pub files: Vec<String>,
    /// Number of events in the run.
    pub events: u64,
    /// True for an imported result.
    pub imported: bool,
}

/// A run of the session. A run that was imported from an earlier result has no events.
pub(super) struct LoadedRun {
    run: Run,
    imported: Option<Box<Imported>>,
    /// Cached results, which are created by the first request.
    cache: Option<Box<dyn AnyCache>>,
}

/// Cached results of a run.
#[derive(Default)]
struct Cache {
    /// Settings with which `examined` and `report` were computed.
    settings: Settings,
    /// Latest analysis of the events.
    examined: Option<Examined>,
    /// Latest report of an imported run.
    report: Option<UnifiedProfile>,
    /// Trends of a lake, or the reason why they cannot be read, and the warnings about them.
    trends: Option<(Result<LakeTrends, String>, Vec<Warning>)>,
    timeline: Timeline,
    /// Memory data of the run, computed on the first request.
    memory: OnceCell<KeptMemory>,
}

/// Hides [`Cache`] behind a trait object. A program that never analyses runs, such as the page's reader, therefore
/// links neither the analysis code nor its destructors.
trait AnyCache: Send {
    fn cache(&mut self) -> &mut Cache;
}

impl AnyCache for Cache {
    fn cache(&mut self) -> &mut Cache {
        self
    }
}

impl LoadedRun {
    pub(super) fn new(run: Run, imported: Option<Imported>) -> LoadedRun {
        LoadedRun { run, imported: imported.map(Box::new), cache: None }
    }

    /// Returns true if the run was imported from an earlier result.
    pub(super) fn is_imported(&self) -> bool {
        self.imported.is_some()
    }

    /// Returns the run as it was read, without changes that an analysis made to the events. If the run was imported
    /// from an earlier result, also returns that result.
    pub(super) fn into_parts(self) -> (Run, Option<Box<Imported>>) {
        (self.run.as_read(), self.imported)
    }

    /// Returns true if the run was imported from the trends of a lake.
    pub(super) fn is_of_lake(&self) -> bool {
        self.imported.as_ref().is_some_and(|imported| imported.trends.is_some())
    }

    pub(super) fn summary(&self, index: usize) -> RunSummary {
        let (run, imported) = (&self.run, self.imported.as_deref());
        let files = || run.files.iter().map(|file| file.path.clone()).collect();
        RunSummary {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            name: run.name.clone(),
            files: imported.map_or_else(files, |imported| vec![imported.file.clone()]),
            events: imported
                .map_or(run.trace.events.len() as u64, |imported| imported.profile.metadata.num_events.unwrap_or(0)),
            imported: imported.is_some(),
        }
    }

    /// Returns the capture time in ISO 8601.
    pub(super) fn captured_at(&self) -> Option<String> {
        let recorded = self.imported.as_ref().map(|imported| imported.profile.metadata.timestamp.clone());
        recorded.unwrap_or_else(|| metrics::captured_at(&self.run))
    }

    /// Returns the parts of the run from which pages and tables are made, analysed with these settings. Only this
    /// function treats imported runs differently. The results of the analysis are cached until the settings change.
    pub(super) fn source(&mut self, settings: &Settings) -> Source<'_> {
        let cache = self.cache.get_or_insert_with(|| Box::new(Cache::default())).cache();
        if cache.settings != *settings {
            (cache.examined, cache.report) = (None, None);
            cache.settings = settings.clone();
        }
        if let Some(imported) = &self.imported {
            let Cache { report, trends, .. } = cache;
            let read = |text: &Vec<u8>| match input::read_lake_trends(text, &imported.file) {
                Ok((trends, warnings)) => (Ok(trends), warnings),
                Err(error) => (Err(error.to_string()), Vec::new()),
            };
            if trends.is_none() {
                *trends = imported.trends.as_ref().map(read);
            }
            let trends = trends.as_ref();
            let report = report.get_or_insert_with(|| {
                let mut profile = imported.report(&self.run, settings);
                profile.warnings.extend(trends.iter().flat_map(|(_, warnings)| warnings.iter().cloned()));
                profile
            });
            let source = Source::of_profile(report).with_median_step(imported.median_step.as_deref());
            return source.with_trends(trends.map(|(trends, _)| trends.as_ref().map_err(String::as_str)));
        }
        self.run.complete();
        let examined = cache.examined.get_or_insert_with(|| insight::examine(&self.run, settings));
        Source::of_events(examined.context(&self.run)).with_timeline(&cache.timeline).with_memory(&cache.memory)
    }
}

/// Builds runs from all members that do not belong to a run yet. Keeps sidecars, because they also apply to later
/// files.
pub(super) fn build(members: &mut Vec<Member>) -> Vec<LoadedRun> {
    let unread = unread_memory(members);
    let plan = plan_members(members);
    let mut runs: Vec<LoadedRun> = plan.runs.iter().flat_map(|planned| build_runs(members, planned)).collect();
    let first = runs.first_mut().map(|first| &mut first.run.warnings);
    if let Some((warnings, warning)) = first.zip(unread) {
        warnings.push(warning);
    }
    link_heap_profiles(&mut runs);
    members.retain(|member| matches!(member.content, Content::Model(_)));
    runs
}

/// Warns about device memory profiles that the caller left out, because it is unclear to which run they belong.
fn unread_memory(members: &[Member]) -> Option<Warning> {
    let is_unread =
        |member: &&Member| member.kind == FileKind::MemoryProfile && matches!(member.content, Content::NotRead);
    let mut unread = members.iter().filter(is_unread).map(|member| member.path.as_str());
    let named: Vec<&str> = unread.by_ref().take(MOST_NAMED).collect();
    let more = match unread.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| {
        let message = format!("{} {}{more}.", plan::UNCLEAR_MEMORY, named.join(", "));
        Warning::new(WarningCode::MemoryProfilesNotRead, message)
    })
}

/// Links each run that consists of a device memory profile to the previous such run. Skips runs with a trace, because
/// such a run has its own two profiles.
pub(super) fn link_heap_profiles<'r>(runs: impl IntoIterator<Item = &'r mut LoadedRun>) {
    let mut earlier = None;
    for run in runs {
        let run = &mut run.run;
        let is_of_memory_alone = run.trace.format.is_none();
        if let Some(bytes) = run.heap_profile.clone().filter(|_| is_of_memory_alone) {
            let own = EarlierHeapProfile { name: run.name.clone(), bytes };
            run.earlier_heap_profile = earlier.replace(own);
        }
    }
}

/// See [`super::Session::wanted`].
pub(super) fn wanted(members: &mut Vec<Member>) -> Vec<String> {
    let hosts: BTreeSet<usize> =
        plan_members(members).runs.iter().flat_map(|run| &run.hosts).map(|host| host.file).collect();
    let is_wanted =
        |index: usize, member: &Member| matches!(member.content, Content::NotRead) && hosts.contains(&index);
    let paths = members.iter().enumerate().filter(|(i, m)| is_wanted(*i, m)).map(|(_, m)| m.path.clone()).collect();
    let mut index = 0;
    members.retain(|member| {
        index += 1;
        !is_wanted(index - 1, member)
    });
    paths
}

fn plan_members(members: &[Member]) -> Plan {
    let candidates: Vec<Candidate<'_>> =
        members.iter().map(|member| Candidate { path: &member.path, kind: member.kind }).collect();
    plan::plan(&candidates)
}

/// Builds one run from the traces of its hosts, or the runs of a document with earlier results. The list is empty if no
/// member could be read.
fn build_runs(members: &mut [Member], planned: &PlannedRun) -> Vec<LoadedRun> {
    let mut run = Run { name: planned.name.clone(), ..Run::default() };
    let mut hosts = Vec::new();
    for host in &planned.hosts {
        let Some(member) = members.get_mut(host.file) else { continue };
        run.warnings.append(&mut member.warnings);
        match std::mem::replace(&mut member.content, Content::Taken) {
            Content::Trace(trace) => {
                run.files.push(member.source_file(Some(trace.events.len() as u64)));
                hosts.push((host.host.clone(), *trace));
            }
            Content::Profiles(mut profiles) => {
                profiles.iter_mut().for_each(|it| imported::name_file_of_trends(it, member.source_file(None)));
                let (file, warnings) = (member.path.clone(), std::mem::take(&mut run.warnings));
                let sidecar = sidecars(members, planned);
                let runs = imported::runs(profiles, &planned.name, &file, &sidecar, &warnings).into_iter();
                return runs.map(|(run, imported)| LoadedRun::new(run, Some(imported))).collect();
            }
            _ => {}
        }
    }
    let programs = programs::take(members, planned, &mut run);
    add_memory(members, planned, &mut run);
    let is_of_memory = run.heap_profile.is_some() || run.memory_error.is_some();
    if hosts.is_empty() && programs.hlo.is_empty() && !is_of_memory {
        return vec![];
    }
    for repeated in &planned.repeated {
        let (Some(unread), Some(read)) = (members.get(repeated.file), members.get(repeated.instead)) else { continue };
        // Every JAX capture has a trace JSON next to its xplane file. The JSON is mentioned only if the xplane file is
        // damaged.
        let is_export = (unread.kind, read.kind) == (FileKind::TraceJson, FileKind::XPlane);
        let is_damaged = run.warnings.iter().any(|it| it.severity == Severity::Damage);
        if !is_export || is_damaged {
            run.warnings.push(repeated_note(unread, read));
        }
    }
    let (sidecar, files) = sidecars(members, planned);
    run.files.extend(files);
    run.warnings.extend(cut_between_planes(&hosts, &run.files));
    add_samples(&mut hosts, &sidecar);
    if hosts.len() > 1 {
        hosts.iter_mut().for_each(|(_, trace)| set_to_the_clock_of_all(trace));
    }
    run.trace = if hosts.is_empty() { programs } else { merge(hosts) };
    let sidecar = embedded_sidecar(&run.trace).unwrap_or_default().overridden_by(&sidecar);
    Sidecar { model: run.model, device: run.device, tracing: run.tracing, capture_notes: run.capture_notes, .. } =
        sidecar;
    vec![LoadedRun::new(run, None)]
}

/// Adds the device memory profiles of a planned run, or the text of an out-of-memory error. The last profile is treated
/// as the run's own profile, and is compared with the first.
fn add_memory(members: &mut [Member], planned: &PlannedRun, run: &mut Run) {
    let mut own_name = String::new();
    for &file in &planned.memory {
        let Some(member) = members.get_mut(file) else { continue };
        match std::mem::replace(&mut member.content, Content::Taken) {
            Content::MemoryProfile(bytes) => {
                let name = std::mem::replace(&mut own_name, plan::file_name(&member.path).to_owned());
                if let Some(bytes) = run.heap_profile.replace(bytes.into()) {
                    run.earlier_heap_profile = Some(EarlierHeapProfile { name, bytes });
                }
            }
            Content::MemoryError(text) => run.memory_error = Some(text.into()),
            _ => continue,
        }
        run.warnings.append(&mut member.warnings);
        run.files.push(member.source_file(None));
    }
}

/// Warns about hosts whose files end before the plane with the capture times. The profiler writes this plane last, and the
/// other hosts of the run have it. A file that ends between two planes is a complete message, so the file itself does
/// not show that it was cut. Runs with one host are not checked, because older profilers do not write this plane.
fn cut_between_planes(hosts: &[(String, Trace)], files: &[SourceFile]) -> Vec<Warning> {
    let is_whole = |trace: &Trace| trace.capture.start_unix_ns.is_some();
    let is_known_cut = |trace: &Trace| base::cut(&trace.warnings).is_some();
    let xplanes = || hosts.iter().zip(files).filter(|((_, trace), _)| trace.format == Some(SourceFormat::XPlane));
    if !xplanes().any(|((_, trace), _)| is_whole(trace)) {
        return Vec::new();
    }
    let cut = xplanes().filter(|((_, trace), _)| !is_whole(trace) && !is_known_cut(trace));
    let warning = |((host, _), file): (&(String, Trace), &SourceFile)| {
        let message = format!(
            "The file of host {host} does not end with the plane that records the times of the capture, as the files \
             of the other hosts do. Its last bytes are missing, and with them any planes that they contained."
        );
        Warning::new(WarningCode::XplaneTruncated, message)
            .with_remedy("Copy the file again from where the profiler wrote it.")
            .with_file(&file.path)
            .with_offset(file.size_bytes)
    };
    cut.map(warning).collect()
}

fn repeated_note(unread: &Member, read: &Member) -> Warning {
    let name = plan::file_name(&read.path);
    let message = match (unread.kind, read.kind) {
        (FileKind::TraceJson, FileKind::XPlane) => {
            format!("This trace JSON was not read: {name} of the same host contains the same events and more.")
        }
        _ => format!("This file was not read: {name} contains the same events."),
    };
    Warning::new(WarningCode::RepeatedFileNotRead, message).with_file(&unread.path)
}

/// Returns the sidecar that the capture kit embedded in the capture, for files that were copied without their sidecar file.
fn embedded_sidecar(trace: &Trace) -> Option<Sidecar> {
    let mut stats = trace.planes.iter().flat_map(|plane| &plane.stats);
    let written = stats.find_map(|&(name, value)| match value {
        StatValue::Text(text) if trace.text(name) == metrics::EMBEDDED_SIDECAR => Some(trace.text(text)),
        _ => None,
    })?;
    input::read_sidecar(written.as_bytes()).ok()
}

/// Adds the samples of power and clocks to the trace of each host. Each xplane file contains the samples of its own process.
/// The sidecar file contains the samples of only one process, so it is used only if the run has one host.
fn add_samples(hosts: &mut [(String, Trace)], sidecar: &Sidecar) {
    let is_alone = hosts.len() == 1;
    for (_, trace) in hosts {
        match embedded_sidecar(trace).filter(|embedded| !embedded.device_samples.is_empty()) {
            Some(embedded) => embedded.add_samples(trace),
            None if is_alone => sidecar.add_samples(trace),
            None => {}
        }
    }
}

/// Shifts the capture times of a host to the clock of the job's first process, if the capture kit measured a difference between
/// their clocks.
fn set_to_the_clock_of_all(trace: &mut Trace) {
    if let Some(ahead_ns) = embedded_sidecar(trace).and_then(|sidecar| sidecar.clock_ahead_ns) {
        trace.capture = trace.capture.by_clock_behind(ahead_ns);
    }
}

/// Returns the merged configuration of a run's sidecars, and their files.
fn sidecars(members: &[Member], planned: &PlannedRun) -> (Sidecar, Vec<SourceFile>) {
    let mut sidecar = Sidecar::default();
    let mut files = Vec::new();
    for member in planned.sidecars.iter().filter_map(|&sidecar| members.get(sidecar)) {
        if let Content::Model(given) = &member.content {
            sidecar = sidecar.overridden_by(given);
            files.push(member.source_file(None));
        }
    }
    (sidecar, files)
}
