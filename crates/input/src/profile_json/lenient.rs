//! Reads profiles that were copied from documentation: JSON with comments and omissions.
//!
//! ```text
//! {
//!   "platform": "TPU" or "GPU",                        // one of several: read as absent
//!   "device_type": "TPU v4-8", "NVIDIA A100", etc.,
//!   "kernels": {"top_kernels": [...]},                 # left out: read as absent
//! }
//! ```
//!
//! Comments are `//` and `#` up to the end of the line, and `/* */`. This reader is only used for text that is not
//! strict JSON. Text without comments and omissions, or with unclosed brackets, is still treated as damaged.

use serde_json::{Map, Value};

/// Maximum nesting depth, similar to the limit for strict JSON.
const DEEPEST: u32 = 100;

/// A document, and counts of the parts that were not JSON.
#[derive(Debug, PartialEq)]
pub(super) struct Lenient {
    pub value: Value,
    /// Number of comments that were skipped.
    pub comments: u64,
    /// Number of values that are omitted (`...`) or list several possibilities.
    pub unclear: u64,
    /// Number of values that are NaN or infinite.
    pub not_numbers: u64,
}

/// Reads a document. Returns `None` if the text is damaged or is strict JSON.
pub(super) fn read(text: &[u8]) -> Option<Lenient> {
    let mut reader = Reader { rest: text, comments: 0, unclear: 0, not_numbers: 0 };
    let first = reader.next()?;
    let value = reader.value(first, 0)?;
    let ends = reader.next().is_none() && reader.rest.is_empty();
    let Reader { comments, unclear, not_numbers, .. } = reader;
    (ends && comments + unclear > 0).then_some(Lenient { value, comments, unclear, not_numbers })
}

/// Returns the text from its first byte that is neither a comment nor a space.
pub(crate) fn after_comments(text: &[u8]) -> &[u8] {
    let mut reader = Reader { rest: text, comments: 0, unclear: 0, not_numbers: 0 };
    reader.skip();
    reader.rest
}

#[derive(Clone, Debug, PartialEq)]
enum Token<'a> {
    /// Punctuation: one of `{}[]:,`.
    Mark(u8),
    Text(String),
    Word(&'a [u8]),
}

struct Reader<'a> {
    rest: &'a [u8],
    comments: u64,
    unclear: u64,
    not_numbers: u64,
}

