//! What a run is called where people read it: one rule for the page, the command line and reports.

use super::Metadata;

impl Metadata {
    /// The name of the run: its own, unless that is the time of day by which JAX names the folder of a run
    /// (`2026_01_31_12_00_00`); then the folder that was logged to, which people name. Else the file's.
    pub fn name(&self) -> &str {
        let own = self.run_name.as_deref().filter(|name| !name.is_empty());
        let given = own.filter(|own| !is_time(own));
        given.or_else(|| log_folder(&self.trace_file)).or(own).unwrap_or(&self.trace_file)
    }

    /// What tells it from others of its name: its own name or the folder, whichever [`Metadata::name`] is not.
    pub fn other_name(&self) -> Option<&str> {
        let both = [self.run_name.as_deref(), log_folder(&self.trace_file)];
        both.into_iter().flatten().find(|other| !other.is_empty() && *other != self.name())
    }

    /// Both, where only one run is in sight: `step_1000 (2026_01_31_12_00_00)`.
    pub fn full_name(&self) -> String {
        self.other_name().map_or_else(|| self.name().to_owned(), |other| both(self.name(), other))
    }

    /// Whether someone who says `name` may mean this run.
    pub fn is_called(&self, name: &str) -> bool {
        self.name() == name || self.run_name.as_deref() == Some(name)
    }
}

/// `YYYY_MM_DD_HH_MM_SS`.
fn is_time(name: &str) -> bool {
    let fits = |(byte, pattern): (u8, u8)| if pattern == b'0' { byte.is_ascii_digit() } else { byte == pattern };
    let pattern = b"0000_00_00_00_00_00";
    name.len() == pattern.len() && name.bytes().zip(pattern.iter().copied()).all(fits)
}

/// `step_1000` of `logs/step_1000/plugins/profile/2026_01_31_12_00_00/host.xplane.pb`.
fn log_folder(path: &str) -> Option<&str> {
    let all: Vec<&str> = parts(path).collect();
    let before = all.windows(3).find(|parts| matches!(parts, [_, "plugins", "profile"]));
    before.and_then(|parts| parts.first().copied()).filter(|name| !matches!(*name, "" | "." | ".."))
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '\\'])
}

/// Names that tell runs apart, of each run's name and its other one ([`Metadata::other_name`]): names that are equal get the other
/// one behind them, where that tells them apart, else a number.
pub fn distinct(runs: &[(&str, Option<&str>)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, &(name, other)) in runs.iter().enumerate() {
        let namesakes = || runs.iter().enumerate().filter(|(index, run)| *index != at && run.0 == name);
        let tells = namesakes().next().is_some() && namesakes().all(|(_, run)| run.1 != other);
        let first = other.filter(|_| tells).map_or_else(|| name.to_owned(), |other| both(name, other));
        let numbered = |number: usize| if number == 1 { first.clone() } else { format!("{first} ({number})") };
        let is_free = |name: &String| !names.contains(name);
        names.push((1..).map(numbered).find(is_free).unwrap_or_default());
    }
    names
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
    fn the_folder_that_was_logged_to_names_a_run_not_the_time_of_day() {
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
        assert_eq!(of("host", "logs/host.xplane.pb").name(), "host");
        // Any other name was given by someone, who meant it.
        for own in ["mine", "2026_01_31", "2026_01_31_12_00_0x"] {
            let run = of(own, &file("logs/"));
            assert_eq!((run.name(), run.other_name()), (own, Some("logs")));
        }
        assert_eq!(of("", "a.json").name(), "a.json");
        assert_eq!(Metadata { trace_file: "a.json".to_owned(), ..Metadata::default() }.name(), "a.json");
    }

    #[test]
    fn runs_of_one_name_are_told_apart() {
        let runs = [("a", Some("1")), ("b", Some("1")), ("a", Some("2")), ("c", None), ("c", None), ("c (2)", None)];
        assert_eq!(distinct(&runs), ["a (1)", "b", "a (2)", "c", "c (2)", "c (2) (2)"]);
        // The same run twice.
        assert_eq!(distinct(&[("a", Some("1")), ("a", Some("1"))]), ["a", "a (2)"]);
        assert_eq!(distinct(&[("a", None), ("a", Some("1"))]), ["a", "a (1)"]);
        assert!(distinct(&[]).is_empty());
    }
}
