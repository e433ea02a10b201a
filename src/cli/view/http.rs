//! HTTP/1.1 as far as a server needs it that only reads: GET and HEAD, one thread for each connection.

use std::io::{self, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A longer head is no browser's.
const MOST_HEAD_BYTES: usize = 64 << 10;
const MOST_HEADERS: usize = 100;

/// Browsers open six.
const MOST_CONNECTIONS: usize = 64;

/// Connections that say nothing end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Copied from a file to a connection at once.
const COPIED_BYTES: usize = 256 << 10;

/// The head of a request.
pub struct Request {
    /// `GET`
    pub method: String,
    /// Path and query as they were sent.
    pub target: String,
    /// The name under which the browser knows this server; `None` where it says none, or several.
    pub host: Option<String>,
}

/// An answer.
pub struct Response {
    /// Three digits.
    pub status: u16,
    /// Name and value of each header, but for the length.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The bytes.
    pub body: Box<dyn Read>,
    /// Number of the body's bytes.
    pub size: u64,
}

/// Answers the requests of all connections, for ever.
pub fn serve(listener: &TcpListener, answer: &(dyn Fn(&Request) -> Response + Sync)) {
    let open = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for stream in listener.incoming().flatten() {
            if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                // Dropped: whoever opens so many at once does not read them.
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let open = &open;
            scope.spawn(move || {
                // A browser that went away is nobody to tell.
                let _ = converse(&stream, answer);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
}

/// Answers the requests of one connection, one after the other.
fn converse(stream: &TcpStream, answer: &(dyn Fn(&Request) -> Response + Sync)) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // What is small is sent at once.
    stream.set_nodelay(true)?;
    let mut received = Vec::new();
    while let Some((request, keeps_open)) = next_request(&mut &*stream, &mut received)? {
        let response = answer(&request);
        send(stream, response, request.method == "HEAD", keeps_open)?;
        if !keeps_open {
            break;
        }
    }
    Ok(())
}

/// The next request, and whether another one may follow; `None` at the end of the connection. `received` keeps what came after it.
fn next_request(stream: &mut impl Read, received: &mut Vec<u8>) -> io::Result<Option<(Request, bool)>> {
    let malformed = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let status = parsed.parse(received).map_err(|error| malformed(error.to_string()))?;
        if let httparse::Status::Complete(end) = status {
            let value = |name: &str| {
                let mut named = parsed.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
                let value = named.next().map(|header| String::from_utf8_lossy(header.value).into_owned());
                value.filter(|_| named.next().is_none())
            };
            let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
            let request = Request { method: text(parsed.method), target: text(parsed.path), host: value("host") };
            // What follows a request with a body is not another request.
            let has_body =
                value("content-length").is_some_and(|length| length != "0") || value("transfer-encoding").is_some();
            let is_last = value("connection").is_some_and(|words| words.eq_ignore_ascii_case("close"));
            let keeps_open = parsed.version == Some(1) && !is_last && !has_body;
            received.drain(..end);
            return Ok(Some((request, keeps_open)));
        }
        if received.len() >= MOST_HEAD_BYTES {
            return Err(malformed("the head is too long".to_owned()));
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk)? {
            0 => return Ok(None),
            read => received.extend_from_slice(chunk.get(..read).unwrap_or_default()),
        }
    }
}

fn send(stream: &TcpStream, response: Response, is_head: bool, keeps_open: bool) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(COPIED_BYTES, stream);
    let reason = match response.status {
        200 => "OK",
        204 => "No Content",
        403 => "Forbidden",
        405 => "Method Not Allowed",
        _ => "Not Found",
    };
    write!(out, "HTTP/1.1 {} {reason}\r\n", response.status)?;
    for (name, value) in &response.headers {
        write!(out, "{name}: {value}\r\n")?;
    }
    if response.status != 204 {
        write!(out, "Content-Length: {}\r\n", response.size)?;
    }
    let connection = if keeps_open { "keep-alive" } else { "close" };
    write!(out, "Connection: {connection}\r\n\r\n")?;
    if !is_head {
        let sent = io::copy(&mut response.body.take(response.size), &mut out)?;
        if sent < response.size {
            // The browser was promised more: only the end of the connection says that it does not come.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requests of a connection that arrives in pieces of this size.
    fn requests(text: &str, piece: usize) -> Vec<(String, Option<String>, bool)> {
        struct Pieces<'a>(&'a [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let most = self.1.min(buffer.len());
                self.0.read(&mut buffer[..most])
            }
        }
        let (mut stream, mut received, mut found) = (Pieces(text.as_bytes(), piece), Vec::new(), Vec::new());
        while let Ok(Some((request, keeps_open))) = next_request(&mut stream, &mut received) {
            found.push((request.target, request.host, keeps_open));
            if !keeps_open {
                break;
            }
        }
        found
    }

    #[test]
    fn requests_follow_each_other_in_pieces_of_any_size() {
        let text = "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b?c HTTP/1.1\r\nhost: y\r\nConnection: close\r\n\r\nGET /d HTTP/1.1\r\n\r\n";
        let expected = [("/a".into(), Some("x".into()), true), ("/b?c".into(), Some("y".into()), false)];
        for piece in [1, 7, 4096] {
            assert_eq!(requests(text, piece), expected, "{piece}");
        }
    }

    #[test]
    fn what_is_no_plain_request_ends_the_connection() {
        let with_body = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\nGET / HTTP/1.1\r\n\r\n";
        assert_eq!(requests(with_body, 99), [("/".into(), Some("x".into()), false)]);
        assert_eq!(requests("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 99)[0].1, None);
        assert_eq!(requests("hello\r\n\r\n", 99), []);
        assert_eq!(requests(&format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(MOST_HEAD_BYTES)), 4096), []);
    }
}
