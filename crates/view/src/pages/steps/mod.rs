//! The page of steps: how long one takes, where its time goes, and what kept the devices idle.

mod chart;

use self::chart::{by_device, by_step};
use super::{Bar, Bars, Block, Choice, Figure, Link, Page, PageQuery, TableBlock, filter, table_block};
use crate::table::{Cell, Column, Filter, Table, Unit};
use crate::tables::TableName;
use base::format;
use metrics::{Breakdown, Context, HostThreads, MeanPart, StepPart, StepsTogether, WindowKind};

/// The choice of the mean or one device.
const DEVICE: &str = "device";
/// Its first value.
const ALL: &str = "mean";
/// Devices that can be chosen one by one: the table has the others.
const MOST_CHOICES: usize = 64;

/// The page.
pub fn page(context: &Context<'_>, query: &PageQuery) -> Page {
    let breakdown = &context.analysis.step_breakdown;
    let Some(mean) = &breakdown.mean else { return Page { blocks: vec![nothing_ran()] } };
    let names: Vec<&str> = context.analysis.devices.used.iter().map(|device| device.name.as_str()).collect();
    let offered: Vec<&str> = std::iter::once(ALL).chain(names.iter().copied().take(MOST_CHOICES)).collect();
    let chosen = query.chosen(DEVICE, &offered);
    let device = names.iter().position(|&name| name == chosen).filter(|_| chosen != ALL);
    let shown = device.and_then(|device| breakdown.mean_of_device.get(device)?.as_ref()).unwrap_or(mean);
    let device = device.and_then(|device| u32::try_from(device).ok());

    let mut blocks = vec![Block::Figures { figures: figures(context, shown, device) }];
    if names.len() > 1 {
        let label =
            |name: &&str| ((*name).to_owned(), if *name == ALL { "MeanPart of devices" } else { name }.to_owned());
        blocks.push(Block::Choice(Choice {
            option: DEVICE.to_owned(),
            label: "Device".to_owned(),
            values: offered.iter().map(label).collect(),
            chosen: chosen.to_owned(),
        }));
    }
    if !breakdown.has_steps {
        blocks.push(unknown_steps());
    } else {
        blocks.push(Block::Stack(by_step(context, device)));
    }
    if names.len() > 1 || !breakdown.has_steps {
        blocks.push(Block::Stack(by_device(context)));
    }
    blocks.extend(events(context, query).map(Block::Table));
    if let Some(threads) = &breakdown.host_threads {
        blocks.push(Block::Bars(host_roles(threads)));
        blocks.push(Block::Table(table_block(
            context,
            TableName::HostOps,
            "",
            "What host threads spend their time on",
            query,
        )));
    }
    let title = if breakdown.has_steps { "All steps by device" } else { "Window by device" };
    blocks.push(Block::Table(table_block(context, TableName::StepBreakdown, "", title, query)));
    Page { blocks }
}

/// What happened in the steps that the filter names, or in all of them where it names a part; nothing where it names neither.
fn events(context: &Context<'_>, query: &PageQuery) -> Option<TableBlock> {
    let about = |key: &str| filter::terms_on(&query.filter, key);
    let (of_steps, of_part) = (about("step"), about("part"));
    if of_steps.is_empty() && of_part.is_empty() {
        return None;
    }
    // Asked of a table of one column: what a step's number has to be.
    let column = Column { key: "step", title: "Step", unit: Unit::Count };
    let mut known: Vec<u32> = context.analysis.step_breakdown.rows.iter().filter_map(|row| row.step).collect();
    known.dedup();
    let numbers = known.iter().map(|&step| vec![Cell::Int(u64::from(step))]).collect();
    let passing = Filter::parse(&of_steps).passing(&Table::new("steps", vec![column], numbers));
    let steps: Vec<u32> = known.into_iter().zip(passing).filter(|(_, passes)| *passes).map(|(step, _)| step).collect();
    let (variant, title) = match (steps.first(), steps.last()) {
        (Some(first), Some(last)) if first == last => {
            (format!("{first}-{last}"), format!("Events of {}", chart::step_name(context, *first)))
        }
        (Some(first), Some(last)) => (
            format!("{first}-{last}"),
            format!("Events of {} to {}", chart::step_name(context, *first), chart::step_name(context, *last)),
        ),
        _ if context.analysis.step_breakdown.has_steps => return None,
        _ => (String::new(), "Events of the window".to_owned()),
    };
    Some(table_block(context, TableName::StepEvents, &variant, &title, query))
}

