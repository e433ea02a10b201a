//! Accepts as many connections as the process's file descriptors allow. If a client opens another connection, closes
//! the connection that has been silent for longest.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::TcpListener as StdListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use super::in_flight::{Activity, InFlight};
use super::server::Server;

/// Maximum number of connections. A browser opens six connections, and each of them may request a file.
const MOST_CONNECTIONS: usize = 256;

/// Number of file descriptors for other purposes: standard streams, the listener, the watch, and a folder that is being
/// read.
const OTHER_DESCRIPTORS: usize = 24;

/// Time without a request after which a connection is closed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time without accepting bytes after which a client's connection may be closed to make room for another.
const STALLED: Duration = Duration::from_secs(10);

/// Pause after the operating system failed to accept a connection.
const PAUSE: Duration = Duration::from_millis(20);

/// The open connections.
#[derive(Default)]
struct Open {
    next: u64,
    all: BTreeMap<u64, (Arc<Activity>, AbortHandle)>,
}

impl Open {
    /// Closes the connection that has been silent for longest, unless all connections have a response in progress.
    fn make_room(&mut self) -> bool {
        let silent = self.all.iter().filter_map(|(&number, (activity, _))| {
            let last = activity.last();
            let may_end = !activity.is_in_flight() || last.elapsed() > STALLED;
            may_end.then_some((last, number))
        });
        let Some((_, number)) = silent.min() else { return false };
        if let Some((_, task)) = self.all.remove(&number) {
            task.abort();
        }
        true
    }
}

/// Answers the requests of all connections. Returns only if an error occurs.
///
/// # Errors
///
/// Fails if the system cannot listen.
pub(super) async fn serve(listener: StdListener, server: Arc<Server>) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let open = Arc::new(Mutex::new(Open::default()));
    let most = most_connections();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let mut connections = lock(&open);
                if connections.all.len() >= most && !connections.make_room() {
                    // Drops the new connection, so that all other connections receive their responses.
                    continue;
                }
                let number = connections.next;
                connections.next += 1;
                let activity = Arc::<Activity>::default();
                let (of_task, ended, server) = (Arc::clone(&activity), Arc::clone(&open), Arc::clone(&server));
                let task = tokio::spawn(async move {
                    converse(stream, of_task, server).await;
                    lock(&ended).all.remove(&number);
                });
                connections.all.insert(number, (activity, task.abort_handle()));
            }
            // Usually, no file descriptor is left.
            Err(_) => {
                lock(&open).make_room();
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Answers the requests of one connection in order.
async fn converse(stream: TcpStream, activity: Arc<Activity>, server: Arc<Server>) {
    // Sends small responses immediately.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let (in_flight, server) = (InFlight::new(&activity), Arc::clone(&server));
        async move {
            let response = server.answer(&request).await;
            Ok::<_, Infallible>(response.map(|body| body.with(in_flight)))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(64 << 10).title_case_headers(true);
    // Fails if the browser has disconnected, or if the client sent something other than HTTP.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the maximum number of connections. With this maximum, enough file descriptors remain for the files in
/// responses, and for the other parts of the process.
fn most_connections() -> usize {
    #[cfg(unix)]
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        (limit.saturating_sub(OTHER_DESCRIPTORS) / 2).clamp(4, MOST_CONNECTIONS)
    }
    #[cfg(not(unix))]
    MOST_CONNECTIONS
}
