//! Names of runs: one rule for the page, the command line and reports.

use super::{Metadata, paths};
use std::collections::{BTreeMap, BTreeSet};

impl Metadata {
    /// Returns the name of the run. JAX names a run's folder after its time (`2026_01_31_12_00_00`). For such a run,
    /// returns the name of the log folder if there is one, because the user chose that name. If the run has no name at
    /// all, returns the path of the file.
    pub fn name(&self) -> &str {
        let own = self.run_name.as_deref().filter(|name| !name.is_empty());
        let given = own.filter(|own| !is_time(own));
        given.or_else(|| log_folder(&self.trace_file)).or(own).unwrap_or(&self.trace_file)
    }

    /// Returns a second name that distinguishes the run from others with the same name. Returns the run's own name or
    /// the name of its log folder, whichever [`Metadata::name`] does not return.
    pub fn other_name(&self) -> Option<&str> {
        let both = [self.run_name.as_deref(), log_folder(&self.trace_file)];
        both.into_iter().flatten().find(|other| !other.is_empty() && *other != self.name())
    }

    /// Returns both names, for places that show only one run: `step_1000 (2026_01_31_12_00_00)`.
    pub fn full_name(&self) -> String {
        self.other_name().map_or_else(|| self.name().to_owned(), |other| both(self.name(), other))
    }

    /// Returns true if `name` is one of the run's names.
    pub fn is_called(&self, name: &str) -> bool {
        self.name() == name || self.run_name.as_deref() == Some(name)
    }
}

/// Returns true for `YYYY_MM_DD_HH_MM_SS`. The capture kit of the Python package appends the steps: `_steps_000011-000015`.
fn is_time(name: &str) -> bool {
    let name = name.split_once("_steps_").map_or(name, |(time, _)| time);
    let fits = |(byte, pattern): (u8, u8)| if pattern == b'0' { byte.is_ascii_digit() } else { byte == pattern };
    let pattern = b"0000_00_00_00_00_00";
    name.len() == pattern.len() && name.bytes().zip(pattern.iter().copied()).all(fits)
}

/// Returns the log folder of a path: `step_1000` of `logs/step_1000/plugins/profile/2026_01_31_12_00_00/host.xplane.pb`.
fn log_folder(path: &str) -> Option<&str> {
    let all: Vec<&str> = parts(path).collect();
    let before = all.windows(3).find(|parts| matches!(parts, [_, "plugins", "profile"]));
    before.and_then(|parts| parts.first().copied()).filter(|name| !matches!(*name, "" | "." | ".."))
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '\\'])
}

/// Properties from which a run's name can be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Naming<'a> {
    /// [`Metadata::name`], or a name that the user chose.
    pub name: &'a str,
    /// [`Metadata::other_name`].
    pub other: Option<&'a str>,
    /// File that the run was captured into.
    pub path: &'a str,
    /// File that the run was read from, if known. An exported profile was read from a different file than the capture.
    pub file: Option<&'a str>,
    /// Model of the run's devices.
    pub device: &'a str,
    /// Number of the run's devices.
    pub num_devices: u64,
    /// Time of the capture.
    pub time: Option<&'a str>,
}

impl Metadata {
    /// Returns the properties from which the run's name can be made.
    pub fn naming(&self) -> Naming<'_> {
        Naming {
            name: self.name(),
            other: self.other_name(),
            path: &self.trace_file,
            file: None,
            device: &self.device_type,
            num_devices: self.num_devices,
            time: self.timestamp.as_deref(),
        }
    }
}

impl<'a> Naming<'a> {
    /// Returns true if the name comes from the path rather than from the user.
    fn is_of_path(&self) -> bool {
        paths::parts(self.path).contains(&self.name)
    }

    /// Returns the name and path of the file that the run was read from, if another run has the same capture file but was read
    /// from a different file.
    fn as_read(&self, files: &Files<'a>) -> Naming<'a> {
        let key = (self.name, paths::parts(self.path));
        let is_copied = files.of_captures.get(&key).is_some_and(|files| files.len() > 1);
        // The name of a file with several profiles identifies none of them.
        let is_alone = files.runs.get(&self.file) == Some(&1);
        match self.file.and_then(|path| Some((path, *paths::parts(path).last()?))) {
            Some((path, name)) if is_alone && is_copied => Naming { name, path, ..*self },
            _ => *self,
        }
    }

    /// Returns further details of the run: model and number of its devices, time and file of the capture.
    fn details(&self) -> [String; 4] {
        let devices = if self.num_devices == 1 { "device" } else { "devices" };
        let time = self.time.map_or("", |time| time.split('.').next().unwrap_or(time)).trim_end_matches('Z');
        let file = self.path.rsplit(['/', '\\']).next().unwrap_or_default();
        [self.device.to_owned(), format!("{} {devices}", self.num_devices), time.replace('T', " "), file.to_owned()]
    }
}

/// Parts of a path.
type Parts<'a> = Vec<&'a str>;

/// Files that runs were read from.
struct Files<'a> {
    /// Number of runs in each file.
    runs: BTreeMap<Option<&'a str>, usize>,
    /// Files of the runs that share a name and a capture file.
    of_captures: BTreeMap<(&'a str, Parts<'a>), BTreeSet<Option<Parts<'a>>>>,
}

