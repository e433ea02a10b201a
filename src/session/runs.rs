//! Turns finished files into runs: the plan decides which files belong together, then hosts are merged and reports are made.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::intake::{Content, Member};
use super::programs;
use base::{Ps, Severity, Warning, WarningCode};
use document::Page;
use input::plan::{self, Candidate, FileKind, Plan, PlannedRun};
use input::{NamedProfile, Sidecar};
use memory::Recorded;
use metrics::{Context, Examined};
use pages::memory::KeptMemory;
use pages::{self, PageQuery, Source, View};
use report::{SourceFile, StepTiming, UnifiedProfile};
use run::{EarlierHeapProfile, Run, Settings};
use table::{Query, Rows};
use tables::{self, AreaError, AreaQuery, TableName};
use timeline::{StepPicture, Timeline};
use trace::{SourceFormat, StatValue, Trace, merge};

/// Largest number of files that one warning names.
const MOST_NAMED: usize = 10;

/// A run, before its report is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// Index of the run, the argument of [`super::Session::report`].
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

/// A run of the session.
pub(super) enum LoadedRun {
    Traced(Box<Traced>),
    Imported(Box<Imported>),
}

/// A run that was read from traces, with its cached analysis.
pub(super) struct Traced {
    run: Run,
    /// Set on the first request.
    cache: Option<Box<dyn AnyCache>>,
}

/// Cached results of a run.
#[derive(Default)]
struct Cache {
    /// Latest analysis and its settings.
    examined: Option<(Settings, Examined)>,
    timeline: Timeline,
    /// Memory data of the run, computed on the first request.
    memory: OnceCell<KeptMemory>,
}

/// Hides [`Cache`] behind a trait object, so that a program that never analyses (such as the page's reader) does not link
/// the analysis code, not even its destructors.
trait AnyCache: Send {
    fn cache(&mut self) -> &mut Cache;
}

impl AnyCache for Cache {
    fn cache(&mut self) -> &mut Cache {
        self
    }
}

impl Traced {
    pub(super) fn new(run: Run) -> Traced {
        Traced { run, cache: None }
    }

    /// Returns the run as it was read, without the changes that an analysis made to its events.
    pub(super) fn into_run(self) -> Run {
        self.run.as_read()
    }

    /// Returns the analysis with these settings. It is cached until the settings change.
    fn analyse(&mut self, settings: &Settings) -> Context<'_> {
        self.timeline(settings).0
    }

    /// Returns the analysis with these settings, and the timeline of the run.
    fn timeline(&mut self, settings: &Settings) -> (Context<'_>, &Timeline) {
        self.run.complete_cpu_ops();
        let cache = self.cache.get_or_insert_with(|| Box::new(Cache::default())).cache();
        let known = cache.examined.take().filter(|(known, _)| known == settings);
        let known = known.unwrap_or_else(|| (settings.clone(), insight::examine(&self.run, settings)));
        let (_, examined) = cache.examined.insert(known);
        (examined.context(&self.run), &cache.timeline)
    }

    /// Returns the memory data of the run.
    fn memory(&mut self, settings: &Settings) -> &KeptMemory {
        let is_known = self.cache.as_mut().is_some_and(|kept| kept.cache().memory.get().is_some());
        // A trace without planes needs no analysis, which costs as much as reading its programs for the first time.
        let analysed = (!is_known && !self.run.trace.planes.is_empty()).then(|| {
            let context = self.analyse(settings);
            let start = context.analysis.devices.capture.map(|capture| capture.start);
            let metadata = &context.profile.metadata;
            let device_memory_bytes = metadata.environment.get("memory_size").and_then(|size| size.parse().ok());
            (start, metadata.platform.clone(), device_memory_bytes)
        });
        let run = &self.run;
        let cache = self.cache.get_or_insert_with(|| Box::new(Cache::default())).cache();
        cache.memory.get_or_init(|| {
            let (start, platform, device_memory_bytes) = analysed.unwrap_or_default();
            let earlier = run.earlier_heap_profile.as_ref().map(|it| (it.name.clone(), it.bytes.clone()));
            let mut recorded = Recorded::new(&run.trace, start.unwrap_or(Ps::ZERO))
                .with_heap_profile(run.heap_profile.clone(), earlier)
                .with_error(run.memory_error.as_deref());
            (recorded.platform, recorded.device_memory_bytes) = (platform, device_memory_bytes);
            KeptMemory::new(recorded)
        })
    }
}

