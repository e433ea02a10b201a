//! What the server answers. Everything lies below the token, which only the address that was printed holds:
//!
//! ```text
//! /<token>/                 the list of runs: a separate page, which asks for runs.json again and again
//! /<token>/runs.json        the runs, newest first; ?known=N: nothing where they are still those of version N
//! /<token>/file/<path>      a file of a run
//! /<token>/app/?open=<id>   the page; in place of its offline.js a script that hands it the files of these runs
//! ```

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use percent_encoding::percent_decode_str;
use serde_json::json;

use super::catalogue::Catalogue;
use super::http::{Request, Response};
use super::page::{Page, REPLACED, media_type};

/// The list of runs is made anew at most this often.
const FRESH: Duration = Duration::from_millis(500);

/// The files of the list.
const LIST: [(&str, &str); 3] = [
    ("runs.html", include_str!("assets/runs.html")),
    ("runs.js", include_str!("assets/runs.js")),
    ("runs.css", include_str!("assets/runs.css")),
];

/// What hands the page its files.
const OPEN: &str = include_str!("assets/open.js");

/// Policy of the list; the page brings its own.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
    form-action 'none'";

/// Everything that answers need.
pub struct Server {
    page: Page,
    /// Stands in front of every path.
    token: String,
    /// The name of a proxy in front of this server.
    proxy: Option<String>,
    runs: Mutex<Listed>,
}

/// The runs, and when they were looked for.
struct Listed {
    catalogue: Catalogue,
    at: Instant,
}

impl Server {
    /// A server of a catalogue that was just made.
    pub fn new(page: Page, token: String, proxy: Option<String>, catalogue: Catalogue) -> Server {
        Server { page, token, proxy, runs: Mutex::new(Listed { catalogue, at: Instant::now() }) }
    }

    /// Answers one request.
    pub fn answer(&self, request: &Request) -> Response {
        let is_known =
            |host: &str| is_own_name(host) || self.proxy.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(host));
        if !request.host.as_deref().is_some_and(is_known) {
            return refusal(403, "This server answers only where it is asked for as localhost or by its number.");
        }
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return refusal(405, "This server only reads.");
        }
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        self.find(path, query)
    }

    fn find(&self, path: &str, query: &str) -> Response {
        let absent = || refusal(404, "There is nothing here. Open the address that crossprof view printed.");
        let Some((token, rest)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else { return absent() };
        if !is_equal(token, &self.token) {
            return absent();
        }
        let Ok(rest) = percent_decode_str(rest).decode_utf8() else { return absent() };
        if rest.split('/').any(|part| part == "..") {
            return absent();
        }
        if let Some(file) = rest.strip_prefix("file/") {
            return self.profile(file).unwrap_or_else(absent);
        }
        if let Some(file) = rest.strip_prefix("app/") {
            return self.of_page(if file.is_empty() { "index.html" } else { file }).unwrap_or_else(absent);
        }
        if rest == "runs.json" {
            let known = query.strip_prefix("known=").and_then(|known| known.parse().ok());
            return self.list(known);
        }
        let name = if rest.is_empty() { "runs.html" } else { rest.as_ref() };
        let found = LIST.iter().find(|(file, _)| *file == name);
        found.map_or_else(absent, |(file, text)| {
            let mut answer = response(200, media_type(file), text.as_bytes(), text.len() as u64);
            answer.headers.push(("Content-Security-Policy", POLICY));
            answer
        })
    }

    /// A file of the page.
    fn of_page(&self, path: &str) -> Option<Response> {
        if path == REPLACED {
            return Some(response(200, media_type(path), OPEN.as_bytes(), OPEN.len() as u64));
        }
        let bytes = self.page.file(path)?;
        let size = bytes.len() as u64;
        Some(response(200, media_type(path), std::io::Cursor::new(bytes), size))
    }

    /// The runs as a document, or that they are the known ones.
    fn list(&self, known: Option<u64>) -> Response {
        let mut listed = self.listed();
        if listed.at.elapsed() > FRESH {
            listed.catalogue.refresh(SystemTime::now());
            listed.at = Instant::now();
        }
        let catalogue = &listed.catalogue;
        if known == Some(catalogue.version()) {
            return response(204, "application/json", std::io::empty(), 0);
        }
        let document = json!({
            "name": catalogue.name(),
            "version": catalogue.version(),
            "is_cut": catalogue.is_cut(),
            "runs": catalogue.runs(),
        });
        let text = document.to_string();
        let size = text.len() as u64;
        response(200, "application/json", std::io::Cursor::new(text), size)
    }

    /// A file of a run, as it is read.
    fn profile(&self, path: &str) -> Option<Response> {
        let place = self.listed().catalogue.place(path)?;
        let file = File::open(place).ok()?;
        let size = file.metadata().ok()?.len();
        Some(response(200, "application/octet-stream", file, size))
    }

    fn listed(&self) -> MutexGuard<'_, Listed> {
        // Nothing is left half done by a thread that ended while it looked.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A page of another name could make the browser ask this server under that name, and read the answers; under a number it cannot.
fn is_own_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// Takes the same time wherever two texts differ first.
fn is_equal(given: &str, token: &str) -> bool {
    given.len() == token.len() && given.bytes().zip(token.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

fn refusal(status: u16, sentence: &'static str) -> Response {
    response(status, "text/plain; charset=utf-8", sentence.as_bytes(), sentence.len() as u64)
}

fn response(status: u16, media_type: &'static str, body: impl Read + 'static, size: u64) -> Response {
    let headers = vec![
        ("Content-Type", media_type),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ];
    Response { status, headers, body: Box::new(body), size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_machines_are_refused() {
        for own in ["127.0.0.1:8321", "localhost:9000", "LOCALHOST", "[::1]:8321", "10.0.0.7:80"] {
            assert!(is_own_name(own), "{own}");
        }
        for other in ["evil.example:8321", "localhost.evil.example", "127.0.0.1.nip.io", "", "[evil]:1"] {
            assert!(!is_own_name(other), "{other}");
        }
    }

    #[test]
    fn tokens_are_equal_or_not() {
        assert!(is_equal("ab", "ab"));
        assert!(!is_equal("ab", "aB") && !is_equal("a", "ab") && !is_equal("", "ab"));
    }
}