impl<'a> Files<'a> {
    fn of(runs: &[Naming<'a>]) -> Files<'a> {
        let mut files = Files { runs: BTreeMap::new(), of_captures: BTreeMap::new() };
        for run in runs {
            *files.runs.entry(run.file).or_default() += 1;
            let of_capture = files.of_captures.entry((run.name, paths::parts(run.path))).or_default();
            of_capture.insert(run.file.map(paths::parts));
        }
        files
    }
}

/// Returns a distinct name for each run. The names do not depend on the order of the runs. If two names that come from
/// paths are identical, all names that come from paths are replaced by the differing parts of the paths
/// (`paths::differing`: `4gpu lcam`). Names that are still identical get a suffix: the other name if it distinguishes
/// the runs, or else the differing devices, times or files, or else a number.
pub fn distinct(runs: &[Naming<'_>]) -> Vec<String> {
    let files = Files::of(runs);
    let runs: &[Naming<'_>] = &runs.iter().map(|run| run.as_read(&files)).collect::<Vec<_>>();
    let of_path: Vec<bool> = runs.iter().map(Naming::is_of_path).collect();
    let named: Vec<Naming<'_>> = runs.iter().zip(&of_path).filter(|it| *it.1).map(|it| *it.0).collect();
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let are_equal = named.iter().any(|run| {
        let parts = paths::parts(run.path);
        *places.entry(run.name).or_insert_with(|| parts.clone()) != parts
    });
    let all: Vec<&str> = named.iter().map(|run| run.path).collect();
    let mut differing = if are_equal { paths::differing(&all) } else { Vec::new() }.into_iter();
    let details: Vec<[String; 4]> = runs.iter().map(Naming::details).collect();
    let runs: Vec<(String, Option<&str>)> = runs
        .iter()
        .zip(of_path)
        .map(|(run, of_path)| {
            let differing = if of_path { differing.next() } else { None };
            (differing.filter(|name| !name.is_empty()).unwrap_or_else(|| run.name.to_owned()), run.other)
        })
        .collect();
    let mut alike: BTreeMap<&str, Alike<'_>> = BTreeMap::new();
    for ((name, other), details) in runs.iter().zip(&details) {
        alike.entry(name).or_default().add(*other, details);
    }
    let mut names = Numbered::default();
    let distinct = |((name, other), details): (&(String, Option<&str>), &[String; 4])| {
        let alike = alike.get(name.as_str());
        let is_unique = alike.is_some_and(|alike| alike.runs > 1 && alike.others.get(other) == Some(&1));
        let suffix = match other.filter(|_| is_unique) {
            Some(other) => Some(alike.map_or_else(|| other.to_owned(), |alike| alike.shortened(other))),
            None => alike.and_then(|alike| alike.distinguishing(details)),
        };
        names.free(suffix.map_or_else(|| name.clone(), |suffix| both(name, &suffix)))
    };
    runs.iter().zip(&details).map(distinct).collect()
}

/// Runs with the same name: how many have each other name, and how many have each detail.
#[derive(Default)]
struct Alike<'a> {
    runs: usize,
    others: BTreeMap<Option<&'a str>, usize>,
    details: BTreeMap<(usize, &'a str), usize>,
}

impl<'a> Alike<'a> {
    fn add(&mut self, other: Option<&'a str>, details: &'a [String; 4]) {
        self.runs += 1;
        *self.others.entry(other).or_default() += 1;
        for (at, detail) in details.iter().enumerate() {
            *self.details.entry((at, detail)).or_default() += 1;
        }
    }

    /// Returns the other name of a run. If all runs are named by their times, returns only the differing part: `14:30:25` if all
    /// are from one day, `12-01 14:30:25` if all are from one year.
    fn shortened(&self, other: &str) -> String {
        let are_times = self.others.keys().all(|other| other.is_some_and(is_time));
        if !are_times || !is_time(other) {
            return other.to_owned();
        }
        let have_same = |letters: usize| {
            let mut starts = self.others.keys().map(|other| other.and_then(|other| other.get(..letters)));
            let first = starts.next();
            starts.all(|start| Some(start) == first)
        };
        let (date, time) =
            (other.get(..10).unwrap_or_default().replace('_', "-"), other.get(11..19).unwrap_or_default());
        let time = time.replace('_', ":");
        let steps = other.split_once("_steps_").map_or(String::new(), |(_, steps)| format!(", steps {steps}"));
        match (have_same(10), have_same(4)) {
            (true, _) => format!("{time}{steps}"),
            (_, true) => format!("{} {time}{steps}", date.get(5..).unwrap_or_default()),
            _ => format!("{date} {time}{steps}"),
        }
    }

    /// Returns the first detail that distinguishes a run from all other runs with the same name. If there is no such
    /// detail, returns all details that differ.
    fn distinguishing(&self, own: &[String; 4]) -> Option<String> {
        let times = |at: usize, detail: &str| self.details.get(&(at, detail)).copied().unwrap_or(0);
        let known = || own.iter().enumerate().filter(|(_, detail)| !detail.is_empty());
        if self.runs < 2 {
            return None;
        }
        let alone = known().find(|(at, detail)| times(*at, detail) == 1).map(|(_, detail)| detail.clone());
        alone.or_else(|| {
            let differing: Vec<&str> =
                known().filter(|(at, it)| times(*at, it) < self.runs).map(|(_, detail)| detail.as_str()).collect();
            (!differing.is_empty()).then(|| differing.join(", "))
        })
    }
}

/// Names that are already in use.
#[derive(Default)]
struct Numbered {
    given: BTreeSet<String>,
    /// Highest number in use for each name.
    numbers: BTreeMap<String, usize>,
}

impl Numbered {
    /// Returns the name, with a number if it is already in use.
    fn free(&mut self, name: String) -> String {
        let number = self.numbers.entry(name.clone()).or_default();
        loop {
            *number += 1;
            let numbered = if *number == 1 { name.clone() } else { format!("{name} ({number})") };
            if self.given.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

fn both(name: &str, other: &str) -> String {
    format!("{name} ({other})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(run_name: &str, trace_file: &str) -> Metadata {
        let run_name = Some(run_name.to_owned());
        Metadata { run_name, trace_file: trace_file.to_owned(), ..Metadata::default() }
    }

    #[test]
    fn the_log_folder_names_a_run_not_the_time() {
        let time = "2026_01_31_12_00_00";
        let file = |folder: &str| format!("{folder}plugins/profile/{time}/host.xplane.pb");
        for (folder, name) in [("logs/step_1000/", "step_1000"), ("/a b/", "a b"), ("C:\\runs\\big\\", "big")] {
            let run = of(time, &file(folder));
            assert_eq!((run.name(), run.other_name()), (name, Some(time)));
            assert_eq!(run.full_name(), format!("{name} ({time})"));
            assert!(run.is_called(name) && run.is_called(time) && !run.is_called("plugins"));
        }
        for folder in ["", "/", "./", "../"] {
            let run = of(time, &file(folder));
            assert_eq!((run.name(), run.other_name()), (time, None));
        }
        // Captures of a scaling study have the names of their folders.
        let steps = of("2026_01_31_12_00_00_steps_000011-000015", &file("scaling/4_devices/"));
        assert_eq!(steps.full_name(), "4_devices (2026_01_31_12_00_00_steps_000011-000015)");
        assert_eq!(of("host", "logs/host.xplane.pb").name(), "host");
        // Any other name comes from the user, and is kept.
        for own in ["mine", "2026_01_31", "2026_01_31_12_00_0x", "2026_01_31_12_00_00_decoder", "my_steps_1-2"] {
            let run = of(own, &file("logs/"));
            assert_eq!((run.name(), run.other_name()), (own, Some("logs")));
        }
        assert_eq!(of("", "a.json").name(), "a.json");
        assert_eq!(Metadata { trace_file: "a.json".to_owned(), ..Metadata::default() }.name(), "a.json");
    }

    #[test]
    fn runs_with_equal_names_get_distinct_ones() {
        let distinct = |runs: &[(&str, Option<&str>)]| {
            let runs: Vec<_> = runs.iter().map(|&(name, other)| Naming { name, other, ..Naming::default() }).collect();
            super::distinct(&runs)
        };
        let runs = [("a", Some("1")), ("b", Some("1")), ("a", Some("2")), ("c", None), ("c", None), ("c (2)", None)];
        assert_eq!(distinct(&runs), ["a (1)", "b", "a (2)", "c", "c (2)", "c (2) (2)"]);
        // The same run occurs twice.
        assert_eq!(distinct(&[("a", Some("1")), ("a", Some("1"))]), ["a", "a (2)"]);
        assert_eq!(distinct(&[("a", None), ("a", Some("1"))]), ["a", "a (1)"]);
        assert!(distinct(&[]).is_empty());
    }

    #[test]
    fn thousands_of_runs_are_named_in_linear_time() {
        let paths: Vec<String> = (0..20_000).map(|run| format!("logs/step_{run}/t.json")).collect();
        let naming = |path: &'static str| Naming { name: "t", path, file: Some(path), ..Naming::default() };
        let runs: Vec<_> = paths.into_iter().map(|path| naming(path.leak())).collect();
        let start = std::time::Instant::now();
        assert_eq!(distinct(&runs)[19_999], "step_19999");
        // Only numbers distinguish identical runs.
        let alike = vec![Naming { name: "a", ..Naming::default() }; 20_000];
        assert_eq!(distinct(&alike)[19_999], "a (20000)");
        // An earlier version took minutes.
        assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
    }

    /// The file of one host has the same name in every capture.
    #[test]
    fn differing_details_distinguish_runs_with_one_file_name() {
        let vm = |device: &str, num_devices: u64, time: &str| Metadata {
            device_type: device.to_owned(),
            num_devices,
            timestamp: (!time.is_empty()).then(|| time.to_owned()),
            ..of("vm", "vm.xplane.pb")
        };
        let names = |runs: &[Metadata]| distinct(&runs.iter().map(Metadata::naming).collect::<Vec<_>>());
        assert_eq!(names(&[vm("H100", 1, ""), vm("A100", 1, "")]), ["vm (H100)", "vm (A100)"]);
        assert_eq!(names(&[vm("H100", 1, ""), vm("H100", 8, "")]), ["vm (1 device)", "vm (8 devices)"]);
        let times = [vm("H100", 1, "2026-05-20T08:45:02.889Z"), vm("H100", 1, "2026-05-20T09:00:00Z")];
        assert_eq!(names(&times), ["vm (2026-05-20 08:45:02)", "vm (2026-05-20 09:00:00)"]);
        let mixed = [vm("H100", 1, ""), vm("H100", 8, ""), vm("A100", 8, "")];
        assert_eq!(names(&mixed), ["vm (1 device)", "vm (H100, 8 devices)", "vm (A100)"]);
        let json = Metadata { trace_file: "vm.trace.json.gz".to_owned(), ..vm("H100", 1, "") };
        assert_eq!(names(&[vm("H100", 1, ""), json]), ["vm (vm.xplane.pb)", "vm (vm.trace.json.gz)"]);
        assert_eq!(names(&[vm("H100", 1, ""), vm("H100", 1, "")]), ["vm", "vm (2)"]);
        // Exported from one path, and read from two.
        let run = vm("H100", 1, "");
        let read = |file: &'static str| Naming { file: Some(file), ..run.naming() };
        assert_eq!(distinct(&[read("main.json"), read("new.json")]), ["main", "new"]);
        assert_eq!(distinct(&[read("main/p.json"), read("new/p.json")]), ["main", "new"]);
        assert_eq!(distinct(&[read("vm.xplane.pb"), read("new.json")]), ["vm", "new"]);
        assert_eq!(distinct(&[read("main.json")]), ["vm"]);
    }

    /// Uses the folders of a benchmark of two methods on one, four and eight GPUs.
    #[test]
    fn differing_parts_of_paths_name_runs_with_one_folder_name() {
        let time = "2024_12_01_14_30_25";
        let runs: Vec<Metadata> = ["1gpu_20241201_143022", "4gpu_20241201_144500", "8gpu_20241201_150000"]
            .iter()
            .flat_map(|gpus| ["lcam_trace", "tad_trace"].map(|method| format!("tensorboard_logs/{gpus}/{method}")))
            .map(|folder| of(time, &format!("{folder}/plugins/profile/{time}/host.xplane.pb")))
            .collect();
        let names = |runs: &[Metadata]| distinct(&runs.iter().map(Metadata::naming).collect::<Vec<_>>());
        let expected = ["1gpu lcam", "1gpu tad", "4gpu lcam", "4gpu tad", "8gpu lcam", "8gpu tad"];
        assert_eq!(names(&runs), expected);
        let mut turned = runs.clone();
        turned.reverse();
        let mut found = names(&turned);
        found.reverse();
        assert_eq!(found, expected);
        // Two runs with different names keep their names. A name from the user stays.
        assert_eq!(names(&runs[..2]), ["lcam_trace", "tad_trace"]);
        let mut chosen = runs.clone();
        chosen[0].run_name = Some("mine".to_owned());
        assert_eq!(names(&chosen)[..3], ["mine", "1gpu tad", "4gpu lcam"]);
        // The time distinguishes two captures in one folder.
        let again = [runs[0].clone(), of("2024_12_01_14_30_59", &runs[0].trace_file), runs[2].clone()];
        assert_eq!(names(&again)[..2], ["1gpu (14:30:25)", "1gpu (14:30:59)"]);
        // Files outside a profile folder are distinguished by the differing parts of their paths.
        assert_eq!(names(&[of("trace", "a/trace.json.gz"), of("trace", "b/trace.json.gz")]), ["a", "b"]);
    }
}
