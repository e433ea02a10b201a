//! Names of host events that call or execute a compiled program (`program_spans.csv`).

use std::sync::LazyLock;

use super::host_spans::is_frame;
use super::pattern::{Name, Pattern, Patterns};
use super::table;

/// Work of the host on a compiled program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProgramActivity {
    /// Python calls the program.
    Call,
    /// The runtime executes the program.
    Execute,
    /// The program is compiled. Use [`super::host_spans`] to recognise such events.
    Compile,
}

impl ProgramActivity {
    /// Returns the name that the report uses.
    pub fn label(self) -> &'static str {
        match self {
            ProgramActivity::Call => "call",
            ProgramActivity::Execute => "execute",
            ProgramActivity::Compile => "compile",
        }
    }
}

static ROWS: LazyLock<Vec<(ProgramActivity, Pattern)>> =
    LazyLock::new(|| table::rows(include_str!("program_spans.csv")).filter_map(|cells| parse(&cells)).collect());

static PATTERNS: LazyLock<Patterns> =
    LazyLock::new(|| Patterns::new(ROWS.iter().map(|(_, pattern)| *pattern).collect()));

fn parse(cells: &[&'static str]) -> Option<(ProgramActivity, Pattern)> {
    let &[activity, kind, pattern, _source] = cells else { return None };
    let activity =
        [ProgramActivity::Call, ProgramActivity::Execute].into_iter().find(|known| known.label() == activity)?;
    Some((activity, Pattern::parse(kind, pattern)?))
}

/// Returns the work on a program that an event's name indicates. Returns `None` for other events and for Python tracer
/// frames.
pub fn program_activity(name: &str) -> Option<ProgramActivity> {
    if is_frame(name) {
        return None;
    }
    let row = PATTERNS.first_match(&Name::new(name))?;
    ROWS.get(row).map(|&(activity, _)| activity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_spans::HostWork;

    #[test]
    fn every_row_is_read() {
        assert_eq!(ROWS.len(), table::rows(include_str!("program_spans.csv")).count());
    }

    #[test]
    fn calls_and_executions_are_told_apart() {
        assert_eq!(program_activity("PjitFunction(f)"), Some(ProgramActivity::Call));
        assert_eq!(program_activity("ThunkExecutor::Execute (wait for completion)"), Some(ProgramActivity::Execute));
        assert_eq!(program_activity("TfrtCpuExecutable::Execute"), Some(ProgramActivity::Execute));
        assert_eq!(
            program_activity("CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice"),
            Some(ProgramActivity::Execute)
        );
        // Every span that calls or executes a program is also classified as launching work or waiting for it.
        for (_, pattern) in ROWS.iter() {
            let (Pattern::Exact(text)
            | Pattern::Prefix(text)
            | Pattern::Contains(text)
            | Pattern::Words(text)
            | Pattern::Frame(text)) = pattern;
            let work = crate::host_spans::work(text);
            assert!(matches!(work, Some(HostWork::Launch)), "{text} {work:?}");
        }
        assert_eq!(program_activity("ParseArguments"), None);
        assert_eq!(program_activity("$pjit.py:3 pjitfunction("), None);
    }
}
