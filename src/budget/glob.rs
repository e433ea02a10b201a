//! Patterns over names: `*` is any text, also none and also across slashes, `?` any one character, all else itself.

/// Whether the whole `text` fits the pattern.
pub fn fits(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // What follows the last star, and the text that it was last tried on: a mismatch gives the star one character more.
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

/// The texts between the wildcards and slashes of a pattern.
pub fn literals(pattern: &str) -> impl Iterator<Item = &str> {
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

    /// The definition, letter by letter.
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
