//! Settings of a comparison in the URL, and operations that change them.

use crossprof::compare::{MOST_RUNS, are_groups};
use crossprof::report::Metadata;
use leptos::prelude::*;

use crate::state::{Run, State};

/// A chosen run.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Chosen {
    /// Original name of the run, which identifies it in the URL.
    pub name: String,
    /// File from which the run was read. The user needs this file to open the run again.
    pub file: String,
    /// Label that the user gave the run. Empty if the run keeps its original name.
    pub called: String,
    /// Sequences per step.
    pub batch: String,
    /// Tokens per sequence.
    pub seq: String,
    /// Power per device, in watts.
    pub watts: String,
    /// Price per device, in dollars per hour.
    pub dollars: String,
    /// Name of the group, if the run was captured several times. Otherwise empty.
    pub group: String,
}

impl Chosen {
    /// Returns the label that the user gave the run, or the display name of the run.
    pub(super) fn shown(&self, state: State, run: Option<&Run>) -> String {
        match run {
            Some(run) if self.called.is_empty() => state.name_of(run.id),
            None if self.called.is_empty() => self.name.clone(),
            _ => self.called.clone(),
        }
    }
}

/// Settings of a comparison.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Choice {
    /// Runs, or captures of runs, in order.
    pub runs: Vec<Chosen>,
    /// Index of the baseline.
    pub baseline: usize,
    /// `strong`, `weak`, or empty.
    pub scaling: String,
}

impl Choice {
    /// Reads the settings from the URL.
    pub(super) fn read(state: State) -> Choice {
        let option = |key: &str| state.route.with(|route| route.query.options.get(key).cloned().unwrap_or_default());
        let list = |key: &str| option(key).split('\n').map(str::to_owned).collect::<Vec<_>>();
        let [names, files, called, batch, seq, watts, dollars, groups] =
            ["runs", "files", "called", "batch", "seq", "watts", "dollars", "groups"].map(list);
        let at = |list: &[String], index: usize| list.get(index).cloned().unwrap_or_default();
        let chosen = |(index, name): (usize, String)| Chosen {
            name,
            file: at(&files, index),
            called: at(&called, index),
            batch: at(&batch, index),
            seq: at(&seq, index),
            watts: at(&watts, index),
            dollars: at(&dollars, index),
            group: at(&groups, index),
        };
        let named = names.into_iter().enumerate().filter(|(_, name)| !name.is_empty());
        let runs: Vec<Chosen> = named.map(chosen).collect();
        let baseline =
            option("baseline").parse::<usize>().unwrap_or(1).saturating_sub(1).min(runs.len().saturating_sub(1));
        Choice { runs, baseline, scaling: option("scaling") }
    }

    /// Writes the settings to the URL.
    pub(super) fn write(&self, state: State) {
        let list = |of: fn(&Chosen) -> &str| {
            let all: Vec<&str> = self.runs.iter().map(of).collect();
            if all.iter().all(|text| text.is_empty()) { String::new() } else { all.join("\n") }
        };
        state.choose_all(vec![
            ("runs", list(|it| &it.name)),
            ("files", list(|it| &it.file)),
            ("called", list(|it| &it.called)),
            ("batch", list(|it| &it.batch)),
            ("seq", list(|it| &it.seq)),
            ("watts", list(|it| &it.watts)),
            ("dollars", list(|it| &it.dollars)),
            ("groups", list(|it| &it.group)),
            ("baseline", if self.baseline == 0 { String::new() } else { (self.baseline + 1).to_string() }),
            ("scaling", self.scaling.clone()),
        ]);
    }

    /// Inserts an open run, with the comparison settings that its report contains.
    pub(super) fn add(&mut self, at: usize, run: &Run) {
        if self.len() >= MOST_RUNS {
            return;
        }
        run.report.with_untracked(|report| {
            let metadata = &report.profile.metadata;
            if self.scaling.is_empty() {
                self.scaling = metadata.compared.comparison_scaling.clone().unwrap_or_default();
            }
            let text = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
            let at = at.min(self.runs.len());
            if self.baseline > 0 && self.baseline >= at {
                self.baseline += 1;
            }
            self.runs.insert(
                at,
                Chosen {
                    name: metadata.name().to_owned(),
                    file: metadata.trace_file.clone(),
                    called: String::new(),
                    batch: String::new(),
                    seq: String::new(),
                    watts: text(metadata.compared.watts_per_device),
                    dollars: text(metadata.compared.dollars_per_device_hour),
                    group: metadata.compared.comparison_group.clone().unwrap_or_default(),
                },
            );
            if self.baseline == 0 && metadata.compared.comparison_baseline == Some(true) {
                self.baseline = at;
            }
        });
    }

    /// Moves a run. The same run remains the baseline.
    pub(super) fn move_run(&mut self, from: usize, to: usize) {
        if from < self.runs.len() && to < self.runs.len() {
            let run = self.runs.remove(from);
            self.runs.insert(to, run);
            self.baseline = match self.baseline {
                at if at == from => to,
                at if from < at && at <= to => at - 1,
                at if to <= at && at < from => at + 1,
                at => at,
            };
        }
    }

