//! The overview's bars: devices side by side.

use crossprof::format;
use crossprof::pages::{Bar, Bars, Link};
use crossprof::report::DeviceStats;
use crossprof::table::Unit;
use leptos::prelude::*;

use crate::components::warnings::tied;
use crate::profile::Profile;

/// Devices that get one.
const MAX_DEVICES: usize = 10;

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
    view! { <p class="quiet">{tied(&text)}</p> }.into_any()
}
