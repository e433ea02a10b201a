//! Communication page: the exposed share, the bandwidth, and the waits between devices.

use crate::source::nothing_ran;
use crate::{PageQuery, Source, filter, table_block};
use base::{Ps, format};
use document::{Bar, Bars, Block, Choice, ColourClass, Figure, Link, Matrix, Series, Stack, StackRow};
use metrics::{Collectives, Context, OpFamily, StepPart};
use report::{Megascale, UnifiedProfile, View, WindowKind};
use table::Unit;
use tables::TableName;

const TABLE: &str = "by";
/// Maximum number of devices whose matrix is readable.
const MOST_DEVICES: usize = 64;

/// Explains why there is no matrix of senders and receivers.
fn why_no_matrix(all: &Collectives) -> String {
    let devices = all.devices.len();
    if all.matrix.is_some() {
        return format!("The matrix of bytes sent between devices is too large to draw for {devices} devices.");
    }
    let groups = all.ops.iter().filter_map(|op| Some((all.members_of(op)?, op.message.groups.as_ref()?)));
    let outside = groups
        .flat_map(|(members, groups)| groups.iter().map(move |group| (members, group)))
        .find(|(members, group)| group.iter().any(|&number| members.device(number).is_none()))
        .map(|(members, group)| (group, (0..devices as u32).any(|device| members.number(device).is_some())));
    let reason = match outside {
        Some((_, false)) => {
            "the program runs on devices that are not in this capture, and the trace does not record which ones are"
                .to_owned()
        }
        Some((group, true)) => {
            let members: Vec<String> = group.iter().take(8).map(u32::to_string).collect();
            let more = if group.len() > members.len() { ", ..." } else { "" };
            format!("groups such as {{{}{more}}} have members that are not in this capture", members.join(","))
        }
        None => "the trace lacks the bytes or groups of some collectives".to_owned(),
    };
    format!("The bytes between each pair of devices are unknown: {reason}.")
}

pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let between_slices = source.table_block(TableName::Megascale, "Collectives between slices", query);
    let between_slices = between_slices.or_else(|| why_no_slices(source.profile()));
    let blocks: Vec<Block> = source.measured_or_recorded(
        |context| of_trace(context, query),
        |profile| match CommunicationFigures::of(profile) {
            Some(sums) => {
                let kinds = kinds_of_profile(profile).map(Block::Bars);
                [Block::Figures { figures: sums.figures().to_vec() }].into_iter().chain(kinds).collect()
            }
            None => vec![source.not_measured("communication")],
        },
    );
    blocks.into_iter().chain(between_slices).collect()
}

/// Describes the collectives between slices in one line.
pub(super) fn slices_in_words(megascale: &Megascale) -> String {
    format!(
        "{} between slices stall devices for {} of the time",
        format::counted(megascale.collectives.len() as u64, "collective"),
        format::percent(megascale.stall_percent)
    )
}

/// Explains why messages between slices have no collectives.
fn why_no_slices(profile: &UnifiedProfile) -> Option<Block> {
    let messages = profile.communication.as_ref()?.apart.iter().any(|it| it.track == "megascale");
    let text = "The hosts recorded messages between slices, but the ops of the devices do not name their collectives: open the \
        *.xplane.pb of the same run, which embeds the programs.";
    (messages && profile.megascale.is_none()).then(|| Block::Note { text: text.to_owned() })
}

/// Describes a kind of collective: share of all communication, number of runs, and exposed time.
fn note_of_kind(percent: f64, runs: u64, exposed_us: f64) -> String {
    let (share, exposed) = (format::percent(percent), format::time_us(exposed_us));
    format!("{share}, {}, {exposed} exposed", format::counted(runs, "run"))
}

/// Returns the time of each kind of collective, if the profile contains it.
fn kinds_of_profile(profile: &UnifiedProfile) -> Option<Bars> {
    let section = profile.communication.as_ref()?;
    let total = section.total_time_us;
    let bar = |kind: &report::CommunicationKind| Bar {
        label: kind.kind.clone(),
        value: kind.total_time_us,
        class: OpFamily::Communication.into(),
        note: note_of_kind(
            if total > 0.0 { 100.0 * kind.total_time_us / total } else { 0.0 },
            kind.count,
            kind.exposed_time_us,
        ),
        link: None,
    };
    let bars: Vec<Bar> = section.kinds.iter().map(bar).collect();
    (!bars.is_empty()).then(|| Bars {
        title: "Time by kind, all devices".to_owned(),
        unit: Unit::TimeUs,
        bars,
        whole: Some(total),
        ..Bars::default()
    })
}

/// Returns the figure for exposed communication, as a share of the device time.
pub(super) fn exposed(source: Source<'_>) -> Option<Figure> {
    CommunicationFigures::of(source.profile()).map(|sums| sums.exposed())
}

