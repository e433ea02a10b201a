//! Renders sections on one screen of a terminal: the front sections, and the first rows of each table.

use super::{Place, Section, is_empty, is_of_numbers, shown_columns, signed, title, value};
use crate::columns::SENTENCE;
use crate::{Bars, Block, Facts, Figure, FindingBlock, Grid, GridCell, HeatMap, TableBlock, Waterfall, WaterfallPart};
use base::format::{self, printable, shorten};
use report::FindingSeverity;
use table::{Cell, Unit, display};
use tables::TableName;

/// Width of the report, in columns of the terminal.
pub const WIDTH: usize = 100;
/// Maximum number of rows of a table. `crossprof table` prints all rows.
const ROWS: usize = 8;
/// Maximum number of rows of a grid at the front of a report.
const FRONT_ROWS: usize = 16;
/// Maximum number of rows of a grid among the details.
const DETAIL_ROWS: usize = 6;
/// Width of a grid of several runs. Columns that do not fit are omitted.
const GRID_WIDTH: usize = 130;
/// Length of the longest bar of a waterfall.
const BAR: f64 = 24.0;
/// Maximum number of findings. `crossprof table findings` prints all findings.
const FINDINGS: usize = 3;
/// Maximum number of sentences of a note.
const SENTENCES: usize = 8;
/// Maximum number of characters in a grid cell, and in the note of a cell.
const CELL: usize = 44;
/// Maximum number of characters in a name.
const NAME: usize = 60;
/// Minimum width of figure labels. The minimum width aligns the labels of all sections.
const LABEL: usize = 13;

/// Renders the front sections, and the first rows of the details.
pub fn render(sections: &[Section]) -> String {
    let mut text = String::new();
    let shown = sections.iter().filter(|section| section.place != Place::Appendix);
    for section in shown {
        let shown: Vec<&Block> = section.blocks.iter().filter(|block| is_shown(block)).collect();
        if !section.title.is_empty() && shown.first().is_some_and(|block| title(block).is_none()) {
            text.push_str(&format!("\n{}\n", printable(&shorten(&section.title, WIDTH))));
        }
        let rows = if section.place < Place::Detail { FRONT_ROWS } else { DETAIL_ROWS };
        shown.into_iter().for_each(|block| text.push_str(&self::block(block, rows)));
    }
    text
}

/// Lists the titles of the sections that [`render`] omits.
pub fn omitted(sections: &[Section]) -> String {
    let omitted = sections.iter().filter(|section| section.place == Place::Appendix && !section.is_empty());
    let titles: Vec<&str> = omitted.map(|section| section.title.as_str()).collect();
    if titles.is_empty() {
        return String::new();
    }
    format!("\nOnly in --output report.html\n{}", sentence(&format!("{}.", titles.join("; ")), 2))
}

/// Renders blocks, one below the other.
#[cfg(test)]
pub fn blocks(blocks: &[Block]) -> String {
    blocks.iter().filter(|block| is_shown(block)).map(|it| block(it, FRONT_ROWS)).collect()
}

/// Returns true if a terminal can show the block. A terminal cannot draw scatter charts.
fn is_shown(block: &Block) -> bool {
    !is_empty(block) && !matches!(block, Block::Scatter(_) | Block::Fold { .. })
}

fn block(block: &Block, rows: usize) -> String {
    let body = match block {
        Block::Figures { figures } => figures_text(figures),
        Block::Facts(facts) => facts_text(facts),
        Block::Bars(bars) => bars_text(bars),
        Block::Table(table) => table_text(table),
        Block::Grid(grid) => grid_text(grid, rows),
        Block::Waterfall(waterfall) => waterfall_text(waterfall),
        Block::HeatMap(map) => heat_map_text(map) + &sentence(&map.note, 2),
        Block::Findings { findings } => findings_text(findings),
        Block::Note { text } => note_text(text),
        Block::Heading { note, .. } => note.as_deref().map_or_else(String::new, |note| sentence(note, 2)),
        Block::Empty { reason, .. } => sentence(reason, 2),
        // A terminal cannot draw a chart of steps, which has one picture column per row. Folds contain details that are
        // available on request.
        Block::Stack(stack) if stack.rows.is_empty() => sentence(&stack.note, 2),
        _ => return String::new(),
    };
    match title(block) {
        Some(title) => format!("\n{}\n{body}", printable(&shorten(title, WIDTH))),
        None => body,
    }
}

