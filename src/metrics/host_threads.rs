//! What the threads of the hosts do.

use crate::units::Ps;

/// What a host thread is for, or what it is doing where an event tells better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostRole {
    /// Runs Python.
    Python,
    /// Launches device work.
    Launch,
    /// Makes, waits for or hands over a batch.
    Input,
    /// Compiles.
    Compile,
    /// Moves data between host and device.
    Transfer,
    /// Waits for a device.
    Wait,
    /// Anything else.
    Other,
}

impl HostRole {
    /// All of them.
    pub const ALL: [HostRole; 7] = [
        HostRole::Python,
        HostRole::Launch,
        HostRole::Input,
        HostRole::Compile,
        HostRole::Transfer,
        HostRole::Wait,
        HostRole::Other,
    ];

    /// The report's spelling.
    pub fn label(self) -> &'static str {
        match self {
            HostRole::Python => "python",
            HostRole::Launch => "launch",
            HostRole::Input => "input",
            HostRole::Compile => "compile",
            HostRole::Transfer => "transfer",
            HostRole::Wait => "wait",
            HostRole::Other => "other",
        }
    }
}

/// Time of each role: unions over the threads of a host, summed over hosts. Roles run beside each other, so they do not
/// add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostThreads {
    /// `(role, time)`, in the order of [`HostRole::ALL`], those that occur.
    pub roles: Vec<(HostRole, Ps)>,
    /// Time in which no thread does anything.
    pub idle: Ps,
    /// The capture, summed over hosts.
    pub capture: Ps,
}
