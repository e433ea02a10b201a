//! Steps page: the duration of a step, the breakdown of its time, and the causes of idle time.

mod chart;
mod figures;

use self::chart::{by_device, by_step};
pub(super) use self::chart::{mean, overview, step_name};
use crate::source::nothing_ran;
use crate::{PageQuery, Source, filter, goodput, table_block};
use base::format;
use document::{Bar, Bars, Block, Choice, ColourClass, TableBlock};
use metrics::{Context, HostRole};
use report::UnifiedProfile;
use table::{Cell, Filter, Table, Unit, column};
use tables::TableName;

/// Option that selects the mean or one device.
const DEVICE: &str = "device";
/// First value of [`DEVICE`]: the mean.
const ALL: &str = "mean";
/// Maximum number of devices that can be selected individually. The table contains all devices.
const MOST_CHOICES: usize = 64;
/// Label for the time during which every host thread waits or is idle.
const ALL_IDLE: &str = "All threads idle";

pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let blocks = source.measured_or_recorded(
        |context| of_events(source, context, query),
        |profile| of_profile(source, profile, query),
    );
    blocks.into_iter().chain(goodput::blocks(source)).collect()
}

fn of_events(source: Source<'_>, context: &Context<'_>, query: &PageQuery) -> Vec<Block> {
    let breakdown = &context.analysis.step_breakdown;
    let Some(mean) = &breakdown.mean else { return vec![nothing_ran()] };
    let names: Vec<&str> = context.analysis.devices.used.iter().map(|device| device.name.as_str()).collect();
    let offered: Vec<&str> = std::iter::once(ALL).chain(names.iter().copied().take(MOST_CHOICES)).collect();
    let chosen = query.chosen(DEVICE, &offered);
    let device = names.iter().position(|&name| name == chosen).filter(|_| chosen != ALL);
    let shown = device.and_then(|device| breakdown.mean_of_device.get(device)?.as_ref()).unwrap_or(mean);
    let device = device.and_then(|device| u32::try_from(device).ok());

    let mut blocks = vec![Block::Figures { figures: figures::of_trace(context, shown, device) }];
    if names.len() > 1 {
        let label = |name: &&str| ((*name).to_owned(), if *name == ALL { "Mean of devices" } else { name }.to_owned());
        blocks.push(Block::Choice(Choice {
            option: DEVICE.to_owned(),
            label: "Device".to_owned(),
            values: offered.iter().map(label).collect(),
            chosen: chosen.to_owned(),
        }));
    }
    blocks.extend(charts(source, device, names.len(), breakdown.has_steps));
    blocks.extend(events(context, query).map(Block::Table));
    if let Some(roles) = host_roles(source) {
        blocks.push(Block::Bars(roles));
        let title = "Host functions by time";
        blocks.push(Block::Table(table_block(context, TableName::HostOps, "", title, query)));
    }
    let title = if breakdown.has_steps { "All steps by device" } else { "Window by device" };
    blocks.push(Block::Table(table_block(context, TableName::StepBreakdown, "", title, query)));
    blocks
}

/// Returns the data that the profile alone contains.
fn of_profile(source: Source<'_>, profile: &UnifiedProfile, query: &PageQuery) -> Vec<Block> {
    let figures = figures::of_profile(profile);
    let mut blocks = Vec::new();
    if figures.iter().any(|figure| figure.value.is_some()) {
        blocks.push(Block::Figures { figures });
    }
    match &profile.step_breakdown {
        Some(breakdown) => {
            blocks.extend(charts(source, None, breakdown.devices.len(), !profile.steps.is_empty()));
        }
        None if !profile.steps.is_empty() => blocks.push(Block::Stack(by_step(source, None))),
        None => {}
    }
    blocks.extend(host_roles(source).map(Block::Bars));
    blocks.extend(source.table_block(TableName::Steps, "Steps", query));
    if blocks.is_empty() {
        blocks.push(source.not_measured("step_timing.avg_step_time_us"));
    }
    blocks
}

/// Draws the steps. Also draws the devices if they add information.
fn charts(source: Source<'_>, device: Option<u32>, num_devices: usize, has_steps: bool) -> Vec<Block> {
    let mut blocks =
        vec![if has_steps { Block::Stack(by_step(source, device)) } else { unknown_steps(source.profile()) }];
    if num_devices > 1 || !has_steps {
        blocks.push(Block::Stack(by_device(source, has_steps)));
    }
    blocks
}

