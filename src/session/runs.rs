//! From finished files to runs: the plan decides what belongs together, hosts are merged, reports are made.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::intake::{Content, Member};
use super::programs;
use base::{Ps, Severity, Warning, WarningCode};
use input::plan::{self, Candidate, FileKind, Plan, PlannedRun};
use input::{NamedProfile, Sidecar};
use memory::Recorded;
use metrics::{Context, EarlierHeapProfile, Examined, Run, Settings};
use report::{SourceFile, StepTiming, UnifiedProfile};
use timeline::{StepPicture, Timeline};
use trace::{SourceFormat, StatValue, Trace, merge};
use view::pages::memory::KeptMemory;
use view::pages::{self, Page, PageQuery, Source, View};
use view::table::{Query, Rows};
use view::tables::{self, AreaQuery, TableName};

/// A run, before its report is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// What [`super::Session::report`] takes.
    pub index: u32,
    /// Name of the profile folder, else of the file.
    pub name: String,
    /// Files of the run, the main one first.
    pub files: Vec<String>,
    /// Number of the run's events.
    pub events: u64,
    /// True for an earlier result that was imported.
    pub imported: bool,
}

/// A run of the session.
pub(super) enum LoadedRun {
    Traced(Box<Traced>),
    Imported(Box<Imported>),
}

/// A run that was read from traces, with what was made of it.
pub(super) struct Traced {
    run: Run,
    /// Once somebody asked.
    answers: Option<Box<dyn Kept>>,
}

/// What was made of a run.
#[derive(Default)]
struct Answers {
    /// The latest analysis.
    examined: Option<(Settings, Examined)>,
    timeline: Timeline,
    /// What the run says of memory, once somebody asked.
    memory: OnceCell<KeptMemory>,
}

/// [`Answers`], of which a program that asks nothing, as the page's reader, links nothing: not even what frees them.
trait Kept: Send {
    fn answers(&mut self) -> &mut Answers;
}

impl Kept for Answers {
    fn answers(&mut self) -> &mut Answers {
        self
    }
}

impl Traced {
    pub(super) fn new(run: Run) -> Traced {
        Traced { run, answers: None }
    }

    /// The run as it was read, without what an analysis wrote into its events.
    pub(super) fn into_run(self) -> Run {
        self.run.as_read()
    }