    /// Adds a capture to the group of another capture, and moves it next to that capture. If the other capture has no
    /// group yet, creates a group with the name `called`.
    pub(super) fn join(&mut self, from: usize, to: usize, called: &str) {
        let Some(group) = self.runs.get(to).map(|run| run.group.clone()) else { return };
        let group = if group.is_empty() { called.to_owned() } else { group };
        for at in [from, to] {
            if let Some(run) = self.runs.get_mut(at) {
                run.group.clone_from(&group);
            }
        }
        let beside = if from < to { to } else { to + 1 };
        self.move_run(from, beside);
    }

    /// Makes each folder a group, if all runs are in folders that contain several captures of one program. Keeps groups
    /// that the user made.
    pub(super) fn group_folders(&mut self, chosen: &[Option<Run>], left: &[Run]) {
        let Some(chosen) = chosen.iter().cloned().collect::<Option<Vec<Run>>>() else { return };
        let reports: Vec<_> = chosen.iter().chain(left).map(|run| run.report.get_untracked()).collect();
        let folder_of = |file: &str| file.split_once(['/', '\\']).map(|(folder, _)| folder.to_owned());
        let folders: Option<Vec<String>> =
            reports.iter().map(|it| folder_of(&it.profile.metadata.trace_file)).collect();
        let Some(folders) = folders else { return };
        let mut named: Vec<(&String, Vec<&Metadata>)> = Vec::new();
        for (folder, report) in folders.iter().zip(&reports) {
            match named.iter_mut().find(|it| it.0 == folder) {
                Some((_, captures)) => captures.push(&report.profile.metadata),
                None => named.push((folder, vec![&report.profile.metadata])),
            }
        }
        let captures: Vec<Vec<&Metadata>> = named.into_iter().map(|it| it.1).collect();
        let is_free = |(run, folder): (&Chosen, &String)| run.group.is_empty() || run.group == *folder;
        if !are_groups(&captures) || !self.runs.iter().zip(&folders).all(is_free) {
            return;
        }
        for (run, folder) in self.runs.iter_mut().zip(&folders) {
            run.group.clone_from(folder);
        }
        for (run, folder) in left.iter().zip(folders.iter().skip(chosen.len())) {
            self.add(self.runs.len(), run);
            if let Some(run) = self.runs.last_mut() {
                run.group.clone_from(folder);
            }
        }
    }

    /// Returns the number of runs. All captures in a group together are counted as one run.
    pub(super) fn len(&self) -> usize {
        let is_first = |(at, run): &(usize, &Chosen)| {
            run.group.is_empty() || !self.runs.iter().take(*at).any(|other| other.group == run.group)
        };
        self.runs.iter().enumerate().filter(is_first).count()
    }

    /// Makes each capture a separate run.
    pub(super) fn ungroup(&mut self) {
        self.runs.iter_mut().for_each(|run| run.group.clear());
    }

    /// Removes a run.
    pub(super) fn remove(&mut self, at: usize) {
        if at < self.runs.len() {
            self.runs.remove(at);
            if self.baseline == at {
                self.baseline = 0;
            } else if self.baseline > at {
                self.baseline -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(count: usize, baseline: usize) -> Choice {
        let run = |at: usize| Chosen { name: at.to_string(), ..Chosen::default() };
        Choice { runs: (0..count).map(run).collect(), baseline, scaling: String::new() }
    }

    #[test]
    fn the_baseline_stays_the_same_run() {
        for baseline in 0..4 {
            for from in 0..4 {
                for to in 0..4 {
                    let mut it = choice(4, baseline);
                    it.move_run(from, to);
                    assert_eq!(it.runs[it.baseline].name, baseline.to_string(), "{baseline}: {from} to {to}");
                    assert_eq!(it.runs[to].name, from.to_string());
                }
            }
            let mut it = choice(4, baseline);
            it.remove((baseline + 1) % 4);
            assert_eq!(it.runs[it.baseline].name, baseline.to_string());
        }
    }

    #[test]
    fn captures_join_the_run_that_they_are_dropped_on() {
        let names = |it: &Choice| it.runs.iter().map(|run| (run.name.clone(), run.group.clone())).collect::<Vec<_>>();
        let mut it = choice(4, 3);
        it.join(0, 2, "main");
        let of = |name: &str, group: &str| (name.to_owned(), group.to_owned());
        assert_eq!(names(&it), [of("1", ""), of("2", "main"), of("0", "main"), of("3", "")]);
        assert_eq!((it.len(), it.runs[it.baseline].name.as_str()), (3, "3"));
        // A third capture joins the existing group.
        it.join(3, 1, "other");
        assert_eq!(names(&it), [of("1", ""), of("2", "main"), of("3", "main"), of("0", "main")]);
        assert_eq!((it.len(), it.runs[it.baseline].name.as_str()), (2, "3"));
        it.ungroup();
        assert_eq!(it.len(), 4);
    }
}
