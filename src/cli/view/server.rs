//! The server's responses. All paths start with the token, which only the printed link contains:
//!
//! ```text
//! /<token>/                 the list of runs: a separate page, which requests runs.json periodically
//! /<token>/runs.json        one page of the runs, newest first: ?from=N&filter=WORDS; with known=VERSION, empty if the list
//!                           still has that version; with id=ID&id=ID, only these runs
//! /<token>/file/<path>      a file of a run
//! /<token>/app/?open=<id>   the page; its offline.js is replaced by a script that passes it the files of these runs
//! ```

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, header};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::body::Body;
use super::files::{name_of, open_regular};
use super::listing::Listing;
use super::page::{Page, PageFile, REPLACED, media_type};
use super::workers::Workers;

/// Maximum number of runs in one response.
const PAGE_RUNS: usize = 500;

/// Time without a request for the list after which the list is assumed to be closed. An open list requests runs.json
/// every few seconds.
const ATTENTION: Duration = Duration::from_secs(10);

/// Files of the page that shows the list.
const LIST: [(&str, &str); 3] = [
    ("runs.html", include_str!("assets/runs.html")),
    ("runs.js", include_str!("assets/runs.js")),
    ("runs.css", include_str!("assets/runs.css")),
];

/// The script that passes the files of runs to the page.
const OPEN: &str = include_str!("assets/open.js");

/// Content security policy of the list. The page has its own policy.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
     form-action 'none'",
);

/// Headers of every response.
const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// Shared state of all responses.
pub(super) struct Server {
    page: Arc<Page>,
    /// Secret text at the start of every path.
    token: String,
    /// Name of a proxy in front of this server.
    proxy: Option<String>,
    /// The served folder or file, as a canonical path.
    root: PathBuf,
    listing: Mutex<Arc<Listing>>,
    /// Time of the last request for the list.
    asked: Mutex<Option<Instant>>,
    workers: Arc<Workers>,
}

impl Server {
    pub(super) fn new(
        page: Page,
        token: String,
        proxy: Option<String>,
        root: PathBuf,
        listing: Arc<Listing>,
        workers: Arc<Workers>,
    ) -> Server {
        let (listing, asked) = (Mutex::new(listing), Mutex::new(None));
        Server { page: Arc::new(page), token, proxy, root, listing, asked, workers }
    }

    /// Returns the latest list of runs.
    pub(super) fn listing(&self) -> Arc<Listing> {
        Arc::clone(&lock(&self.listing))
    }

    /// Replaces the list of runs, and returns the earlier list.
    pub(super) fn set_listing(&self, listing: Listing) -> Arc<Listing> {
        std::mem::replace(&mut *lock(&self.listing), Arc::new(listing))
    }

    /// Returns true if a user is viewing the list.
    pub(super) fn is_asked(&self) -> bool {
        lock(&self.asked).is_some_and(|asked| asked.elapsed() < ATTENTION)
    }

