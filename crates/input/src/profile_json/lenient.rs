//! Profiles as documents print them: JSON with comments and with parts left out.
//!
//! ```text
//! {
//!   "platform": "TPU" or "GPU",                        // one of several: read as absent
//!   "device_type": "TPU v4-8", "NVIDIA A100", etc.,
//!   "kernels": {"top_kernels": [...]},                 # left out: read as absent
//! }
//! ```
//!
//! Comments are `//` and `#` up to the end of the line and `/* */`. Only tried where a text is no JSON; a text without comments
//! and omissions stays damaged, and so does one whose brackets do not close.

use serde_json::{Map, Value};

/// Deepest nesting that is read, as of strict JSON.
const DEEPEST: u32 = 100;

/// A document, and what in it was no JSON.
#[derive(Debug, PartialEq)]
pub(super) struct Lenient {
    pub value: Value,
    /// Comments that were passed over.
    pub comments: u64,
    /// Values that are left out (`...`) or name several possibilities.
    pub unclear: u64,
    /// Values that are NaN or infinite.
    pub not_numbers: u64,
}

/// Reads a document; `None` where it is damaged, or plain JSON.
pub(super) fn read(text: &[u8]) -> Option<Lenient> {
    let mut reader = Reader { rest: text, comments: 0, unclear: 0, not_numbers: 0 };
    let first = reader.next()?;
    let value = reader.value(first, 0)?;
    let ends = reader.next().is_none() && reader.rest.is_empty();
    let Reader { comments, unclear, not_numbers, .. } = reader;
    (ends && comments + unclear > 0).then_some(Lenient { value, comments, unclear, not_numbers })
}

/// The bytes after comments and spaces at the start of a text.
pub(crate) fn after_comments(text: &[u8]) -> &[u8] {
    let mut reader = Reader { rest: text, comments: 0, unclear: 0, not_numbers: 0 };
    reader.skip();
    reader.rest
}

#[derive(Clone, Debug, PartialEq)]
enum Token<'a> {
    /// A mark: one of `{}[]:,`.
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

    /// The next token; `None` at the end, and where a string does not close.
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

    /// The members up to the closing bracket; null where all of them are left out.
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
                // Another possibility for the value before.
                Token::Text(_) => self.one_of_several(&mut members, last.as_ref()?)?,
                Token::Word(b"etc." | b"or") => self.one_of_several(&mut members, last.as_ref()?)?,
                _ => return None,
            }
        }
        Some(if is_omitted && members.is_empty() { Value::Null } else { Value::Object(members) })
    }

    /// What follows a value up to the next comma says that it is one of several: which one is unknown.
    fn one_of_several(&mut self, members: &mut Map<String, Value>, key: &str) -> Option<()> {
        let value = members.get_mut(key)?;
        if !value.is_null() {
            self.unclear += 1;
            *value = Value::Null;
        }
        while !matches!(self.peek()?, Token::Mark(b',' | b'}')) {
            // A comma is missing where the next member begins.
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
    fn comments_and_omissions_are_passed_over() {
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
