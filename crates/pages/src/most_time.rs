//! Names the op categories that take most of the time. The page shows these categories with the findings, so that the
//! expensive parts are named even if no rule applies.

use std::collections::BTreeMap;

use base::framework_path::scopes;
use base::{format, sort};
use facts::hlo_categories::{CUSTOM_CALL, WHILE};
use report::{KernelCategory, TopOp, UnifiedProfile};

/// Categories are named until they cover this percentage of the time, or until their number is [`MOST_NAMED`].
const NAMED_PERCENT: f64 = 80.0;
const MOST_NAMED: usize = 3;
/// A source line is named if it takes at least this percentage of the busy time.
const NAMED_LINE_PERCENT: f64 = 20.0;
/// The title names source lines instead of categories if they take at least this percentage together, and each line at
/// least [`LEAST_LINE_PERCENT`].
const TITLE_LINES_PERCENT: f64 = 50.0;
const LEAST_LINE_PERCENT: f64 = 10.0;
/// If one line takes more than this percentage of a function's time, the title names the line instead of the function
/// (our limit).
const ONE_LINE_PERCENT: f64 = 75.0;
/// The title names a scope instead of lines if the share of the scope exceeds the share of the largest line by this factor
/// (crossprof's own limit).
const SCOPE_OVER_LINE: f64 = 1.5;
/// If a second scope takes at least this percentage of the busy time, the first scope is only a part of the model (our
/// limit).
const OTHER_SCOPE_PERCENT: f64 = 1.0;
/// A loop is named only if it has at least this many iterations (our limit).
const FEWEST_ITERATIONS: u64 = 4;
/// If the listed ops take more than this share of the busy time, in percent, the profile lists all ops that matter. The
/// remaining difference is rounding.
const ALL_LISTED_PERCENT: f64 = 99.9;
/// The shapes of the largest op are described if it takes at least this percentage of the busy time.
const NAMED_OP_PERCENT: f64 = 10.0;

/// Categories that take most of the time of device ops.
pub(crate) struct MostTime {
    /// Largest categories with their shares of the busy time.
    pub title: String,
    /// Explanation of the shares.
    pub text: String,
    /// Largest category.
    pub category: String,
    /// Share of the busy time that the source lines in the title take. 0 if the title names categories.
    pub percent: f64,
}

/// Returns the largest categories of `profile`. Returns `None` if no op takes time.
pub(crate) fn most_time(profile: &UnifiedProfile) -> Option<MostTime> {
    let all = &profile.kernels.kernels_by_category;
    let whole: f64 = all.values().map(|category| category.time_us).sum();
    let mut sorted: Vec<(&String, &KernelCategory)> = all.iter().collect();
    sort::sort_by(&mut sorted, |a, b| b.1.time_us.total_cmp(&a.1.time_us).then_with(|| a.0.cmp(b.0)));
    let (category, _) = sorted.first().filter(|_| whole > 0.0)?;
    let mut before = 0.0;
    let is_needed = |(_, category): &&(&String, &KernelCategory)| {
        let is_needed = 100.0 * before < NAMED_PERCENT * whole;
        before += category.time_us;
        is_needed
    };
    let largest = sorted.iter().take_while(is_needed).take(MOST_NAMED);
    let shares: Vec<String> =
        largest.map(|(name, it)| format!("{} {name}", format::percent(100.0 * it.time_us / whole))).collect();
    let categories = shares.join(", ");
    let whole = format::time_us(whole);
    let lines = lines(profile);
    let function = function_of_most(&lines);
    let named = named(&lines);
    let of_loop = loop_of_most(profile);
    let by_category = format!("By category: {categories}, as shares of the {whole} of device ops in the window.");
    let titles = || named.iter().map(LineTime::title).collect::<Vec<_>>().join(", ");
    let scope = if function.is_some() { None } else { scope_of_most(profile, &lines) };
    let function = function.or(scope);
    let (title, by_category) = match (&function, named.as_slice(), &of_loop) {
        (Some(function), [], _) => (function.title.clone(), by_category),
        (Some(function), ..) => (function.title.clone(), format!("{by_category} By line: {}.", titles())),
        (None, [], Some(of_loop)) => (of_loop.title.clone(), by_category),
        (None, [], None) => (categories, format!("Shares of the {whole} of device ops in the window.")),
        (None, ..) => (titles(), by_category),
    };
    let line = lines.first().filter(|line| line.percent >= NAMED_LINE_PERCENT);
    let line = line.map_or(String::new(), |line| format!(" {}", line.sentence()));
    Some(MostTime {
        title: format!("Most time: {title}"),
        text: format!("{by_category}{line}{}{}", of_loop.map_or(String::new(), |it| it.sentence), largest_op(profile)),
        category: (*category).clone(),
        percent: match &function {
            Some(function) => function.percent.min(100.0),
            None => named.iter().map(|line| line.percent).sum::<f64>().min(100.0),
        },
    })
}

