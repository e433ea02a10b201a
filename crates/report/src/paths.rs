//! Information in the paths of runs: the parts that differ, and the number of devices.
//!
//! ```text
//! tensorboard_logs/1gpu_20241201_143022/lcam_trace/plugins/profile/<time>/host.xplane.pb    "1gpu lcam"
//! tensorboard_logs/1gpu_20241201_143022/tad_trace/plugins/profile/<time>/host.xplane.pb     "1gpu tad"
//! tensorboard_logs/4gpu_20241201_144500/lcam_trace/plugins/profile/<time>/host.xplane.pb    "4gpu lcam"
//! ```

/// Returns the parts of a path that users choose: the folders above the profiler's folder or, if there is none, all folders and
/// the name of the file.
pub fn parts(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let is_log = |parts: &[&str]| matches!(parts, ["plugins", "profile"]);
    if let Some(end) = parts.windows(2).position(is_log) {
        parts.truncate(end);
    } else if let Some(file) = parts.last_mut() {
        let suffixes = [".gz", ".xplane.pb", ".trace.json", ".json", ".pb"];
        *file = suffixes.iter().fold(*file, |name, suffix| name.strip_suffix(suffix).unwrap_or(name));
    }
    parts
}

/// Returns, for each path, the words that some other path lacks. Underscores and folders separate words. Words of one
/// folder stay together. Omits dates and times if the other words distinguish as many paths. The texts are empty if the
/// paths do not differ.
pub(crate) fn differing(paths: &[&str]) -> Vec<String> {
    let count = |names: &[String]| {
        let mut names: Vec<&String> = names.iter().collect();
        base::sort::sort_by(&mut names, Ord::cmp);
        names.dedup();
        names.len()
    };
    let with_times = words(paths, &|_| false);
    let without = words(paths, &is_time);
    if count(&without) < count(&with_times) { with_times } else { without }
}

/// Returns the method that each path names: the words that some other path lacks, without the number of devices. `None` if a
/// path does not contain a number of devices.
pub fn methods(paths: &[&str]) -> Option<Vec<String>> {
    let names_devices = |path: &&str| parts(path).iter().any(|part| part.split(SEPARATORS).any(is_device_count));
    let is_omitted = |word: &str| is_time(word) || is_device_count(word);
    paths.iter().all(names_devices).then(|| words(paths, &is_omitted))
}

const SEPARATORS: [char; 2] = ['_', ' '];

fn words(paths: &[&str], is_omitted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let parts: Vec<Vec<&str>> = paths.iter().map(|path| parts(path)).collect();
    let has = |parts: &[&str], word: &str| parts.iter().any(|part| part.split(SEPARATORS).any(|own| own == word));
    // Common words are in every path, so it is enough to check the words of the first path.
    let first: Vec<&str> =
        parts.first().iter().flat_map(|parts| parts.iter().flat_map(|it| it.split(SEPARATORS))).collect();
    let common: Vec<&str> = first.into_iter().filter(|word| parts.iter().all(|parts| has(parts, word))).collect();
    let name = |parts: &Vec<&str>| {
        let names = parts.iter().filter_map(|part| {
            let own = |word: &&str| !word.is_empty() && !is_omitted(word);
            let all: Vec<&str> = part.split(SEPARATORS).filter(own).collect();
            let left: Vec<&str> = all.iter().copied().filter(|word| !common.contains(word)).collect();
            // A number alone is kept together with the words around it.
            let is_number = !left.is_empty() && left.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
            let left = if is_number { all } else { left };
            (!left.is_empty()).then(|| left.join("_"))
        });
        names.collect::<Vec<_>>().join(" ")
    };
    parts.iter().map(name).collect()
}

/// Returns true for a date (`20241201`) or a time (`143022`).
fn is_time(word: &str) -> bool {
    matches!(word.len(), 6 | 8) && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for a number of devices: `4gpu`, `16chips`.
fn is_device_count(word: &str) -> bool {
    let unit = word.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let unit = unit.strip_suffix(['s', 'S']).unwrap_or(unit).to_ascii_lowercase();
    word.starts_with(|digit: char| digit.is_ascii_digit())
        && ["gpu", "tpu", "cpu", "chip", "core", "device", "dev", "host", "node"].contains(&unit.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_words_name_paths() {
        let paths = ["logs/4gpu_20241201_143022/lcam_trace/x.json", "logs/4gpu_20241202_143022/lcam_trace/x.json"];
        assert_eq!(differing(&paths), ["4gpu_20241201_143022", "4gpu_20241202_143022"]);
        assert_eq!(differing(&["a/step_100/t.json", "b/step_200/t.json"]), ["a step_100", "b step_200"]);
        assert_eq!(differing(&["x/t.xplane.pb"]), [""]);
        assert_eq!(differing(&["C:\\logs\\a\\t.json", "logs/b/t.json"]), ["C: a", "b"]);
        assert!(differing(&[]).is_empty());
    }

    #[test]
    fn methods_are_the_differing_words_without_the_devices() {
        let paths = ["l/1gpu_20241201_143022/lcam", "l/4GPUs_20241201_143023/lcam", "l/4gpu/tad"];
        assert_eq!(methods(&paths), Some(vec!["lcam".to_owned(), "lcam".to_owned(), "tad".to_owned()]));
        assert_eq!(methods(&["l/1gpu/x", "l/two/x"]), None);
        assert_eq!(methods(&["l/1gpu/x", "l/2gpu/x"]), Some(vec![String::new(), String::new()]));
    }
}
