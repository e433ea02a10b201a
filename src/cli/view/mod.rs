//! `crossprof view`: serves the page and the profiles below a folder on this machine.

mod body;
mod connections;
mod files;
mod in_flight;
mod lake;
mod launch;
mod listing;
mod page;
mod scan;
mod server;
mod watch;
mod workers;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crossprof::format::printable;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tempfile::NamedTempFile;

use super::args::View;
use super::{FAILED, READ, complain, print_result};
use listing::Listing;
use page::Page;
use scan::Scan;
use server::Server;
use workers::Workers;

/// Preferred port. Port to listen on by default. The port is fixed, so that users can keep an SSH tunnel open.
const PORT: u16 = 8321;

/// Maximum time for which the server waits for the first walk of the folder before it starts. If the walk takes longer,
/// it continues while the server answers requests.
const FIRST_WALK: Duration = Duration::from_millis(400);

/// Duration of a time slice of the walk. Between two slices, a server without threads answers requests.
const SLICE: Duration = Duration::from_millis(50);

/// Interval between checks for changes.
const TICK: Duration = Duration::from_millis(200);

/// Time after which the browser is assumed to have started.
const BROWSER_START: Duration = Duration::from_secs(60);

/// Serves until the process ends. Returns the exit status on failure.
pub(super) fn run(command: &View) -> u8 {
    serve(command).unwrap_or_else(|message| {
        complain(&message);
        FAILED
    })
}

fn serve(command: &View) -> Result<u8, String> {
    let page = Page::find(command.page.as_deref())?;
    let path = &lake::export_of(command.path())?;
    let scan = Scan::new(path).map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    let root = scan.root().to_owned();
    let token = token()?;
    let (listener, address) = listen(command.host, command.port)?;
    // The server needs only one thread, so it works even if the system allows no further threads.
    let failed = |error: std::io::Error| format!("The server cannot be started: {error}.");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let workers = Arc::new(Workers::start());
    runtime.block_on(async {
        let starting = Listing::starting();
        let mut walk = look(scan, Arc::new(Listing::starting()), false, FIRST_WALK, Arc::clone(&workers));
        // A longer walk continues while the server answers requests.
        let first = tokio::time::timeout(FIRST_WALK, &mut walk).await;
        let (listing, walk) = match first {
            Ok(Some((scan, listing, _))) => {
                let listing = Arc::new(listing.unwrap_or(starting));
                (Arc::clone(&listing), look(scan, listing, false, SLICE, Arc::clone(&workers)))
            }
            _ => (Arc::new(starting), walk),
        };
        let opened = match listing.runs.as_slice() {
            [only] if !listing.is_partial => format!("app/?open={}", utf8_percent_encode(&only.id, NON_ALPHANUMERIC)),
            _ => String::new(),
        };
        let link = format!("http://{address}/{token}/{opened}");
        let remote = Remote::of_environment();
        let name = files::name_of(&root);
        let status = print_result(&announcement(&name, &listing, &link, address, remote.as_ref()), READ);
        if status != READ {
            return Ok(status);
        }
        if !command.no_browser && remote.is_none() && has_screen() {
            match launch::open(&link) {
                Ok(file) => drop(tokio::spawn(forget(file))),
                Err(_) => complain("No browser could be started. Open the address in a browser."),
            }
        }
        let server = Server::new(page, token, command.proxy.clone(), root, listing, Arc::clone(&workers));
        let server = Arc::new(server);
        tokio::spawn(keep(walk, Arc::clone(&server), workers));
        connections::serve(listener, server).await.map_err(failed)?;
        Ok(READ)
    })
}

/// Future that runs one time slice of a scan. The future returns the scan, the list of runs if the list has changed,
/// and true if no file is left to read.
type Look = Pin<Box<dyn Future<Output = Option<(Scan, Option<Listing>, bool)>> + Send>>;

/// Searches for changes until about `most` time has passed.
fn look(mut scan: Scan, earlier: Arc<Listing>, is_asked: bool, most: Duration, workers: Arc<Workers>) -> Look {
    Box::pin(async move {
        let job = move || {
            scan.begin(is_asked);
            let is_done = scan.step(most);
            let listing = scan.list(&earlier);
            (scan, listing, is_done)
        };
        workers.run(job).await
    })
}