/// Prints a label and a value per line. Long values continue on the next line, below the value.
fn labelled(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(label, _)| label.chars().count() + 1).max().unwrap_or(0).clamp(LABEL, 30);
    let mut text = String::new();
    for (label, value) in lines {
        let lines = wrapped(&shorten(&printable(value), SENTENCE), WIDTH.saturating_sub(width + 2));
        for (at, line) in lines.iter().enumerate() {
            let label = if at == 0 { label.as_str() } else { "" };
            text.push_str(format!("  {label:<width$}{line}").trim_end());
            text.push('\n');
        }
    }
    text
}

fn figures_text(figures: &[Figure]) -> String {
    let line = |figure: &Figure| {
        let value = value(figure.value, figure.unit);
        (printable(&figure.label), format!("{value}  {}", figure.note).trim_end().to_owned())
    };
    labelled(&figures.iter().map(line).collect::<Vec<_>>())
}

fn facts_text(facts: &Facts) -> String {
    let lines: Vec<_> = facts.facts.iter().map(|fact| (printable(&fact.label), fact.value.clone())).collect();
    labelled(&lines)
}

fn bars_text(bars: &Bars) -> String {
    let rows = bars.bars.iter().take(ROWS).map(|bar| {
        let value = display(&Cell::Float(bar.value), bars.unit);
        vec![shorten(&printable(&bar.label), NAME), value, bar.note.clone()]
    });
    let mut text = aligned(&rows.collect::<Vec<_>>(), &[false, true, true]);
    if let Some(left @ 1..) = bars.bars.len().checked_sub(ROWS) {
        text.push_str(&format!("  and {left} more\n"));
    }
    if !bars.note.is_empty() {
        text.push_str(&sentence(&bars.note, 2));
    }
    text
}

/// Shades of cells, from the weakest.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
/// Maximum number of rows and columns of a map.
const MAP: (usize, usize) = (16, 64);

/// Prints one character per cell, or per group of cells of a large map. Darker cells have larger values. Values below the
/// middle are blank, and cells without a value are dots.
pub(super) fn heat_map_text(map: &HeatMap) -> String {
    let rows = map.reduced(MAP.0, MAP.1);
    let labels: Vec<String> = rows.iter().map(|(label, _)| shorten(&printable(label), 32)).collect();
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let shade = |level: &u8| {
        let at = (map.strength(*level).max(0.0) * (SHADES.len() - 1) as f64).round() as usize;
        if *level == 0 { '·' } else { SHADES.get(at).copied().unwrap_or('█') }
    };
    let line = |(label, (_, levels)): (&String, &(String, Vec<u8>))| {
        format!("  {label:<width$} │{}│\n", levels.iter().map(shade).collect::<String>())
    };
    let mut text: String = labels.iter().zip(&rows).map(line).collect();
    if let Some((low, high)) = map.ends {
        let shown = |value: f64| signed_if(map.middle.is_some(), value, map.unit);
        text.push_str(&format!("  {:<width$}  from {} to {}\n", "", shown(low), shown(high)));
    }
    text
}

/// Formats a value, with its sign if it is a difference.
fn signed_if(differs: bool, value: f64, unit: Unit) -> String {
    if differs { signed(value, unit) } else { display(&Cell::Float(value), unit) }
}

/// Prints as many of the page's columns as fit next to each other.
fn table_text(table: &TableBlock) -> String {
    let shown = shown_columns(table);
    let cell = |row: &[Cell], at: usize, unit: Unit| {
        row.get(at).map_or_else(String::new, |cell| shorten(&display(cell, unit), NAME))
    };
    let mut rows = vec![shown.iter().map(|(_, column)| column.title.clone()).collect::<Vec<_>>()];
    for row in table.rows.iter().take(ROWS) {
        rows.push(shown.iter().map(|(at, column)| cell(row, *at, column.unit)).collect());
    }
    let fitting = fitting_columns(&rows, WIDTH);
    rows.iter_mut().for_each(|row| row.truncate(fitting));
    let right: Vec<bool> = shown.iter().map(|(_, column)| column.unit != Unit::Text).collect();
    let mut text = aligned(&rows, &right);
    let left = table.total_rows.max(table.rows.len() as u64).saturating_sub(ROWS as u64);
    if left > 0 {
        text.push_str(&format!("  and {} more: crossprof table {} PROFILE\n", format::count(left), table.table.key()));
    }
    text
}

