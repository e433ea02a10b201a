//! The category of a kernel or an HLO instruction by its name (`kernel_families.csv`).

use std::sync::LazyLock;

use super::pattern::{Name, Pattern, Patterns};
use super::table;

/// Whose names a row tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Names of kernels of libraries and kernel compilers (`ncclDevKernel_AllReduce_Sum_f32_RING_LL`).
    Kernel,
    /// Names of HLO instructions and the fusions made of them (`loop_add_fusion.3`), and of framework ops.
    Hlo,
}

struct Row {
    scope: Scope,
    pattern: Pattern,
    category: &'static str,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let text = include_str!("kernel_families.csv");
    table::rows(text).filter_map(|cells| parse(&cells)).collect()
});

fn parse(cells: &[&'static str]) -> Option<Row> {
    let &[scope, kind, pattern, category, _source] = cells else { return None };
    let scope = match scope {
        "kernel" => Scope::Kernel,
        "hlo" => Scope::Hlo,
        _ => return None,
    };
    Some(Row { scope, pattern: Pattern::parse(kind, pattern)?, category })
}

/// The rows of one scope.
struct OfScope {
    patterns: Patterns,
    /// Of each pattern.
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

/// Category of the first row of `scope` that matches `name`.
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
    fn every_row_is_read_and_its_category_has_a_family() {
        assert_eq!(ROWS.len(), table::rows(include_str!("kernel_families.csv")).count());
        for row in ROWS.iter() {
            assert!(hlo_categories::family(row.category).is_some(), "{}", row.category);
        }
    }
}
