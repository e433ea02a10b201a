//! Chooses the line of a call stack that crossprof shows as the source of an op, a buffer or an allocation.
//!
//! ```text
//! /home/me/train.py:40:4                              the user's, and innermost among them: shown
//! /venv/site-packages/flax/linen/linear.py:287:8      a library's
//! ```

/// Folders of installed packages and of launchers.
const INSTALLED: [&str; 3] = ["site-packages", "dist-packages", "bin"];

/// Folders of packages that are often used without installation, for example from a checkout.
const PACKAGES: [[&str; 2]; 7] = [
    ["jax", "_src"],
    ["jax", "experimental"],
    ["flax", "core"],
    ["flax", "linen"],
    ["flax", "nnx"],
    ["haiku", "_src"],
    ["absl", "app.py"],
];

/// Prefixes of the names that Python gives to code typed into an interpreter.
const TYPED: [&str; 2] = ["<ipython-input", "<stdin>"];

/// Returns true if a file belongs to an installed package, to Python itself, or to a launcher.
pub fn is_library(file: &str) -> bool {
    if file.starts_with('<') {
        return !TYPED.iter().any(|start| file.starts_with(start));
    }
    let mut last = "";
    let in_package = file.split(['/', '\\']).any(|part| {
        let pair = [std::mem::replace(&mut last, part), part];
        INSTALLED.contains(&part) || PACKAGES.contains(&pair)
    });
    in_package || file.contains("/lib/python3")
}

/// Returns the frames of a call stack as `file:line`, outermost first. Each line of `stack` is a frame.
pub fn frames(stack: &str) -> impl DoubleEndedIterator<Item = &str> {
    stack.lines().map(without_column).filter(|frame| !frame.is_empty())
}

/// Returns the innermost frame of a call stack (see [`frames`]) that does not belong to a library.
pub fn own(stack: &str) -> Option<&str> {
    frames(stack).rfind(|frame| !is_library(frame.rsplit_once(':').map_or(*frame, |(file, _)| file)))
}

/// Strips the column: `train.py:40:4` becomes `train.py:40`.
fn without_column(frame: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match frame.rsplit_once(':') {
        Some((place, column))
            if is_number(column) && place.rsplit_once(':').is_some_and(|(_, line)| is_number(line)) =>
        {
            place
        }
        _ => frame,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_line_outside_of_libraries_is_shown() {
        let stack = "<frozen runpy>:198:11\n/usr/bin/train:8:9\n/home/me/train.py:40:4\n/home/me/model.py:12\n\
                     /venv/lib/python3.12/site-packages/flax/linen/linear.py:287:8\n";
        assert_eq!(own(stack), Some("/home/me/model.py:12"));
        assert_eq!(frames(stack).next(), Some("<frozen runpy>:198"));
        assert_eq!(frames(stack).count(), 5);
        assert_eq!(own("/venv/site-packages/vllm/a.py:3:1\n/venv/bin/vllm:8:9"), None);
        assert_eq!(own(""), None);
    }

    #[test]
    fn libraries_are_detected_by_their_folders() {
        for file in [
            "/usr/lib/python3.12/threading.py",
            "C:\\venv\\Lib\\site-packages\\jax\\numpy.py",
            "/usr/lib/python3/dist-packages/a.py",
            "<embedded module '_launcher'>",
            "third_party/py/absl/app.py",
            "jax/_src/lax/lax.py",
            "/src/flax/flax/linen/linear.py",
        ] {
            assert!(is_library(file), "{file}");
        }
        for file in
            ["/home/me/flax/train.py", "<ipython-input-3-5f>", "/tmp/ipykernel_1/2.py", "train.py", "jax/train.py"]
        {
            assert!(!is_library(file), "{file}");
        }
    }
}