/// Lists the events of the steps that the filter names, or of all steps if the filter names only a part. Returns `None`
/// if the filter names neither.
fn events(context: &Context<'_>, query: &PageQuery) -> Option<TableBlock> {
    let about = |key: &str| filter::terms_on(&query.filter, key);
    let (of_steps, of_part) = (about("step"), about("part"));
    if of_steps.is_empty() && of_part.is_empty() {
        return None;
    }
    // Applies the conditions on steps to a table with one column, the step numbers.
    let column = column("step", "Step", Unit::Count, "");
    let mut known: Vec<u32> = context.analysis.step_breakdown.rows.iter().filter_map(|row| row.step).collect();
    known.dedup();
    let numbers = known.iter().map(|&step| vec![Cell::Int(u64::from(step))]).collect();
    let passing = Filter::parse(&of_steps).passing(&Table::new("steps", vec![column], numbers));
    let steps: Vec<u32> = known.into_iter().zip(passing).filter(|(_, passes)| *passes).map(|(step, _)| step).collect();
    let name = |step: u32| step_name(context.profile, u64::from(step));
    let (variant, title) = match (steps.first(), steps.last()) {
        (Some(first), Some(last)) if first == last => {
            (format!("{first}-{last}"), format!("Events of {}", name(*first)))
        }
        (Some(first), Some(last)) => {
            (format!("{first}-{last}"), format!("Events of {} to {}", name(*first), name(*last)))
        }
        _ if context.analysis.step_breakdown.has_steps => return None,
        _ => (String::new(), "Events of the window".to_owned()),
    };
    Some(table_block(context, TableName::StepEvents, &variant, &title, query))
}

fn unknown_steps(profile: &UnifiedProfile) -> Block {
    let reason = "No step markers were found, so the parts below cover the whole window. Enter the number of \
        steps on the Model page, or mark the steps when you capture:";
    let words = profile.metadata.framework().words();
    Block::Empty { reason: reason.to_owned(), remedy: Some(words.step_loop.to_owned()) }
}

/// Draws the activity of the host threads by role, largest first, and the time during which all of them are idle.
pub(super) fn host_roles(source: Source<'_>) -> Option<Bars> {
    let (mut bars, idle, whole) = source.measured_or_recorded(roles_of_events, roles_of_profile)?;
    base::sort::sort_by(&mut bars, |a, b| b.value.total_cmp(&a.value));
    bars.extend(idle);
    let title = "Host threads: share of the window by activity".to_owned();
    (!bars.is_empty()).then(|| Bars { title, unit: Unit::TimeUs, bars, whole, ..Bars::default() })
}

#[cfg(test)]
mod tests;

/// Activity of the host threads by role, the time during which all of them are idle, and the length of the window.
type Roles = (Vec<Bar>, Option<Bar>, Option<f64>);

fn roles_of_events(context: &Context<'_>) -> Option<Roles> {
    let threads = context.analysis.step_breakdown.host_threads.as_ref()?;
    let of = |&(role, time): &(HostRole, _)| {
        bar_of_role(role.title(), role.into(), base::Ps::as_us(time), threads.percent(time))
    };
    let idle = bar_of_role(ALL_IDLE, ColourClass::IDLE, threads.idle.as_us(), threads.percent(threads.idle));
    Some((threads.roles.iter().map(of).collect(), Some(idle), Some(threads.window.as_us())))
}

fn roles_of_profile(profile: &UnifiedProfile) -> Option<Roles> {
    let breakdown = profile.step_breakdown.as_ref()?;
    let title = |label: &str| HostRole::ALL.into_iter().find(|role| role.label() == label).map(HostRole::title);
    let bars = breakdown.host_roles.iter().map(|it| {
        let class = ColourClass::of_label(&it.role);
        bar_of_role(title(&it.role).unwrap_or(&it.role), class, it.time_us, Some(it.percent))
    });
    // Length of the capture, computed from one of its shares.
    let whole = breakdown.host_roles.iter().find(|it| it.percent > 0.0).map(|it| 100.0 * it.time_us / it.percent);
    let idle = breakdown.host_idle_percent.zip(whole);
    let idle =
        idle.map(|(percent, whole)| bar_of_role(ALL_IDLE, ColourClass::IDLE, whole * percent / 100.0, Some(percent)));
    Some((bars.collect(), idle, whole))
}

fn bar_of_role(label: &str, class: ColourClass, value: f64, percent: Option<f64>) -> Bar {
    let note = percent.map_or_else(String::new, format::percent);
    Bar { label: label.to_owned(), value, class, note, link: None }
}