/// A function whose lines together take most of the time.
struct FunctionTime {
    /// Text for the title: `62.0 % in new_level (main.py:11 to 15)`.
    title: String,
    /// Share of the busy time.
    percent: f64,
}

/// Returns the function whose lines together take most of the time. `None` if no function takes half of the time, or if one
/// line takes nearly all of the function's time. A line belongs to the innermost function that contains it.
fn function_of_most(lines: &[LineTime<'_>]) -> Option<FunctionTime> {
    let file = |line: &LineTime<'_>| line.source.rsplit_once(':').map_or(line.source, |(file, _)| file).to_owned();
    let mut functions: Vec<(&str, String, Vec<&LineTime<'_>>)> = Vec::new();
    for line in lines.iter().filter(|line| !line.function.is_empty() && !line.function.starts_with('<')) {
        match functions.iter_mut().find(|(function, of, _)| *function == line.function && *of == file(line)) {
            Some((.., of)) => of.push(line),
            None => functions.push((line.function, file(line), vec![line])),
        }
    }
    let sum = |of: &[&LineTime<'_>]| of.iter().map(|line| line.percent).sum::<f64>();
    let (function, file, of) = functions.into_iter().max_by(|a, b| sum(&a.2).total_cmp(&sum(&b.2)))?;
    let percent = sum(&of);
    let largest = of.first().map_or(0.0, |line| line.percent);
    if percent < TITLE_LINES_PERCENT || largest > ONE_LINE_PERCENT / 100.0 * percent {
        return None;
    }
    let numbers = of.iter().filter(|line| line.percent >= LEAST_LINE_PERCENT / 2.0);
    let numbers = numbers.filter_map(|line| line.source.rsplit_once(':')?.1.parse::<u64>().ok());
    let (first, last) = numbers.fold((u64::MAX, 0), |(first, last), line| (first.min(line), last.max(line)));
    let file = format::printable(file.rsplit('/').next().unwrap_or(&file));
    let place = if first < last { format!("{file}:{first} to {last}") } else { file };
    let title = format!("{} in {} ({place})", format::percent(percent.min(100.0)), format::printable(function));
    Some(FunctionTime { title, percent })
}

/// Returns the innermost name scope that takes most of the time, if source lines do not show it: parts of a model that call
/// the same functions have the same lines. `None` if no scope takes half of the time, or if the scope covers the whole
/// model.
fn scope_of_most(profile: &UnifiedProfile, lines: &[LineTime<'_>]) -> Option<FunctionTime> {
    let mut shares: BTreeMap<Vec<&str>, f64> = BTreeMap::new();
    for op in profile.op_statistics.iter().flat_map(|found| &found.top_ops) {
        let (Some(path), Some(percent)) = (op.framework_op.as_deref(), op.busy_self_time_percent) else { continue };
        let scopes = scopes(path);
        for depth in 1..=scopes.len() {
            *shares.entry(scopes.iter().take(depth).copied().collect()).or_default() += percent;
        }
    }
    // Without lines, the categories are more informative than the outermost part of a model.
    let largest_line = lines.first()?.percent;
    let has_other = |scope: &[&str]| {
        shares.iter().any(|(other, percent)| {
            let is_next = other.len() == scope.len() && other.as_slice() != scope;
            is_next
                && other.split_last().map(|it| it.1) == scope.split_last().map(|it| it.1)
                && *percent >= OTHER_SCOPE_PERCENT
        })
    };
    let is_most = |(scope, percent): &(&Vec<&str>, &f64)| {
        **percent >= TITLE_LINES_PERCENT && **percent >= SCOPE_OVER_LINE * largest_line && has_other(scope)
    };
    let (scope, percent) = shares.iter().filter(is_most).max_by_key(|(scope, _)| scope.len())?;
    let name = scope.join("/");
    let (at_least, percent) = share_of_scope(profile, &name, *percent);
    let name = format::printable(&format::shorten(&name, 60));
    Some(FunctionTime { title: format!("{at_least}{} in {name}", format::percent(percent.min(100.0))), percent })
}

/// Returns the share of the busy time that a scope takes, as in the layers table, and the words that precede the share
/// in a sentence. The profile lists only the largest ops, so the share of the scope's ops (`listed`) is a lower bound.
fn share_of_scope(profile: &UnifiedProfile, scope: &str, listed: f64) -> (&'static str, f64) {
    // A row of the table stands for all layers that differ only in their numbers, so it takes longer than a single
    // numbered scope.
    let is_of_scope = |path: &str| path.split_once('/').is_some_and(|(_, inner)| inner == scope);
    let layers = profile.layers.iter().flat_map(|found| &found.layers).filter(|layer| is_of_scope(&layer.path));
    let counted: f64 = layers.filter_map(|layer| layer.busy_self_time_percent).sum();
    let ops = profile.op_statistics.iter().flat_map(|found| &found.top_ops);
    let all: f64 = ops.filter_map(|op| op.busy_self_time_percent).sum();
    match counted >= listed {
        true => ("", counted),
        false if all <= ALL_LISTED_PERCENT => ("at least ", listed),
        false => ("", listed),
    }
}

/// Returns the named function that contains an unnamed one: `new_level` for `new_level.<locals>.<lambda>`.
fn function_with_name(mut function: &str) -> &str {
    while let Some((outer, _)) = function.rsplit_once(".<locals>.").filter(|(_, inner)| inner.starts_with('<')) {
        function = outer;
    }
    function
}

/// Returns the source lines that the title names, most time first, until they cover [`NAMED_PERCENT`] of the busy time.
/// Empty if the first [`MOST_NAMED`] lines take less than [`TITLE_LINES_PERCENT`].
fn named<'a>(lines: &[LineTime<'a>]) -> Vec<LineTime<'a>> {
    let mut before = 0.0;
    let is_needed = |line: &&LineTime<'_>| {
        let is_needed = before < NAMED_PERCENT && line.percent >= LEAST_LINE_PERCENT;
        before += line.percent;
        is_needed
    };
    let named: Vec<LineTime<'_>> = lines.iter().take_while(is_needed).take(MOST_NAMED).copied().collect();
    if named.iter().map(|line| line.percent).sum::<f64>() < TITLE_LINES_PERCENT { Vec::new() } else { named }
}

