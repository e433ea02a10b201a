//! Redacts the command-line arguments of the captured program. `python/crossprof/_redact.py` applies the same rules
//! during the capture, but sidecars from older versions contain every value.

/// Text that replaces a redacted value.
const HIDDEN: &str = "***";

/// A value is a secret if its name contains one of these words.
const SECRET_WORDS: &[&str] =
    &["pass", "passcode", "pwd", "auth", "token", "bearer", "creds", "cookie", "dsn", "sas", "pat"];
/// A value is a secret if its name contains one of these texts. Such texts detect names without separators between
/// words.
const SECRET_PARTS: &[&str] =
    &["secret", "passw", "passphrase", "credential", "apikey", "privatekey", "authtoken", "accesstoken"];
/// A value is a secret if its name contains one of these words directly before `key`. A name that ends with `key` also
/// marks a secret.
const KEY_KINDS: &[&str] = &["api", "access", "private", "signing", "encryption", "account", "storage", "ssh"];
/// Prefixes of access tokens of well-known services.
const TOKENS: &[&str] = &[
    "hf_",
    "sk-",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
];
/// Maximum length of a word. A longer word of letters and digits is treated as a secret key.
const LONGEST_WORD: usize = 23;

/// Returns the command-line arguments, with the values of flags redacted. If `keep_values` is true, only values that
/// look like secrets are redacted.
pub(super) fn shown(words: &[&str], keep_values: bool) -> Vec<String> {
    let mut made = Vec::with_capacity(words.len());
    // The flag that the next values belong to.
    let mut flag: Option<&str> = None;
    // True if the previous word is the name of a secret: `token X`.
    let mut is_named = false;
    let hides = |name: &str, value: &str| !keep_values || is_secret_name(name) || looks_secret(value);
    for &word in words {
        let named = word.split_once('=').filter(|(name, _)| is_name(name));
        if let Some((name, value)) = named {
            made.push(format!("{name}={}", if hides(name, value) { HIDDEN } else { value }));
            (flag, is_named) = (None, false);
        } else if is_flag(word) {
            made.push(if looks_secret(word) { HIDDEN } else { word }.to_owned());
            (flag, is_named) = (Some(word), false);
        } else {
            let hidden = is_named || looks_secret(word) || flag.is_some_and(|flag| hides(flag, word));
            made.push(if hidden { HIDDEN } else { word }.to_owned());
            is_named = flag.is_none() && is_name(word) && is_secret_name(word);
        }
    }
    made
}

/// Returns true for `-x` and `--x`. A negative number is not a flag.
fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word.parse::<f64>().is_err()
}

/// Returns true for text that may precede `=` (`--lr`, `optimizer.lr`, `+model`, `KEY`), but not for an address or a
/// path.
fn is_name(text: &str) -> bool {
    let name = text.trim_start_matches(['-', '+', '~']);
    name.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
        && name.chars().all(|sign| sign.is_alphanumeric() || "_.-[]@".contains(sign))
}

fn is_secret_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    if SECRET_PARTS.iter().any(|part| lower.contains(part)) {
        return true;
    }
    let words: Vec<&str> = lower.split(|sign: char| !sign.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    let is_key = |at: usize| {
        let kind = at.checked_sub(1).and_then(|before| words.get(before));
        at + 1 == words.len() || kind.is_some_and(|kind| KEY_KINDS.contains(kind))
    };
    words
        .iter()
        .enumerate()
        .any(|(at, word)| SECRET_WORDS.contains(word) || (["key", "keys"].contains(word) && is_key(at)))
}

/// Returns true for a value that looks like a secret, whatever its name is.
fn looks_secret(value: &str) -> bool {
    let words = || value.split(|sign: char| !(sign.is_ascii_alphanumeric() || "_-.".contains(sign)));
    let is_token = |word: &str| TOKENS.iter().any(|start| word.strip_prefix(start).is_some_and(|rest| rest.len() >= 8));
    let is_random = value.len() > LONGEST_WORD
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+=".contains(&byte))
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let has_password = value.split("://").skip(1).any(|rest| {
        rest.split(|sign: char| sign == '/' || sign.is_whitespace()).next().is_some_and(|host| host.contains('@'))
    });
    is_random || has_password || words().any(is_token) || names_inside(value).any(is_secret_name)
}

/// Returns the names that a value contains, such as `api_key` in `{"api_key": "x"}` or `token` in `token=x`.
fn names_inside(value: &str) -> impl Iterator<Item = &str> {
    value.match_indices([':', '=']).filter_map(|(at, _)| {
        let before = value.get(..at)?.trim_end_matches(['"', '\'', ' ']);
        before.rsplit(|sign: char| !(sign.is_alphanumeric() || "_.-".contains(sign))).next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_secrets_are_redacted() {
        let words = [
            "/data/train.py",
            "cfg/a.yaml",
            "--wandb_api_key=SECRET123",
            "--token",
            "X1",
            "X2",
            "--lr",
            "0.1",
            "-x",
            "-3",
            "optimizer.lr=0.2",
            "WANDB_API_KEY=abc",
            "hf_abcdefghijklm",
            "password",
            "hunter2",
            "--config={\"api_key\": \"zz\"}",
            "s3://u:p@h/x",
            "--num_tokens=5",
            "--key_dim=64",
            "0123456789abcdef0123456789abcdef",
        ];
        let expected = "/data/train.py cfg/a.yaml --wandb_api_key=*** --token *** *** --lr *** -x *** optimizer.lr=*** \
                        WANDB_API_KEY=*** *** password *** --config=*** *** --num_tokens=*** --key_dim=*** ***";
        assert_eq!(shown(&words, false).join(" "), expected);
        let expected = "/data/train.py cfg/a.yaml --wandb_api_key=*** --token *** *** --lr 0.1 -x -3 optimizer.lr=0.2 \
                        WANDB_API_KEY=*** *** password *** --config=*** *** --num_tokens=5 --key_dim=64 ***";
        assert_eq!(shown(&words, true).join(" "), expected);
    }
}
