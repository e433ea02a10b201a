//! Scans HLO text: brackets, quoted texts, numbers and comments.

/// The unread part of a text.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a>(pub &'a [u8]);

impl<'a> Scan<'a> {
    /// Skips `count` bytes, and returns them.
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at_checked(count).unwrap_or((self.0, &[]));
        self.0 = rest;
        taken
    }

    /// Returns the next byte.
    pub(super) fn peek(&self) -> u8 {
        self.0.first().copied().unwrap_or(0)
    }

    /// Skips `token` if it is next.
    pub(super) fn eat(&mut self, token: &[u8]) -> bool {
        let rest = self.0.strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Skips spaces and comments: `/*index=5*/`.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.0 {
                [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] => self.0 = rest,
                [b'/', b'*', rest @ ..] => {
                    let end = memchr::memmem::find(rest, b"*/").map_or(rest.len(), |at| at + 2);
                    self.0 = rest.get(end..).unwrap_or_default();
                }
                _ => return,
            }
        }
    }

    /// Returns the text before the first byte that `ends` accepts.
    pub(super) fn until(&mut self, ends: impl Fn(u8) -> bool) -> &'a [u8] {
        self.take(self.0.iter().position(|&byte| ends(byte)).unwrap_or(self.0.len()))
    }

    /// Returns the text before the first byte that `ends` accepts and that is outside of brackets and quotes, or before
    /// an unmatched closing bracket.
    pub(super) fn item(&mut self, ends: impl Fn(u8) -> bool) -> &'a [u8] {
        let (mut at, mut depth) = (0, 0usize);
        while let Some(&byte) = self.0.get(at) {
            match byte {
                b'"' => at += quoted(self.0.get(at + 1..).unwrap_or_default()).len() + 1,
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => match depth.checked_sub(1) {
                    Some(less) => depth = less,
                    None => break,
                },
                _ if depth == 0 && ends(byte) => break,
                _ => {}
            }
            at += 1;
        }
        self.take(at)
    }

    /// Returns the text inside the next brackets. `None` if no bracket is next, or if the brackets are not closed.
    pub(super) fn group(&mut self) -> Option<&'a [u8]> {
        if !matches!(self.peek(), b'(' | b'[' | b'{') {
            return None;
        }
        self.take(1);
        let inside = self.item(|_| false);
        (!self.take(1).is_empty()).then_some(inside)
    }

    /// Returns the next item of a list whose items are separated by commas or spaces. `None` at the end of the list.
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        self.blanks();
        while self.eat(b",") {
            self.blanks();
        }
        if self.0.is_empty() {
            return None;
        }
        let item = self.item(|byte| matches!(byte, b',' | b' '));
        // An unmatched closing bracket ends the list.
        (!item.is_empty()).then_some(item)
    }

    /// Returns the next `key=value` of a list whose items are separated by commas or spaces. `None` at the first item
    /// that has another form.
    pub(super) fn pair(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        self.blanks();
        while self.eat(b",") {
            self.blanks();
        }
        let mut rest = *self;
        let key = rest.until(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')));
        if key.is_empty() || !rest.eat(b"=") {
            return None;
        }
        let value = rest.item(|byte| matches!(byte, b',' | b' '));
        *self = rest;
        Some((key, value))
    }
}

/// Returns the text before the closing quotation mark.
fn quoted(text: &[u8]) -> &[u8] {
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'"', b'\\', text.get(from..).unwrap_or_default()).map(|at| at + from) {
        if text.get(at) == Some(&b'"') {
            return text.get(..at).unwrap_or_default();
        }
        from = at + 2;
    }
    text
}

/// Returns a value as text. If the value is quoted, removes the quotation marks and resolves escapes.
pub(super) fn text(value: &[u8]) -> String {
    let Some(inside) = value.strip_prefix(b"\"").map(quoted) else {
        return String::from_utf8_lossy(value).into_owned();
    };
    if memchr::memchr(b'\\', inside).is_none() {
        return String::from_utf8_lossy(inside).into_owned();
    }
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(rest.get(..at).unwrap_or_default());
        let escape = rest.get(at + 1..).unwrap_or_default();
        let (byte, used) = match escape {
            [b'0'..=b'3', b'0'..=b'7', b'0'..=b'7', ..] => (number(escape.get(..3).unwrap_or_default(), 8), 3),
            [b'x' | b'X', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                (number(&[*high, *low], 16), 3)
            }
            [b'n', ..] => (b'\n', 1),
            [b'r', ..] => (b'\r', 1),
            [b't', ..] => (b'\t', 1),
            [other, ..] => (*other, 1),
            [] => (b'\\', 0),
        };
        out.push(byte);
        rest = escape.get(used..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    String::from_utf8_lossy(&out).into_owned()
}

fn number(digits: &[u8], radix: u32) -> u8 {
    std::str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, radix).ok()).unwrap_or(b'?')
}

/// Returns the numbers in a text. All other characters separate numbers.
pub(super) fn numbers(text: &[u8]) -> impl Iterator<Item = i64> {
    let mut scan = Scan(text);
    std::iter::from_fn(move || {
        loop {
            scan.blanks();
            let minus = scan.eat(b"-");
            let digits = scan.until(|byte| !byte.is_ascii_digit());
            if !digits.is_empty() {
                let add = |sum: i64, digit: &u8| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
                let number = digits.iter().fold(0, add);
                return Some(if minus { -number } else { number });
            }
            if !minus && scan.take(1).is_empty() {
                return None;
            }
        }
    })
}

/// Returns a list of the numbers in a text.
pub(super) fn ints(text: &[u8]) -> Vec<i64> {
    numbers(text).collect()
}

/// Returns the first number in a text, or 0.
pub(super) fn int(text: &[u8]) -> i64 {
    numbers(text).next().unwrap_or(0)
}

/// Returns the bracketed groups at the top level of a text.
pub(super) fn groups(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut scan = Scan(text);
    std::iter::from_fn(move || {
        scan.until(|byte| matches!(byte, b'(' | b'[' | b'{'));
        scan.group()
    })
}

/// Returns a value without the brackets around it.
pub(super) fn inside(value: &[u8]) -> &[u8] {
    Scan(value).group().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_are_unescaped() {
        for (value, expected) in [
            (r#""a \"b\\c\" d" rest"#, "a \"b\\c\" d"),
            (r#""\303\251\x41\n""#, "éA\n"),
            (r#""open\"#, "open\\"),
            ("plain", "plain"),
        ] {
            assert_eq!(text(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn lists_are_split_outside_of_brackets_and_quotes() {
        let mut scan = Scan(br#"a={1,2}, b="x, }", /*index=5*/c=[2]<=[1,2] d"#);
        let pairs: Vec<_> = std::iter::from_fn(|| scan.pair()).collect();
        let expected: [(&[u8], &[u8]); 3] = [(b"a", b"{1,2}"), (b"b", br#""x, }""#), (b"c", b"[2]<=[1,2]")];
        assert_eq!(pairs, expected);
        assert_eq!(ints(b"{0,-12, /*index=5*/7}x99999999999999999999"), [0, -12, 7, i64::MAX]);
        assert_eq!(groups(b"{1,{2}}, {3}, {4").collect::<Vec<_>>(), [b"1,{2}".as_slice(), b"3"]);
    }
}
