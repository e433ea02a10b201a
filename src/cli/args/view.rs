//! `crossprof view`.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

pub const HELP: &str = "\
Examples:
  crossprof view logdir
  crossprof view host.xplane.pb
  crossprof view logdir --no-browser --port 8000

The runs below the folder are listed newest first, and a capture appears when it is written. Everything is only read. The address
holds a secret: who has it can read the profiles, from this machine unless --host says otherwise. Where this program runs at the
other end of an SSH connection, it prints the command of the tunnel.";

/// `crossprof view`.
#[derive(Debug, clap::Args)]
pub struct View {
    /// The folder with the runs, or one profile; a single run opens at once
    #[arg(value_name = "LOGDIR", required_unless_present = "logdir", conflicts_with = "logdir")]
    path: Option<PathBuf>,
    /// Another way to give LOGDIR
    #[arg(long, value_name = "LOGDIR", hide_short_help = true)]
    logdir: Option<PathBuf>,
    /// Listen at this address. Others than 127.0.0.1 make the profiles readable for whoever has the link and reaches this machine
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub host: IpAddr,
    /// Listen at this port; without it at 8321 or, where that is taken, at any
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Answer under this name as well: that of a proxy which passes a browser's requests on to this machine
    #[arg(long, value_name = "NAME")]
    pub proxy: Option<String>,
    /// Start no browser
    #[arg(long, alias = "no_browser")]
    pub no_browser: bool,
    /// The folder with the page (dist/), instead of the page inside this program
    #[arg(long, value_name = "DIR")]
    pub page: Option<PathBuf>,
}

impl View {
    /// The folder with the runs, or one profile.
    pub fn path(&self) -> &Path {
        let given = self.path.as_deref().or(self.logdir.as_deref());
        // One of both is required.
        given.unwrap_or(Path::new("."))
    }
}
