//! Finds JSON tokens in a byte slice, without copying and without recursion.
//!
//! The lexer only checks structure: the end of a string, a word or a nested value. Callers interpret the bytes. `NaN`
//! is a word like any other, and bytes that are not UTF-8 are accepted.

use super::byte_set::ByteSet;
use memchr::memchr2;

/// Reason why a token could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The slice ends inside the token.
    Incomplete,
    /// The byte at this position is not allowed.
    Bad(usize),
}

/// Result of reading a token.
pub(super) type Scan<T> = Result<T, Stop>;

/// Kind of text that a [`Span`] covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing, because the key is missing.
    #[default]
    Missing,
    /// The inside of a string without escapes.
    Text,
    /// The inside of a string with escapes.
    Escaped,
    /// A number, `true`, `null` or `NaN`.
    Word,
    /// An object or array with its brackets.
    Nested,
}

/// Position of a value in the slice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    /// Position of the first byte.
    pub start: usize,
    /// Position after the last byte.
    pub end: usize,
    /// Kind of the value.
    pub kind: Kind,
}

impl Span {
    /// Returns the bytes, including escapes. Returns an empty slice if the value is missing.
    pub(super) fn bytes(self, buf: &[u8]) -> &[u8] {
        buf.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns true if the object contains the key of this value.
    pub(super) fn is_given(self) -> bool {
        self.kind != Kind::Missing
    }
}

/// Returns the first position at or after `pos` that is not white space.
#[inline]
pub(super) fn skip_space(buf: &[u8], mut pos: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = buf.get(pos) {
        pos += 1;
    }
    pos
}

/// Moves `pos` past white space and returns the byte there.
#[inline]
pub(super) fn peek(buf: &[u8], pos: &mut usize) -> Scan<u8> {
    *pos = skip_space(buf, *pos);
    buf.get(*pos).copied().ok_or(Stop::Incomplete)
}

/// Number of bytes that are checked eight at a time. For longer strings, a call to `memchr` pays off.
const SHORT: usize = 48;

/// Returns the position of the closing quote, and true if the string has escapes. `start` is the position of the
/// string's first byte.
#[inline]
pub(super) fn string(buf: &[u8], start: usize) -> Scan<(usize, bool)> {
    let rest = buf.get(start..).ok_or(Stop::Incomplete)?;
    let mut seen = 0;
    // Most keys and names are short: search for quotes and backslashes in 64-bit words (the lowest flagged byte is
    // exact).
    while seen < SHORT {
        let Some(word) = rest.get(seen..).and_then(|r| r.first_chunk::<8>()) else { break };
        let word = u64::from_le_bytes(*word);
        let flags = zero_bytes(word ^ 0x2222_2222_2222_2222) | zero_bytes(word ^ 0x5c5c_5c5c_5c5c_5c5c);
        if flags != 0 {
            let at = seen + (flags.trailing_zeros() / 8) as usize;
            return match rest.get(at) {
                Some(b'"') => Ok((start + at, false)),
                _ => escaped_string(buf, start + at),
            };
        }
        seen += 8;
    }
    match memchr2(b'"', b'\\', rest.get(seen..).unwrap_or_default()) {
        Some(at) if rest.get(seen + at) == Some(&b'"') => Ok((start + seen + at, false)),
        Some(at) => escaped_string(buf, start + seen + at),
        None => Err(Stop::Incomplete),
    }
}

/// Sets the high bit of every zero byte. Bytes above a zero byte may be flagged too.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080
}

/// Finds the end of a string whose first backslash is at `pos`.
#[cold]
fn escaped_string(buf: &[u8], mut pos: usize) -> Scan<(usize, bool)> {
    loop {
        let rest = buf.get(pos..).ok_or(Stop::Incomplete)?;
        let at = memchr2(b'"', b'\\', rest).ok_or(Stop::Incomplete)?;
        if rest.get(at) == Some(&b'"') {
            return Ok((pos + at, true));
        }
        pos += at + 2;
    }
}

/// Returns the position of the value for the key that ended before `pos`.
#[inline]
pub(super) fn colon(buf: &[u8], mut pos: usize) -> Scan<usize> {
    if peek(buf, &mut pos)? != b':' {
        return Err(Stop::Bad(pos));
    }
    pos += 1;
    peek(buf, &mut pos)?;
    Ok(pos)
}

/// Returns the value that starts at `pos`, and the position after it.
#[inline]
pub(super) fn value(buf: &[u8], pos: usize) -> Scan<(Span, usize)> {
    match buf.get(pos) {
        None => Err(Stop::Incomplete),
        Some(b'"') => {
            let (end, escaped) = string(buf, pos + 1)?;
            let kind = if escaped { Kind::Escaped } else { Kind::Text };
            Ok((Span { start: pos + 1, end, kind }, end + 1))
        }
        Some(b'{' | b'[') => {
            let end = nested(buf, pos)?;
            Ok((Span { start: pos, end, kind: Kind::Nested }, end))
        }
        Some(_) => {
            let end = word(buf, pos)?;
            Ok((Span { start: pos, end, kind: Kind::Word }, end))
        }
    }
}