/// An imported result. The document itself is its report.
pub(super) struct Imported {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) profile: UnifiedProfile,
    pub(super) sidecar: Sidecar,
    /// Files from which `sidecar` was read.
    pub(super) sidecar_files: Vec<SourceFile>,
    pub(super) warnings: Vec<Warning>,
    /// Picture of the median step as text, if the document contains one.
    pub(super) median_step: Option<String>,
}

impl LoadedRun {
    /// Returns the warnings about the run's files.
    fn warnings(&mut self) -> &mut Vec<Warning> {
        match self {
            LoadedRun::Traced(traced) => &mut traced.run.warnings,
            LoadedRun::Imported(run) => &mut run.warnings,
        }
    }

    pub(super) fn summary(&self, index: usize) -> RunSummary {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        match self {
            LoadedRun::Traced(traced) => {
                let run = &traced.run;
                RunSummary {
                    index,
                    name: run.name.clone(),
                    files: run.files.iter().map(|file| file.path.clone()).collect(),
                    events: run.trace.events.len() as u64,
                    imported: false,
                }
            }
            LoadedRun::Imported(run) => RunSummary {
                index,
                name: run.name.clone(),
                files: vec![run.file.clone()],
                events: run.profile.metadata.num_events.unwrap_or(0),
                imported: true,
            },
        }
    }

    /// Returns the capture time in ISO 8601.
    pub(super) fn captured_at(&self) -> Option<String> {
        match self {
            LoadedRun::Traced(traced) => metrics::captured_at(&traced.run),
            LoadedRun::Imported(run) => run.profile.metadata.timestamp.clone(),
        }
    }

    pub(super) fn report(&mut self, settings: &Settings) -> UnifiedProfile {
        match self {
            LoadedRun::Traced(traced) => traced.analyse(settings).profile.copied(),
            LoadedRun::Imported(run) => run.report(settings),
        }
    }

    /// Calls `look` with a table and returns the result, without building the whole table. An imported result has only the
    /// tables that its document contains.
    pub(super) fn rows<T>(
        &mut self,
        settings: &Settings,
        name: TableName,
        variant: &str,
        area: &AreaQuery,
        look: impl FnOnce(&dyn Rows) -> T,
    ) -> Result<T, AreaError> {
        match self {
            LoadedRun::Traced(traced) if name.is_of_memory() => {
                let memory = traced.memory(settings);
                memory.rows(name, variant, look).ok_or(AreaError::NotOfMemory)
            }
            LoadedRun::Traced(traced) => {
                let (context, timeline) = traced.timeline(settings);
                Ok(look(&*tables::rows_of_area(&context, timeline, area, name, variant)?))
            }
            LoadedRun::Imported(run) => {
                let rows = tables::of_report(&run.report(settings), name);
                Ok(look(&rows.unwrap_or_else(|| tables::empty(name))))
            }
        }
    }

