//! Tests `crossprof view`: the responses of the server, and the requests that it rejects.
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::support::cli;
use serde_json::Value;

pub(crate) const CPU: &str = "www/assets/examples/jax-cpu-train.xplane.pb";
const TPU: &str = "www/assets/examples/tpu-training.trace.json.gz";

pub(crate) fn scratch(name: &str) -> PathBuf {
    cli::scratch("view", name)
}

/// Creates a log folder with one capture per age in seconds, named `run-<age>`.
pub(crate) fn log_folder(name: &str, ages: &[u64]) -> PathBuf {
    let log = scratch(name).join("log");
    for age in ages {
        capture(&log, &format!("run-{age}"), *age);
    }
    log
}

pub(crate) fn capture(log: &Path, run: &str, age: u64) {
    let folder = log.join("plugins/profile").join(run);
    fs::create_dir_all(&folder).unwrap();
    fs::copy(CPU, folder.join("host.xplane.pb")).unwrap();
    grow_old(&folder.join("host.xplane.pb"), age);
}

pub(crate) fn grow_old(file: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    File::options().write(true).open(file).unwrap().set_modified(then).unwrap();
}

/// Returns the arguments of `view`, with a page next to the folder.
pub(crate) fn arguments(path: &Path) -> Vec<PathBuf> {
    let page = path.parent().unwrap().join("page");
    fs::create_dir_all(&page).unwrap();
    fs::write(page.join("index.html"), "<script src=\"offline.js\" defer></script>").unwrap();
    fs::write(page.join("offline.js"), "the page's").unwrap();
    let words = ["view", "--port", "0", "--page"].map(PathBuf::from);
    words.into_iter().chain([page, path.to_owned()]).collect()
}

/// A server that is stopped at the end of the test.
pub(crate) struct Server {
    pub child: Child,
    /// `127.0.0.1:8321`
    pub host: String,
    /// `/<token>`
    pub base: String,
    /// The part of the opened URL that follows the token.
    pub opened: String,
}

impl Server {
    pub(crate) fn start(path: &Path) -> Server {
        Server::start_with(path, &[])
    }

    pub(crate) fn start_with(path: &Path, words: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossprof"));
        command.args(arguments(path)).arg("--no-browser").args(words);
        Server::of(command)
    }

