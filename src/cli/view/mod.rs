//! `crossprof view`: the page and the profiles below a folder, served on this machine.

mod body;
mod connections;
mod files;
mod launch;
mod listing;
mod page;
mod scan;
mod server;
mod watch;
mod workers;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// Tried first: a tunnel can be kept for an address that stays.
const PORT: u16 = 8321;

/// A folder that is not walked by then is walked while the server answers.
const FIRST_WALK: Duration = Duration::from_millis(400);

/// Part of a walk after which a server without threads answers requests.
const SLICE: Duration = Duration::from_millis(50);

/// Changes are looked for this often.
const TICK: Duration = Duration::from_millis(200);

/// A browser has started by then.
const BROWSER_START: Duration = Duration::from_secs(60);

/// Serves until the program is ended. Returns the exit status.
pub fn run(command: &View) -> u8 {
    serve(command).unwrap_or_else(|message| {
        complain(&message);
        FAILED
    })
}

fn serve(command: &View) -> Result<u8, String> {
    let page = Page::find(command.page.as_deref())?;
    let path = command.path();
    let mut scan = Scan::new(path).map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    let start = Instant::now();
    while !scan.step(SLICE) && start.elapsed() < FIRST_WALK {}
    let starting = Listing::starting();
    let listing = scan.list(&starting).unwrap_or(starting);
    let token = token()?;
    let (listener, address) = listen(command.host, command.port)?;
    let opened = match listing.runs.as_slice() {
        [only] if !listing.is_partial => format!("app/?open={}", utf8_percent_encode(&only.id, NON_ALPHANUMERIC)),
        _ => String::new(),
    };
    let link = format!("http://{address}/{token}/{opened}");
    let remote = Remote::of_environment();
    let root = scan.root().to_owned();
    let status = print_result(&announcement(&files::name_of(&root), &listing, &link, address, remote.as_ref()), READ);
    if status != READ {
        return Ok(status);
    }
    let mut opening = None;
    if !command.no_browser && remote.is_none() && has_screen() {
        match launch::open(&link) {
            Ok(file) => opening = Some(file),
            Err(_) => complain("No browser could be started: open the address in one."),
        }
    }
    // One thread: a system that starts no other still serves.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let failed = |error: std::io::Error| format!("The server cannot be started: {error}.");
    let workers = Arc::new(Workers::start());
    let server = Arc::new(Server::new(page, token, command.proxy.clone(), root, listing, Arc::clone(&workers)));
    runtime.map_err(failed)?.block_on(async {
        tokio::spawn(keep(scan, Arc::clone(&server), workers));
        tokio::spawn(forget(opening));
        connections::serve(listener, server).await.map_err(failed)
    })?;
    Ok(READ)
}

/// Keeps the list of runs up to date, for ever.
async fn keep(mut scan: Scan, server: Arc<Server>, workers: Arc<Workers>) {
    loop {
        let (earlier, is_asked) = (server.listing(), server.is_asked());
        let look = move || {
            scan.begin(is_asked);
            let is_done = scan.step(SLICE);
            let listing = scan.list(&earlier);
            (scan, listing, is_done)
        };
        let Some((back, listing, is_done)) = workers.run(look).await else { return };
        scan = back;
        if let Some(listing) = listing {
            server.set_listing(listing);
        }
        if let Some(note) = scan.take_note() {
            complain(&note);
        }
        if is_done {
            tokio::time::sleep(TICK).await;
        } else {
            tokio::task::yield_now().await;
        }
    }
}

/// Removes the file that led the browser here.
async fn forget(opening: Option<NamedTempFile>) {
    if opening.is_some() {
        tokio::time::sleep(BROWSER_START).await;
    }
    drop(opening);
}

/// Text that nobody guesses: 128 bits of the system's.
fn token() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("The system gives no random numbers: {error}."))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Listens at the port or, where none is given and the usual one is taken, at any.
fn listen(host: IpAddr, port: Option<u16>) -> Result<(TcpListener, SocketAddr), String> {
    let at = |port| TcpListener::bind(SocketAddr::new(host, port));
    let listener = match port {
        Some(port) => at(port),
        None => at(PORT).or_else(|_| at(0)),
    };
    let failed = |error: std::io::Error| match port {
        Some(port) => format!("{}: cannot listen there: {error}.", SocketAddr::new(host, port)),
        None => format!("{host}: cannot listen there: {error}."),
    };
    let listener = listener.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// What is printed before the server starts.
fn announcement(name: &str, listing: &Listing, link: &str, address: SocketAddr, remote: Option<&Remote>) -> String {
    let runs = match listing.runs.len() {
        0 if listing.is_partial => "the folder is being searched".to_owned(),
        more if listing.is_partial => format!("{more} runs so far, the folder is being searched"),
        0 => "no run yet: what is captured there will appear".to_owned(),
        1 => "1 run".to_owned(),
        more => format!("{more} runs"),
    };
    let mut text = format!("{}: {runs}\n{link}\n", printable(name));
    if let Some(remote) = remote {
        let port = address.port();
        let to = if address.ip().is_unspecified() { format!("127.0.0.1:{port}") } else { address.to_string() };
        text += &format!(
            "On your own machine, before you open this address there:\n  ssh -L {port}:{to} {}\n",
            remote.destination()
        );
    }
    text + "Ctrl+C ends it.\n"
}

/// The machine that this program runs on, as somebody at another one knows it.
struct Remote {
    user: Option<String>,
    address: String,
}

impl Remote {
    /// What SSH says of the connection that this program was started over.
    fn of_environment() -> Option<Remote> {
        let connection = std::env::var("SSH_CONNECTION").ok()?;
        Remote::of_connection(&connection, std::env::var("USER").ok())
    }

    /// `client port server port`
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

/// Whether a browser that is started here is seen by anybody.
fn has_screen() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_connected_by_ssh_gets_the_line_for_a_tunnel() {
        let remote =
            Remote::of_connection("192.0.2.1 50022 198.51.100.7 22", Some("ada".into())).expect("a connection");
        let address: SocketAddr = "127.0.0.1:8321".parse().expect("an address");
        let text = announcement("log", &Listing::default(), "http://127.0.0.1:8321/t/", address, Some(&remote));
        assert!(text.contains("\n  ssh -L 8321:127.0.0.1:8321 ada@198.51.100.7\n"), "{text}");
        assert!(Remote::of_connection("", None).is_none());
    }
}