/// Prints the first rows of a grid, with as many columns as fit side by side. The note of a name is omitted.
fn grid_text(grid: &Grid, most: usize) -> String {
    // The only column has the whole width.
    let width = if grid.columns.len() == 1 { WIDTH } else { CELL };
    let cell = |(column, cell): (usize, &GridCell)| {
        let note = if column == 0 { "" } else { &cell.note };
        let [text, note] = [&cell.text, note].map(|text| printable(&shorten(text, width)));
        format!("{text} {note}").trim_end().to_owned()
    };
    let head = grid.columns.iter().map(|column| printable(&shorten(column, CELL))).collect();
    let body = grid.rows.iter().take(most).map(|row| row.iter().enumerate().map(cell).collect());
    let mut rows: Vec<Vec<String>> = [head].into_iter().chain(body).collect();
    let fitting = fitting_columns(&rows, GRID_WIDTH);
    rows.iter_mut().for_each(|row| row.truncate(fitting));
    if rows.first().is_some_and(|head| head.iter().all(String::is_empty)) {
        rows.remove(0);
    }
    let right: Vec<bool> = (0..grid.columns.len()).map(|at| is_of_numbers(grid, at)).collect();
    let mut text = aligned(&rows, &right);
    let omitted = grid.columns.len().saturating_sub(fitting) as u64;
    let left = grid.rows.len().saturating_sub(most) as u64;
    let omitted = [(left, "row"), (omitted, "column")].into_iter().filter(|(count, _)| *count > 0);
    let omitted: Vec<String> = omitted.map(|(count, what)| format::counted(count, &format!("more {what}"))).collect();
    if !omitted.is_empty() {
        text.push_str(&format!("  and {}: --format json, --output report.html\n", omitted.join(" and ")));
    }
    text
}

/// Prints how one total becomes another: each part at the beginning and at the end, with a bar of plus (more) or minus (less).
fn waterfall_text(waterfall: &Waterfall) -> String {
    let shown = |value: f64| display(&Cell::Float(value), waterfall.unit);
    let change = |from: f64, to: f64| format!("{} -> {}", shown(from), shown(to));
    let parts = || waterfall.parts.iter().filter(|part| part.delta != 0.0);
    let largest = parts().fold(0.0_f64, |most, part| most.max(part.delta.abs()));
    let row = |part: &WaterfallPart| {
        let length = if largest > 0.0 { (part.delta.abs() / largest * BAR) as usize } else { 0 };
        let sign = if part.delta > 0.0 { "+" } else { "-" };
        let delta = signed(part.delta, waterfall.unit);
        vec![printable(&part.label), change(part.from, part.to), delta, sign.repeat(length.max(1))]
    };
    let mut rows: Vec<Vec<String>> = parts().map(row).collect();
    let (from, to) = (waterfall.start.1, waterfall.end.1);
    rows.push(vec!["Sum".to_owned(), change(from, to), signed(to - from, waterfall.unit), String::new()]);
    aligned(&rows, &[false, true, true, false])
}

/// Returns the number of columns that fit into a width, at least one.
fn fitting_columns(rows: &[Vec<String>], most: usize) -> usize {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|it| it.chars().count() + 2).max().unwrap_or(0)
    };
    let mut used = 0;
    let fitting = (0..columns).take_while(|&column| {
        used += width(column);
        column == 0 || used <= most
    });
    fitting.count()
}

/// Prints one sentence of the note per line, as a list if there are several.
fn note_text(note: &str) -> String {
    let count = note.lines().count();
    if count < 2 {
        return sentence(note, 2);
    }
    let mut text = String::new();
    for line in note.lines().take(SENTENCES) {
        for (at, line) in wrapped(&shorten(&printable(line), SENTENCE), WIDTH.saturating_sub(2)).iter().enumerate() {
            text.push_str(&format!("{} {line}\n", if at == 0 { "*" } else { " " }));
        }
    }
    if let Some(left @ 1..) = count.checked_sub(SENTENCES) {
        text.push_str(&format!("  and {left} more: --format json, --output report.html\n"));
    }
    text
}

/// Prints the first findings, but only the remedy of the very first, so that the report fits on one screen. Another
/// command prints all remedies.
fn findings_text(findings: &[FindingBlock]) -> String {
    let (mut rules, mut shown) = (0_usize, 0_usize);
    let mut text = String::new();
    let has_actions = findings.iter().any(|finding| !finding.remedy.is_empty() && !finding.is_aside);
    for finding in findings {
        // The entry that names the ops with the most time has no remedy. It is always shown.
        if !finding.remedy.is_empty() {
            rules += 1;
            if shown == FINDINGS || (has_actions && finding.is_aside) {
                continue;
            }
            shown += 1;
        }
        let severity = if finding.severity == FindingSeverity::NotChecked { "" } else { finding.severity.label() };
        text.push_str(&format!("  {severity:<10}{}\n", shorten(&printable(&finding.title), SENTENCE)));
        text.push_str(&sentence(&finding.text, 12));
        if !finding.remedy.is_empty() && shown == 1 {
            text.push_str(&sentence(&format!("Remedy: {}", finding.remedy), 12));
        }
    }
    let more = match rules.checked_sub(shown) {
        _ if rules < 2 => return text,
        Some(left @ 1..) => format!("and {left} more, and all remedies: "),
        _ => "all remedies: ".to_owned(),
    };
    text.push_str(&format!("  {more}crossprof table {} PROFILE\n", TableName::Findings.key()));
    text
}

