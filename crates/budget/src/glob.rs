//! Patterns for names: `*` matches any text (empty text and slashes included), and `?` matches one character. All other
//! characters match themselves.

/// Returns true if the pattern matches the whole `text`.
pub fn fits(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // Pattern after the last star, and the text where it was last tried. On a mismatch, the star matches one more character.
    let mut retry = None;
    loop {
        let (mut next_pattern, mut next_text) = (pattern.clone(), text.clone());
        match (next_pattern.next(), next_text.next()) {
            (Some('*'), _) => {
                retry = Some((next_pattern.clone(), text.clone()));
                pattern = next_pattern;
                continue;
            }
            (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {
                (pattern, text) = (next_pattern, next_text);
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        let Some((after_star, tried)) = &mut retry else { return false };
        if tried.next().is_none() {
            return false;
        }
        (pattern, text) = (after_star.clone(), tried.clone());
    }
}

/// Returns the literal parts of a pattern between wildcards and slashes.
pub(crate) fn literals(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split(['*', '?', '/']).filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_fit_whole_texts() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("*", "", true),
            ("*attn*", "jit(f)/layer_0/attn/dot", true),
            ("*attn*", "jit(f)/layer_0/mlp/dot", false),
            ("attn", "layer/attn", false),
            ("*/attn", "layer/attn", true),
            ("layer_?/*", "layer_1/x", true),
            ("layer_?/*", "layer_12/x", false),
            ("*ab*abc", "ababxabc", true),
            ("a*b*c", "a-b-b", false),
            ("**", "ä日", true),
            ("?日", "ä日", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
        assert_eq!(literals("*/attn?x*").collect::<Vec<_>>(), ["attn", "x"]);
    }

    /// Matches character by character, without the loop of [`fits`], as a reference for tests.
    fn by_definition(pattern: &[char], text: &[char]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), _) => (0..=text.len()).any(|taken| by_definition(rest, &text[taken..])),
            (Some((&wanted, rest)), Some((&found, left))) => {
                (wanted == '?' || wanted == found) && by_definition(rest, left)
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn patterns_fit_as_defined(pattern in "[ab?*]{0,7}", text in "[ab]{0,9}") {
            let letters = |text: &str| text.chars().collect::<Vec<char>>();
            prop_assert_eq!(fits(&pattern, &text), by_definition(&letters(&pattern), &letters(&text)));
        }
    }
}