    /// Calls `look` with the events of a run and returns the result. `None` for an imported result, which has no events.
    pub(super) fn timeline<T>(
        &mut self,
        settings: &Settings,
        look: impl FnOnce(Context<'_>, &Timeline) -> T,
    ) -> Option<T> {
        match self {
            LoadedRun::Traced(traced) => {
                let (context, timeline) = traced.timeline(settings);
                Some(look(context, timeline))
            }
            LoadedRun::Imported(_) => None,
        }
    }

    /// Returns the memory data of the run. `None` for an imported result.
    pub(super) fn memory(&mut self, settings: &Settings) -> Option<&Recorded> {
        match self {
            LoadedRun::Traced(traced) => Some(traced.memory(settings).recorded()),
            LoadedRun::Imported(_) => None,
        }
    }

    /// Returns the picture of the median step. For an imported result it comes from the document.
    pub(super) fn median_step(&mut self, settings: &Settings) -> Option<String> {
        let of_events = |context: Context<'_>, timeline: &Timeline| StepPicture::of_median_step(context, timeline);
        match self {
            LoadedRun::Traced(_) => self.timeline(settings, of_events)?.map(|picture| picture.to_string()),
            LoadedRun::Imported(run) => run.median_step.clone(),
        }
    }

    /// Returns the details of a row. For an imported result they come from the document.
    pub(super) fn row(
        &mut self,
        settings: &Settings,
        name: TableName,
        variant: &str,
        asked: &Query,
        index: u32,
    ) -> Page {
        match self {
            LoadedRun::Traced(traced) => {
                pages::row(Source::Trace(traced.analyse(settings)), name, variant, asked, index)
            }
            LoadedRun::Imported(run) => pages::row(Source::Profile(&run.report(settings)), name, variant, asked, index),
        }
    }

    pub(super) fn page(&mut self, settings: &Settings, view: View, asked: &PageQuery) -> Page {
        match self {
            LoadedRun::Traced(traced) if view == View::Memory => {
                pages::memory::page(Some(traced.memory(settings)), asked)
            }
            LoadedRun::Traced(traced) => pages::page(Source::Trace(traced.analyse(settings)), view, asked),
            LoadedRun::Imported(run) => pages::page(Source::Profile(&run.report(settings)), view, asked),
        }
    }
}

impl Imported {
    /// Returns the document unchanged, so that exporting an import gives the same document. Only values that the user or a
    /// sidecar gives are merged in, and the numbers that depend on them are recomputed.
    fn report(&self, settings: &Settings) -> UnifiedProfile {
        let mut profile = self.profile.copied();
        // The document's own model configuration takes precedence over that of a sidecar file next to it.
        let model = self.sidecar.model.overridden_by(&profile.model_config).overridden_by(&settings.model);
        let timing = &mut profile.step_timing;
        let steps = settings.num_steps.filter(|&steps| steps > 0 && steps != timing.num_steps);
        if let Some(steps) = steps {
            let average = timing.total_time_us / steps as f64;
            // The other fields need the times of single steps, which a document does not contain.
            *timing = StepTiming {
                num_steps: steps,
                avg_step_time_us: Some(average),
                step_count_source: "user".to_owned(),
                total_time_us: timing.total_time_us,
                total_kernels: timing.total_kernels,
                step_marker: timing.step_marker.take(),
                ..StepTiming::default()
            };
            profile.throughput.all_devices_steps_per_sec = None;
            if let Some(busy) = &mut profile.compute_utilization {
                // The utilization stays the same, but a step is now a different fraction of the time.
                busy.kernel_time_us = average * busy.compute_util_percent / 100.0;
                busy.overhead_time_us = average - busy.kernel_time_us;
            }
        }
        if model != profile.model_config || steps.is_some() {
            let all_devices = profile.throughput.all_devices_steps_per_sec;
            profile.throughput = metrics::throughput(timing, &model, profile.metadata.num_devices, all_devices);
            profile.parameter_counts = metrics::parameter_counts(&model).or(profile.parameter_counts.take());
            profile.model_config = model;
            profile.provenance.extend(self.sidecar_files.iter().chain(&settings.model_files).cloned());
        }
        if let Some(device) = settings.device.as_deref().or(self.sidecar.device.as_deref()) {
            metrics::name_device(&mut profile.metadata, device);
        }
        profile.warnings.extend(self.warnings.iter().cloned());
        profile
    }
}

/// Builds runs from all members that are not in a run yet. Sidecars stay, because they also apply to later files.
pub(super) fn build(members: &mut Vec<Member>) -> Vec<LoadedRun> {
    let unread = unread_memory(members);
    let plan = plan_members(members);
    let mut runs: Vec<LoadedRun> = plan.runs.iter().flat_map(|planned| build_runs(members, planned)).collect();
    let first = runs.first_mut().map(LoadedRun::warnings);
    if let Some((warnings, warning)) = first.zip(unread) {
        warnings.push(warning);
    }
    link_heap_profiles(&mut runs);
    members.retain(|member| matches!(member.content, Content::Model(_)));
    runs
}

/// Warns about device memory profiles that the caller left out, because they do not show to which run they belong.
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

/// Links each file with a device memory profile to the one before it. A traced run already has its own two profiles.
pub(super) fn link_heap_profiles<'r>(runs: impl IntoIterator<Item = &'r mut LoadedRun>) {
    let mut earlier = None;
    for run in runs {
        let LoadedRun::Traced(traced) = run else { continue };
        let is_of_memory_alone = traced.run.trace.format.is_none();
        if let Some(bytes) = traced.run.heap_profile.clone().filter(|_| is_of_memory_alone) {
            let own = EarlierHeapProfile { name: traced.run.name.clone(), bytes };
            traced.run.earlier_heap_profile = earlier.replace(own);
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

/// Builds one run from the traces of its hosts, or the runs of a document with earlier results. Empty if nothing could be
/// read.
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
            Content::Profiles(profiles) => {
                let (file, warnings) = (member.path.clone(), std::mem::take(&mut run.warnings));
                let sidecar = sidecars(members, planned);
                return imported_runs(profiles, &planned.name, &file, &sidecar, &warnings);
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
        // Every JAX capture has a trace JSON next to its xplane file. It is worth a mention only if the xplane file is
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
    if hosts.len() > 1 {
        hosts.iter_mut().for_each(|(_, trace)| set_to_the_clock_of_all(trace));
    }
    run.trace = if hosts.is_empty() { programs } else { merge(hosts) };
    let sidecar = embedded_sidecar(&run.trace).unwrap_or_default().overridden_by(&sidecar);
    Sidecar { model: run.model, device: run.device, tracing: run.tracing, capture_notes: run.capture_notes, .. } =
        sidecar;
    vec![LoadedRun::Traced(Box::new(Traced::new(run)))]
}

/// Adds the device memory profiles of a planned run, or the text of an error. The last profile is the run's own, and the first
/// one is the earlier one that it is compared with.
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

/// Returns the runs of one document. Runs without a name get the name of the file, with their position if there are several.
fn imported_runs(
    profiles: Vec<NamedProfile>,
    file_name: &str,
    file: &str,
    (sidecar, sidecar_files): &(Sidecar, Vec<SourceFile>),
    warnings: &[Warning],
) -> Vec<LoadedRun> {
    let several = profiles.len() > 1;
    let named = profiles.into_iter().enumerate().map(|(index, NamedProfile { name, mut profile, median_step })| {
        let of_file = || if several { format!("{file_name} {}", index + 1) } else { file_name.to_owned() };
        let name = name.unwrap_or_else(of_file);
        // A document without a name is named after its file. Without a trace path, the file is the trace path.
        let metadata = &mut profile.metadata;
        metadata.run_name.get_or_insert_with(|| name.clone());
        if metadata.trace_file.is_empty() {
            metadata.trace_file = file.to_owned();
        }
        LoadedRun::Imported(Box::new(Imported {
            name,
            file: file.to_owned(),
            profile,
            sidecar: sidecar.clone(),
            sidecar_files: sidecar_files.clone(),
            warnings: warnings.to_vec(),
            median_step,
        }))
    });
    named.collect()
}

/// Warns about hosts whose files end before the plane with the capture times. The profiler writes this plane last, and the
/// other hosts of the run have it. Such a file is a complete message, so the file itself does not show that it was cut. A
/// run with one host proves nothing, because older profilers do not write this plane.
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
            "The file of host {host} lacks the plane with the times of the capture, which the files of the other hosts end \
             with: its last bytes are missing, and with them any planes that stood there."
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
            format!("This trace JSON was not read: {name} of the same host holds the same events and more.")
        }
        _ => format!("This file was not read: {name} holds the same events."),
    };
    Warning::new(WarningCode::RepeatedFileNotRead, message).with_file(&unread.path)
}

/// Returns the sidecar that the capture kit embeds in the capture, for files that are copied without their sidecar file.
fn embedded_sidecar(trace: &Trace) -> Option<Sidecar> {
    let mut stats = trace.planes.iter().flat_map(|plane| &plane.stats);
    let written = stats.find_map(|&(name, value)| match value {
        StatValue::Text(text) if trace.text(name) == metrics::EMBEDDED_SIDECAR => Some(trace.text(text)),
        _ => None,
    })?;
    input::read_sidecar(written.as_bytes()).ok()
}

/// Shifts the capture times of a host to the clock of the job's first process, if the capture kit measured a difference.
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
