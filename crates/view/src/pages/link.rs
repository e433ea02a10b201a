//! Where a mark of a page leads: another view of the same run, filtered.

use serde::{Deserialize, Serialize};

use crate::views::View;

/// Another view of the same run, filtered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The view.
    pub view: View,
    /// The filter there; see [`crate::table::Filter`].
    pub filter: String,
    /// What is selected on the timeline: start and end in picoseconds from the start of the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_ps: Option<(i64, i64)>,
    /// Key of the event that is selected there, whose thread is in sight then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
}

impl Link {
    /// A link to a view under a filter.
    pub fn to(view: View, filter: &str) -> Link {
        Link { view, filter: filter.to_owned(), range_ps: None, event: None }
    }

    /// To the rows whose column `key` is `value`; `None` for a value that no filter can write.
    pub fn equal(view: View, key: &str, value: &str) -> Option<Link> {
        (!value.contains('"')).then(|| Link::to(view, &format!("{key}=\"{value}\"")))
    }
}