    /// Answers one request.
    pub(super) async fn answer(&self, request: &Request<Incoming>) -> Response<Body> {
        let mut hosts = request.headers().get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).filter(|_| hosts.next().is_none());
        let is_known =
            |host: &str| is_own_name(host) || self.proxy.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(host));
        if !host.is_some_and(is_known) {
            return refusal(StatusCode::FORBIDDEN, "This server answers only to localhost or to its IP address.");
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return refusal(StatusCode::METHOD_NOT_ALLOWED, "This server is read-only.");
        }
        let found = self.find(request.uri().path(), request.uri().query().unwrap_or_default()).await;
        found.unwrap_or_else(|| {
            refusal(StatusCode::NOT_FOUND, "There is nothing here. Open the address that crossprof view printed.")
        })
    }

    async fn find(&self, path: &str, query: &str) -> Option<Response<Body>> {
        let (token, rest) = path.strip_prefix('/')?.split_once('/')?;
        if !is_equal(token, &self.token) {
            return None;
        }
        let rest = percent_decode_str(rest).decode_utf8().ok()?;
        if rest.split('/').any(|part| part == "..") {
            return None;
        }
        if let Some(file) = rest.strip_prefix("file/") {
            return self.profile(file).await;
        }
        if let Some(file) = rest.strip_prefix("app/") {
            return self.of_page(if file.is_empty() { "index.html" } else { file }).await;
        }
        if rest == "runs.json" {
            return Some(self.list(&Query::of(query)));
        }
        let name = if rest.is_empty() { "runs.html" } else { rest.as_ref() };
        let (file, text) = LIST.iter().find(|(file, _)| *file == name)?;
        let mut answer = response(media_type(file), Body::bytes(text.as_bytes()));
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY);
        Some(answer)
    }

    /// Returns a file of the page.
    async fn of_page(&self, path: &str) -> Option<Response<Body>> {
        let media_type = media_type(path);
        if path == REPLACED {
            return Some(response(media_type, Body::bytes(OPEN.as_bytes())));
        }
        let (page, path) = (Arc::clone(&self.page), path.to_owned());
        let body = match self.workers.run(move || page.file(&path)).await?? {
            PageFile::Embedded(bytes) => Body::bytes(bytes),
            PageFile::OfFolder(file, size) => Body::file(file, size, Arc::clone(&self.workers)),
        };
        Some(response(media_type, body))
    }

    /// Returns a part of the list, or a short response if the client already has this version.
    fn list(&self, query: &Query) -> Response<Body> {
        *lock(&self.asked) = Some(Instant::now());
        let listing = self.listing();
        if query.known == Some(listing.version) {
            let mut answer = response(media_type("runs.json"), Body::bytes(""));
            *answer.status_mut() = StatusCode::NO_CONTENT;
            return answer;
        }
        let (matching, from, runs) = if query.ids.is_empty() {
            let page = listing.page(&query.filter, query.from, PAGE_RUNS);
            (page.matching, page.from, page.runs)
        } else {
            let runs: Vec<_> = query.ids.iter().filter_map(|id| listing.run(id)).collect();
            (runs.len(), 0, runs)
        };
        let document: Value = json!({
            "name": name_of(&self.root),
            "version": listing.version,
            "is_cut": listing.is_cut,
            "is_partial": listing.is_partial,
            "total": listing.runs.len(),
            "matching": matching,
            "from": from,
            "page": PAGE_RUNS,
            "runs": runs,
        });
        response(media_type("runs.json"), Body::bytes(document.to_string()))
    }

    /// Returns a file of a run. The file is read while it is sent.
    async fn profile(&self, path: &str) -> Option<Response<Body>> {
        let listing = self.listing();
        let place = listing.place(path)?.to_owned();
        let root = self.root.clone();
        let open = move || {
            // A link may have changed its target since the scan.
            let place = place.canonicalize().ok().filter(|place| place.starts_with(root))?;
            open_regular(&place).ok()
        };
        let (file, size) = self.workers.run(open).await??;
        Some(response("application/octet-stream", Body::file(file, size, Arc::clone(&self.workers))))
    }
}

/// Parameters of a request for the list.
#[derive(Debug, Default, PartialEq, Eq)]
struct Query {
    /// Version of the list that the client has.
    known: Option<u64>,
    /// Index of the first run to return.
    from: usize,
    /// Words that the runs' paths must contain.
    filter: String,
    /// Ids of the requested runs. Empty for all.
    ids: Vec<String>,
}

impl Query {
    fn of(text: &str) -> Query {
        let mut query = Query::default();
        for (key, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = value.replace('+', " ");
            let value = percent_decode_str(&value).decode_utf8_lossy().into_owned();
            match key {
                "known" => query.known = value.parse().ok(),
                "from" => query.from = value.parse().unwrap_or_default(),
                "filter" => query.filter = value,
                "id" => query.ids.push(value),
                _ => {}
            }
        }
        query
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if `host` is a name that only this machine has. If the server accepted other names, another website
/// could point its own name at this server and let the browser read the responses (DNS rebinding). Numeric addresses
/// are accepted, because they are safe.
fn is_own_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// Compares two texts in constant time, so that timing does not reveal the first difference.
fn is_equal(given: &str, token: &str) -> bool {
    given.len() == token.len() && given.bytes().zip(token.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

fn refusal(status: StatusCode, sentence: &'static str) -> Response<Body> {
    let mut answer = response(media_type(".txt"), Body::bytes(sentence));
    *answer.status_mut() = status;
    answer
}

fn response(media_type: &'static str, body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    answer.headers_mut().extend(HEADERS);
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
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

    #[test]
    fn queries_are_decoded() {
        let query = Query::of("from=500&filter=a%20b+c&known=7&other&id=x%26y");
        assert_eq!(query, Query { known: Some(7), from: 500, filter: "a b c".into(), ids: vec!["x&y".into()] });
    }
}
