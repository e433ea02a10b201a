//! Browsers and their drivers: Chromium (or Chrome), Firefox, WebKitGTK.

use crate::{Result, apt, process};
use std::path::PathBuf;

const BROWSERS: [&str; 5] = ["chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome"];

/// The browser: $CHROME, else the one on PATH, else Debian's, which is then installed.
pub fn chromium() -> Result<PathBuf> {
    find("CHROME", &BROWSERS, "A Chromium browser", "chromium")
}

/// The browser's driver: $CHROMEDRIVER, else the one on PATH, else Debian's, which is then installed.
pub fn driver() -> Result<PathBuf> {
    find("CHROMEDRIVER", &["chromedriver"], "ChromeDriver", "chromium-driver")
}

/// Firefox: $FIREFOX, else the one on PATH, else Debian's, which is then installed.
pub fn firefox() -> Result<PathBuf> {
    find("FIREFOX", &["firefox-esr", "firefox"], "Firefox", "firefox-esr")
}

/// The driver of WebKitGTK, which comes with its browser: $WEBKIT_DRIVER, else the one on PATH, else Debian's, which is then installed.
pub fn webkit_driver() -> Result<PathBuf> {
    find("WEBKIT_DRIVER", &["WebKitWebDriver"], "WebKit's driver", "webkit2gtk-driver")
}

/// The screen that nobody sees, which WebKitGTK needs: $XVFB, else the one on PATH, else Debian's, which is then installed.
pub fn xvfb() -> Result<PathBuf> {
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