fn of_trace(context: &Context<'_>, query: &PageQuery) -> Vec<Block> {
    let all = &context.analysis.collectives;
    if all.runs.is_empty() {
        let apart = (!all.apart.is_empty()).then(|| {
            Block::Table(table_block(
                context,
                TableName::Collectives,
                "apart",
                "Communication that is not an op",
                query,
            ))
        });
        return std::iter::once(nothing(context)).chain(apart).collect();
    }
    let mut blocks = vec![Block::Figures { figures: figures(context) }];
    blocks.push(Block::Bars(kinds(all)));
    if all.devices.len() > 1 {
        blocks.push(Block::Stack(devices(context)));
        blocks.push(Block::Bars(balance(context)));
    }
    let (pair, filter) = filter::pair(&query.filter, filter::BETWEEN);
    let name = |device: u32| Some(context.analysis.devices.used.get(device as usize)?.name.as_str());
    let between = pair.and_then(|(from, to)| Some(((from, to), name(from)?, name(to)?)));
    let query = &PageQuery { filter, ..query.clone() };
    match &all.matrix {
        Some(matrix) if all.devices.len() <= MOST_DEVICES => {
            let labels = context.analysis.devices.used.iter().map(|device| device.name.clone()).collect();
            let cell = |&bytes: &f64| (bytes > 0.0).then_some(bytes);
            blocks.push(Block::Matrix(Matrix {
                title: "Bytes sent from the row's device to the column's device".to_owned(),
                unit: Unit::Bytes,
                labels,
                values: matrix.bytes.iter().map(|row| row.iter().map(cell).collect()).collect(),
                key: Some(filter::BETWEEN.to_owned()),
            }));
        }
        _ if all.devices.len() > 1 => blocks.push(Block::Note { text: why_no_matrix(all) }),
        _ => {}
    }
    let mut forms = vec![("op", "By op"), ("kind", "By kind"), ("run", "Every run")];
    if between.is_some() {
        // Totals by kind cover all devices, and separately measured collectives belong to no device.
        forms.retain(|(form, _)| *form != "kind");
    } else if !all.apart.is_empty() {
        forms.push(("apart", "Measured apart"));
    }
    let by = query.chosen(TABLE, &forms.iter().map(|(value, _)| *value).collect::<Vec<_>>());
    blocks.push(Block::Choice(Choice {
        option: TABLE.to_owned(),
        label: "Table".to_owned(),
        values: forms.iter().map(|&(value, name)| (value.to_owned(), name.to_owned())).collect(),
        chosen: by.to_owned(),
    }));
    let form = if by == "op" { "" } else { by };
    let (variant, title) = match between {
        Some(((from, to), sender, receiver)) => {
            (format!("{form}:{from}-{to}"), format!("Collectives in which {sender} sends to {receiver}"))
        }
        None => (form.to_owned(), "Collectives".to_owned()),
    };
    blocks.push(Block::Table(table_block(context, TableName::Collectives, &variant, &title, query)));
    blocks
}

fn nothing(context: &Context<'_>) -> Block {
    let is_of_steps = matches!(context.analysis.window.kind, WindowKind::Steps | WindowKind::GivenSteps);
    let reason = match context.analysis.devices.used.len() {
        0 => return nothing_ran(),
        1 => {
            let reason = "Only one device ran, so there was no communication.".to_owned();
            return Block::Empty { reason, remedy: None };
        }
        _ if is_of_steps => "No collective, send or receive ran in the counted steps.",
        _ => "No collective, send or receive ran in the window.",
    };
    let remedy = is_of_steps.then(|| {
        "To see communication that ran outside the steps, choose the whole capture as the \
            window."
            .to_owned()
    });
    Block::Empty { reason: reason.to_owned(), remedy }
}

/// Values of the figures, read from the profile.
struct CommunicationFigures<'a> {
    /// Exposed communication, in percent of the device time.
    exposed_percent: Option<f64>,
    /// Exposed time in microseconds, summed over `devices` like `total_us`.
    exposed_us: f64,
    devices: usize,
    hidden_percent: Option<f64>,
    total_us: f64,
    /// Waiting time, in percent of the time for which waits are known.
    wait_percent: Option<f64>,
    /// Reason why there are no wait times.
    why_no_waits: &'static str,
    straggler: Option<(&'a str, f64)>,
}

