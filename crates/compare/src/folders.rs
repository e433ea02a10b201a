//! Decides whether each of several folders contains captures of one program, so that each folder is
//! one run.
//!
//! ```text
//! main/run_0.xplane.pb                            main/step_1000.json    training steps
//! main/run_1.xplane.pb      one run of two        main/bs16.json         numbers that are settings
//! new/plugins/profile/2026_01_31_12_00_00/        main/lcam, main/tad    other words
//! new/plugins/profile/2026_01_31_12_05_00/        main/4gpu, main/8gpu   other device counts
//! ```
//!
//! The decision uses names and the measured hardware, but none of the data that is then compared. If in doubt, each capture is
//! a run.

use report::{Metadata, parts_of_path};

/// A number after one of these words is a setting of the experiment rather than the index of a capture.
const MEASURED_WORDS: [&str; 14] =
    ["batch", "bs", "core", "device", "gpu", "host", "layer", "layers", "node", "rank", "seq", "step", "tpu", "worker"];
/// Numbers with at least this many digits are timestamps or process ids.
const ID_DIGITS: usize = 5;

/// Returns true if every folder contains at least two captures of one program, and all captures ran
/// on the same number of devices of one model. Each entry is a folder with the metadata of its
/// captures. Returns false for fewer than two folders.
pub fn are_groups(folders: &[Vec<&Metadata>]) -> bool {
    let conditions =
        |it: &Metadata| (it.platform.clone(), it.device_type.clone(), it.num_devices, it.experiment_name.clone());
    let all = || folders.iter().flatten();
    let alike = all().zip(all().skip(1)).all(|(a, b)| conditions(a) == conditions(b));
    let grouped = all().any(|it| it.compared.comparison_group.is_some());
    folders.len() >= 2 && alike && !grouped && folders.iter().all(|folder| is_group(folder))
}

/// Returns true if there are at least two captures, and their names differ only by an index or a time.
fn is_group(captures: &[&Metadata]) -> bool {
    let named: Vec<Vec<NamePiece>> = captures.iter().map(|it| pieces(it)).collect();
    let Some((first, others)) = named.split_first() else { return false };
    let same_words =
        |other: &Vec<NamePiece>| other.len() == first.len() && other.iter().zip(first).all(|(a, b)| a.word == b.word);
    let is_counted = |at: usize| {
        let numbers: Vec<&NamePiece> = named.iter().filter_map(|pieces| pieces.get(at)).collect();
        let values: Option<Vec<u64>> = numbers.iter().map(|it| it.digits.parse().ok()).collect();
        let differ = numbers.iter().any(|it| Some(&it.digits) != numbers.first().map(|first| &first.digits));
        let is_id = numbers.iter().all(|it| it.digits.len() >= ID_DIGITS);
        let spread = values.and_then(|values| Some(values.iter().max()? - values.iter().min()?));
        let is_index = spread.is_some_and(|spread| spread < 2 * captures.len() as u64);
        let is_measured = numbers.iter().any(|it| MEASURED_WORDS.contains(&it.last_word()));
        !differ || (!is_measured && (is_id || is_index))
    };
    !others.is_empty() && others.iter().all(same_words) && (0..first.len()).all(is_counted)
}

/// Part of a name: a text and the digits after it. The last part of a name may have no digits.
#[derive(Debug, Default, PartialEq, Eq)]
struct NamePiece {
    word: String,
    digits: String,
}

