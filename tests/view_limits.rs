//! Tests `crossprof view` at the limits of the system: few file descriptors, many connections, unusual folders, and
//! access to the link.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::cli;
use crate::view::{CPU, Server, arguments, capture, grow_old, log_folder, scratch};

/// Creates a pipe without a writer. Opening the pipe for reading would block forever.
fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn pipes_in_the_folder_and_in_the_page_are_no_trap() {
    let log = log_folder("pipes", &[60]);
    let run = log.join("plugins/profile/run-60");
    pipe(&run.join("other.xplane.pb"));
    let server = Server::start(&log);
    assert_eq!(server.names(), ["run-60"]);
    // A file of the list that is replaced by a pipe, and a pipe in the page.
    fs::remove_file(run.join("host.xplane.pb")).unwrap();
    pipe(&run.join("host.xplane.pb"));
    pipe(&log.parent().unwrap().join("page/pipe.js"));
    for _ in 0..70 {
        assert_eq!(server.get("file/plugins/profile/run-60/host.xplane.pb").0, 404);
        assert_eq!(server.get("app/pipe.js").0, 404);
    }
}

#[test]
fn folders_of_two_thousand_levels_are_walked() {
    let log = log_folder("deep", &[60]);
    // Run inside the folder, because an absolute path may be too long.
    let made = Command::new("mkdir").arg("-p").arg("d/".repeat(2000)).current_dir(&log).status().unwrap();
    assert!(made.success());
    let server = Server::start(&log);
    assert_eq!(server.names(), ["run-60"]);
    server.answers();
    // Other commands walk the folder too.
    let output = cli::crossprof(&log, &["analyze", "."]);
    assert!(cli::stdout(&output).contains("run-60"), "{}", cli::stderr(&output));
    assert!(Command::new("rm").arg("-rf").arg(log.join("d")).status().unwrap().success());
}

#[test]
fn links_in_a_circle_are_not_followed() {
    let log = log_folder("circle", &[60]);
    std::os::unix::fs::symlink(&log, log.join("plugins/again")).unwrap();
    std::os::unix::fs::symlink("self.xplane.pb", log.join("self.xplane.pb")).unwrap();
    assert_eq!(Server::start(&log).names(), ["run-60"]);
}

#[test]
fn few_descriptors_are_enough_despite_a_hundred_idle_connections() {
    let log = log_folder("descriptors", &[60, 70]);
    let server = Server::start_limited(&log, "ulimit -n 64");
    let idle: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(&server.host).unwrap()).collect();
    server.answers();
    for _ in 0..100 {
        assert_eq!(server.get("file/plugins/profile/run-60/host.xplane.pb").1, fs::read(CPU).unwrap());
    }
    capture(&log, "late", 60);
    server.wait_for(3);
    drop(idle);
    server.answers();
}