impl<'a> Reader<'a> {
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_ascii_start();
            let length = match self.rest {
                [b'#', ..] | [b'/', b'/', ..] => memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len()),
                [b'/', b'*', ..] => memchr::memmem::find(self.rest, b"*/").map_or(self.rest.len(), |end| end + 2),
                _ => return,
            };
            self.comments += 1;
            self.rest = self.rest.get(length..).unwrap_or_default();
        }
    }

    /// Returns the next token, or `None` at the end and for an unclosed string.
    fn next(&mut self) -> Option<Token<'a>> {
        self.skip();
        let all = self.rest;
        let (&first, after) = all.split_first()?;
        match first {
            b'{' | b'}' | b'[' | b']' | b':' | b',' => {
                self.rest = after;
                Some(Token::Mark(first))
            }
            b'"' => {
                let mut at = 1;
                let length = loop {
                    match all.get(at)? {
                        b'"' => break at + 1,
                        b'\\' => at += 2,
                        _ => at += 1,
                    }
                };
                let (text, rest) = all.split_at_checked(length)?;
                self.rest = rest;
                serde_json::from_slice(text).ok().map(Token::Text)
            }
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || b"{}[]:,\"#".contains(byte);
                let (word, rest) = all.split_at(all.iter().position(ends).unwrap_or(all.len()));
                self.rest = rest;
                Some(Token::Word(word))
            }
        }
    }

    fn peek(&mut self) -> Option<Token<'a>> {
        let (rest, comments) = (self.rest, self.comments);
        let token = self.next();
        (self.rest, self.comments) = (rest, comments);
        token
    }

    fn value(&mut self, first: Token<'a>, depth: u32) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        match first {
            Token::Mark(b'{') => self.object(depth),
            Token::Mark(b'[') => self.list(depth),
            Token::Mark(_) => None,
            Token::Text(text) => Some(Value::String(text)),
            Token::Word(word) if is_omission(word) => {
                self.unclear += 1;
                Some(Value::Null)
            }
            Token::Word(b"NaN" | b"Infinity" | b"-Infinity") => {
                self.not_numbers += 1;
                Some(Value::Null)
            }
            Token::Word(word) => serde_json::from_slice(word).ok(),
        }
    }

    /// Reads the members of an object up to the closing bracket. Returns null if all members are omitted.
    fn object(&mut self, depth: u32) -> Option<Value> {
        let mut members = Map::new();
        let mut last: Option<String> = None;
        let mut is_omitted = false;
        loop {
            match self.next()? {
                Token::Mark(b'}') => break,
                Token::Mark(b',') => {}
                Token::Word(word) if is_omission(word) => {
                    self.unclear += 1;
                    is_omitted = true;
                }
                Token::Text(key) if self.peek()? == Token::Mark(b':') => {
                    self.next()?;
                    let first = self.next()?;
                    let value = self.value(first, depth + 1)?;
                    members.insert(key.clone(), value);
                    last = Some(key);
                    if !matches!(self.peek()?, Token::Mark(b',' | b'}')) {
                        self.one_of_several(&mut members, last.as_ref()?)?;
                    }
                }
                // An alternative to the previous value.
                Token::Text(_) => self.one_of_several(&mut members, last.as_ref()?)?,
                Token::Word(b"etc." | b"or") => self.one_of_several(&mut members, last.as_ref()?)?,
                _ => return None,
            }
        }
        Some(if is_omitted && members.is_empty() { Value::Null } else { Value::Object(members) })
    }

    /// Skips alternatives to the value of a member, up to the next comma. The value becomes null, because the right
    /// alternative is unknown.
    fn one_of_several(&mut self, members: &mut Map<String, Value>, key: &str) -> Option<()> {
        let value = members.get_mut(key)?;
        if !value.is_null() {
            self.unclear += 1;
            *value = Value::Null;
        }
        while !matches!(self.peek()?, Token::Mark(b',' | b'}')) {
            // A comma is missing before the next member.
            if matches!(self.next()?, Token::Mark(_)) {
                return None;
            }
        }
        Some(())
    }

    fn list(&mut self, depth: u32) -> Option<Value> {
        let mut values = Vec::new();
        let mut is_omitted = false;
        loop {
            match self.next()? {
                Token::Mark(b']') => break,
                Token::Mark(b',') => {}
                Token::Word(word) if is_omission(word) => {
                    self.unclear += 1;
                    is_omitted = true;
                }
                first => {
                    values.push(self.value(first, depth + 1)?);
                    if !matches!(self.peek()?, Token::Mark(b',' | b']')) {
                        return None;
                    }
                }
            }
        }
        Some(if is_omitted && values.is_empty() { Value::Null } else { Value::Array(values) })
    }
}

fn is_omission(word: &[u8]) -> bool {
    word == b"..." || word == "…".as_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_omissions_are_skipped() {
        let text = br##"// A profile
            {"a": 1, # one
             "b": "x // no comment # here", /* two
             lines */ "c": [1, 2, ...],
             "d": [...], "e": {...}, "f": "TPU" or "GPU",
             "g": "v4", "A100", etc.,
             "h": true // the end
            } # really"##;
        let found = read(text).unwrap();
        let expected = json!({"a": 1, "b": "x // no comment # here", "c": [1, 2], "d": null, "e": null, "f": null, "g": null,
            "h": true});
        assert_eq!(found.value, expected);
        assert_eq!((found.comments, found.unclear), (5, 5));
        assert_eq!(read(b"{\"a\": NaN} // x").unwrap().not_numbers, 1);
    }

    #[test]
    fn damage_stays_damage() {
        for text in [
            "{\"a\": 1}",
            "{\"a\": 1,}",
            "// x\n{\"a\": 1",
            "// x\n{\"a\": [1, 2}",
            "// x\n{\"a\" 1}",
            "// x\n{\"a\": 1 \"b\": 2}",
            "# x",
            "// x\n{\"a\": one}",
            "// x\n{\"a\": \"open}",
            "// x\n{\"a\": 1} 2",
            "// x\n{\"b\"}",
            "// x\n{or}",
            "// x\n[1 2]",
            "/* x",
            "",
        ] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(read(format!("//\n{}", "[".repeat(100_000)).as_bytes()), None);
        assert_eq!(after_comments(b" # a\n // b\n{"), b"{");
    }
}