    /// Starts a server in a shell whose command limits the server, such as `ulimit -n 64`.
    pub(crate) fn start_limited(path: &Path, limit: &str) -> Server {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limit} && exec \"$@\""), "sh", env!("CARGO_BIN_EXE_crossprof")]);
        command.args(arguments(path)).arg("--no-browser");
        Server::of(command)
    }

    pub(crate) fn of(mut command: Command) -> Server {
        let mut child = command.env_remove("SSH_CONNECTION").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let link = lines.find_map(|line| line.unwrap().strip_prefix("http://").map(str::to_owned));
        let link = link.expect("the address is printed");
        let (host, path) = link.split_once('/').unwrap();
        let (token, opened) = path.split_once('/').unwrap();
        assert_eq!(token.len(), 32);
        Server { child, host: host.to_owned(), base: format!("/{token}"), opened: opened.to_owned() }
    }

    /// Sends a request. Returns the status line with the headers of the response, and the body.
    fn ask(&self, method: &str, path: &str, host: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
        (String::from_utf8(answer[..end].to_vec()).unwrap(), answer[end + 4..].to_vec())
    }

    /// Requests a path below the token, and returns the status and the body.
    pub(crate) fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let (head, body) = self.ask("GET", &format!("{}/{path}", self.base), &self.host);
        (status(&head), body)
    }

    pub(crate) fn list(&self) -> Value {
        self.list_of("")
    }

    /// Waits until the folder has been walked, and returns the list.
    pub(crate) fn list_of(&self, query: &str) -> Value {
        for _ in 0..300 {
            let (status, body) = self.get(&format!("runs.json{query}"));
            assert_eq!(status, 200);
            let list: Value = serde_json::from_slice(&body).unwrap();
            if list["is_partial"] == false {
                return list;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the folder is walked within 30 s");
    }

    /// Waits until the list has this many runs.
    pub(crate) fn wait_for(&self, runs: usize) {
        let start = Instant::now();
        while self.names().len() != runs {
            assert!(start.elapsed() < Duration::from_secs(10), "{runs} runs, found {:?}", self.names());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Requires a response within a second.
    pub(crate) fn answers(&self) {
        let start = Instant::now();
        self.list_of("?from=1000000");
        assert!(start.elapsed() < Duration::from_secs(3), "answered after {:?}", start.elapsed());
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let list = self.list();
        list["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn runs_are_listed_newest_first_and_read_byte_by_byte() {
    let server = Server::start(&log_folder("newest", &[500, 9, 60]));
    assert_eq!(server.names(), ["run-9", "run-60", "run-500"]);
    assert_eq!(server.opened, "", "several runs: the list");
    let list = server.list();
    let file = list["runs"][0]["files"][0]["path"].as_str().unwrap();
    assert_eq!(file, "plugins/profile/run-9/host.xplane.pb");
    let (status, bytes) = server.get(&format!("file/{file}"));
    assert_eq!((status, bytes), (200, fs::read(CPU).unwrap()));
    // An unchanged list is not sent again.
    let known = format!("runs.json?known={}", list["version"]);
    assert_eq!(server.get(&known), (204, Vec::new()));
}

#[test]
fn a_capture_appears_when_it_is_written_and_not_before() {
    let log = log_folder("appears", &[60]);
    let server = Server::start(&log);
    capture(&log, "still-growing", 0);
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(server.names(), ["run-60"]);
    grow_old(&log.join("plugins/profile/still-growing/host.xplane.pb"), 3);
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(server.names(), ["still-growing", "run-60"]);
}

#[test]
fn the_list_is_partial_until_a_capture_saved_just_before_has_settled() {
    let server = Server::start(&log_folder("just_saved", &[0]));
    // Waits until the list is complete.
    assert_eq!(server.names(), ["run-0"]);
}

#[test]
fn a_single_run_and_a_single_file_open_at_once() {
    let log = log_folder("single", &[60]);
    let server = Server::start(&log);
    assert_eq!(server.opened, "app/?open=plugins%2Fprofile%2Frun%2D60%2Fhost%2Explane%2Epb");
    let file = log.parent().unwrap().join("a b.trace.json.gz");
    fs::copy(TPU, &file).unwrap();
    fs::copy(TPU, log.parent().unwrap().join("other.trace.json.gz")).unwrap();
    grow_old(&file, 60);
    let server = Server::start(&file);
    assert_eq!(server.opened, "app/?open=a%20b%2Etrace%2Ejson%2Egz");
    assert_eq!(server.get("file/a%20b.trace.json.gz").0, 200);
    assert_eq!(server.get("file/other.trace.json.gz").0, 404, "another file of its folder");
}

#[test]
fn requests_without_the_token_or_for_another_host_are_refused() {
    let server = Server::start(&log_folder("refused", &[60]));
    let at = |path: &str, host: &str| status(&server.ask("GET", path, host).0);
    let list = format!("{}/runs.json", server.base);
    assert_eq!(at(&list, "localhost:1"), 200, "the end of a tunnel has another port");
    assert_eq!(at(&list, "evil.example"), 403);
    assert_eq!(at("/", &server.host), 404);
    assert_eq!(at("/runs.json", &server.host), 404);
    let wrong = format!("/{}/runs.json", "0".repeat(32));
    assert_eq!(at(&wrong, &server.host), 404);
    assert_eq!(status(&server.ask("POST", &list, &server.host).0), 405);
    assert_eq!(status(&server.ask("DELETE", &list, &server.host).0), 405);
}

#[test]
fn a_proxy_in_front_is_answered_by_its_name_alone() {
    let proxy = "8321-gpu.prod.proxy.example";
    let server = Server::start_with(&log_folder("proxy", &[60]), &["--proxy", proxy]);
    let at = |host: &str| status(&server.ask("GET", &format!("{}/runs.json", server.base), host).0);
    assert_eq!((at(proxy), at(&proxy.to_uppercase()), at(&server.host)), (200, 200, 200));
    for other in
        ["8322-gpu.prod.proxy.example", "prod.proxy.example", "evil.8321-gpu.prod.proxy.example", "evil.example"]
    {
        assert_eq!(at(other), 403, "{other}");
    }
}

#[test]
fn nothing_outside_of_the_folder_is_read() {
    let log = log_folder("outside", &[60, 70]);
    let outside = log.parent().unwrap();
    fs::write(outside.join("secret.txt"), "secret").unwrap();
    fs::copy(CPU, outside.join("other.xplane.pb")).unwrap();
    grow_old(&outside.join("other.xplane.pb"), 60);
    let run = log.join("plugins/profile/run-60");
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.join("other.xplane.pb"), run.join("linked.xplane.pb")).unwrap();
    fs::write(log.join("notes.txt"), "notes").unwrap();
    let server = Server::start(&log);
    assert!(!server.list().to_string().contains("linked"));
    for path in [
        "file/../secret.txt",
        "file/%2e%2e/secret.txt",
        "file/plugins/../../secret.txt",
        "file//etc/passwd",
        "file/plugins/profile/run-60/linked.xplane.pb",
        // The file is inside the folder, but is not a profile.
        "file/notes.txt",
        "app/../page/index.html",
        "app/../../secret.txt",
        "app/%2e%2e/secret.txt",
        "app//etc/passwd",
    ] {
        assert_eq!(server.get(path).0, 404, "{path}");
    }
    // The path was a file in the folder when it was listed, but now leads out of the folder.
    #[cfg(unix)]
    {
        let listed = run.join("host.xplane.pb");
        fs::remove_file(&listed).unwrap();
        std::os::unix::fs::symlink(outside.join("other.xplane.pb"), &listed).unwrap();
        assert_eq!(server.get("file/plugins/profile/run-60/host.xplane.pb").0, 404);
    }
}

#[test]
fn the_page_gets_the_script_that_opens_runs_and_the_list_may_ask_this_server_only() {
    let server = Server::start(&log_folder("page", &[60, 70]));
    assert_eq!(server.get("app/"), (200, b"<script src=\"offline.js\" defer></script>".to_vec()));
    let (status_code, script) = server.get("app/offline.js");
    assert_eq!(status_code, 200);
    assert!(String::from_utf8(script).unwrap().contains("pick-files"));
    let (head, list) = server.ask("GET", &format!("{}/", server.base), &server.host);
    assert!(head.contains("Content-Security-Policy: default-src 'none'; script-src 'self'"), "{head}");
    assert!(head.contains("Content-Type: text/html"), "{head}");
    let list = String::from_utf8(list).unwrap();
    assert!(!list.contains("//") && !list.contains("style="), "fetches from here only, without inline styles: {list}");
}

#[test]
fn a_thousand_captures_are_listed_within_a_second() {
    let log = scratch("thousand").join("log");
    let original = log.join("plugins/profile/run-0/host.xplane.pb");
    capture(&log, "run-0", 60);
    for run in 1..1000 {
        let folder = log.join(format!("plugins/profile/run-{run}"));
        fs::create_dir_all(&folder).unwrap();
        fs::hard_link(&original, folder.join("host.xplane.pb")).unwrap();
        fs::copy(TPU, folder.join("host.trace.json.gz")).unwrap();
        grow_old(&folder.join("host.trace.json.gz"), 60);
    }
    let start = Instant::now();
    let server = Server::start(&log);
    let list = server.list();
    assert_eq!((list["total"].as_u64(), server.names().len()), (Some(1000), 500), "the first page");
    let taken = start.elapsed();
    eprintln!("{} ms", taken.as_millis());
    // The limit is five times the time that the program needs alone, because other tests run in parallel.
    assert!(taken < Duration::from_secs(5), "{taken:?}");
}

#[test]
fn unreadable_folders_are_reported() {
    let folder = scratch("wrong");
    let call = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_crossprof")).arg("view").args(words).output().unwrap();
        (output.status.code(), cli::stderr(&output))
    };
    let here = folder.to_str().unwrap();
    let (status, message) = call(&["--page", here, here]);
    assert_eq!(status, Some(2));
    assert!(message.contains("contains no index.html"), "{message}");
    fs::write(folder.join("index.html"), "").unwrap();
    let (status, message) = call(&["--page", here, "/no/such/folder"]);
    assert_eq!(status, Some(2));
    assert!(message.contains("/no/such/folder: cannot be read"), "{message}");
}