#[test]
fn a_system_without_another_thread_is_served() {
    let log = log_folder("threads", &[60]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossprof"));
    // No machine has a stack this large, so no thread can start.
    command.args(arguments(&log)).arg("--no-browser").env("RUST_MIN_STACK", "1000000000000000");
    let server = Server::of(command);
    server.answers();
    assert_eq!(server.get("file/plugins/profile/run-60/host.xplane.pb").1, fs::read(CPU).unwrap());
}

#[test]
fn a_request_with_two_lengths_gets_one_answer() {
    let server = Server::start(&log_folder("lengths", &[60]));
    let (host, base) = (&server.host, &server.base);
    let hidden = format!("GET {base}/runs.json HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    for lengths in ["Content-Length: 0\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"]
    {
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        write!(stream, "GET {base}/runs.json HTTP/1.1\r\nHost: {host}\r\n{lengths}\r\n{hidden}").unwrap();
        let mut answers = Vec::new();
        // The connection may be reset during the transfer.
        let _ = stream.read_to_end(&mut answers);
        let answers = String::from_utf8_lossy(&answers).into_owned();
        assert!(answers.matches("HTTP/1.1 ").count() <= 1, "{answers}");
    }
}

#[test]
fn names_with_backslashes_and_without_utf_8_are_opened() {
    let log = scratch("names").join("log");
    let names: [&[u8]; 2] = [b"a\\b", b"c\xff"];
    for (age, name) in names.iter().enumerate() {
        let folder = log.join("plugins/profile").join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir_all(&folder).unwrap();
        fs::copy(CPU, folder.join("host.xplane.pb")).unwrap();
        grow_old(&folder.join("host.xplane.pb"), 60 + age as u64);
    }
    let server = Server::start(&log);
    assert_eq!(server.names(), ["a\\b", "c\\xff"]);
    for name in ["a%5Cb", "c%5Cxff"] {
        let (status, bytes) = server.get(&format!("file/plugins/profile/{name}/host.xplane.pb"));
        assert_eq!((status, bytes), (200, fs::read(CPU).unwrap()), "{name}");
    }
}

#[test]
fn the_list_comes_in_pages_and_is_filtered() {
    let log = log_folder("pages", &[0]);
    let original = log.join("plugins/profile/run-0/host.xplane.pb");
    grow_old(&original, 60);
    for run in 1..620 {
        let folder = log.join(format!("plugins/profile/run-{run}"));
        fs::create_dir_all(&folder).unwrap();
        fs::hard_link(&original, folder.join("host.xplane.pb")).unwrap();
    }
    let server = Server::start(&log);
    let counts = |query: &str| {
        let list = server.list_of(query);
        let count = |key: &str| list[key].as_u64().unwrap();
        (count("total"), count("matching"), list["runs"].as_array().unwrap().len())
    };
    assert_eq!(counts("?from=0"), (620, 620, 500));
    assert_eq!(counts("?from=500"), (620, 620, 120));
    assert_eq!(counts("?from=0&filter=RUN-61%20plugins"), (620, 11, 11));
    let list = server.list_of("?id=plugins%2Fprofile%2Frun-7%2Fhost.xplane.pb&id=none");
    assert_eq!(list["runs"][0]["name"], "run-7");
    assert_eq!(list["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn runs_that_are_moved_or_removed_leave_the_list() {
    let log = log_folder("leave", &[60, 70, 80]);
    let server = Server::start(&log);
    server.wait_for(3);
    let runs = log.join("plugins/profile");
    fs::remove_dir_all(runs.join("run-60")).unwrap();
    fs::rename(runs.join("run-70"), runs.join("moved")).unwrap();
    server.wait_for(2);
    let start = Instant::now();
    while server.names() != ["moved", "run-80"] {
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", server.names());
        std::thread::sleep(Duration::from_millis(50));
    }
    // Files of the folder are watched under its new name.
    capture(&log, "moved", 0);
    grow_old(&runs.join("moved/host.xplane.pb"), 600);
    while server.names() != ["run-80", "moved"] {
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", server.names());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_link_is_in_a_private_file_and_not_in_the_arguments_of_the_browser() {
    let log = log_folder("link", &[60, 70]);
    let folder = log.parent().unwrap();
    let browser = folder.join("xdg-open");
    let seen = folder.join("seen");
    // Records its arguments, and the mode and content of the file.
    let script = format!(
        "#!/bin/sh\n(echo \"$@\"; stat -c %a \"$1\"; cat \"$1\") > {0}.new && mv {0}.new {0}\n",
        seen.display()
    );
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossprof"));
    let path = std::env::var("PATH").unwrap();
    command.args(arguments(&log)).env("DISPLAY", ":0").env("PATH", format!("{}:{path}", folder.display()));
    command.env("TMPDIR", folder);
    let server = Server::of(command);
    let start = Instant::now();
    while !seen.exists() {
        assert!(start.elapsed() < Duration::from_secs(10), "the browser is started");
        std::thread::sleep(Duration::from_millis(20));
    }
    let seen = fs::read_to_string(seen).unwrap();
    let (words, rest) = seen.split_once('\n').unwrap();
    let (mode, content) = rest.split_once('\n').unwrap();
    assert!(!words.contains(server.base.trim_matches('/')), "{words}");
    assert_eq!(mode, "600");
    assert!(content.contains(&format!("url=http://{}{}/\"", server.host, server.base)), "{content}");
}

#[test]
fn logdir_names_the_folder_and_a_pipe_is_refused() {
    let log = log_folder("logdir", &[60, 70]);
    let mut words: Vec<PathBuf> = arguments(&log);
    words.pop();
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossprof"));
    command.args(&words).arg("--no-browser").arg("--logdir").arg(&log);
    assert_eq!(Server::of(command).names().len(), 2);
    let path = log.join("pipe");
    pipe(&path);
    let output = Command::new(env!("CARGO_BIN_EXE_crossprof")).args(&words).arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(cli::stderr(&output).contains("neither a folder nor a regular file"), "{}", cli::stderr(&output));
}