/// Time of the listed ops of one source line.
#[derive(Clone, Copy)]
struct LineTime<'a> {
    /// File and line, with the folders of the file.
    source: &'a str,
    /// Share of the busy time.
    percent: f64,
    ops: u64,
    /// Work of the largest op: its category, or, for a fusion or custom call, the last part of the framework path
    /// (`dot_general`). Empty if unknown.
    operation: &'a str,
    /// Function that contains the line. Empty if unknown.
    function: &'a str,
    /// True if ops that the profile does not list may also belong to the line.
    at_least: bool,
}

impl LineTime<'_> {
    fn place(&self) -> String {
        format::printable(self.source.rsplit('/').next().unwrap_or(self.source))
    }

    fn title(&self) -> String {
        let operation = format::printable(&format::shorten(self.operation, 40));
        let operation = if operation.is_empty() { operation } else { format!(" ({operation})") };
        format!("{} at {}{operation}", format::percent(self.percent), self.place())
    }

    fn sentence(&self) -> String {
        let at_least = if self.at_least { "At least " } else { "" };
        let (share, ops) = (format::percent(self.percent), format::counted(self.ops, "op"));
        format!("{at_least}{share} of the busy time is in {ops} at {}.", self.place())
    }
}

/// Returns the source lines, sorted by the time of their ops, most time first. The profile lists only the largest ops,
/// so a line may take more time.
fn lines(profile: &UnifiedProfile) -> Vec<LineTime<'_>> {
    let listed = || profile.op_statistics.iter().flat_map(|found| &found.top_ops);
    let mut lines: Vec<LineTime<'_>> = Vec::new();
    for op in listed() {
        let (Some(source), Some(percent)) = (op.source.as_deref(), op.busy_self_time_percent) else { continue };
        match lines.iter_mut().find(|line| line.source == source) {
            Some(line) => (line.percent, line.ops) = (line.percent + percent, line.ops + 1),
            None => {
                // Ops are sorted by time, so the first op of a line is its largest op.
                let path = op.framework_op.as_deref().unwrap_or_default();
                let is_unnamed = op.category.contains("fusion") || op.category == CUSTOM_CALL;
                let operation = if is_unnamed { last_operation(path) } else { &op.category };
                // XLA names a product after the transposition of an operand that it merged into the product.
                let is_product = op.category == CUSTOM_CALL || op.name.contains("dot") || op.name.contains("gemm");
                let operation = if is_product && operation == "transpose" { "" } else { operation };
                let operation =
                    if operation.is_empty() && op.category == CUSTOM_CALL { &op.category } else { operation };
                let function = function_with_name(op.function.as_deref().unwrap_or_default());
                lines.push(LineTime { source, percent, ops: 1, operation, function, at_least: false });
            }
        }
    }
    let at_least = listed().filter_map(|op| op.busy_self_time_percent).sum::<f64>() <= ALL_LISTED_PERCENT;
    sort::sort_by(&mut lines, |a, b| b.percent.total_cmp(&a.percent).then(a.source.cmp(b.source)));
    lines.iter_mut().for_each(|line| line.at_least = at_least);
    lines
}

