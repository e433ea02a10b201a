//! Hides home folders in shared texts: a report shows `~/train.py` and no user name.

/// Folders that contain the home folders of users.
const PARENTS: [&str; 2] = ["/home/", "/Users/"];

/// Replaces the home folder of every path by `~`: `/home/<user>`, `/Users/<user>`, `/root`, `C:\Users\<user>`.
pub fn without_home(text: &str) -> String {
    let unix = replaced(text, '/', unix_home);
    if unix.contains(":\\") { replaced(&unix, ':', windows_home) } else { unix }
}

/// Returns the text with `~` in place of home folders. Every exporter calls this function last. A text without home
/// folders is not copied.
pub fn shared(text: String) -> String {
    if may_have(&text) { without_home(&text) } else { text }
}

/// Quick test before [`without_home`]. If the result is false, the text contains no home folder.
pub fn may_have(text: &str) -> bool {
    text.bytes().any(|byte| byte == b'/' || byte == b'\\')
        && ["/home/", "/Users/", "/root", ":\\"].iter().any(|start| text.contains(start))
}

/// Calls `home` at each occurrence of `sign` and replaces the home folder that `home` finds. `home` returns the number of
/// bytes that the folder covers before and after that position.
fn replaced(text: &str, sign: char, home: fn(&str, &str) -> Option<(usize, usize)>) -> String {
    let mut made = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, _) in text.match_indices(sign) {
        let (Some(before), Some(after)) = (text.get(copied..at), text.get(at..)) else { continue };
        if let Some((start, end)) = home(before, after) {
            made.push_str(before.get(..before.len() - start).unwrap_or_default());
            made.push('~');
            copied = at + end;
        }
    }
    made.push_str(text.get(copied..).unwrap_or_default());
    made
}

fn unix_home(before: &str, after: &str) -> Option<(usize, usize)> {
    if before.ends_with(|sign: char| is_of_name(sign) || sign == '~') {
        return None;
    }
    if let Some((parent, rest)) = PARENTS.iter().find_map(|parent| Some((parent, after.strip_prefix(parent)?))) {
        return user(rest).map(|user| (0, parent.len() + user));
    }
    let rest = after.strip_prefix("/root")?;
    (!rest.starts_with(is_of_name)).then_some((0, "/root".len()))
}

fn windows_home(before: &str, after: &str) -> Option<(usize, usize)> {
    let drive = before.chars().next_back().filter(char::is_ascii_alphabetic)?;
    // JSON doubles backslashes.
    let separator = if after.starts_with(":\\\\") { "\\\\" } else { "\\" };
    let rest = after.strip_prefix(':')?.strip_prefix(separator)?.strip_prefix("Users")?.strip_prefix(separator)?;
    user(rest).map(|user| (drive.len_utf8(), after.len() - rest.len() + user))
}

/// Returns the length of the user name at the start of `rest`, or `None` if it is empty.
fn user(rest: &str) -> Option<usize> {
    let end = rest.find(|sign: char| !is_of_name(sign)).unwrap_or(rest.len());
    (end > 0).then_some(end)
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || "_.-@+".contains(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_become_a_tilde_and_other_paths_stay() {
        for (text, expected) in [
            ("/home/jo/train.py:3 /Users/al", "~/train.py:3 ~"),
            ("--dump=/root/x", "--dump=~/x"),
            ("\"/root\"", "\"~\""),
            ("/rootfs /data/home/jo x/root", "/rootfs /data/home/jo x/root"),
            ("file:///home/jo/a", "file://~/a"),
            (r"C:\Users\Jo\a.py", r"~\a.py"),
            (r#"{"a":"C:\\Users\\Jo\\a.py"}"#, r#"{"a":"~\\a.py"}"#),
            ("<td>/home/j.o-1/é</td>", "<td>~/é</td>"),
            ("/home/", "/home/"),
        ] {
            assert_eq!(without_home(text), expected);
        }
    }
}
