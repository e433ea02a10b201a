//! What is compared, as the address has it, and how it is changed.

use crossprof::compare::{MOST_RUNS, are_groups};
use crossprof::report::Metadata;
use leptos::prelude::*;

use crate::state::{Run, State};

/// One chosen run.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Chosen {
    /// The name that it has itself: what the address knows it by.
    pub name: String,
    /// The file that it was read from: what to drop again.
    pub file: String,
    /// What the user calls it; empty for its own name.
    pub called: String,
    /// Sequences of a step.
    pub batch: String,
    /// Tokens of a sequence.
    pub seq: String,
    /// Watts of a device.
    pub watts: String,
    /// Dollars of a device and hour.
    pub dollars: String,
    /// The run that it is one of several captures of; empty where it is a run itself.
    pub group: String,
}

impl Chosen {
    /// What the run is called on the page: as the user says, else as everywhere.
    pub fn shown(&self, state: State, run: Option<&Run>) -> String {
        match run {
            Some(run) if self.called.is_empty() => state.name_of(run.id),
            None if self.called.is_empty() => self.name.clone(),
            _ => self.called.clone(),
        }
    }
}

/// What is compared, as the address has it.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Choice {
    /// The runs, or captures of them, in their order.
    pub runs: Vec<Chosen>,
    /// Index of the baseline.
    pub baseline: usize,
    /// `strong`, `weak`, or empty.
    pub scaling: String,
}

impl Choice {
    /// The choice that the address holds.
    pub fn read(state: State) -> Choice {
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

    /// Into the address.
    pub fn write(&self, state: State) {
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

    /// Puts a run that is here at a place, with what a report has kept of it and of its comparison.
    pub fn add(&mut self, at: usize, run: &Run) {
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

    /// Moves a run; the baseline stays the same run.
    pub fn move_run(&mut self, from: usize, to: usize) {
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

    /// Makes a capture one of the run that another one is, or is one of, and puts it beside that one.
    pub fn join(&mut self, from: usize, to: usize, called: &str) {
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

    /// Makes each folder a group, where all runs lie in folders of several captures of one program each. A group that someone made stays.
    pub fn group_folders(&mut self, chosen: &[Option<Run>], left: &[Run]) {
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

    /// Runs: captures of one group are one.
    pub fn len(&self) -> usize {
        let is_first = |(at, run): &(usize, &Chosen)| {
            run.group.is_empty() || !self.runs.iter().take(*at).any(|other| other.group == run.group)
        };
        self.runs.iter().enumerate().filter(is_first).count()
    }

    /// Makes each capture a run.
    pub fn ungroup(&mut self) {
        self.runs.iter_mut().for_each(|run| run.group.clear());
    }

    /// Leaves a run out.
    pub fn remove(&mut self, at: usize) {
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
        // A third one takes the group that is there.
        it.join(3, 1, "other");
        assert_eq!(names(&it), [of("1", ""), of("2", "main"), of("3", "main"), of("0", "main")]);
        assert_eq!((it.len(), it.runs[it.baseline].name.as_str()), (2, "3"));
        it.ungroup();
        assert_eq!(it.len(), 4);
    }
}