/// A loop that, together with its body, takes most of the time.
struct LoopTime {
    /// Text for the title: `55.1 % in a loop of 80 iterations at train.py:18`.
    title: String,
    sentence: String,
}

/// Returns the loop that takes most of the time. `None` if no loop takes half of the time, or if the ops of the loop's body
/// do not show how often the body runs.
fn loop_of_most(profile: &UnifiedProfile) -> Option<LoopTime> {
    let found = profile.op_statistics.as_ref()?;
    let loops = found.top_ops.iter().filter(|op| op.category == WHILE);
    let longest = loops.max_by(|a, b| a.total_time_us.total_cmp(&b.total_time_us))?;
    let percent = 100.0 * longest.total_time_us / found.op_time_us.max(f64::MIN_POSITIVE);
    // The body of a nested loop runs more often, and its ops have a larger loop depth.
    let depth = |op: &&TopOp| op.framework_op.as_ref().map_or(0, |path| path.matches("while/body").count());
    let in_body = || found.top_ops.iter().filter(|op| op.program_id == longest.program_id && depth(op) > 0);
    let outermost = in_body().map(|op| depth(&op)).min().unwrap_or(0);
    let runs = in_body().filter(|op| depth(op) == outermost).filter_map(|op| op.executions).max().unwrap_or(0);
    let times = runs / longest.executions.unwrap_or(0).max(1);
    if percent < TITLE_LINES_PERCENT || times < FEWEST_ITERATIONS {
        return None;
    }
    let place = longest.source.as_deref().map(|source| source.rsplit('/').next().unwrap_or(source));
    let place = place.map_or(String::new(), |place| format!(" at {}", format::printable(place)));
    let (share, times) = (format::percent(percent.min(100.0)), format::count(times));
    let name = format::printable(&format::shorten(&longest.name, 60));
    Some(LoopTime {
        title: format!("{share} in a loop of {times} iterations{place}"),
        sentence: format!(
            " The loop {name}{place} runs its body {times} times. Together they take {share} of the busy time."
        ),
    })
}

