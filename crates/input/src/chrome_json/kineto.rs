//! Converts the kernel details that Kineto (PyTorch) records into the `kernel_details` format of XLA's collectors.
//!
//! ```text
//! "registers per thread": 168, "shared memory": 231424, "grid": [56, 2, 1], "block": [384, 1, 1]
//!     regs:168 shm:231424 grid:56,2,1 block:384,1,1
//! "Collective name": "allreduce", "In msg nelems": 1024, "dtype": "BFloat16", "Group size": 8, "Process Group Ranks": "[0, 1, ...]"
//!     collective:allreduce in_elements:1024 dtype:BFloat16 group_size:8
//! ```
//!
//! `est. achieved occupancy %` is not read. The occupancy is an estimate from the number of blocks, whereas `occ_pct`
//! is the limit set by a kernel's resources. Kineto derives blocks and warps per SM from this estimate, so they are not
//! read either.

use super::lexer::{Kind, Span};
use super::text::text;

/// A value that Kineto records about a launch or a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    Registers,
    Shared,
    Grid,
    Block,
    Collective,
    InElements,
    OutElements,
    DataType,
    GroupSize,
    Ranks,
}

/// Returns the detail for an argument with this name.
pub(super) fn detail_of(name: &[u8]) -> Option<Detail> {
    Some(match name {
        b"registers per thread" => Detail::Registers,
        b"shared memory" => Detail::Shared,
        b"grid" => Detail::Grid,
        b"block" => Detail::Block,
        b"Collective name" => Detail::Collective,
        b"In msg nelems" => Detail::InElements,
        b"Out msg nelems" => Detail::OutElements,
        b"dtype" => Detail::DataType,
        b"Group size" => Detail::GroupSize,
        b"Process Group Ranks" => Detail::Ranks,
        _ => return None,
    })
}

/// The combined details of one event.
#[derive(Debug, Default)]
pub(super) struct Details {
    text: String,
    /// True if the event is a launch or a collective. Other events may use the same keys for something else.
    is_launch_or_collective: bool,
}

impl Details {
    /// Adds a value. Ignores malformed values.
    pub(super) fn set(&mut self, detail: Detail, value: Span, buf: &[u8], scratch: &mut String) {
        let bytes = value.bytes(buf);
        let (key, value) = match detail {
            Detail::Registers => ("regs", number(bytes)),
            Detail::Shared => ("shm", number(bytes)),
            Detail::Grid => ("grid", numbers(bytes)),
            Detail::Block => ("block", numbers(bytes)),
            Detail::InElements => ("in_elements", number(bytes)),
            Detail::OutElements => ("out_elements", number(bytes)),
            Detail::GroupSize => ("group_size", number(bytes)),
            Detail::Ranks => ("ranks", numbers(bytes)),
            Detail::Collective => ("collective", word(value, buf, scratch)),
            Detail::DataType => ("dtype", word(value, buf, scratch)),
        };
        // Even a malformed grid shows that the event is a launch.
        self.is_launch_or_collective |= matches!(detail, Detail::Grid | Detail::Collective);
        let Some(value) = value else { return };
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(key);
        self.text.push(':');
        self.text.push_str(&value);
    }

    /// Returns all details as one text, or `None` if the event is neither a launch nor a collective.
    pub(super) fn text(&self) -> Option<&str> {
        (self.is_launch_or_collective && !self.text.is_empty()).then_some(self.text.as_str())
    }
}

fn number(bytes: &[u8]) -> Option<String> {
    let all_digits = !bytes.is_empty() && bytes.len() <= 20 && bytes.iter().all(u8::is_ascii_digit);
    all_digits.then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// Converts `[56, 2, 1]` to `56,2,1`. Returns `None` if an item is missing or not a number.
fn numbers(bytes: &[u8]) -> Option<String> {
    let inner = bytes.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")?;
    let mut list = String::new();
    for item in inner.split(|&byte| byte == b',') {
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(&number(item.trim_ascii())?);
    }
    Some(list)
}

fn word(value: Span, buf: &[u8], scratch: &mut String) -> Option<String> {
    if !matches!(value.kind, Kind::Text | Kind::Escaped) {
        return None;
    }
    let text = text(value, buf, scratch);
    let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word.then(|| text.to_owned())
}
