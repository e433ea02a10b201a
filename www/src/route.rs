//! The page's addresses: `#/kernels?run=2&q=fusion`. Pure text in, pure text out.
//!
//! Routes stand behind the `#`, so that any static host serves them and no click asks it for anything.

/// One view of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// What the page does and where to drop a profile; no run is needed.
    #[default]
    Start,
    /// The headline figures of a run.
    Overview,
    /// Every step.
    Steps,
    /// Kernels and their categories.
    Kernels,
    /// Devices, gaps and transfers.
    Devices,
    /// What the trace cannot know: the model's dimensions.
    Model,
    /// Downloads.
    Export,
}

impl View {
    /// The views of a run, in the order of the rail and of the keys `1` to `9`.
    pub const OF_A_RUN: [View; 6] =
        [View::Overview, View::Steps, View::Kernels, View::Devices, View::Model, View::Export];

    /// Its name in addresses.
    pub fn slug(self) -> &'static str {
        match self {
            View::Start => "start",
            View::Overview => "overview",
            View::Steps => "steps",
            View::Kernels => "kernels",
            View::Devices => "devices",
            View::Model => "model",
            View::Export => "export",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            View::Start => "Open",
            View::Overview => "Overview",
            View::Steps => "Steps",
            View::Kernels => "Kernels",
            View::Devices => "Devices",
            View::Model => "Model",
            View::Export => "Export",
        }
    }

    fn from_slug(slug: &str) -> Option<View> {
        View::OF_A_RUN.into_iter().chain([View::Start]).find(|view| view.slug() == slug)
    }
}

/// An address within the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The view.
    pub view: View,
    /// The run it shows, by its number in the rail (from 1).
    pub run: Option<u32>,
    /// Text that the view's tables are filtered by.
    pub filter: String,
}

impl Route {
    /// A view of a run, unfiltered.
    pub fn of(view: View, run: u32) -> Route {
        Route { view, run: Some(run), filter: String::new() }
    }

    /// Reads what stands behind the `#`. Anything unknown is the start page; unknown keys are ignored.
    pub fn parse(hash: &str) -> Route {
        let text = hash.trim_start_matches('#').trim_start_matches('/');
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let mut route = Route { view: View::from_slug(path).unwrap_or_default(), ..Route::default() };
        for pair in query.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                "run" => route.run = value.parse().ok().filter(|run| *run > 0),
                "q" => route.filter = decode(value),
                _ => {}
            }
        }
        route
    }

    /// The address, `#` included.
    pub fn href(&self) -> String {
        let mut out = format!("#/{}", self.view.slug());
        let mut separator = '?';
        if let Some(run) = self.run {
            out.push_str(&format!("{separator}run={run}"));
            separator = '&';
        }
        if !self.filter.is_empty() {
            out.push_str(&format!("{separator}q={}", encode(&self.filter)));
        }
        out
    }
}

/// Percent-encodes everything but RFC 3986's unreserved characters.
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Undoes [`encode`]; a `%` without two digits stands for itself, bytes that are no UTF-8 become U+FFFD.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        let escaped = (first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => bytes.push(first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        assert_eq!(Route::parse(""), Route::default());
        assert_eq!(Route::parse("#/nowhere?run=2").view, View::Start);
        let route = Route::parse("#/kernels?run=2&q=fusion%20-copy&colour=red");
        assert_eq!(route, Route { view: View::Kernels, run: Some(2), filter: "fusion -copy".into() });
        assert_eq!(Route::parse("#/overview?run=0").run, None);
        assert_eq!(Route::parse("#/overview?run=x&q=100%&").filter, "100%");
    }

    #[test]
    fn an_address_that_is_written_is_read_back() {
        for filter in ["", "a b", "é/%&=?#", "<img onerror=x>", "\u{202e}abc"] {
            for view in View::OF_A_RUN {
                let route = Route { view, run: Some(7), filter: filter.into() };
                assert_eq!(Route::parse(&route.href()), route);
            }
        }
    }
}