/// Returns the last operation of a framework path: `dot_general` for `jit(f)/layer/dot_general`, `psum` for
/// `jit(f)/transpose(jvp(psum))`.
fn last_operation(path: &str) -> &str {
    let last = path.rsplit('/').next().unwrap_or_default();
    let inner = last.rsplit('(').next().unwrap_or(last);
    inner.split(')').next().unwrap_or(inner)
}

/// Describes the largest op by its shapes, as a sentence with a leading space. Empty if the op takes little time, or if its
/// shapes are unknown.
fn largest_op(profile: &UnifiedProfile) -> String {
    let top = profile.op_statistics.as_ref().and_then(|found| found.top_ops.first());
    let known = top.and_then(|op| Some((op, op.busy_self_time_percent?, op.result_shape.as_deref()?)));
    let Some((op, percent, result)) = known.filter(|&(_, percent, _)| percent >= NAMED_OP_PERCENT) else {
        return String::new();
    };
    let others = op.num_operands.saturating_sub(op.operand_shapes.len() as u64);
    let others = if others > 0 { format!(" and {others} smaller operands") } else { String::new() };
    let from = match op.operand_shapes.as_slice() {
        [] => String::new(),
        shapes => format!(" from {}{others}", format::printable(&shapes.join(", "))),
    };
    let (name, result) = (format::printable(&format::shorten(&op.name, 60)), format::printable(result));
    format!(" The largest op, {name}, takes {}: it computes {result}{from}.", format::percent(percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(times: &[(&str, f64)]) -> Option<String> {
        let mut profile = UnifiedProfile::default();
        let category =
            |&(name, time_us): &(&str, f64)| (name.to_owned(), KernelCategory { time_us, ..KernelCategory::default() });
        profile.kernels.kernels_by_category = times.iter().map(category).collect();
        most_time(&profile).map(|it| it.title)
    }

    #[test]
    fn at_most_three_categories_are_named() {
        assert_eq!(title(&[("copy", 10.0), ("matmul", 90.0)]).as_deref(), Some("Most time: 90.0 % matmul"));
        let two = title(&[("a", 18.0), ("b", 70.0), ("c", 12.0)]);
        assert_eq!(two.as_deref(), Some("Most time: 70.0 % b, 18.0 % a"));
        let even = [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0)];
        assert_eq!(title(&even).as_deref(), Some("Most time: 25.0 % a, 25.0 % b, 25.0 % c"));
    }

    #[test]
    fn a_loop_with_most_of_the_time_is_named() {
        let mut profile = UnifiedProfile::default();
        let category = KernelCategory { time_us: 100.0, ..KernelCategory::default() };
        profile.kernels.kernels_by_category.insert("matmul".to_owned(), category);
        let op = |name: &str, category: &str, executions, total_time_us| TopOp {
            name: name.to_owned(),
            category: category.to_owned(),
            framework_op: Some("jit(f)/while/body/dot_general".to_owned()),
            executions: Some(executions),
            total_time_us,
            ..TopOp::default()
        };
        let top_ops = vec![op("dot.1", "dot", 160, 50.0), op("while.3", "while", 2, 55.0)];
        profile.op_statistics =
            Some(report::OpStatistics { top_ops, op_time_us: 100.0, ..report::OpStatistics::default() });
        let found = most_time(&profile).unwrap();
        assert_eq!(found.title, "Most time: 55.0 % in a loop of 80 iterations");
        assert!(
            found.text.contains("The loop while.3 runs its body 80 times. Together they take 55.0 %"),
            "{}",
            found.text
        );
        // A loop inside the body runs its own body more often.
        let mut inner = op("add.7", "add", 1600, 5.0);
        inner.framework_op = Some("jit(f)/while/body/while/body/add".to_owned());
        profile.op_statistics.as_mut().unwrap().top_ops.push(inner);
        assert_eq!(most_time(&profile).unwrap().title, "Most time: 55.0 % in a loop of 80 iterations");
        profile.op_statistics.as_mut().unwrap().top_ops[0].executions = Some(6);
        assert_eq!(most_time(&profile).unwrap().title, "Most time: 100 % matmul");
    }

    #[test]
    fn a_function_with_most_of_the_time_in_several_lines_is_named() {
        let mut profile = UnifiedProfile::default();
        let category = KernelCategory { time_us: 100.0, ..KernelCategory::default() };
        profile.kernels.kernels_by_category.insert("fusion".to_owned(), category);
        let op = |source: &str, function: &str, percent| TopOp {
            source: Some(source.to_owned()),
            function: Some(function.to_owned()),
            busy_self_time_percent: Some(percent),
            ..TopOp::default()
        };
        let mut title = |first: f64| {
            let top_ops = vec![
                op("a/main.py:12", "new_level", first),
                op("a/main.py:40", "loss", 30.0),
                op("a/main.py:15", "new_level.<locals>.<lambda>", 25.0),
            ];
            profile.op_statistics = Some(report::OpStatistics { top_ops, ..report::OpStatistics::default() });
            most_time(&profile).unwrap()
        };
        let found = title(40.0);
        assert_eq!((found.title.as_str(), found.percent), ("Most time: 65.0 % in new_level (main.py:12 to 15)", 65.0));
        assert!(found.text.contains("By line: 40.0 % at main.py:12, 30.0 % at main.py:40"), "{}", found.text);
        // The function takes less than half of the time, or one line takes nearly all of it.
        assert_eq!(title(20.0).title, "Most time: 30.0 % at main.py:40, 25.0 % at main.py:15, 20.0 % at main.py:12");
        assert_eq!(title(90.0).title, "Most time: 90.0 % at main.py:12");
    }

    #[test]
    fn a_scope_is_named_if_its_lines_are_those_of_other_scopes_too() {
        let mut profile = UnifiedProfile::default();
        let category = KernelCategory { time_us: 100.0, ..KernelCategory::default() };
        profile.kernels.kernels_by_category.insert("fusion".to_owned(), category);
        let op = |source: &str, path: &str, percent| TopOp {
            source: Some(source.to_owned()),
            framework_op: Some(path.to_owned()),
            busy_self_time_percent: Some(percent),
            ..TopOp::default()
        };
        let mut title = |first: f64, other: f64| {
            let top_ops = vec![
                op("model.py:12", "jit(step)/Speech/encoder/layer_0/max", first),
                op("model.py:21", "jit(step)/transpose(jvp(Speech))/encoder/layer_1/dot_general", 30.0),
                op("model.py:12", "jit(step)/Speech/decoder/max", other),
            ];
            profile.op_statistics = Some(report::OpStatistics { top_ops, ..report::OpStatistics::default() });
            most_time(&profile).unwrap()
        };
        let found = title(30.0, 5.0);
        assert_eq!((found.title.as_str(), found.percent), ("Most time: at least 60.0 % in Speech/encoder", 60.0));
        assert!(found.text.contains("By line: 35.0 % at model.py:12, 30.0 % at model.py:21"), "{}", found.text);
        let lines = "Most time: 60.0 % at model.py:12, 30.0 % at model.py:21";
        assert_eq!(title(55.0, 5.0).title, lines);
        // The program computes only the encoder.
        assert!(title(30.0, 0.5).title.contains("at model.py:12"));
    }

    #[test]
    fn a_scope_has_the_share_of_its_layer() {
        let mut profile = UnifiedProfile::default();
        let category = KernelCategory { time_us: 100.0, ..KernelCategory::default() };
        profile.kernels.kernels_by_category.insert("fusion".to_owned(), category);
        let op = |source: &str, path: &str, percent| TopOp {
            source: Some(source.to_owned()),
            framework_op: Some(path.to_owned()),
            busy_self_time_percent: Some(percent),
            ..TopOp::default()
        };
        let top_ops = vec![
            op("model.py:12", "jit(step)/encoder/max", 30.0),
            op("model.py:21", "jit(step)/encoder/dot_general", 30.0),
            op("model.py:12", "jit(step)/decoder/max", 5.0),
        ];
        profile.op_statistics = Some(report::OpStatistics { top_ops, ..report::OpStatistics::default() });
        assert_eq!(most_time(&profile).unwrap().title, "Most time: at least 60.0 % in encoder");
        let layer = |path: &str, percent| report::LayerTime {
            path: path.to_owned(),
            busy_self_time_percent: Some(percent),
            ..report::LayerTime::default()
        };
        let layers = vec![layer("jit_step", 100.0), layer("jit_step/encoder", 93.7), layer("jit_step/encoder/x", 60.0)];
        profile.layers = Some(report::Layers { layers, ..report::Layers::default() });
        let found = most_time(&profile).unwrap();
        assert_eq!((found.title.as_str(), found.percent), ("Most time: 93.7 % in encoder", 93.7));
    }

    #[test]
    fn operations_are_the_innermost_of_their_paths() {
        let paths = ["jit(f)/layer/dot_general", "jit(f)/transpose(jvp(psum))", "tanh", "", "f()"];
        assert_eq!(paths.map(last_operation), ["dot_general", "psum", "tanh", "", ""]);
    }

    #[test]
    fn no_category_is_named_if_no_op_takes_time() {
        assert_eq!(title(&[]), None);
        assert_eq!(title(&[("copy", 0.0)]), None);
    }

    #[test]
    fn the_line_with_most_time_is_named() {
        let mut profile = UnifiedProfile::default();
        let category = KernelCategory { time_us: 100.0, ..KernelCategory::default() };
        profile.kernels.kernels_by_category.insert("dot".to_owned(), category);
        let op = |source: &str, percent| TopOp {
            source: Some(source.to_owned()),
            busy_self_time_percent: Some(percent),
            ..TopOp::default()
        };
        let top_ops = vec![op("a/model.py:1", 30.0), op("a/model.py:7", 25.0), op("a/model.py:7", 20.0)];
        profile.op_statistics = Some(report::OpStatistics { top_ops, ..report::OpStatistics::default() });
        let text = |profile: &UnifiedProfile| most_time(profile).unwrap().text;
        assert_eq!(
            text(&profile),
            "By category: 100 % dot, as shares of the 100 µs of device ops in the window. At least 45.0 % of the busy time is in 2 ops at \
             model.py:7."
        );
        let title = |profile: &UnifiedProfile| most_time(profile).unwrap().title;
        assert_eq!(title(&profile), "Most time: 45.0 % at model.py:7, 30.0 % at model.py:1");
        let top_ops = &mut profile.op_statistics.as_mut().unwrap().top_ops;
        top_ops[1].category = "custom fusion".to_owned();
        top_ops[1].framework_op = Some("jit(f)/layer/dot_general".to_owned());
        top_ops[1].busy_self_time_percent = Some(40.0);
        top_ops[0].result_shape = Some("f32[8]".to_owned());
        top_ops[0].operand_shapes = vec!["f32[2,8]".to_owned(), "f32[]".to_owned()];
        let found = most_time(&profile).unwrap();
        assert_eq!(found.title, "Most time: 60.0 % at model.py:7 (dot_general), 30.0 % at model.py:1");
        assert!(found.text.starts_with("By category: 100 % dot, as shares of the 100 µs"), "{}", found.text);
        assert!(found.text.ends_with("takes 30.0 %: it computes f32[8] from f32[2,8], f32[]."), "{}", found.text);
        let top_ops = &mut profile.op_statistics.as_mut().unwrap().top_ops;
        top_ops[1].category = "custom-call".to_owned();
        top_ops[1].framework_op = Some("jit(f)/jit(eigh)/eigh".to_owned());
        assert_eq!(title(&profile), "Most time: 60.0 % at model.py:7 (eigh), 30.0 % at model.py:1");
        profile.op_statistics.as_mut().unwrap().top_ops[1].framework_op = None;
        assert_eq!(title(&profile), "Most time: 60.0 % at model.py:7 (custom-call), 30.0 % at model.py:1");
        for op in &mut profile.op_statistics.as_mut().unwrap().top_ops {
            op.busy_self_time_percent = Some(9.0);
        }
        assert_eq!(text(&profile), "Shares of the 100 µs of device ops in the window.");
    }
}