impl<'a> CommunicationFigures<'a> {
    /// Returns the figures of a run. Returns `None` if there was no communication.
    fn of(profile: &'a UnifiedProfile) -> Option<CommunicationFigures<'a>> {
        let section = profile.communication.as_ref().filter(|section| section.num_collectives > 0)?;
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| 100.0 * part / whole);
        let device_time = profile.op_statistics.as_ref().map(|ops| ops.device_time_us);
        let compared = section.wait_time_us.zip(section.transfer_time_us);
        let devices = usize::try_from(profile.metadata.num_devices).unwrap_or(usize::MAX);
        Some(CommunicationFigures {
            exposed_percent: device_time.and_then(|whole| share(section.exposed_time_us, whole)),
            exposed_us: section.exposed_time_us,
            devices,
            hidden_percent: section.hidden_percent,
            total_us: section.total_time_us,
            wait_percent: compared.and_then(|(wait, transfer)| share(wait, wait + transfer)),
            why_no_waits: why_no_waits(devices),
            straggler: section.straggler.as_deref().zip(section.straggler_percent),
        })
    }

    fn figures(&self) -> [Figure; 4] {
        [self.exposed(), self.overlapped(), self.waiting(), self.straggler()]
    }

    fn exposed(&self) -> Figure {
        let all = if self.devices > 1 { format!(" on {} devices", self.devices) } else { String::new() };
        let time = format::time_us(self.exposed_us);
        let note = format!("of device time: {time} without concurrent computation{all}");
        percent("Exposed communication", self.exposed_percent, note)
    }

    fn overlapped(&self) -> Figure {
        let time = format::time_us(self.total_us);
        let note = format!("of {time} of communication in the window overlaps with computation");
        percent("Overlapped communication", self.hidden_percent, note)
    }

    fn waiting(&self) -> Figure {
        let note = match self.wait_percent {
            Some(_) => "of collective time is spent waiting for the last device of the group",
            None => self.why_no_waits,
        };
        percent("Waiting for others", self.wait_percent, note.to_owned())
    }

    fn straggler(&self) -> Figure {
        let note = match self.straggler {
            Some((name, _)) => format!("of its runs, other devices wait for {name}"),
            None => "No device stands out.".to_owned(),
        };
        percent("Straggler", self.straggler.map(|(_, share)| share), note)
    }
}

fn why_no_waits(num_devices: usize) -> &'static str {
    match num_devices {
        0 | 1 => "The devices that this one communicates with are not in this capture.",
        _ => "No collective ran on two devices of the same group.",
    }
}

#[inline(never)]
fn percent(label: &str, value: Option<f64>, note: String) -> Figure {
    Figure { label: label.to_owned(), value, unit: Unit::Percent, note, ..Figure::default() }
}

fn figures(context: &Context<'_>) -> Vec<Figure> {
    let all = &context.analysis.collectives;
    let best = all.ops.iter().filter_map(|op| Some((op.bus_gb_per_sec()?, op))).max_by(|a, b| a.0.total_cmp(&b.0));
    let best = Figure {
        label: "Best bus bandwidth".to_owned(),
        value: best.as_ref().map(|best| best.0),
        unit: Unit::GigabytesPerSecond,
        note: best.map_or_else(
            || "The bytes or the groups of the collectives are unknown.".to_owned(),
            |(_, op)| format::shorten(context.trace().text(op.name), 40),
        ),
        ..Figure::default()
    };
    CommunicationFigures::of(context.profile).iter().flat_map(|it| it.figures()).chain([best]).collect()
}

fn kinds(all: &Collectives) -> Bars {
    let total = all.sums.total.as_ps().max(1) as f64;
    let bars = all.kinds().into_iter().map(|(kind, sums)| Bar {
        label: kind.to_owned(),
        value: sums.total.as_us(),
        class: OpFamily::Communication.into(),
        note: note_of_kind(100.0 * sums.total.as_ps() as f64 / total, sums.occurrences, sums.exposed.as_us()),
        link: Some(Link::to(View::Communication, &format!("kind={kind}"))),
    });
    Bars {
        title: "Time by kind, all devices".to_owned(),
        unit: Unit::TimeUs,
        bars: bars.collect(),
        whole: Some(all.sums.total.as_us()),
        ..Bars::default()
    }
}

/// Draws for each device the time that it waits for other devices, the time of its transfers, and the communication
/// time that could not be attributed to either.
fn devices(context: &Context<'_>) -> Stack {
    let series = |label: &str, class: ColourClass| Series { label: label.to_owned(), class, link: None };
    let rows = context.analysis.devices.used.iter().zip(&context.analysis.collectives.devices).map(|(device, it)| {
        let sums = &it.sums;
        StackRow {
            label: device.name.clone(),
            parts: vec![
                sums.transfer.as_us(),
                sums.wait.as_us(),
                (sums.total - sums.transfer - sums.wait).as_us().max(0.0),
            ],
            link: Some(Link::to(View::Communication, &format!("device_name=\"{}\"", device.name))),
            ..StackRow::default()
        }
    });
    Stack {
        title: "Communication of each device".to_owned(),
        unit: Unit::TimeUs,
        series: vec![
            series("Transferring", StepPart::Communication.into()),
            series("Waiting for the group's last device", StepPart::Barrier.into()),
            series("Not compared", ColourClass::GROUP),
        ],
        rows: rows.collect(),
        ..Stack::default()
    }
}

