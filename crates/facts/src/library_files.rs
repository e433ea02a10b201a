//! Distinguishes the user's functions from library functions, by the file that the Python tracer names
//! (`library_files.csv`).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::{module_graphs, table};
use base::sort;

static FILES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let file = |cells: Vec<&'static str>| cells.first().copied();
    sort::set(table::rows(include_str!("library_files.csv")).filter_map(file))
});

/// Folders in which packages are installed.
const PACKAGES: [&str; 3] = ["site-packages/", "dist-packages/", "lib/python"];

/// Returns true if a frame of the Python tracer (`$train.py:12 train_step`, `work/train.py(12): train_step`) is a public
/// function outside of known libraries. Files whose names begin with an underscore are internal to a package (NumPy's
/// `_function_base_impl.py`), so they are treated as library files.
pub fn is_users(frame: &str) -> bool {
    let Some((place, function)) = frame.rsplit_once(' ') else { return false };
    if !function.starts_with(|first: char| first.is_alphabetic()) {
        return false;
    }
    let place = place.trim_end_matches([':', ')']);
    let path = place.trim_end_matches(|c: char| c.is_ascii_digit());
    // Functions that are not written in Python have no line number.
    let Some(path) = path.strip_suffix([':', '(']).filter(|_| path.len() < place.len()) else { return false };
    let file = path.rsplit(['/', '$']).next().unwrap_or(path);
    // PyTorch writes paths relative to the folder of the packages.
    let installed = path.starts_with("torch/") || PACKAGES.iter().any(|directory| path.contains(directory));
    let is_internal = file.starts_with('_') && !file.starts_with("__");
    file.ends_with(".py") && !is_internal && !installed && !FILES.contains(file) && !module_graphs::is(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_once() {
        assert_eq!(FILES.len(), table::rows(include_str!("library_files.csv")).count());
        assert!(table::rows(include_str!("library_files.csv")).all(|cells| cells.len() == 2));
    }

    #[test]
    fn library_functions_are_not_user_functions() {
        assert!(is_users("$train.py:12 train_step"));
        assert!(is_users("/home/someone/code/train.py(12): train_step"));
        for frame in [
            "$api.py:3105 block_until_ready",
            "$threading.py:637 wait",
            "$train.py:12 <module>",
            "$train.py:12 _step",
            "$train.py:12 __call__",
            "$_function_base_impl.py:4255 quantile",
            "$loops.py:252 scan",
            "$extract.py:338 to_tree",
            "$builtins isinstance",
            "$jaxlib.utils safe_map",
            "torch/optim/sgd.py(5): step",
            "/usr/lib/python3/dist-packages/a/b.py(5): step",
            "train",
        ] {
            assert!(!is_users(frame), "{frame}");
        }
    }
}
