//! Recognises the framework of a JAX program (`frameworks.csv`).

use std::sync::LazyLock;

use super::table;

/// Kind of text that a pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameworkEvidence {
    /// Path of a source file.
    File,
    /// Name of a compiled program, without its number.
    Module,
}

struct FrameworkRow {
    framework: &'static str,
    evidence: FrameworkEvidence,
    pattern: &'static str,
}

static ROWS: LazyLock<Vec<FrameworkRow>> =
    LazyLock::new(|| table::rows(include_str!("frameworks.csv")).filter_map(|cells| parse(&cells)).collect());

fn parse(cells: &[&'static str]) -> Option<FrameworkRow> {
    let &[framework, evidence, pattern, _source] = cells else { return None };
    let evidence = match evidence {
        "file" => FrameworkEvidence::File,
        "module" => FrameworkEvidence::Module,
        _ => return None,
    };
    Some(FrameworkRow { framework, evidence, pattern })
}

/// Collects evidence for the framework of a profile.
#[derive(Clone, Debug, Default)]
pub struct FrameworkClues {
    /// Index of the first table row that matched a text of the profile.
    best: Option<usize>,
}

impl FrameworkClues {
    /// Compares a text of the profile with the patterns of all frameworks.
    pub fn look(&mut self, evidence: FrameworkEvidence, text: &str) {
        let better = ROWS.iter().take(self.best.unwrap_or(usize::MAX));
        let row = better.into_iter().position(|row| {
            row.evidence == evidence
                && match evidence {
                    FrameworkEvidence::File => is_in(text, row.pattern),
                    FrameworkEvidence::Module => text.ends_with(row.pattern),
                }
        });
        self.best = row.or(self.best);
    }

    /// Returns the framework of the first table row that matched a text.
    pub fn framework(&self) -> Option<&'static str> {
        self.best.and_then(|row| ROWS.get(row)).map(|row| row.framework)
    }
}

/// Returns true if the path contains `pattern` (`/flax/linen/`). A path that begins with `flax/linen/` matches this
/// pattern too.
fn is_in(path: &str, pattern: &str) -> bool {
    path.contains(pattern) || pattern.strip_prefix('/').is_some_and(|start| path.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(ROWS.len(), table::rows(include_str!("frameworks.csv")).count());
    }

    #[test]
    fn a_framework_is_detected_by_its_own_files_and_programs() {
        let of = |texts: &[(FrameworkEvidence, &str)]| {
            let mut found = FrameworkClues::default();
            texts.iter().for_each(|(evidence, text)| found.look(*evidence, text));
            found.framework()
        };
        let linear = (FrameworkEvidence::File, "/usr/lib/python3/site-packages/flax/linen/linear.py:287");
        assert_eq!(of(&[linear]), Some("Flax"));
        assert_eq!(of(&[(FrameworkEvidence::File, "flax/nnx/nn/linear.py(12): __call__")]), Some("Flax"));
        assert_eq!(of(&[(FrameworkEvidence::File, "/x/haiku/_src/basic.py:180")]), Some("Haiku"));
        assert_eq!(of(&[linear, (FrameworkEvidence::Module, "pjit__wrapped_step_fn")]), Some("PAXml"));
        assert_eq!(of(&[(FrameworkEvidence::Module, "jit__wrapped_step_fn"), linear]), Some("PAXml"));
        // A project that only has a similar name.
        assert_eq!(
            of(&[
                (FrameworkEvidence::File, "/home/me/my_flax/train.py:3"),
                (FrameworkEvidence::File, "/home/me/flax/train.py:3")
            ]),
            None
        );
        assert_eq!(
            of(&[(FrameworkEvidence::Module, "/flax/linen/"), (FrameworkEvidence::File, "_wrapped_step_fn")]),
            None
        );
    }
}