/// Draws the load of the devices. Devices wait if their work is unequal.
fn balance(context: &Context<'_>) -> Bars {
    let used = &context.analysis.devices.used;
    let most = used.iter().map(|device| device.busy.length()).max().unwrap_or(Ps::ZERO).as_ps().max(1) as f64;
    let bars = used.iter().map(|device| {
        let busy = device.busy.length();
        Bar {
            label: device.name.clone(),
            value: busy.as_us(),
            class: OpFamily::OtherCompute.into(),
            note: format!("{} of the busiest", format::percent(100.0 * busy.as_ps() as f64 / most)),
            link: None,
        }
    });
    Bars {
        title: "Busy time of each device".to_owned(),
        unit: Unit::TimeUs,
        bars: bars.take(200).collect(),
        ..Bars::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page;
    use document::{Page, TableBlock};
    use metrics::analyse;
    use run::{Run, Settings};
    use table::Cell;
    use trace::TraceBuilder;

    /// Devices 0 and 1 reduce, and so do devices 2 and 3. Device 0 sends to device 2.
    fn page_of(filter: &str, by: &str) -> Page {
        page_on(4, filter, by)
    }

    /// The page of a capture that contains the first `chips` of these devices.
    fn page_on(chips: u32, filter: &str, by: &str) -> Page {
        let mut b = TraceBuilder::new();
        let ops = [
            ("all-reduce.1", "all-reduce", "f32[250]{0} all-reduce(f32[250]{0} %x), replica_groups={{0,1},{2,3}}"),
            (
                "collective-permute.2",
                "collective-permute",
                "f32[250]{0} collective-permute(f32[250]{0} %x), source_target_pairs={{0,2}}",
            ),
        ];
        for chip in 0..chips {
            let line = b.line(&format!("/device:TPU:{chip}"), "XLA Ops");
            for (at, (name, category, expression)) in (0..).zip(ops) {
                let text = b.trace_mut().strings.intern(&format!("%{name} = {expression}"));
                b.event(line, name, at * 100, 10).hlo_category(category).args(|args| args.long_name = text);
            }
        }
        let run = Run { trace: b.build(), ..Run::default() };
        let examined = analyse(&run, &Settings::default());
        let options = [(TABLE.to_owned(), by.to_owned())].into();
        let query = PageQuery { filter: filter.to_owned(), options, ..PageQuery::default() };
        page(Source::of_events(examined.context(&run)), View::Communication, &query)
    }

    fn table(page: &Page) -> &TableBlock {
        let Some(Block::Table(table)) = page.blocks.last() else { panic!("the table comes last") };
        table
    }

    fn column(page: &Page, at: usize) -> Vec<&str> {
        fn text(cell: &Cell) -> &str {
            match cell {
                Cell::Text(text) => text,
                _ => "",
            }
        }
        table(page).rows.iter().map(|row| text(&row[at])).collect()
    }

    #[test]
    fn omitted_ops_have_a_reason() {
        let reason = |page: &Page| {
            page.blocks.iter().find_map(|block| match block {
                Block::Note { text } => Some(text.clone()),
                _ => None,
            })
        };
        let of_two = reason(&page_on(2, "", "op")).unwrap();
        assert!(of_two.contains("the program runs on devices that are not in this capture"), "{of_two}");
        assert_eq!(reason(&page_of("", "op")), None);
    }

    #[test]
    fn two_devices_show_the_collectives_between_them() {
        assert_eq!(table(&page_of("", "op")).rows.len(), 2);
        let page = page_of("between=0-2", "op");
        assert_eq!(column(&page, 0), ["collective-permute.2"]);
        assert_eq!(table(&page).title, "Collectives in which /device:TPU:0 sends to /device:TPU:2");
        let key = page.blocks.iter().find_map(|block| match block {
            Block::Matrix(matrix) => matrix.key.as_deref(),
            _ => None,
        });
        assert_eq!(key, Some("between"));
        assert_eq!(column(&page_of("between=3-2 kind:reduce", "op"), 0), ["all-reduce.1"]);
        assert!(table(&page_of("between=0-3", "op")).rows.is_empty());
        assert!(table(&page_of("between=2-0", "op")).rows.is_empty());
        assert_eq!(column(&page_of("between=1-0", "run"), 0), ["/device:TPU:1"]);
    }

    #[test]
    fn missing_devices_do_not_filter() {
        let page = page_of("between=0-9", "op");
        assert_eq!((table(&page).rows.len(), table(&page).title.as_str()), (2, "Collectives"));
    }
}
