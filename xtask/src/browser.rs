//! Browsers and their drivers: Chromium (or Chrome), Firefox, WebKitGTK.

use crate::{Result, apt, process};
use std::path::PathBuf;

const BROWSERS: [&str; 5] = ["chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome"];

/// Returns the browser: $CHROME, the browser on PATH, or Debian's browser, which is installed if needed.
pub(crate) fn chromium() -> Result<PathBuf> {
    find("CHROME", &BROWSERS, "A Chromium browser", "chromium")
}

/// Returns the browser's driver: $CHROMEDRIVER, the driver on PATH, or Debian's driver, which is installed if needed.
pub(crate) fn driver() -> Result<PathBuf> {
    find("CHROMEDRIVER", &["chromedriver"], "ChromeDriver", "chromium-driver")
}

/// Returns Firefox: $FIREFOX, the browser on PATH, or Debian's browser, which is installed if needed.
pub(crate) fn firefox() -> Result<PathBuf> {
    find("FIREFOX", &["firefox-esr", "firefox"], "Firefox", "firefox-esr")
}

/// Returns the driver of WebKitGTK, which includes its browser: $WEBKIT_DRIVER, the driver on PATH, or Debian's driver,
/// which is installed if needed.
pub(crate) fn webkit_driver() -> Result<PathBuf> {
    find("WEBKIT_DRIVER", &["WebKitWebDriver"], "WebKit's driver", "webkit2gtk-driver")
}

/// Returns the virtual screen that WebKitGTK needs: $XVFB, the program on PATH, or Debian's program, which is installed
/// if needed.
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
