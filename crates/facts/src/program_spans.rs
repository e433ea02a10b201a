//! Whether a host event calls or executes a compiled program, by its name (`program_spans.csv`).

use std::sync::LazyLock;

use super::host_spans::is_frame;
use super::pattern::{Name, Pattern};
use super::table;

/// What a host does with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// Python calls it.
    Call,
    /// The runtime executes it.
    Execute,
    /// It is compiled; told by [`super::host_spans`].
    Compile,
}

impl Activity {
    /// The report's spelling.
    pub fn label(self) -> &'static str {
        match self {
            Activity::Call => "call",
            Activity::Execute => "execute",
            Activity::Compile => "compile",
        }
    }
}

static ROWS: LazyLock<Vec<(Activity, Pattern)>> =
    LazyLock::new(|| table::rows(include_str!("program_spans.csv")).filter_map(|cells| parse(&cells)).collect());

fn parse(cells: &[&'static str]) -> Option<(Activity, Pattern)> {
    let &[activity, kind, pattern, _source] = cells else { return None };
    let activity = [Activity::Call, Activity::Execute].into_iter().find(|known| known.label() == activity)?;
    Some((activity, Pattern::parse(kind, pattern)?))
}

/// What an event of this name does with a program; `None` for any other event. Frames of Python tracers are none of it.
pub fn activity(name: &str) -> Option<Activity> {
    if is_frame(name) {
        return None;
    }
    let name = Name::new(name);
    ROWS.iter().find(|(_, pattern)| pattern.matches(&name)).map(|&(activity, _)| activity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(ROWS.len(), table::rows(include_str!("program_spans.csv")).count());
    }

    #[test]
    fn calls_and_executions_are_told_apart() {
        assert_eq!(activity("PjitFunction(f)"), Some(Activity::Call));
        assert_eq!(activity("ThunkExecutor::Execute (wait for completion)"), Some(Activity::Execute));
        assert_eq!(activity("TfrtCpuExecutable::Execute"), Some(Activity::Execute));
        assert_eq!(activity("CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice"), Some(Activity::Execute));
        assert_eq!(activity("ParseArguments"), None);
        assert_eq!(activity("$pjit.py:3 pjitfunction("), None);
    }
}