/// Bytes that cannot be part of a word.
static ENDS_WORD: ByteSet = ByteSet::of(b",}] \n\r\t\"{[:");

/// Returns the end of the word at `pos`.
#[inline]
fn word(buf: &[u8], pos: usize) -> Scan<usize> {
    let rest = buf.get(pos..).unwrap_or_default();
    let Some(length) = rest.iter().position(|&byte| ENDS_WORD.has(byte)) else { return Err(Stop::Incomplete) };
    let end = pos + length;
    match rest.get(length) {
        Some(b'"' | b'{' | b'[' | b':') => Err(Stop::Bad(end)),
        _ if length == 0 => Err(Stop::Bad(end)),
        _ => Ok(end),
    }
}

/// Returns the end of the object or array at `pos`. The function counts brackets and does not recurse, so 100,000
/// levels need no stack.
fn nested(buf: &[u8], mut pos: usize) -> Scan<usize> {
    let mut depth = 0usize;
    loop {
        match buf.get(pos) {
            None => return Err(Stop::Incomplete),
            Some(b'"') => pos = string(buf, pos + 1)?.0,
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') => {
                depth -= 1;
                if depth == 0 {
                    return Ok(pos + 1);
                }
            }
            Some(_) => {}
        }
        pos += 1;
    }
}

/// Skips one value of any size, which may extend over any number of slices.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skipper {
    depth: u64,
    in_string: bool,
    /// True if the next byte is part of an escape.
    escape: bool,
    in_word: bool,
}

impl Skipper {
    /// Continues at `pos`. Returns the position after the value, or `None` if the value continues after the slice.
    pub(super) fn skip(&mut self, buf: &[u8], mut pos: usize) -> Option<usize> {
        while let Some(&byte) = buf.get(pos) {
            if self.escape {
                self.escape = false;
            } else if self.in_string {
                let rest = buf.get(pos..).unwrap_or_default();
                let at = memchr2(b'"', b'\\', rest)?;
                pos += at;
                self.escape = rest.get(at) == Some(&b'\\');
                self.in_string = self.escape;
                if !self.in_string && self.depth == 0 {
                    return Some(pos + 1);
                }
            } else {
                match byte {
                    b'"' if !self.in_word => self.in_string = true,
                    b'{' | b'[' if !self.in_word => self.depth += 1,
                    b',' | b' ' | b'\n' | b'\r' | b'\t' | b'}' | b']' if self.depth == 0 => return Some(pos),
                    b'}' | b']' => {
                        self.depth -= 1;
                        if self.depth == 0 {
                            return Some(pos + 1);
                        }
                    }
                    _ => self.in_word = self.depth == 0,
                }
            }
            pos += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_at_the_first_quote_that_is_not_escaped() {
        for length in 0..100 {
            let plain = format!("{}\" tail", "x".repeat(length));
            assert_eq!(string(plain.as_bytes(), 0), Ok((length, false)));
            let escaped = format!(r#"{}\"\\" tail"#, "é".repeat(length));
            assert_eq!(string(escaped.as_bytes(), 0), Ok((2 * length + 4, true)));
            assert_eq!(string("x".repeat(length).as_bytes(), 0), Err(Stop::Incomplete));
        }
        assert_eq!(string(br"ends in an escape\", 0), Err(Stop::Incomplete));
    }

    #[test]
    fn a_value_of_any_depth_is_skipped_whole_or_in_pieces() {
        let deep = format!("{}{}, 1", "[{\"a\":".repeat(100_000), "}]".repeat(100_000));
        for text in [r#"{"a":["}\"{",1e5],"b":{}} , 1"#, "\"st\\\\r\" , 1", "-12.5,", deep.as_str()] {
            let (_, end) = value(text.as_bytes(), 0).unwrap();
            for step in [1, 3, text.len()] {
                let mut skipper = Skipper::default();
                let mut at = 0;
                let found = text.as_bytes().chunks(step).find_map(|piece| {
                    let found = skipper.skip(piece, 0).map(|end| at + end);
                    at += piece.len();
                    found
                });
                assert_eq!(found, Some(end), "step {step}");
            }
        }
    }

    #[test]
    fn structure_that_does_not_fit_is_named() {
        assert_eq!(value(b"12\"3", 0).err(), Some(Stop::Bad(2)));
        assert_eq!(colon(b"  = 1", 0), Err(Stop::Bad(2)));
        assert_eq!(value(b"[1,2", 0).err(), Some(Stop::Incomplete));
    }
}
