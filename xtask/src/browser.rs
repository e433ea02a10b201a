//! Browsers and their drivers: Chromium (or Chrome), Firefox and WebKitGTK.

use crate::{Result, apt, process};
use std::path::PathBuf;

const BROWSERS: [&str; 5] = ["chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome"];

/// Returns the path of Chromium or Chrome: $CHROME, or the browser on PATH. Otherwise, installs Debian's Chromium if
/// needed.
pub(crate) fn chromium() -> Result<PathBuf> {
    find("CHROME", &BROWSERS, "A Chromium browser", "chromium")
}

/// Returns the path of Chromium's driver: $CHROMEDRIVER, or the driver on PATH. Otherwise, installs Debian's driver if
/// needed.
pub(crate) fn driver() -> Result<PathBuf> {
    find("CHROMEDRIVER", &["chromedriver"], "ChromeDriver", "chromium-driver")
}

/// Returns the path of Firefox: $FIREFOX, or the browser on PATH. Otherwise, installs Debian's Firefox if needed.
pub(crate) fn firefox() -> Result<PathBuf> {
    find("FIREFOX", &["firefox-esr", "firefox"], "Firefox", "firefox-esr")
}

/// Returns the path of WebKitGTK's driver, which includes its browser: $WEBKIT_DRIVER, or the driver on PATH.
/// Otherwise, installs Debian's driver if needed.
pub(crate) fn webkit_driver() -> Result<PathBuf> {
    find("WEBKIT_DRIVER", &["WebKitWebDriver"], "WebKit's driver", "webkit2gtk-driver")
}

/// Returns the path of the virtual screen that WebKitGTK needs: $XVFB, or the program on PATH. Otherwise, installs
/// Debian's program if needed.
pub(crate) fn xvfb() -> Result<PathBuf> {
    find("XVFB", &["Xvfb"], "Xvfb", "xvfb")
}

fn find(variable: &str, names: &[&str], need: &str, package: &str) -> Result<PathBuf> {
    if let Some(file) = std::env::var_os(variable).filter(|file| !file.is_empty()) {
        return Ok(file.into());
    }
    let present = || names.iter().find_map(|name| process::which(name));
    if let Some(file) = present() {
        return Ok(file);
    }
    apt::install(need, &[package]).map_err(|error| format!("{error}\nOr set {variable} to where it is."))?;
    present().ok_or_else(|| format!("{package} was installed and is still not on PATH."))
}
