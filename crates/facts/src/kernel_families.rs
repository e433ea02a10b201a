//! Categories of kernels and HLO instructions, by their names (`kernel_families.csv`).

use std::sync::LazyLock;

use super::pattern::{Name, Pattern, Patterns};
use super::table;

/// Kind of names that a row applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Names of kernels from libraries and kernel compilers (`ncclDevKernel_AllReduce_Sum_f32_RING_LL`).
    Kernel,
    /// Names of HLO instructions, of fusions (`loop_add_fusion.3`), and of framework ops.
    Hlo,
}

struct FamilyRow {
    scope: Scope,
    pattern: Pattern,
    category: &'static str,
}

static ROWS: LazyLock<Vec<FamilyRow>> = LazyLock::new(|| {
    let text = include_str!("kernel_families.csv");
    table::rows(text).filter_map(|cells| parse(&cells)).collect()
});

fn parse(cells: &[&'static str]) -> Option<FamilyRow> {
    let &[scope, kind, pattern, category, _source] = cells else { return None };
    let scope = match scope {
        "kernel" => Scope::Kernel,
        "hlo" => Scope::Hlo,
        _ => return None,
    };
    Some(FamilyRow { scope, pattern: Pattern::parse(kind, pattern)?, category })
}

struct OfScope {
    patterns: Patterns,
    /// Category of each pattern.
    categories: Vec<&'static str>,
}

impl OfScope {
    fn new(scope: Scope) -> OfScope {
        let rows = || ROWS.iter().filter(|row| row.scope == scope);
        let patterns = Patterns::new(rows().map(|row| row.pattern).collect());
        OfScope { patterns, categories: rows().map(|row| row.category).collect() }
    }
}

static KERNEL: LazyLock<OfScope> = LazyLock::new(|| OfScope::new(Scope::Kernel));
static HLO: LazyLock<OfScope> = LazyLock::new(|| OfScope::new(Scope::Hlo));

/// Returns the category of the first row of `scope` that matches `name`.
pub fn category(scope: Scope, name: &Name) -> Option<&'static str> {
    let rows = match scope {
        Scope::Kernel => &KERNEL,
        Scope::Hlo => &HLO,
    };
    rows.categories.get(rows.patterns.first_match(name)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo_categories;

    #[test]
    fn the_first_row_that_matches_wins() {
        let all = |scope: Scope, name: &Name| {
            ROWS.iter().find(|row| row.scope == scope && row.pattern.matches(name)).map(|row| row.category)
        };
        let rows = table::rows(include_str!("kernel_families.csv")).filter_map(|cells| cells.get(2).copied());
        let (mut before, mut found) = ("", 0);
        for text in rows {
            let text = text.trim_end_matches('*');
            for name in [
                text.to_owned(),
                text.to_uppercase(),
                format!("my{text}s"),
                format!("void x::{text}_3<{before}>"),
                format!("{}.{}_fusion", text.replace('-', "_"), before.trim_end_matches('*')),
            ] {
                let name = Name::new(&name);
                for scope in [Scope::Kernel, Scope::Hlo] {
                    assert_eq!(category(scope, &name), all(scope, &name), "{name:?}");
                    found += usize::from(category(scope, &name).is_some());
                }
            }
            before = text;
        }
        assert!(found > 1_000, "{found}");
    }

    #[test]
    fn every_row_is_read_and_its_category_has_a_family() {
        assert_eq!(ROWS.len(), table::rows(include_str!("kernel_families.csv")).count());
        for row in ROWS.iter() {
            assert!(hlo_categories::family(row.category).is_some(), "{}", row.category);
        }
    }
}