    /// The analysis with these settings: made once, until others are given.
    fn analyse(&mut self, settings: &Settings) -> Context<'_> {
        self.timeline(settings).0
    }

    /// The analysis with these settings, and the timeline of the run.
    fn timeline(&mut self, settings: &Settings) -> (Context<'_>, &Timeline) {
        self.run.complete_cpu_ops();
        let answers = self.answers.get_or_insert_with(|| Box::new(Answers::default())).answers();
        let known = answers.examined.take().filter(|(known, _)| known == settings);
        let known = known.unwrap_or_else(|| (settings.clone(), insight::examine(&self.run, settings)));
        let (_, examined) = answers.examined.insert(known);
        (examined.context(&self.run), &answers.timeline)
    }

    /// What the run says of memory.
    fn memory(&mut self, settings: &Settings) -> &KeptMemory {
        let is_known = self.answers.as_mut().is_some_and(|kept| kept.answers().memory.get().is_some());
        // Without a plane nothing of it follows from an analysis, which takes as long as a first look at its programs.
        let analysed = (!is_known && !self.run.trace.planes.is_empty()).then(|| {
            let context = self.analyse(settings);
            let start = context.analysis.devices.capture.map(|capture| capture.start);
            let metadata = &context.profile.metadata;
            let device_memory_bytes = metadata.environment.get("memory_size").and_then(|size| size.parse().ok());
            (start, metadata.platform.clone(), device_memory_bytes)
        });
        let run = &self.run;
        let answers = self.answers.get_or_insert_with(|| Box::new(Answers::default())).answers();
        answers.memory.get_or_init(|| {
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

/// An earlier result: its report is the document itself.
pub(super) struct Imported {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) profile: UnifiedProfile,
    pub(super) sidecar: Sidecar,
    /// The files that `sidecar` was read from.
    pub(super) sidecar_files: Vec<SourceFile>,
    pub(super) warnings: Vec<Warning>,
    /// The picture of its median step as a text, where it was kept.
    pub(super) median_step: Option<String>,
}

impl LoadedRun {
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

    /// When the run was captured, as ISO 8601.
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

    /// What `look` makes of a table, which is not built for that. An imported result has only the tables that its document holds.
    pub(super) fn rows<T>(
        &mut self,
        settings: &Settings,
        name: TableName,
        variant: &str,
        area: &AreaQuery,
        look: impl FnOnce(&dyn Rows) -> T,
    ) -> Result<T, String> {
        match self {
            #[cfg(feature = "memory")]
            LoadedRun::Traced(traced) if name.is_of_memory() => {
                let memory = traced.memory(settings);
                memory.rows(name, variant, look).ok_or_else(|| "This table is not of memory.".to_owned())
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

    /// What `look` makes of the events of a run; nothing of an imported result, which has none.
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

    /// What the run says of memory; nothing of an imported result.
    pub(super) fn memory(&mut self, settings: &Settings) -> Option<&Recorded> {
        match self {
            LoadedRun::Traced(traced) => Some(traced.memory(settings).recorded()),
            LoadedRun::Imported(_) => None,
        }
    }

    /// The picture of the median step; of an imported result what its document holds.
    pub(super) fn median_step(&mut self, settings: &Settings) -> Option<String> {
        let of_events = |context: Context<'_>, timeline: &Timeline| StepPicture::of_median_step(context, timeline);
        match self {
            LoadedRun::Traced(_) => self.timeline(settings, of_events)?.map(|picture| picture.to_string()),
            LoadedRun::Imported(run) => run.median_step.clone(),
        }
    }

    /// What is known of a row; of an imported result what its document holds.
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
            #[cfg(feature = "memory")]
            LoadedRun::Traced(traced) if view == View::Memory => {
                pages::memory::page(Some(traced.memory(settings)), asked)
            }
            LoadedRun::Traced(traced) => pages::page(Source::Trace(traced.analyse(settings)), view, asked),
            LoadedRun::Imported(run) => pages::page(Source::Profile(&run.report(settings)), view, asked),
        }
    }
}

impl Imported {
    /// The document as it is, so that an export of an import is the same document; only what the user or a sidecar
    /// gives is worked in, and then what follows from it is computed again.
    fn report(&self, settings: &Settings) -> UnifiedProfile {
        let mut profile = self.profile.copied();
        // What a document says of its own run, a file that lies beside it does not know better.
        let model = self.sidecar.model.overridden_by(&profile.model_config).overridden_by(&settings.model);
        let timing = &mut profile.step_timing;
        let steps = settings.num_steps.filter(|&steps| steps > 0 && steps != timing.num_steps);
        if let Some(steps) = steps {
            let average = timing.total_time_us / steps as f64;
            // The rest needs the single steps, which a result does not keep.
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
                // The share of the time stays; a step is a different part of it.
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

/// Makes runs of all members that are in none yet. Sidecars stay: they also apply to what comes later.
pub(super) fn build(members: &mut Vec<Member>) -> Vec<LoadedRun> {
    let plan = plan_members(members);
    let mut runs: Vec<LoadedRun> = plan.runs.iter().flat_map(|planned| build_runs(members, planned)).collect();
    link_heap_profiles(&mut runs);
    members.retain(|member| matches!(member.content, Content::Model(_)));
    runs
}

/// Tells each device memory profile which one was given before it.
pub(super) fn link_heap_profiles<'r>(runs: impl IntoIterator<Item = &'r mut LoadedRun>) {
    let mut earlier = None;
    for run in runs {
        let LoadedRun::Traced(traced) = run else { continue };
        if let Some(bytes) = traced.run.heap_profile.clone() {
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

/// One run of the traces of its hosts, or those of a document of earlier results; none where nothing could be read.
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
    if let Some(member) = planned.memory_profile.and_then(|file| members.get_mut(file)) {
        match std::mem::replace(&mut member.content, Content::Taken) {
            Content::MemoryProfile(bytes) => {
                run.files.push(member.source_file(None));
                run.heap_profile = Some(bytes.into());
            }
            Content::MemoryError(text) => {
                run.files.push(SourceFile { format: "out_of_memory_error".to_owned(), ..member.source_file(None) });
                run.memory_error = Some(text.into());
            }
            _ => {}
        }
    }
    let is_of_memory = run.heap_profile.is_some() || run.memory_error.is_some();
    if hosts.is_empty() && programs.hlo.is_empty() && !is_of_memory {
        return vec![];
    }
    for repeated in &planned.repeated {
        let (Some(unread), Some(read)) = (members.get(repeated.file), members.get(repeated.instead)) else { continue };
        // Every capture of JAX has a trace JSON beside its xplane: worth a word only if the xplane is damaged.
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

/// The runs of one document. What has no name has the file's, with its place where there are several.
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
        // A document without a name is called by its file, and without a trace that is what was read.
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

/// The hosts whose files end before the plane with the times of the capture, which the profiler writes last and the other
/// hosts of the run have. Such a file is a whole message, so nothing in it says that it was cut; and the plane of a
/// single host proves nothing, since older profilers write none.
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

/// The sidecar that the capture kit puts into the capture itself, for files that are copied without it.
fn embedded_sidecar(trace: &Trace) -> Option<Sidecar> {
    let mut stats = trace.planes.iter().flat_map(|plane| &plane.stats);
    let written = stats.find_map(|&(name, value)| match value {
        StatValue::Text(text) if trace.text(name) == metrics::EMBEDDED_SIDECAR => Some(trace.text(text)),
        _ => None,
    })?;
    input::read_sidecar(written.as_bytes()).ok()
}

/// Times the capture of a host by the clock of the job's first process, where the capture kit found its own to differ.
fn set_to_the_clock_of_all(trace: &mut Trace) {
    if let Some(ahead_ns) = embedded_sidecar(trace).and_then(|sidecar| sidecar.clock_ahead_ns) {
        trace.capture = trace.capture.by_clock_behind(ahead_ns);
    }
}

/// The configuration that a run's sidecars add up to, and their files.
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