/// Keeps the list of runs up to date. Never returns.
async fn keep(mut looking: Look, server: Arc<Server>, workers: Arc<Workers>) {
    while let Some((mut scan, listing, is_done)) = looking.await {
        if let Some(listing) = listing {
            let earlier = server.set_listing(listing);
            // Freeing a long list takes time.
            workers.run(move || drop(earlier)).await;
        }
        if let Some(note) = scan.take_note() {
            complain(&note);
        }
        if is_done {
            tokio::time::sleep(TICK).await;
        } else {
            tokio::task::yield_now().await;
        }
        looking = look(scan, server.listing(), server.is_asked(), SLICE, Arc::clone(&workers));
    }
}

/// Removes the file that redirects the browser, after the browser has started.
async fn forget(opening: NamedTempFile) {
    tokio::time::sleep(BROWSER_START).await;
    drop(opening);
}

/// Returns a secret text: 128 random bits from the system.
fn token() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("The system provides no random numbers: {error}."))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Listens on the port. If `port` is `None` and the usual port is taken, listens on any free port.
fn listen(host: IpAddr, port: Option<u16>) -> Result<(TcpListener, SocketAddr), String> {
    let at = |port| TcpListener::bind(SocketAddr::new(host, port));
    let listener = match port {
        Some(port) => at(port),
        None => at(PORT).or_else(|_| at(0)),
    };
    let failed = |error: std::io::Error| match port {
        Some(port) => format!("{}: cannot listen on this address: {error}.", SocketAddr::new(host, port)),
        None => format!("{host}: cannot listen on this address: {error}."),
    };
    let listener = listener.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Returns the text that is printed before the server starts.
fn announcement(name: &str, listing: &Listing, link: &str, address: SocketAddr, remote: Option<&Remote>) -> String {
    let runs = match listing.runs.len() {
        0 if listing.is_partial => "the folder is being searched".to_owned(),
        more if listing.is_partial => format!("{more} runs so far, the folder is being searched"),
        0 => "no runs yet: new captures will appear".to_owned(),
        1 => "1 run".to_owned(),
        more => format!("{more} runs"),
    };
    let mut text = format!("{}: {runs}\n{link}\n", printable(name));
    if let Some(remote) = remote {
        let port = address.port();
        let to = if address.ip().is_unspecified() { format!("127.0.0.1:{port}") } else { address.to_string() };
        text += &format!(
            "Run this on your own machine before you open this address there:\n  ssh -L {port}:{to} {}\n",
            remote.destination()
        );
    }
    text + "Ctrl+C ends it.\n"
}

/// User name and address with which this machine is reached from another machine.
struct Remote {
    user: Option<String>,
    address: String,
}

impl Remote {
    /// Reads the environment variables that describe the SSH connection of this program.
    fn of_environment() -> Option<Remote> {
        let connection = std::env::var("SSH_CONNECTION").ok()?;
        Remote::of_connection(&connection, std::env::var("USER").ok())
    }

    /// The format of `connection` is `client port server port`.
    fn of_connection(connection: &str, user: Option<String>) -> Option<Remote> {
        let address = connection.split(' ').nth(2)?.to_owned();
        Some(Remote { user, address })
    }

    fn destination(&self) -> String {
        match &self.user {
            Some(user) => format!("{user}@{}", self.address),
            None => self.address.clone(),
        }
    }
}

/// Returns true if a browser started here would be visible to the user.
fn has_screen() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_connections_get_a_tunnel_command() {
        let remote =
            Remote::of_connection("192.0.2.1 50022 198.51.100.7 22", Some("ada".into())).expect("a connection");
        let address: SocketAddr = "127.0.0.1:8321".parse().expect("an address");
        let text = announcement("log", &Listing::default(), "http://127.0.0.1:8321/t/", address, Some(&remote));
        assert!(text.contains("\n  ssh -L 8321:127.0.0.1:8321 ada@198.51.100.7\n"), "{text}");
        assert!(Remote::of_connection("", None).is_none());
    }
}