pub(super) fn nothing_ran() -> Block {
    Block::Empty {
        reason: "No op ran on a TPU, a GPU or XLA's CPU backend while the profile was taken.".to_owned(),
        remedy: Some(
            "with jax.profiler.trace(\"/tmp/profile\"):\n    jax.block_until_ready(train_step(state, batch))"
                .to_owned(),
        ),
    }
}

fn unknown_steps() -> Block {
    Block::Empty {
        reason: "No steps found: the parts below are those of the whole window.".to_owned(),
        remedy: Some(
            "for i in range(10):\n    with jax.profiler.StepTraceAnnotation(\"train\", step_num=i):\n        state = train_step(state, batch)"
                .to_owned(),
        ),
    }
}

fn figures(context: &Context<'_>, mean: &MeanPart, device: Option<u32>) -> Vec<Figure> {
    let breakdown = &context.analysis.step_breakdown;
    let mut figures = vec![length(context, mean)];
    figures.extend(breakdown.has_steps.then(|| worst(context, device)));
    figures.push(biggest("Biggest part", mean, mean.biggest_part()));
    let mut cause = biggest("Biggest idle cause", mean, mean.biggest_idle_cause());
    if !breakdown.knows_launches {
        cause.note.push_str("; the trace does not tell when ops were launched");
    }
    figures.push(cause);
    let hidden = mean.communication_overlap_percent();
    figures.push(Figure {
        label: "Overlapped communication".to_owned(),
        value: hidden,
        unit: Unit::Percent,
        note: match hidden {
            Some(_) => format!("of {} in flight runs beside computation", format::time_us(mean.communication_us)),
            None if breakdown.has_steps => "No communication ran in the window.".to_owned(),
            None => "No communication ran.".to_owned(),
        },
        status: None,
        metric: Some("step_breakdown.communication_overlap_percent".to_owned()),
        link: Some(link("communication", "")),
    });
    figures.push(host_busy(mean));
    figures.extend(duty_cycle(breakdown));
    figures
}

fn length(context: &Context<'_>, mean: &MeanPart) -> Figure {
    let breakdown = &context.analysis.step_breakdown;
    let steps = context.analysis.steps.len() as u64;
    let count = format::count(mean.num_steps);
    let (label, note) = match breakdown.window {
        WindowKind::Steps => {
            let noun = if steps == 1 { "step" } else { "steps" };
            let devices = match context.analysis.steps.relation.map(|relation| relation.together) {
                Some(StepsTogether::Independent) => "; the devices run them independently",
                Some(StepsTogether::OneAfterAnother) => " of one device each, one device after another",
                _ => "",
            };
            ("MeanPart step", format!("over {count} of {} {noun}{devices}", format::count(steps)))
        }
        WindowKind::GivenSteps => ("MeanPart step", format!("over {count} steps, as you said")),
        WindowKind::Capture => ("Whole capture", "steps are unknown".to_owned()),
        WindowKind::Range => ("Time range", "no whole step lies in it".to_owned()),
        WindowKind::ActiveSpan => {
            ("Active span", "from the first op's start to the last op's end; steps are unknown".to_owned())
        }
    };
    Figure {
        label: label.to_owned(),
        value: Some(mean.duration_us),
        unit: Unit::TimeUs,
        note,
        status: None,
        metric: Some("step_breakdown.duration_us".to_owned()),
        link: None,
    }
}

/// The longest step that counts; of equals the first.
fn worst(context: &Context<'_>, device: Option<u32>) -> Figure {
    let mut worst: Option<(u32, f64)> = None;
    for step in context.analysis.step_breakdown.steps() {
        let Some(index) = step.first().filter(|_| step.iter().any(|row| row.counted)).and_then(|row| row.step) else {
            continue;
        };
        let length = Breakdown::mean_of_step(step, device).map(|mean| mean.duration_us);
        if let Some(length) = length.filter(|&length| worst.is_none_or(|(_, longest)| length > longest)) {
            worst = Some((index, length));
        }
    }
    Figure {
        label: "Longest step".to_owned(),
        value: worst.map(|(_, length)| length),
        unit: Unit::TimeUs,
        note: worst.map_or_else(|| "No step counts.".to_owned(), |(index, _)| chart::step_name(context, index)),
        status: None,
        metric: Some("step_timing.max_step_time_us".to_owned()),
        link: worst.map(|(index, _)| link("steps", &format!("step={index}"))),
    }
}

