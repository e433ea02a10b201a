//! Horizontal bars: kernel time by category, devices side by side.

use std::sync::Arc;

use crossprof::format;
use crossprof::metrics::categories::family_of;
use crossprof::report::DeviceStats;
use leptos::prelude::*;

use super::tip::{Name, Tips};
use crate::state::Report;

/// Categories that get a bar of their own.
const MAX_BARS: usize = 9;

/// Kernel time by category, largest first.
#[component]
pub fn CategoryBars(
    /// The run.
    report: Arc<Report>,
) -> impl IntoView {
    let by_category = &report.profile.kernels.kernels_by_category;
    let mut bars: Vec<(String, f64, u64)> =
        by_category.iter().map(|(name, category)| (name.clone(), category.time_us, category.count)).collect();
    bars.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let all: f64 = bars.iter().map(|bar| bar.1).sum();
    if bars.len() > MAX_BARS {
        let rest = bars.split_off(MAX_BARS - 1);
        let name = format!("{} other categories", rest.len());
        bars.push((name, rest.iter().map(|bar| bar.1).sum(), rest.iter().map(|bar| bar.2).sum()));
    }
    if bars.is_empty() {
        return view! { <p class="empty">"No device op was read."</p> }.into_any();
    }
    let largest = bars.iter().map(|bar| bar.1).fold(0.0, f64::max);
    let rows = bars.into_iter().map(|(name, time_us, count)| {
        let share = if all > 0.0 { 100.0 * time_us / all } else { 0.0 };
        let width = if largest > 0.0 { 100.0 * time_us / largest } else { 0.0 };
        let exact = format!("{}\n{} ops\n{} % of the self time of all device ops", format::full_time_us(time_us), format::count(count), format::full(share));
        view! { <Bar label=name colour=None value=format::time_us(time_us) share=format::percent(share) width exact /> }
    }).collect_view();
    view! { <ul class="bars">{rows}</ul> }.into_any()
}

#[component]
fn Bar(
    label: String,
    colour: Option<&'static str>,
    value: String,
    share: String,
    width: f64,
    exact: String,
) -> impl IntoView {
    let tips = Tips::get();
    let colour = colour.unwrap_or_else(|| family_of(&label).label());
    let on_focus = exact.clone();
    view! {
        <li tabindex="0" aria-describedby="tip"
            on:mouseenter=move |event| tips.show(&event, exact.clone())
            on:focus=move |event| tips.show(&event, on_focus.clone())
            on:mouseleave=move |_| tips.hide() on:blur=move |_| tips.hide()>
            <Name text=label width=30 />
            <span class="track"><i class=format!("fill {colour}") style:width=format!("{width:.2}%")></i></span>
            <span class="value">{value}</span>
            <span class="share-text">{share}</span>
        </li>
    }
}

/// Each device's busy share, with its gaps.
#[component]
pub fn DeviceBars(
    /// The run.
    report: Arc<Report>,
    /// At most so many devices.
    #[prop(default = 16)]
    most: usize,
) -> impl IntoView {
    let Some(devices) = &report.profile.multi_device else {
        return view! { <p class="empty">"No device of this capture ran an op."</p> }.into_any();
    };
    let all = devices.device_stats.len();
    let rows = devices.device_stats.iter().take(most).map(device).collect_view();
    let more =
        (all > most).then(|| view! { <p class="quiet">{format!("{} more on the Devices page.", all - most)}</p> });
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
    let facts =
        (!facts.is_empty()).then(|| view! { <p class="quiet">{format!("Between devices: {}.", facts.join(", "))}</p> });
    view! { <ul class="bars devices">{rows}</ul>{more}{facts} }.into_any()
}

fn device(device: &DeviceStats) -> impl IntoView + use<> {
    let gaps = device.gaps.as_ref();
    let longest = gaps.and_then(|gaps| gaps.max_gap_us);
    let value = longest.map_or_else(|| "no gap".to_owned(), |longest| format!("gap ≤ {}", format::time_us(longest)));
    let gap_text = gaps.map(|gaps| {
        format!("\n{} gaps, {}", format::count(gaps.total_gaps), format::full_time_us(gaps.total_gap_time_us))
    });
    let exact = format!(
        "busy {} of {}\n{} ops{}",
        format::full_time_us(device.actual_busy_time_us),
        format::full_time_us(device.total_time_us),
        format::count(device.kernel_count),
        gap_text.unwrap_or_default()
    );
    let share = format::percent(device.utilization_percent);
    // Every device's name starts alike; what tells them apart is the rest.
    let label = device.device_name.replace("/device:", "");
    let width = device.utilization_percent.clamp(0.0, 100.0);
    view! { <Bar label colour=Some("compute") value share width exact /> }
}
