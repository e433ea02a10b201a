//! Runs that were imported from a document with earlier results.

use base::Warning;
use input::{NamedProfile, Sidecar};
use report::{Metadata, SourceFile, StepTiming, UNKNOWN, UnifiedProfile};
use run::{Run, Settings};

/// An earlier result from which a run was imported.
pub(super) struct Imported {
    /// File that contains the document.
    pub(super) file: String,
    /// The document, which is the report of the run.
    pub(super) profile: UnifiedProfile,
    /// Picture of the median step as text, if the document contains one.
    pub(super) median_step: Option<String>,
    /// JSON with the trends of a lake. If there are trends, the profile only names the file.
    pub(super) trends: Option<Vec<u8>>,
}

impl Imported {
    /// Returns the document unchanged, so that exporting an import gives the same document. Only values from the user or a
    /// sidecar are merged in, and the numbers that depend on them are recomputed. `run` contains the sidecar's values
    /// and files.
    pub(super) fn report(&self, run: &Run, settings: &Settings) -> UnifiedProfile {
        let mut profile = self.profile.copied();
        // The document's own model configuration takes precedence over the configuration in a sidecar file next to it.
        let model = run.model.clone().overridden_by(&profile.model_config).overridden_by(&settings.model);
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
                // The utilisation stays the same, but the length of a step changes.
                busy.kernel_time_us = average * busy.compute_util_percent / 100.0;
                busy.overhead_time_us = average - busy.kernel_time_us;
            }
        }
        if model != profile.model_config || steps.is_some() {
            let all_devices = profile.throughput.all_devices_steps_per_sec;
            profile.throughput = metrics::throughput(timing, &model, profile.metadata.num_devices, all_devices);
            profile.parameter_counts = metrics::parameter_counts(&model).or(profile.parameter_counts.take());
            profile.model_config = model;
            profile.provenance.extend(run.files.iter().chain(&settings.model_files).cloned());
        }
        if let Some(device) = settings.device.as_deref().or(run.device.as_deref()) {
            metrics::name_device(&mut profile.metadata, device);
        }
        profile.warnings.extend(run.warnings.iter().cloned());
        profile
    }
}

/// Describes a run that consists only of the trends of a lake: no device ran ops, and `file` contains the trends.
pub(super) fn name_file_of_trends(named: &mut NamedProfile, file: SourceFile) {
    if named.trends.is_some() {
        let unknown = || UNKNOWN.to_owned();
        let metadata =
            Metadata { platform: unknown(), device_type: unknown(), framework: unknown(), ..Metadata::default() };
        named.profile = UnifiedProfile { metadata, provenance: vec![file], ..UnifiedProfile::default() };
    }
}

/// Returns the runs of one document. Runs without a name get the name of the file. If the document has several runs,
/// the name also contains the run's position.
pub(super) fn runs(
    profiles: Vec<NamedProfile>,
    file_name: &str,
    file: &str,
    (sidecar, sidecar_files): &(Sidecar, Vec<SourceFile>),
    warnings: &[Warning],
) -> Vec<(Run, Imported)> {
    let several = profiles.len() > 1;
    let named =
        profiles.into_iter().enumerate().map(|(index, NamedProfile { name, mut profile, median_step, trends })| {
            let of_file = || if several { format!("{file_name} {}", index + 1) } else { file_name.to_owned() };
            let name = name.unwrap_or_else(of_file);
            // A document without a name is named after its file. If it has no trace path, the file's path is used.
            let metadata = &mut profile.metadata;
            metadata.run_name.get_or_insert_with(|| name.clone());
            if metadata.trace_file.is_empty() {
                metadata.trace_file = file.to_owned();
            }
            let Sidecar { model, device, tracing, capture_notes, .. } = sidecar.clone();
            let (files, warnings) = (sidecar_files.clone(), warnings.to_vec());
            let run = Run { name, model, device, tracing, capture_notes, files, warnings, ..Run::default() };
            (run, Imported { file: file.to_owned(), profile, median_step, trends })
        });
    named.collect()
}
