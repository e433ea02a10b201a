//! Content of a page as a list of blocks. A block determines its content, but not its appearance. The web page and HTML
//! reports draw the same blocks.
//!
//! Each number comes with its unit. Text from a trace is plain text, never markup. Fields named `class` contain one of
//! the page's colours.

use serde::{Deserialize, Serialize};

use crate::{ColourClass, HeatMap, Link, TableBlock};
use report::{FindingSeverity, Level, Metric, View};
use table::Unit;

/// Page of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Blocks of the page, from top to bottom.
    pub blocks: Vec<Block>,
}

/// One part of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Heading, with an explanatory sentence below it if needed.
    Heading {
        /// Text of the heading.
        text: String,
        /// Explanatory sentence.
        note: Option<String>,
    },
    /// Sentence on its own.
    Note {
        /// Text of the sentence.
        text: String,
    },
    /// Explanation of why there is nothing to show, with Python code that captures the missing data.
    Empty {
        /// Reason for the absence of content.
        reason: String,
        /// Code to run.
        remedy: Option<String>,
    },
    /// Headline figures, side by side.
    Figures {
        /// Figures, from left to right.
        figures: Vec<Figure>,
    },
    /// Rows of stacked parts, for example steps by activity.
    Stack(Stack),
    /// Labelled bars, usually longest first. The bars of a histogram keep the order of its buckets.
    Bars(Bars),
    /// Points in a plane, with lines.
    Scatter(Scatter),
    /// Tree as nested spans.
    Icicle(Icicle),
    /// Matrix with a number for every pair of devices.
    Matrix(Matrix),
    /// Map with a coloured cell for every row and column.
    HeatMap(HeatMap),
    /// Buttons for the forms of the table or chart below. One of them is selected.
    Choice(Choice),
    /// First rows of a table. The page requests other rows by the table's name.
    Table(TableBlock),
    /// Small table whose cells contain more than text: a note below the value, a bar, or a colour for better and worse.
    Grid(Grid),
    /// Steps that lead from one number to another.
    Waterfall(Waterfall),
    /// Names and values, one below the other.
    Facts(Facts),
    /// Links to other views, next to each other.
    Links {
        /// Text and target of each link.
        links: Vec<(String, Link)>,
    },
    /// Details that are hidden until the user clicks on the title.
    Fold {
        /// Title, which describes the content in one line.
        title: String,
        /// Blocks that are shown when the fold is open, except tables and choices.
        blocks: Vec<Block>,
    },
    /// Recommended actions, most important first.
    Findings {
        /// Findings in order of importance.
        findings: Vec<FindingBlock>,
    },
}

/// One headline figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name of the figure.
    pub label: String,
    /// Value of the figure. Absent if it was not measured.
    pub value: Option<f64>,
    /// Unit of `value`.
    pub unit: Unit,
    /// Line below the value. If `value` is absent, this line gives the reason, and how to obtain the value.
    pub note: String,
    /// Rating of the value, if there are limits for it.
    pub level: Option<Level>,
    /// Limits of the rating in words, if the note does not name them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub limits: String,
    /// Path (`step_timing.avg_step_time_us`), if the figure is a field of the profile.
    pub metric: Option<String>,
    /// Definition of the figure. Empty if `metric` is absent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub definition: String,
    /// Target of a click.
    pub link: Option<Link>,
    /// Target of a click on the note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_link: Option<Link>,
}

impl Figure {
    /// Creates a figure for a field of the profile.
    pub fn of(metric: Metric) -> Figure {
        Figure { metric: Some(metric.path.to_owned()), definition: metric.definition.to_owned(), ..Figure::default() }
    }
}

/// Additional information in a chart's title: the definition of the chart's field, and the view with details.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Path of a field of the profile.
    pub metric: String,
    /// Definition of the field.
    pub definition: String,
    /// View with details.
    pub view: View,
}

/// Stacked rows: the `parts` of a row add up to the length of the row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Title that names the rows and the measured quantity.
    pub title: String,
    /// Unit of all values.
    pub unit: Unit,
    /// Kinds of parts.
    pub series: Vec<Series>,
    /// Rows, from top to bottom.
    pub rows: Vec<StackRow>,
    /// Sentence below the title. If there are no rows, this sentence gives the reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Additional information in the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
}

/// Kind of part that every row of a [`Stack`] has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the series.
    pub label: String,
    /// Colour of the series.
    pub class: ColourClass,
    /// Target of a click on the series.
    pub link: Option<Link>,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StackRow {
    /// Name of the row.
    pub label: String,
    /// One value per series.
    pub parts: Vec<f64>,
    /// Target of a click on the row.
    pub link: Option<Link>,
    /// Reason why the row is marked (`partial, not counted`). Empty for normal rows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mark: String,
}

/// Bar chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// Title that names the measured quantity.
    pub title: String,
    /// Unit of all values.
    pub unit: Unit,
    /// Bars, from top to bottom.
    pub bars: Vec<Bar>,
    /// Value that fills the whole width: the sum of all bars, or 100 %. If absent, the largest bar fills the whole
    /// width.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<f64>,
    /// Sentence below the bars. If there are no bars, this sentence gives the reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Additional information in the title.
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
    /// Text next to the value (`43 %`).
    pub note: String,
    /// Target of a click.
    pub link: Option<Link>,
}

/// Points and lines. If `logarithmic`, both axes are logarithmic and all values are positive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scatter {
    /// Title of the chart.
    pub title: String,
    /// Name of the horizontal axis, with its unit.
    pub x_label: String,
    /// Name of the vertical axis, with its unit.
    pub y_label: String,
    /// True if both axes are logarithmic.
    pub logarithmic: bool,
    /// Points of the chart.
    pub points: Vec<Point>,
    /// Lines through points of the plane, for example roofs.
    pub lines: Vec<Line>,
}

