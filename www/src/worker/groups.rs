//! Groups dropped files into loads. All files of one run belong to one load.

use crossprof::session::plan::{self, Candidate, FileKind, PlannedRun, is_called_profile};

use crate::protocol::files::{FileEntry, Groups};

/// Groups the files of one drop into loads. A file of unknown kind is read only if it was dropped alone or has the name
/// of a profile. The user then gets an error for that file. Other unknown files in a folder are ignored.
pub fn groups(entries: &[FileEntry]) -> Groups {
    let candidates: Vec<Candidate<'_>> =
        entries.iter().map(|entry| Candidate { path: &entry.path, kind: entry.kind }).collect();
    let plan = plan::plan(&candidates);
    let mut groups = Groups::default();
    // In a folder, the plan chooses the files to read. Files that the user chose are always read.
    let is_in_folder = |file: &usize| entries.get(*file).is_some_and(|entry| entry.path.contains('/'));
    let unclear: Vec<usize> = plan.unclear_memory(&candidates).filter(is_in_folder).collect();
    let unclear_reason = |file: usize| {
        let name = entries.get(file).map_or("", |entry| entry.path.as_str());
        (file, format!("{} {name}.", plan::UNCLEAR_MEMORY))
    };
    groups.ignored.extend(unclear.iter().map(|&file| unclear_reason(file)));
    // Device memory profiles without a trace are read together, because each is compared with the previous one.
    let is_alone = |run: &&PlannedRun| run.hosts.is_empty();
    let of_memory = plan.runs.iter().filter(is_alone).flat_map(|run| run.memory.iter().copied());
    let of_memory: Vec<usize> = of_memory.filter(|file| !unclear.contains(file)).collect();
    if !of_memory.is_empty() {
        groups.loads.push((of_memory, Vec::new()));
    }
    for run in plan.runs.into_iter().filter(|run| !run.hosts.is_empty() || run.memory.is_empty()) {
        let of_run = [&run.programs, &run.memory, &run.sidecars].into_iter().flatten().copied();
        let read = run.hosts.iter().map(|host| host.file).chain(of_run).collect();
        groups.loads.push((read, run.repeated.iter().map(|repeated| repeated.file).collect()));
    }
    groups.loads.extend(plan.archives.into_iter().map(|file| (vec![file], Vec::new())));
    for ignored in plan.ignored {
        let Some(entry) = entries.get(ignored.file) else { continue };
        if entry.kind == FileKind::Unknown && (!entry.path.contains('/') || is_called_profile(&entry.path)) {
            groups.loads.push((vec![ignored.file], Vec::new()));
        } else if entry.kind != FileKind::Unknown {
            groups.ignored.push((ignored.file, ignored.reason));
        }
    }
    if groups.loads.is_empty() {
        let models = entries.iter().enumerate().filter(|(_, entry)| entry.kind == FileKind::ModelConfig);
        groups.ignored.extend(models.map(|(index, _)| (index, LONELY_MODEL.to_owned())));
    }
    groups
}

const LONELY_MODEL: &str = "This is a model configuration. Drop it together with its profile.";

#[cfg(test)]
mod tests {
    use super::*;

    fn group(files: &[(&str, FileKind)]) -> Groups {
        let entry =
            |(path, kind): &(&str, FileKind)| FileEntry { path: (*path).to_owned(), size_bytes: 9, kind: *kind };
        groups(&files.iter().map(entry).collect::<Vec<_>>())
    }

    #[test]
    fn a_profile_folder_is_one_load_and_two_files_are_two() {
        let folder = [
            ("log/plugins/profile/r/a.trace.json.gz", FileKind::TraceJson),
            ("log/plugins/profile/r/a.xplane.pb", FileKind::XPlane),
        ];
        assert_eq!(group(&folder).loads, [(vec![1], vec![0])]);
        let files = [("run-a.trace.json.gz", FileKind::TraceJson), ("run-b.trace.json.gz", FileKind::TraceJson)];
        assert_eq!(group(&files).loads, [(vec![0], vec![]), (vec![1], vec![])]);
    }

    #[test]
    fn files_with_only_memory_data_are_read() {
        let programs = [("dump/a.hlo.pb", FileKind::Program), ("dump/b.hlo.pb", FileKind::Program)];
        assert_eq!(group(&programs).loads, [(vec![0, 1], vec![])]);
        let memory = [("a.prof", FileKind::MemoryProfile), ("b.prof", FileKind::MemoryProfile)];
        assert_eq!(group(&memory).loads, [(vec![0, 1], vec![])]);
    }

    #[test]
    fn memory_profiles_are_read_with_the_only_run_of_their_folder() {
        let one = [("log/r/a.xplane.pb", FileKind::XPlane), ("log/a.prof", FileKind::MemoryProfile)];
        assert_eq!(group(&one).loads, [(vec![0, 1], vec![])]);
        let two = [one[0], one[1], ("log/s/b.xplane.pb", FileKind::XPlane)];
        let Groups { loads, ignored } = group(&two);
        assert_eq!(loads, [(vec![0], vec![]), (vec![2], vec![])]);
        assert!(ignored[0].0 == 1 && ignored[0].1.ends_with("log/a.prof."), "{ignored:?}");
        let files =
            [("a.xplane.pb", FileKind::XPlane), ("a.prof", FileKind::MemoryProfile), ("b.xplane.pb", FileKind::XPlane)];
        assert_eq!(group(&files).loads.len(), 3, "the user chose each file");
    }

    #[test]
    fn an_unknown_file_is_read_only_alone_or_with_a_profile_name() {
        assert_eq!(group(&[("notes.txt", FileKind::Unknown)]).loads.len(), 1);
        assert_eq!(group(&[("log/notes.txt", FileKind::Unknown)]), Groups::default());
        assert_eq!(group(&[("log/a.xplane.pb", FileKind::Unknown)]).loads.len(), 1);
    }

    #[test]
    fn a_model_configuration_needs_a_profile() {
        assert_eq!(group(&[("config.json", FileKind::ModelConfig)]).ignored.len(), 1);
        let both = group(&[("config.json", FileKind::ModelConfig), ("a.pb", FileKind::XPlane)]);
        assert_eq!((both.loads, both.ignored), (vec![(vec![1, 0], vec![])], vec![]));
    }
}
