//! What a page is made of: a list of blocks, each of which says what is shown and not how. The web page draws them; an
//! HTML report can draw the same.
//!
//! Numbers are in the unit that stands beside them; texts of a trace are texts, never markup. `class` is a colour of
//! the page.

use serde::{Deserialize, Serialize};

use super::colour::ColourClass;
use super::link::Link;
use super::table_block::TableBlock;
use crate::metric::Metric;
use crate::table::Unit;
use crate::views::View;
use report::FindingSeverity;

/// A page of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Blocks of the page from top to bottom.
    pub blocks: Vec<Block>,
}

/// One part of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// A heading, with a sentence below it where there is something to explain.
    Heading {
        /// The heading.
        text: String,
        /// The sentence.
        note: Option<String>,
    },
    /// A sentence on its own.
    Note {
        /// The sentence.
        text: String,
    },
    /// Why there is nothing to show, and how to capture what is needed (a copyable piece of Python).
    Empty {
        /// Why there is nothing to show.
        reason: String,
        /// What to run.
        remedy: Option<String>,
    },
    /// Headline figures, side by side.
    Figures {
        /// The figures.
        figures: Vec<Figure>,
    },
    /// Rows of stacked parts, such as steps by what happened in them.
    Stack(Stack),
    /// Labelled bars, longest first or in another order (histograms).
    Bars(Bars),
    /// Points in a plane, with lines.
    Scatter(Scatter),
    /// A tree as nested spans.
    Icicle(Icicle),
    /// A number for every pair of devices.
    Matrix(Matrix),
    /// Buttons of which one is chosen: the forms of the table or chart below.
    Choice(Choice),
    /// The first rows of a table; the page asks for others by name.
    Table(TableBlock),
    /// A small table whose cells say what they mean: a word below the value, a bar, better or worse.
    Grid(Grid),
    /// What leads from one number to another, part by part.
    Waterfall(Waterfall),
    /// Names and values, one below the other.
    Facts(Facts),
    /// Where one can go from here, side by side.
    Links {
        /// What a link says, and where it leads.
        links: Vec<(String, Link)>,
    },
    /// Details on demand: closed until its title is clicked.
    Fold {
        /// What is inside, in a line.
        title: String,
        /// What is shown when the block is open; neither tables nor choices.
        blocks: Vec<Block>,
    },
    /// What to do, most important first.
    Findings {
        /// The findings.
        findings: Vec<FindingBlock>,
    },
}

/// One headline figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What the figure is.
    pub label: String,
    /// Value of the figure; absent where it was not measured.
    pub value: Option<f64>,
    /// Unit of `value`.
    pub unit: Unit,
    /// A line below the value; where `value` is absent, why and what would give it.
    pub note: String,
    /// How the figure does where there is a threshold; the note or the limits say which.
    pub status: Option<Status>,
    /// The limits of the status in words, where the note does not say them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub limits: String,
    /// Path (`step_timing.avg_step_time_us`), where it is a field of the profile.
    pub metric: Option<String>,
    /// The sentence that defines the figure; empty where `metric` is absent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub definition: String,
    /// Where a click leads.
    pub link: Option<Link>,
    /// Where a click on the note leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_link: Option<Link>,
}

/// How a figure does against its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// There is nothing to do.
    Good,
    /// Worth a look.
    Warning,
    /// Look here first.
    Bad,
}

impl Figure {
    /// A figure that is a field of the profile.
    pub(crate) fn of(metric: Metric) -> Figure {
        Figure { metric: Some(metric.path.to_owned()), definition: metric.definition.to_owned(), ..Figure::default() }
    }
}

impl Status {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Status::Good => "good",
            Status::Warning => "warning",
            Status::Bad => "bad",
        }
    }

    /// The status of that word.
    pub fn from_word(word: &str) -> Option<Status> {
        [Status::Good, Status::Warning, Status::Bad].into_iter().find(|status| status.word() == word)
    }
}

/// What a chart's title says more: the definition behind it, and the view that has more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Path of a field of the profile.
    pub metric: String,
    /// The sentence that defines it.
    pub definition: String,
    /// The view.
    pub view: View,
}

/// Stacked rows: `parts[series]` of every row add up to its length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// What a row is and what is measured.
    pub title: String,
    /// Unit of all values.
    pub unit: Unit,
    /// What the parts are.
    pub series: Vec<Series>,
    /// The rows.
    pub rows: Vec<StackRow>,
    /// A sentence below the title; where there are no rows, why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// What the title leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
}

/// One kind of part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the series.
    pub label: String,
    /// Colour of the series.
    pub class: ColourClass,
    /// Where a click on the series leads.
    pub link: Option<Link>,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StackRow {
    /// Name of the row.
    pub label: String,
    /// One value per series.
    pub parts: Vec<f64>,
    /// Where a click on the row leads.
    pub link: Option<Link>,
    /// Why the row is marked (`partial, not counted`); empty for a row like most.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mark: String,
}

/// Bars.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// What is measured.
    pub title: String,
    /// Unit of all values.
    pub unit: Unit,
    /// The bars.
    pub bars: Vec<Bar>,
    /// What fills a track: the sum of all, or 100 %. The largest bar where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<f64>,
    /// A sentence below them; where there are none, why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// What the title leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Name of the bar.
    pub label: String,
    /// Length of the bar.
    pub value: f64,
    /// Colour of the bar.
    pub class: ColourClass,
    /// A word beside the value (`43 %`).
    pub note: String,
    /// Where a click leads.
    pub link: Option<Link>,
}