/// Prints a sentence, indented and wrapped.
fn sentence(text: &str, indent: usize) -> String {
    let lines = wrapped(&shorten(&printable(text), SENTENCE), WIDTH.saturating_sub(indent));
    let lines = lines.iter().filter(|line| !line.is_empty());
    lines.map(|line| format!("{:indent$}{line}\n", "")).collect()
}

/// Wraps text into lines of whole words with at most `width` characters. Longer words get a line of
/// their own.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn aligned(rows: &[Vec<String>], right: &[bool]) -> String {
    crate::columns::aligned(rows, right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bar, ColourClass, ColumnBlock, Fact};
    use table::column;

    fn section(blocks: Vec<Block>) -> Section {
        Section { title: "Title".to_owned(), blocks, ..Section::default() }
    }

    fn finding(number: usize) -> FindingBlock {
        FindingBlock {
            id: "idle_gaps".to_owned(),
            severity: FindingSeverity::Warning,
            title: format!("Finding {number}"),
            text: "word ".repeat(30),
            remedy: "Do it.".to_owned(),
            is_aside: false,
            evidence: Vec::new(),
            link: None,
            in_graph: None,
            in_timeline: None,
        }
    }

    #[test]
    fn three_findings_are_shown_and_the_rest_counted() {
        let text = |count| render(&[section(vec![Block::Findings { findings: (0..count).map(finding).collect() }])]);
        let five = text(5);
        assert!(five.starts_with("\nTitle\n  warning   Finding 0\n            word word"), "{five}");
        assert_eq!(five.matches("            Remedy: Do it.\n").count(), 1);
        assert!(
            !five.contains("Finding 3")
                && five.ends_with("  and 2 more, and all remedies: crossprof table findings PROFILE\n"),
            "{five}"
        );
        assert!(five.lines().all(|line| line.chars().count() <= WIDTH), "{five}");
        assert!(text(1).ends_with("            Remedy: Do it.\n"));
        assert!(text(2).ends_with("  all remedies: crossprof table findings PROFILE\n"));
        assert_eq!(text(0), "");
    }

    #[test]
    fn asides_are_counted_if_there_is_something_to_do() {
        let aside = |number| FindingBlock { is_aside: true, ..finding(number) };
        let text = |findings: Vec<FindingBlock>| render(&[section(vec![Block::Findings { findings }])]);
        let both = text(vec![aside(0), finding(1), aside(2)]);
        assert!(both.contains("Finding 1") && !both.contains("Finding 0") && !both.contains("Finding 2"), "{both}");
        assert!(both.contains("Remedy: Do it.") && both.contains("and 2 more"), "{both}");
        assert!(text(vec![aside(0), aside(1)]).contains("Finding 1"));
    }

    #[test]
    fn a_table_has_as_many_columns_as_fit() {
        let columns = (0..4).map(|_| ColumnBlock::from(&column("name", "Name", Unit::Text, ""))).collect();
        let rows = (0..10).map(|_| vec![Cell::Text("x".repeat(40)); 4]).collect();
        let table = TableBlock { title: "Ops".to_owned(), columns, rows, ..TableBlock::empty(TableName::Ops) };
        let text = render(&[section(vec![Block::Table(table)])]);
        assert!(text.starts_with("\nOps\n") && text.ends_with("  and 2 more: crossprof table ops PROFILE\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.matches("xxx").count() / 13, 8 * 2, "{text}");
    }

    #[test]
    fn long_facts_continue_below_their_value_and_text_is_never_a_control() {
        let fact =
            Fact { label: "Source".to_owned(), value: format!("\u{1b}{}", "word ".repeat(40)), ..Fact::default() };
        let facts = Facts { facts: vec![fact], ..Facts::default() };
        let bar = Bar {
            label: "matmul".to_owned(),
            value: 3.0,
            class: ColourClass::GROUP,
            note: "60 %".to_owned(),
            link: None,
        };
        let bars = Bars { title: "Bars".to_owned(), unit: Unit::TimeUs, bars: vec![bar], ..Bars::default() };
        let text = render(&[section(vec![Block::Facts(facts), Block::Bars(bars)])]);
        assert!(text.starts_with("\nTitle\n  Source       \\u{1b}word"), "{text}");
        assert!(text.contains("\n               word") && !text.contains('\u{1b}'), "{text}");
        assert!(text.ends_with("\nBars\n  matmul  3.00 µs  60 %\n"), "{text}");
    }
}
