//! The overview's bars: kernel time by category, devices side by side.

use crossprof::format;
use crossprof::metrics::categories::family_of;
use crossprof::pages::{Bar, Bars, Link};
use crossprof::report::DeviceStats;
use crossprof::sort::sort_by;
use crossprof::table::Unit;
use leptos::prelude::*;

use crate::profile::Profile;

/// Categories that get a bar of their own.
const MAX_CATEGORIES: usize = 9;
/// Devices that get one.
const MAX_DEVICES: usize = 10;

/// Kernel time by category, largest first.
pub fn by_category(profile: &Profile) -> Bars {
    let by_category = &profile.kernels.kernels_by_category;
    let mut times: Vec<(&str, f64)> =
        by_category.iter().map(|(name, category)| (name.as_str(), category.time_us)).collect();
    sort_by(&mut times, |a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let all: f64 = times.iter().map(|time| time.1).sum();
    let rest = if times.len() > MAX_CATEGORIES { times.split_off(MAX_CATEGORIES - 1) } else { Vec::new() };
    let bar = |label: &str, time_us: f64, link: Option<Link>| Bar {
        label: label.to_owned(),
        value: time_us,
        class: family_of(label).label().to_owned(),
        note: if all > 0.0 { format::percent(100.0 * time_us / all) } else { String::new() },
        link,
    };
    let link = |name: &str| Some(Link { view: "ops".to_owned(), filter: format!("category=\"{name}\"") });
    let mut bars: Vec<Bar> = times.into_iter().map(|(name, time_us)| bar(name, time_us, link(name))).collect();
    if !rest.is_empty() {
        bars.push(bar(&format!("{} other categories", rest.len()), rest.iter().map(|time| time.1).sum(), None));
    }
    Bars { title: "Kernel time by category".to_owned(), unit: Unit::TimeUs, bars }
}

/// Each device's busy share, with its longest gap.
pub fn by_device(profile: &Profile) -> Bars {
    let devices = profile.multi_device.as_ref().map(|devices| devices.device_stats.as_slice()).unwrap_or_default();
    let bar = |device: &DeviceStats| Bar {
        // Every device's name starts alike; what tells them apart is the rest.
        label: device.device_name.replace("/device:", ""),
        value: device.utilization_percent,
        class: "compute".to_owned(),
        note: match device.gaps.as_ref().and_then(|gaps| gaps.max_gap_us) {
            Some(longest) => format!("gap ≤ {}", format::time_us(longest)),
            None => "no gap".to_owned(),
        },
        link: Some(Link { view: "devices".to_owned(), filter: format!("device_name=\"{}\"", device.device_name) }),
    };
    let bars = devices.iter().take(MAX_DEVICES).map(bar).collect();
    Bars { title: "Devices, busy share".to_owned(), unit: Unit::Percent, bars }
}

/// What lies between the devices, and how many have no bar.
pub fn between_devices(profile: &Profile) -> AnyView {
    let Some(devices) = &profile.multi_device else {
        return view! { <p class="empty">"No device of this capture ran an op."</p> }.into_any();
    };
    let all = devices.device_stats.len();
    let mut facts = Vec::new();
    if let Some(imbalance) = devices.busy_imbalance_percent {
        facts.push(format!("imbalance {}", format::percent(imbalance)));
    }
    if let Some(skew) = devices.start_skew_us {
        facts.push(format!("start skew {}", format::time_us(skew)));
    }
    if let Some(range) = devices.utilization_range {
        facts.push(format!("busy shares differ by {} points", format::number(range)));
    }
    let mut text = if facts.is_empty() { String::new() } else { format!("Between devices: {}. ", facts.join(", ")) };
    if all > MAX_DEVICES {
        text.push_str(&format!("{} more on the Devices page.", all - MAX_DEVICES));
    }
    view! { <p class="quiet">{text}</p> }.into_any()
}