/// Points and lines. Both axes are logarithmic where `logarithmic`: values are positive then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scatter {
    /// What is shown.
    pub title: String,
    /// Name of the horizontal axis, with its unit.
    pub x_label: String,
    /// Name of the vertical axis, with its unit.
    pub y_label: String,
    /// Whether both axes are logarithmic.
    pub logarithmic: bool,
    /// The points.
    pub points: Vec<Point>,
    /// Lines through points of the plane, such as roofs.
    pub lines: Vec<Line>,
}

/// One point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Name of the point.
    pub label: String,
    /// Horizontal place of the point.
    pub x: f64,
    /// Vertical place of the point.
    pub y: f64,
    /// Share of the largest point's area, 0 to 1.
    pub size: f64,
    /// Width and height, in the units of the axes, where the point is a rectangle that begins at `x` and `y`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<(f64, f64)>,
    /// Colour of the point.
    pub class: ColourClass,
    /// What hovering says beyond the point's name, one line each.
    pub notes: Vec<String>,
    /// Where a click leads.
    pub link: Option<Link>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Name of the line, written at its end.
    pub label: String,
    /// `(x, y)` of the line's corners.
    pub points: Vec<(f64, f64)>,
}

/// A tree as nested spans: a child lies within its parent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Icicle {
    /// What is shown.
    pub title: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Parents before their children; the first is the root.
    pub nodes: Vec<Node>,
}

/// A span of an icicle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Name of the node.
    pub label: String,
    /// Index of the node's parent; absent for the root.
    pub parent: Option<u32>,
    /// Length of the node; children add up to at most it.
    pub value: f64,
    /// Colour of the node.
    pub class: ColourClass,
    /// What hovering says beyond its name and value, a line each.
    pub notes: Vec<String>,
    /// Where a click leads.
    pub link: Option<Link>,
}

/// A number for every pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// What is shown.
    pub title: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Names of rows and columns.
    pub labels: Vec<String>,
    /// `values[row][column]`; absent where there is none.
    pub values: Vec<Vec<Option<f64>>>,
    /// A click on a value filters by `key=row-column`, the numbers of its labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A choice: `option` is the key under which the page sends the chosen value back ([`crate::pages::PageQuery::options`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Key of the choice.
    pub option: String,
    /// What is chosen.
    pub label: String,
    /// `(value, name for people)`, the first being the default.
    pub values: Vec<(String, String)>,
    /// The chosen value.
    pub chosen: String,
}

impl About {
    /// About a field of the profile.
    pub(crate) fn new(metric: Metric, view: View) -> About {
        About { metric: metric.path.to_owned(), definition: metric.definition.to_owned(), view }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingBlock {
    /// Name of the rule.
    pub id: String,
    /// How much the finding matters.
    pub severity: FindingSeverity,
    /// One line.
    pub title: String,
    /// What was seen, in sentences with numbers.
    pub text: String,
    /// What to do.
    pub remedy: String,
    /// What each number behind it is, and its value; how sure the finding is, and the rule that made it. Empty without numbers.
    pub evidence: Vec<(String, String)>,
    /// Where the events behind the finding are.
    pub link: Option<Link>,
    /// Where the same is on the timeline.
    pub in_timeline: Option<Link>,
}

/// Names and values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// What the facts are of; may be empty.
    pub title: String,
    /// Facts from top to bottom.
    pub facts: Vec<Fact>,
}

/// A name and its value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// What the fact is.
    pub label: String,
    /// Value of the fact, with the unit.
    pub value: String,
    /// What hovering over the label says; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub definition: String,
}

/// A small table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// What is shown.
    pub title: String,
    /// Headings.
    pub columns: Vec<String>,
    /// One cell per column.
    pub rows: Vec<Vec<GridCell>>,
}

/// A cell of a [`Grid`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GridCell {
    /// The value, with its unit.
    pub text: String,
    /// A line below it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// What the colour says; the text says it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<CellStatus>,
    /// Length of the cell's bar, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bar: Option<f64>,
    /// The option of the page that it sets when it is clicked, and to what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<(String, String)>,
}

/// What the colour of a [`GridCell`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellStatus {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// The cell is as it should be.
    Same,
    /// Not as it should be.
    Warning,
    /// Nobody knows.
    Unknown,
}

impl CellStatus {
    /// Word of the status, which names its colour.
    pub fn word(self) -> &'static str {
        match self {
            CellStatus::Better => "better",
            CellStatus::Worse => "worse",
            CellStatus::Same => "same",
            CellStatus::Warning => "warning",
            CellStatus::Unknown => "unknown",
        }
    }
}

impl GridCell {
    /// A cell that holds only a text.
    pub fn text(text: &str) -> GridCell {
        GridCell { text: text.to_owned(), ..GridCell::default() }
    }
}

/// What leads from one number to another: `start` and all parts add up to `end`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waterfall {
    /// What is shown.
    pub title: String,
    /// Unit of all values.
    pub unit: Unit,
    /// Name and value at the beginning.
    pub start: (String, f64),
    /// What is added and taken away, in order.
    pub parts: Vec<WaterfallPart>,
    /// Name and value at the end.
    pub end: (String, f64),
}

/// One part of a [`Waterfall`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaterfallPart {
    /// Name of the part.
    pub label: String,
    /// What the part adds; negative where it takes away.
    pub delta: f64,
    /// Colour of the part.
    pub class: ColourClass,
}