impl NamePiece {
    /// Returns the last word of the text: `step` for `train-step=`.
    fn last_word(&self) -> &str {
        self.word.rsplit(|c: char| !c.is_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default()
    }
}

/// Splits the name of a capture into pieces. Uses the folders and names that users chose, and ignores names that a profiler
/// derives from the time and the host.
fn pieces(metadata: &Metadata) -> Vec<NamePiece> {
    let name = format!("{}/{}", parts_of_path(&metadata.trace_file).join("/"), metadata.name()).to_lowercase();
    let mut pieces = vec![NamePiece::default()];
    for (at, c) in name.char_indices() {
        let is_digit = c.is_ascii_digit();
        let digits = pieces.last().map_or(0, |piece| piece.digits.len());
        // A date is one number: 2026_01_31.
        if !is_digit && digits >= 4 && c.is_ascii_punctuation() && begins_with_two_digits(name.get(at + 1..)) {
            continue;
        }
        if !is_digit && digits > 0 {
            pieces.push(NamePiece::default());
        }
        if let Some(piece) = pieces.last_mut() {
            if is_digit { piece.digits.push(c) } else { piece.word.push(c) }
        }
    }
    pieces
}

/// Returns true if the text begins with exactly two digits.
fn begins_with_two_digits(text: Option<&str>) -> bool {
    text.unwrap_or_default().bytes().take_while(u8::is_ascii_digit).count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> Vec<Metadata> {
        let of = |name: &&str| Metadata {
            platform: "GPU".to_owned(),
            num_devices: 4,
            trace_file: (*name).to_owned(),
            run_name: parts_of_path(name).last().map(|name| (*name).to_owned()),
            ..Metadata::default()
        };
        names.iter().map(of).collect()
    }

    fn groups(sides: &[&[&str]]) -> bool {
        let folders: Vec<Vec<Metadata>> = sides.iter().map(|names| folder(names)).collect();
        are_groups(&folders.iter().map(|folder| folder.iter().collect()).collect::<Vec<_>>())
    }

    #[test]
    fn names_that_count_are_captures_of_one_program() {
        const MAIN: &[&str] = &["main/a0.json", "main/a1.json", "main/a2.json"];
        let time = |time: &str| format!("new/plugins/profile/2026_01_31_{time}/vm.xplane.pb");
        assert!(groups(&[MAIN, &[&time("12_00_00"), &time("12_05_00")]]));
        assert!(groups(&[MAIN, &["new/vm_20391.1769860000.pt.trace.json", "new/vm_31007.1769860900.pt.trace.json"]]));
        assert!(groups(&[MAIN, &["new/run_1/t.json", "new/run_3/t.json"]]));
        assert!(groups(&[
            MAIN,
            &["new/2026_01_31_12_00_00.pb", "new/2026_01_31_12_35_17.pb", "new/2026_02_01_08_00_00.pb"]
        ]));
        assert!(groups(&[MAIN, &["new/bs16_0.json", "new/bs16_1.json"]]));
        for other in [
            &["new/a0.json"][..],
            &["new/step_1.json", "new/step_2.json"],
            &["new/train-step=100/t.json", "new/train-step=200/t.json"],
            &["new/lcam_trace/t.json", "new/tad_trace/t.json"],
            &["new/bs16.json", "new/bs17.json"],
            &["new/size16.json", "new/size32.json"],
            &["new/rank0.json", "new/rank1.json"],
            &["new/a0.json", "new/b.json"],
        ] {
            assert!(!groups(&[MAIN, other]), "{other:?}");
        }
        assert!(!groups(&[MAIN]) && !groups(&[]));
    }

    #[test]
    fn captures_on_other_devices_and_grouped_ones_stay_apart() {
        let sides = [folder(&["a/0.json", "a/1.json"]), folder(&["b/0.json", "b/1.json"])];
        let are = |change: &dyn Fn(&mut Metadata)| {
            let mut sides = sides.clone();
            change(&mut sides[1][1]);
            are_groups(&sides.iter().map(|side| side.iter().collect()).collect::<Vec<_>>())
        };
        assert!(are(&|_| ()));
        assert!(!are(&|it| it.num_devices = 8));
        assert!(!are(&|it| it.platform = "TPU".to_owned()));
        assert!(!are(&|it| it.device_type = "H100".to_owned()));
        assert!(!are(&|it| it.experiment_name = Some("other".to_owned())));
        assert!(!are(&|it| it.compared.comparison_group = Some("g".to_owned())));
    }
}
