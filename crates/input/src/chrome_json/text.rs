//! Decodes strings: resolves JSON escapes and surrogate pairs, and replaces bytes that are not UTF-8.

use super::lexer::{Kind, Span};

/// Returns the text of a string or word. Only strings with escapes or invalid UTF-8 are copied to `scratch`.
///
/// A surrogate that is not part of a pair becomes U+FFFD. Strings that were written without escaping, such as Windows
/// paths, keep their backslashes.
pub(super) fn text<'a>(span: Span, buf: &'a [u8], scratch: &'a mut String) -> &'a str {
    let bytes = span.bytes(buf);
    if span.kind != Kind::Escaped {
        match std::str::from_utf8(bytes) {
            Ok(text) => return text,
            Err(_) => *scratch = String::from_utf8_lossy(bytes).into_owned(),
        }
        return scratch;
    }
    if is_unescaped(bytes) {
        *scratch = String::from_utf8_lossy(bytes).replace("\\\"", "\"");
        return scratch;
    }
    scratch.clear();
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, tail) = rest.split_at(at);
        scratch.push_str(&String::from_utf8_lossy(plain));
        let (character, length) = escape(tail);
        scratch.push(character);
        rest = tail.get(length..).unwrap_or_default();
    }
    scratch.push_str(&String::from_utf8_lossy(rest));
    scratch
}

/// Returns true if the text of a string was written without escaping the backslashes. This is true if the string has an
/// escape that JSON does not define (`C:\Users`), an escape that no name contains (backspace or form feed), or an
/// escape in the file path of a Python function (`torch\nn\functional.py(63): linear`).
fn is_unescaped(bytes: &[u8]) -> bool {
    let path = memchr::memmem::find(bytes, b".py(").unwrap_or(0);
    let mut pos = 0;
    while let Some(at) = bytes.get(pos..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        pos += at;
        let is_in_path = || {
            let before = pos.checked_sub(1).and_then(|before| bytes.get(before));
            pos < path && before.is_some_and(|&byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte))
        };
        pos += match bytes.get(pos + 1) {
            Some(b'"' | b'\\' | b'/') => 2,
            Some(b'n' | b't' | b'r') if !is_in_path() => 2,
            Some(b'u') if hex4(bytes, pos + 2).is_some() => 6,
            _ => return true,
        };
    }
    false
}

/// Returns the character that the escape at the start of `bytes` stands for, and the length of the escape.
fn escape(bytes: &[u8]) -> (char, usize) {
    let character = match bytes.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(&c @ (b'"' | b'\\' | b'/')) => char::from(c),
        _ => return unicode_escape(bytes),
    };
    (character, 2)
}

fn unicode_escape(bytes: &[u8]) -> (char, usize) {
    let Some(first) = hex4(bytes, 2) else { return (char::REPLACEMENT_CHARACTER, 2) };
    if let Some(character) = char::from_u32(first) {
        return (character, 6);
    }
    // A high surrogate and the following low surrogate form one character.
    let low = if bytes.get(6..8) == Some(b"\\u") { hex4(bytes, 8) } else { None };
    match low {
        Some(low @ 0xdc00..=0xdfff) if first < 0xdc00 => {
            let code = 0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |code, &digit| Some(code * 16 + char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_their_characters() {
        let cases: [(&[u8], &str); 14] = [
            (br#"a\"b\\c\/d\n\t"#, "a\"b\\c/d\n\t"),
            (br"\u00e9\ud83d\ude00!", "é😀!"),
            (br"lone \ud83d high", "lone \u{fffd} high"),
            (br"lone \ude00 low", "lone \u{fffd} low"),
            (br"two \ud83d\ud83d\ude00", "two \u{fffd}😀"),
            (br"\q\u12", r"\q\u12"),
            (br"torch\utils\data\dataloader.py(63): x", r"torch\utils\data\dataloader.py(63): x"),
            (br"torch\nn\functional.py(5): f", r"torch\nn\functional.py(5): f"),
            (br"torch\\nn\\functional.py(5): f", r"torch\nn\functional.py(5): f"),
            (br"C:\temp\new\Users", r"C:\temp\new\Users"),
            (br#"C:\Users\"me\""#, r#"C:\Users"me""#),
            (br"a\\b\n", "a\\b\n"),
            (b"bad \xff\\n", "bad \u{fffd}\n"),
            ("caf\u{e9}\\n".as_bytes(), "café\n"),
        ];
        for (raw, expected) in cases {
            let span = Span { start: 0, end: raw.len(), kind: Kind::Escaped };
            assert_eq!(text(span, raw, &mut String::new()), expected);
        }
        let raw = b"\xc3\x28 control \x01";
        let span = Span { start: 0, end: raw.len(), kind: Kind::Text };
        assert_eq!(text(span, raw, &mut String::new()), "\u{fffd}( control \u{1}");
    }
}
