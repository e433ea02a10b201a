//! Arguments of `crossprof view`.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

pub(super) const HELP: &str = "\
Examples:
  crossprof view logdir
  crossprof view host.xplane.pb
  crossprof view logdir --no-browser --port 8000
  crossprof view lake

The runs below the folder are listed newest first, and a capture appears when it is written. No file is changed. The
address contains a secret. Anyone who has it can read the profiles, but only from this machine unless --host allows others.
For a lake, the page shows lake/trend.json.gz, which crossprof lake export writes.
Over an SSH connection, crossprof prints the command for a tunnel.";

/// `crossprof view`.
#[derive(Debug, clap::Args)]
pub(crate) struct View {
    /// Folder of runs, profile or lake to serve. A single run opens immediately
    #[arg(value_name = "LOGDIR", required_unless_present = "logdir", conflicts_with = "logdir")]
    path: Option<PathBuf>,
    /// Same as LOGDIR
    #[arg(long, value_name = "LOGDIR", hide_short_help = true)]
    logdir: Option<PathBuf>,
    /// Address to listen on. With any address other than 127.0.0.1, anyone who has the link and can reach this machine can read
    /// the profiles
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub host: IpAddr,
    /// Port to listen on. By default 8321, or any free port if 8321 is taken
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Additional host name to accept: the name of a proxy that forwards requests to this machine
    #[arg(long, value_name = "NAME")]
    pub proxy: Option<String>,
    /// Do not start a browser
    #[arg(long, alias = "no_browser")]
    pub no_browser: bool,
    /// Folder that contains the page (dist/), to use instead of the built-in page
    #[arg(long, value_name = "DIR")]
    pub page: Option<PathBuf>,
}

impl View {
    /// Returns the path of what the user wants to serve.
    pub(crate) fn path(&self) -> &Path {
        let given = self.path.as_deref().or(self.logdir.as_deref());
        // clap requires one of the two.
        given.unwrap_or(Path::new("."))
    }
}
