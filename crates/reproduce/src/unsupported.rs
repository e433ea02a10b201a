//! Reasons why an op has no script.

/// Reason why JAX cannot reproduce an op. The text is one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The op computes nothing.
    #[error("{name} is a {opcode}, which computes nothing")]
    Nothing {
        /// Name of the instruction.
        name: String,
        /// Its opcode.
        opcode: String,
    },
    /// JAX has no function for the opcode, or for the way in which the op uses it.
    #[error("JAX has no call for {what}")]
    NoCall {
        /// The opcode, with the kind of use that JAX does not support.
        what: String,
    },
    /// The op calls a library or a kernel that is not part of JAX.
    #[error("JAX has no call for the custom call {target}{hint}")]
    CustomCall {
        /// Target of the custom call.
        target: String,
        /// Advice, which starts with a colon. Empty if there is no advice.
        hint: String,
    },
    /// JAX has no such element type.
    #[error("JAX has no element type {0}")]
    Type(String),
    /// The program does not record a part that the script needs.
    #[error("the program does not record {what} of {name}")]
    Missing {
        /// The missing part, such as "the shape".
        what: &'static str,
        /// Name of the instruction.
        name: String,
    },
    /// The op contains too many instructions for a readable script.
    #[error("{name} contains more than {limit} instructions, which is too many for a script")]
    TooLarge {
        /// Name of the instruction.
        name: String,
        /// Maximum number of instructions.
        limit: usize,
    },
    /// A computation calls itself. No compiler writes such a program.
    #[error("the computation {0} calls itself, so the file is damaged")]
    Cyclic(String),
}

impl Unsupported {
    /// Returns the error for an operation that JAX has no call for.
    pub(crate) fn no_call(what: impl Into<String>) -> Unsupported {
        Unsupported::NoCall { what: what.into() }
    }

    /// Returns the error for a missing part of an instruction.
    pub(crate) fn missing(what: &'static str, name: &str) -> Unsupported {
        Unsupported::Missing { what, name: crate::names::comment(name) }
    }
}
