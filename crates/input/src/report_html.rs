//! Reads comparison reports. A report is the web page that `crossprof compare --output report.html` writes. The page contains
//! the compared profiles, so a report can be opened like a profile.
//!
//! ```html
//! <meta name="crossprof-report" content="1">                         near the start: marks the page as a report
//! <script type="application/json" id="crossprof-profiles">[ ... ]</script>
//! <script type="application/json" id="crossprof-median-steps">[ ... ]</script>    optional: a text or null per profile
//! ```
//!
//! Only the lists of profiles and of pictures are read, and everything else in the page is derived from them. Texts in
//! a report contain no `<` and no `"`, because they are escaped, and the lists contain no `<`. Therefore, the first
//! element with the right id is the list, and it ends at the first `</script`.

use memchr::memmem;

use base::{Error, json};

/// Number of leading bytes of the page that are searched for the marker.
const HEAD_BYTES: usize = 4096;
/// Text that marks a page as a report.
const MARK: &[u8] = b"name=\"crossprof-report\"";
/// End of the start tag before the list of profiles.
const START: &[u8] = b"id=\"crossprof-profiles\">";
/// End of the start tag before the list of pictures of the median steps.
const STEPS_START: &[u8] = b"id=\"crossprof-median-steps\">";
/// Text after each list.
const END: &[u8] = b"</script";

/// Returns true if a file that starts with `head` is a report.
pub(crate) fn looks_like_report(head: &[u8]) -> bool {
    let head = head.get(..HEAD_BYTES).unwrap_or(head);
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let is_page = text.get(..9).is_some_and(|start| start.eq_ignore_ascii_case(b"<!doctype"));
    is_page && memmem::find(head, MARK).is_some()
}

/// Returns the JSON list of the profiles in a report.
///
/// # Errors
///
/// Returns [`Error::Malformed`] if the report has no list, or ends inside it.
pub(crate) fn profiles(page: &[u8]) -> Result<&[u8], Error> {
    let list = behind(page, START).ok_or_else(|| malformed("it contains no profiles"))?;
    before_end(list).ok_or_else(|| malformed("it ends inside the profiles"))
}

/// Returns the picture of each profile's median step, as text. The list is empty if the report has no pictures or if
/// the pictures are damaged.
pub(crate) fn median_steps(page: &[u8]) -> Vec<Option<String>> {
    let list = behind(page, STEPS_START).and_then(before_end).and_then(|list| std::str::from_utf8(list).ok());
    list.and_then(|list| json::from_str(list).ok()).unwrap_or_default()
}

fn behind<'a>(page: &'a [u8], start: &[u8]) -> Option<&'a [u8]> {
    page.get(memmem::find(page, start)?.saturating_add(start.len())..)
}

fn before_end(list: &[u8]) -> Option<&[u8]> {
    list.get(..memmem::find(list, END)?)
}

fn malformed(reason: &str) -> Error {
    Error::Malformed {
        what: "a crossprof report".to_owned(),
        reason: reason.to_owned(),
        remedy: "Copy the file again, or create the report again.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &[u8] = b"<!DOCTYPE html>\n<meta name=\"crossprof-report\" content=\"1\"><p>x</p>\
        <script type=\"application/json\" id=\"crossprof-profiles\">[{\"a\":\"\\u003c\"}]</script><p>";

    #[test]
    fn a_report_differs_from_other_pages() {
        assert!(looks_like_report(PAGE));
        assert!(!looks_like_report(b"<!DOCTYPE html><title>404</title>"));
        assert!(!looks_like_report(b"{\"name=\\\"crossprof-report\\\"\": 1}"));
        let late = [b"<!DOCTYPE html>".as_slice(), &[b' '; HEAD_BYTES], MARK].concat();
        assert!(!looks_like_report(&late));
    }

    #[test]
    fn pictures_of_steps_are_read_where_they_are() {
        let with =
            |list: &str| [PAGE, b"<script id=\"crossprof-median-steps\">", list.as_bytes(), b"</script>"].concat();
        assert_eq!(median_steps(&with("[null,\"7\\t1\"]")), [None, Some("7\t1".to_owned())]);
        for damaged in ["[null,", "{}", "[7]"] {
            assert_eq!(median_steps(&with(damaged)), [], "{damaged}");
        }
        assert_eq!(median_steps(PAGE), []);
    }

    #[test]
    fn the_list_is_found_and_a_cut_one_refused() {
        assert_eq!(profiles(PAGE), Ok(&b"[{\"a\":\"\\u003c\"}]"[..]));
        for cut in [60, PAGE.len() - 14] {
            let error = profiles(&PAGE[..cut]).unwrap_err().to_string();
            assert!(error.contains("crossprof report"), "{error}");
        }
    }
}