fn biggest(label: &str, mean: &MeanPart, part: Option<StepPart>) -> Figure {
    Figure {
        label: label.to_owned(),
        value: part.and_then(|part| mean.percent(part)),
        unit: Unit::Percent,
        note: match part {
            Some(part) => format!("{}, {}", part.title(), format::time_us(mean.part_us(part))),
            None => "The device was never idle.".to_owned(),
        },
        status: None,
        metric: part.map(|part| format!("step_breakdown.parts.{}", crate::tables::part_key(part))),
        link: part.map(part_link),
    }
}

fn host_busy(mean: &MeanPart) -> Figure {
    let percent = |time: f64| (mean.duration_us > 0.0).then(|| (100.0 * time / mean.duration_us).clamp(0.0, 100.0));
    let device = format::optional_percent(percent(mean.busy_us()));
    Figure {
        label: "Host busy".to_owned(),
        value: mean.host_busy_us.and_then(percent),
        unit: Unit::Percent,
        note: match mean.host_busy_us {
            Some(_) => format!("the device: {device}"),
            None => format!("The trace has no host threads; the device is busy {device}."),
        },
        status: None,
        metric: Some("step_breakdown.host_busy_us".to_owned()),
        link: None,
    }
}

fn duty_cycle(breakdown: &Breakdown) -> Option<Figure> {
    let duty = breakdown.duty_cycle?;
    Some(Figure {
        label: "Duty cycle".to_owned(),
        value: duty.percent(),
        unit: Unit::Percent,
        note: "as XProf defines it: waiting for the host is off duty".to_owned(),
        status: None,
        metric: Some("step_breakdown.duty_cycle_percent".to_owned()),
        link: None,
    })
}

pub(super) fn host_roles(threads: &HostThreads) -> Bars {
    let share = |time| threads.percent(time).map_or_else(String::new, format::percent);
    let mut bars: Vec<Bar> = threads
        .roles
        .iter()
        .map(|&(role, time)| Bar {
            label: role.title().to_owned(),
            value: time.as_us(),
            class: role.label().to_owned(),
            note: share(time),
            link: None,
        })
        .collect();
    base::sort::sort_by(&mut bars, |a, b| b.value.total_cmp(&a.value));
    bars.push(Bar {
        label: "No thread does anything".to_owned(),
        value: threads.idle.as_us(),
        class: "idle".to_owned(),
        note: share(threads.idle),
        link: None,
    });
    Bars { title: "Host threads: share of the time by activity".to_owned(), unit: Unit::TimeUs, bars }
}

/// Where the events of a part are.
fn part_link(part: StepPart) -> Link {
    match part {
        StepPart::Compute => link("ops", ""),
        StepPart::Communication => link("communication", ""),
        StepPart::HostToDevice => link("transfers", "direction=h2d"),
        StepPart::DeviceToHost => link("transfers", "direction=d2h"),
        StepPart::PeerToPeer => link("transfers", "direction=p2p"),
        StepPart::DeviceToDevice => link("transfers", "direction=d2d"),
        StepPart::InfeedOutfeed => link("ops", "feed"),
        StepPart::DataMovement => link("ops", "\"data formatting\""),
        StepPart::Barrier => link("findings", "barrier"),
        StepPart::Compile => link("findings", "compilation"),
        StepPart::InputBound => link("findings", "input"),
        StepPart::HostBound => link("findings", "host_overhead"),
        StepPart::KernelWait => link("findings", "kernels"),
        StepPart::OtherIdle => link("findings", "idle"),
    }
}

fn link(view: &str, filter: &str) -> Link {
    Link { view: view.to_owned(), filter: filter.to_owned() }
}

#[cfg(test)]
mod tests;
