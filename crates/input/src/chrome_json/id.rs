//! Ids of processes, threads and pairs.

use trace::StrId;

/// A `pid`, `tid` or `id`: a number in any spelling (`7`, `"7"`, `0x7`), or any other text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Id {
    #[default]
    Missing,
    Number(i64),
    Text(StrId),
    /// Stands for the line of a process's asynchronous events, which have no thread.
    Async,
}
