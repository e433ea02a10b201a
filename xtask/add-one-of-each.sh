#!/usr/bin/env bash
# Adds a rule, a table, a column and a section to a copy of the sources, as docs/extend.md says. Fails if one of them touches
# more than three files by hand, or if the copy does not pass its tests. Takes as long as a build of the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
sources=$PWD copy=$PWD/target/one-of-each
# Not the target folder of the sources: Cargo would take the libraries of the one for those of the other.
export CARGO_TARGET_DIR=$sources/target/one-of-each-build
rm -rf "$copy"
git clone --quiet "$sources" "$copy"
cd "$copy"
git config user.name crossprof && git config user.email crossprof@localhost

# Commits what was changed by hand, and counts its files.
touched() {
    git add --all
    local files
    files=$(git diff --cached --name-only | wc -l)
    echo "$1: $files files ($(git diff --cached --name-only | tr '\n' ' '))"
    test "$files" -le 3
    git commit --quiet --message "Add a $1"
}

cat > crates/insight/src/added_rule.rs <<'RUST'
//! More than a thousand steps were captured.
//!
//! The capture has more than 1,000 steps (ours). Note, confidence high. Remedy: capture fewer.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "added_rule", title: "More than a thousand steps were captured", ..Rule::checked_by(check) };

/// Number of steps above which a capture has more than it needs (ours).
const MANY: u64 = 1_000;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let steps = numbers.profile.step_timing.num_steps;
    if steps <= MANY {
        return Verdict::Fine;
    }
    let message = format!("The capture has {steps} steps.");
    Draft::new(FindingSeverity::Note, Confidence::High, "More than a thousand steps were captured", message)
        .remedy("Capture 5 to 10 steps.")
        .passed("num_steps", steps as f64, MANY as f64)
        .link(View::Steps, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fine, gpu_steps, kernel};

    #[test]
    fn fires_above_its_limit() {
        fine(gpu_steps(3, |b, at| kernel(b, "gemm", at, at + 5, 900)), &RULE);
    }
}
RUST
sed -i 's/^mod single_step;/mod added_rule;\n&/; s/^\( *\)&single_step::RULE,/\1\&added_rule::RULE,\n&/' crates/insight/src/lib.rs
touched rule

cat > crates/tables/src/added_table.rs <<'RUST'
//! Table of the numbers of the steps.

use super::profile_table::{ProfileColumns, int, of_rows};
use crate::record::{Made, TableRecord};
use report::{Step, UnifiedProfile};
use table::{Table, Unit, column, columns};

/// Record of the table.
pub(super) const TABLE: TableRecord = TableRecord::new("added-table", || columns(&COLUMNS), Made::Profile(table));

pub(super) static COLUMNS: ProfileColumns<Step, 1> =
    [(column("index", "Step", Unit::Count, "Number of the step."), |it| int(Some(it.index)))];

/// Returns the numbers of the steps.
pub fn table(profile: &UnifiedProfile) -> Table {
    of_rows("added-table", &COLUMNS, &profile.steps)
}
RUST
sed -i 's/^mod arguments;/mod added_table;\n&/
s|^    /// Findings: recommended actions|    /// Numbers of the steps.\n    AddedTable = added_table::TABLE;\n&|' crates/tables/src/lib.rs
sed -i 's/^### Table: findings$/### Table: added-table\n\nOne row for each step.\n\n<!-- columns: added-table -->\n<!-- end -->\n\n&/' docs/metrics.md
touched table

sed -i 's/ProfileColumns<Finding, 8>/ProfileColumns<Finding, 9>/
s/^pub(super) static COLUMNS.*/&\n    (column("added", "Letters", Unit::Count, "Number of letters of the title."), |it| Cell::Int(it.title.len() as u64)),/' crates/tables/src/findings.rs
touched column

cat >> crates/pages/src/compare/front.rs <<'RUST'

/// Returns the number of runs.
pub(super) fn added(comparison: &Comparison) -> Section {
    let text = format!("{} runs", comparison.runs.len());
    Section { id: "added", title: "Number of runs".to_owned(), blocks: vec![note(&[text])], place: Place::Appendix }
}
RUST
sed -i 's/^    sections.push(changes::matching(comparison));/&\n    sections.push(front::added(comparison));/' crates/pages/src/compare/mod.rs
touched section

cargo fmt
CROSSPROF_WRITE_SCHEMA=1 cargo nextest run --features crossprof/view \
    -E 'test(schema::) or test(metrics_docs::) or test(findings::document::) or test(warnings::)'
cargo nextest run --features crossprof/view -E 'test(layering::) or test(metrics_docs::) or test(findings::document::)'
cargo nextest run -p insight -p tables -p pages
