//! The definition behind every figure: the text of docs/metrics.md, found by the field's path.
//!
//! That document defines each field in a bullet that starts with the field's path in backquotes. The page shows the
//! same text on hover and focus, so the two cannot differ. It is a file beside the page, fetched with it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

static ENTRIES: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// Takes the document.
pub fn learn(document: &str) {
    ENTRIES.get_or_init(|| parse(document));
}

/// The definition of a field (`step_timing.avg_step_time_us`), or nothing where the document has none.
pub fn definition(field: &str) -> Option<&'static str> {
    ENTRIES.get()?.get(field).map(String::as_str)
}

/// Where the columns of a table that the profile holds are defined: what stands before their keys.
const FIELDS_OF_TABLES: [(&str, &str); 6] = [
    ("steps", "steps[]."),
    ("top-kernels", "kernels.top_kernels[]."),
    ("categories", "kernels.kernels_by_category.*."),
    ("devices", "multi_device.device_stats[]."),
    ("gaps", "timeline_analysis.longest_gaps[]."),
    ("transfers", "memory_operations.transfers[]."),
];

/// The definition of a table's column, with the path under which it stands: the table's own section, else that of the
/// field of the profile.
pub fn column(table: &str, key: &str) -> Option<(&'static str, String)> {
    let own = format!("{table}/{key}");
    if let Some(text) = definition(&own) {
        return Some((text, key.to_owned()));
    }
    let (_, path) = FIELDS_OF_TABLES.iter().find(|(name, _)| *name == table)?;
    // A device's gaps are a section of their own.
    let fields = [format!("{path}{key}"), format!("{path}gaps.{key}")];
    fields.into_iter().find_map(|field| Some((definition(&field)?, field)))
}

/// Field paths and their texts. A bullet goes on over indented lines; one bullet may name several fields. A definition
/// of a few words gets the first sentence of its section's introduction: it says what "the union" is of.
fn parse(document: &str) -> BTreeMap<String, String> {
    let mut entries = BTreeMap::new();
    let mut bullet = String::new();
    let mut introduction = String::new();
    let mut table = "";
    for line in document.lines().chain([""]) {
        if !bullet.is_empty() && line.starts_with("  ") {
            bullet.push(' ');
            bullet.push_str(line.trim());
            continue;
        }
        add(&bullet, &introduction, table, &mut entries);
        bullet.clear();
        if let Some(text) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
            bullet.push_str(text.trim());
        } else if line.starts_with('#') {
            // Columns are defined under "Table: <name>".
            table = line.trim_start_matches(['#', ' ']).strip_prefix("Table:").unwrap_or("").trim().trim_matches('`');
            introduction.clear();
        } else if !line.is_empty() {
            introduction.push_str(line.trim());
            introduction.push(' ');
        }
    }
    entries
}

/// Definitions of fewer characters do not stand for themselves.
const FEW_CHARS: usize = 48;

/// Splits "`a.b`, `a.c` text" into its fields and the text.
fn add(bullet: &str, introduction: &str, table: &str, entries: &mut BTreeMap<String, String>) {
    let mut rest = bullet;
    let mut fields = Vec::new();
    while let Some((field, tail)) = rest.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        fields.push(field);
        rest = match tail.strip_prefix(", ") {
            // Another field of the same definition.
            Some(next) if next.starts_with('`') => next,
            _ => {
                rest = tail;
                break;
            }
        };
    }
    let text = plain(rest.trim_start_matches([':', '.', '-', ' ']));
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let mut text = first + letters.as_str();
    if text.len() < FEW_CHARS
        && let Some((sentence, _)) = introduction.split_once(". ")
    {
        text.push_str(&format!(" {}.", plain(sentence)));
    }
    for field in fields {
        let path = if table.is_empty() { field.to_owned() } else { format!("{table}/{field}") };
        entries.entry(path).or_insert_with(|| text.clone());
    }
}

/// Markdown without its marks.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['`', '*', '[']) {
        out.push_str(&rest[..start]);
        let mark = &rest[start..];
        rest = match mark.strip_prefix('[').and_then(|link| link.split_once("](")) {
            Some((label, tail)) if tail.contains(')') => {
                out.push_str(label);
                tail.split_once(')').map_or("", |(_, after)| after)
            }
            _ => {
                // A single star is a product; a pair makes letters bold.
                let skip = if mark.starts_with("**") { 2 } else { 1 };
                if mark.starts_with('[') || (skip == 1 && mark.starts_with('*')) {
                    out.push_str(&mark[..1]);
                }
                &mark[skip..]
            }
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bullets_become_entries() {
        let text = "# Title\nSome words. More.\n\n- `a.b_us` (us): the **sum** of `x`,\n  over [all](#all) devices: 2 * x.\n- `c`, `d`: both.\ntext\n";
        let entries = parse(text);
        assert_eq!(entries["a.b_us"], "(us): the sum of x, over all devices: 2 * x. Some words.");
        assert_eq!(entries["c"], "Both. Some words.");
        assert_eq!(entries["d"], "Both. Some words.");
        assert_eq!(entries.len(), 3);
    }

    #[test]
    fn columns_are_found_by_their_table() {
        let entries = parse(
            "# A\n* `a`: one that is long enough to stand for itself, as most are.\n## Table: ops\n* `a`, `b`: two that is long enough to stand for itself, as most are.\n",
        );
        assert!(entries["a"].starts_with("One") && entries["ops/a"].starts_with("Two"));
        assert_eq!(entries.len(), 3);
    }
}