/// One point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Name of the point.
    pub label: String,
    /// Horizontal position of the point.
    pub x: f64,
    /// Vertical position of the point.
    pub y: f64,
    /// Area of the point relative to the largest point, from 0 to 1.
    pub size: f64,
    /// Width and height, in the units of the axes, if the point is drawn as a rectangle that begins at `x` and `y`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<(f64, f64)>,
    /// Colour of the point.
    pub class: ColourClass,
    /// Lines of the tooltip, in addition to the name.
    pub notes: Vec<String>,
    /// Target of a click.
    pub link: Option<Link>,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Name of the line, written at its end.
    pub label: String,
    /// Meaning of the line.
    #[serde(default)]
    pub kind: LineKind,
    /// `(x, y)` of the line's vertices.
    pub points: Vec<(f64, f64)>,
}

/// Meaning of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// Connects measured points.
    #[default]
    Measured,
    /// Goal or limit to compare points with.
    Reference,
    /// Fitted to the points of the chart.
    Model,
    /// Confidence interval of a point.
    Interval,
    /// Marks a position at which the points change.
    Mark,
}

/// Tree as nested spans: a child is inside its parent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Icicle {
    /// Title of the chart.
    pub title: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Nodes, parents before their children. The first is the root.
    pub nodes: Vec<Node>,
}

/// Span of an icicle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Name of the node.
    pub label: String,
    /// Index of the node's parent. Absent for the root.
    pub parent: Option<u32>,
    /// Length of the node, at least the sum of its children.
    pub value: f64,
    /// Colour of the node.
    pub class: ColourClass,
    /// Lines of the tooltip, in addition to name and value.
    pub notes: Vec<String>,
    /// Target of a click.
    pub link: Option<Link>,
}

/// Number for every pair of labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// Title of the matrix.
    pub title: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Names of rows and columns.
    pub labels: Vec<String>,
    /// `values[row][column]`. `None` if there is no value.
    pub values: Vec<Vec<Option<f64>>>,
    /// Key of the filter that a click on a value sets. The filter is `key=row-column`, with the indices of the two labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Choice between values. The page sends the selected value back under the key `option`
/// (`PageQuery::options` of the pages).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Key of the choice.
    pub option: String,
    /// Label of the choice.
    pub label: String,
    /// `(value, display name)`. The first pair is the default.
    pub values: Vec<(String, String)>,
    /// Selected value.
    pub chosen: String,
}

impl About {
    /// Creates the information about a field of the profile.
    pub fn new(metric: Metric, view: View) -> About {
        About { metric: metric.path.to_owned(), definition: metric.definition.to_owned(), view }
    }
}

/// Finding on a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingBlock {
    /// Name of the rule.
    pub id: String,
    /// Severity of the finding.
    pub severity: FindingSeverity,
    /// Title in one line.
    pub title: String,
    /// Evidence in sentences with numbers.
    pub text: String,
    /// Recommended action.
    pub remedy: String,
    /// True for a note that names no time to save. Such a note is not one of the first findings if there are other
    /// findings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_aside: bool,
    /// Evidence of the finding as labels and values, with its confidence and its rule. Empty if there is no evidence.
    pub evidence: Vec<(String, String)>,
    /// Link to the events that the finding is about.
    pub link: Option<Link>,
    /// Link to the same events on the timeline.
    pub in_timeline: Option<Link>,
    /// Link to the finding's op in the graph of the compiled program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_graph: Option<Link>,
}

/// Names and values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Subject of the facts. May be empty.
    pub title: String,
    /// Facts, from top to bottom.
    pub facts: Vec<Fact>,
}

/// Name and value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Name of the fact.
    pub label: String,
    /// Value of the fact, with its unit.
    pub value: String,
    /// Text of the label's tooltip. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub definition: String,
}

/// Small table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Title of the table.
    pub title: String,
    /// Headings.
    pub columns: Vec<String>,
    /// Rows, with one cell per column.
    pub rows: Vec<Vec<GridCell>>,
}

/// Cell of a [`Grid`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GridCell {
    /// Value, with its unit.
    pub text: String,
    /// Line below the value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Meaning of the colour, which the text also expresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<CellStatus>,
    /// Length of the cell's bar, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bar: Option<f64>,
    /// Option of the page that a click on the cell sets, and the value to set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<(String, String)>,
}

/// Meaning of the colour of a [`GridCell`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellStatus {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// As expected.
    Same,
    /// Not as expected.
    Warning,
    /// Not known.
    Unknown,
}

impl CellStatus {
    /// Returns the word for the status, which is also the name of its colour.
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
    /// Creates a cell that contains only text.
    pub fn text(text: &str) -> GridCell {
        GridCell { text: text.to_owned(), ..GridCell::default() }
    }
}

/// Steps that lead from one number to another: `start` and all parts add up to `end`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waterfall {
    /// Title of the chart.
    pub title: String,
    /// Unit of all values.
    pub unit: Unit,
    /// Name and value at the beginning.
    pub start: (String, f64),
    /// Additions and subtractions, in order.
    pub parts: Vec<WaterfallPart>,
    /// Name and value at the end.
    pub end: (String, f64),
}

/// One part of a [`Waterfall`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaterfallPart {
    /// Name of the part.
    pub label: String,
    /// Value of the part at the beginning.
    pub from: f64,
    /// Value of the part at the end.
    pub to: f64,
    /// Value that the part adds. Negative if it subtracts.
    pub delta: f64,
    /// Colour of the part.
    pub class: ColourClass,
}
