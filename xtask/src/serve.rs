//! `cargo xtask serve`: serves the files in dist/. Only this machine can reach the server.

mod mime;

use crate::Result;
use crate::build::{self, Variant};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PORT: u16 = 8080;
/// Maximum length of a request line or header. Browsers send nothing longer than that.
const HEAD_BYTES: u64 = 64 * 1024;

/// `cargo xtask serve [--port N] [--release]`
pub(crate) fn command(words: &[String]) -> Result {
    let mut words = words.to_vec();
    let variant = Variant::take(&mut words, Variant::Quick);
    let port = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => PORT,
        ["--port", port] => port.parse().map_err(|_| format!("{port:?} is not a port."))?,
        _ => return Err(format!("`serve` has no option {:?}.", words.join(" "))),
    };
    let dist = build::page(variant)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| format!("Port {port} cannot be used ({error}). Another one: cargo xtask serve --port N"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    println!("crossprof: http://{address}  (Ctrl+C stops)");
    serve(&listener, &dist);
    Ok(())
}

/// Answers requests until the process ends.
fn serve(listener: &TcpListener, root: &Path) {
    for stream in listener.incoming().flatten() {
        let root = root.to_owned();
        std::thread::spawn(move || {
            // If the browser has disconnected, the error has no recipient.
            let _ = answer(stream, &root);
        });
    }
}

/// Answers the requests of one connection.
fn answer(stream: TcpStream, root: &Path) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some((method, path)) = request(&mut reader)? {
        respond(&mut stream, root, &method, &path)?;
    }
    Ok(())
}

/// Returns the method and path of the next request. Returns `None` at the end of the connection.
fn request(reader: &mut impl BufRead) -> std::io::Result<Option<(String, String)>> {
    let mut head = reader.take(HEAD_BYTES);
    let mut first = String::new();
    head.read_line(&mut first)?;
    let mut words = first.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let mut line = String::new();
    while head.read_line(&mut line)? > 2 {
        line.clear();
    }
    Ok(Some((method.to_owned(), path.to_owned())))
}

fn respond(stream: &mut TcpStream, root: &Path, method: &str, path: &str) -> std::io::Result<()> {
    let (status, kind, body) = if method != "GET" && method != "HEAD" {
        ("405 Method Not Allowed", "text/plain; charset=utf-8", b"Only GET and HEAD.\n".to_vec())
    } else {
        match resolve(root, path).and_then(|file| Some((mime::of(&file), std::fs::read(&file).ok()?))) {
            Some((kind, body)) => ("200 OK", kind, body),
            None => ("404 Not Found", "text/plain; charset=utf-8", b"There is no such file.\n".to_vec()),
        }
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-cache\r\n\
         X-Content-Type-Options: nosniff\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    if method != "HEAD" {
        stream.write_all(&body)?;
    }
    stream.flush()
}

/// Returns the file to which the path of a request refers. Returns `None` if the path does not name a file below the
/// root.
fn resolve(root: &Path, path: &str) -> Option<PathBuf> {
    let path = decode(path.split(['?', '#']).next()?)?;
    let mut file = root.canonicalize().ok()?;
    let top = file.clone();
    file.extend(path.split('/').filter(|part| !part.is_empty()));
    if file.is_dir() {
        file.push("index.html");
    }
    // This resolves `..` and links before the comparison.
    file.canonicalize().ok().filter(|file| file.starts_with(&top) && file.is_file())
}

/// Decodes percent-encoding. Returns `None` if the path is malformed.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{resolve, serve};
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    fn site(name: &str) -> std::path::PathBuf {
        let root = std::env::temp_dir().join(format!("crossprof-serve-{name}-{}", std::process::id()));
        std::fs::create_dir_all(root.join("site/sub")).unwrap();
        std::fs::write(root.join("secret"), "no").unwrap();
        std::fs::write(root.join("site/index.html"), "home").unwrap();
        std::fs::write(root.join("site/sub/a b.wasm"), "wasm").unwrap();
        root
    }

    #[test]
    fn paths_stay_below_the_root() {
        let root = site("paths");
        let site = root.join("site");
        assert!(resolve(&site, "/").is_some_and(|file| file.ends_with("index.html")));
        assert!(resolve(&site, "/sub/a%20b.wasm?x=1").is_some());
        assert_eq!(resolve(&site, "/../secret"), None);
        assert_eq!(resolve(&site, "/%2e%2e/secret"), None);
        assert_eq!(resolve(&site, "/%zz"), None);
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_file_is_sent_with_its_type() {
        let root = site("types");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let site = root.join("site");
        std::thread::spawn(move || serve(&listener, &site));
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /sub/a%20b.wasm HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("Content-Type: application/wasm\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nwasm"), "{answer}");
        std::fs::remove_dir_all(root).unwrap();
    }
}
