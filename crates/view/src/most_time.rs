//! Names the categories of ops that take most of the time. Shown with the findings, so that the
//! expensive parts are named even if no rule applies.

use base::{format, sort};
use report::{KernelCategory, UnifiedProfile};

/// Percentage that the named categories must reach together, and the largest number of them.
const NAMED_PERCENT: f64 = 80.0;
const MOST_NAMED: usize = 3;
/// Share of busy time from which a source line is named, in percent.
const NAMED_LINE_PERCENT: f64 = 20.0;

/// Categories that take most of the time of device ops.
pub struct MostTime {
    /// Largest categories with their shares of the busy time.
    pub title: String,
    /// Explanation of the shares.
    pub text: String,
    /// Largest category.
    pub category: String,
}

/// Returns the largest categories of `profile`. Returns `None` if no op takes time.
pub fn most_time(profile: &UnifiedProfile) -> Option<MostTime> {
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
    let named = sorted.iter().take_while(is_needed).take(MOST_NAMED);
    let shares: Vec<String> =
        named.map(|(name, it)| format!("{} {name}", format::percent(100.0 * it.time_us / whole))).collect();
    let line = most_of_a_line(profile).map_or(String::new(), |line| format!(" {line}"));
    Some(MostTime {
        title: format!("Most time: {}", shares.join(", ")),
        text: format!("Shares of the {} of device ops in the window.{line}", format::time_us(whole)),
        category: (*category).clone(),
    })
}

/// Names the source line whose ops take the most time, if they take a fifth of it or more. The profile lists the largest ops
/// only, so the line may take more.
fn most_of_a_line(profile: &UnifiedProfile) -> Option<String> {
    let mut lines: Vec<(&str, f64, u64)> = Vec::new();
    let listed = || profile.op_statistics.iter().flat_map(|found| &found.top_ops);
    for op in listed() {
        let (Some(source), Some(percent)) = (op.source.as_deref(), op.busy_self_time_percent) else { continue };
        match lines.iter_mut().find(|(line, ..)| *line == source) {
            Some((_, sum, count)) => (*sum, *count) = (*sum + percent, *count + 1),
            None => lines.push((source, percent, 1)),
        }
    }
    let (line, percent, count) = lines.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let place = line.rsplit('/').next().unwrap_or(line);
    let ops = format::counted(count, "op");
    // Ops that are not listed may belong to the line too.
    let are_all_listed = listed().filter_map(|op| op.busy_self_time_percent).sum::<f64>() > 99.9;
    let at_least = if are_all_listed { "" } else { "At least " };
    let share = format::percent(percent);
    (percent >= NAMED_LINE_PERCENT).then(|| format!("{at_least}{share} of the busy time is in {ops} at {place}."))
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
    fn no_category_is_named_if_no_op_takes_time() {
        assert_eq!(title(&[]), None);
        assert_eq!(title(&[("copy", 0.0)]), None);
    }

    #[test]
    fn the_line_with_most_time_is_named() {
        let mut profile = UnifiedProfile::default();
        let category = KernelCategory { time_us: 100.0, ..KernelCategory::default() };
        profile.kernels.kernels_by_category.insert("dot".to_owned(), category);
        let op = |source: &str, percent| report::TopOp {
            source: Some(source.to_owned()),
            busy_self_time_percent: Some(percent),
            ..report::TopOp::default()
        };
        let top_ops = vec![op("a/model.py:1", 30.0), op("a/model.py:7", 25.0), op("a/model.py:7", 20.0)];
        profile.op_statistics = Some(report::OpStatistics { top_ops, ..report::OpStatistics::default() });
        let text = |profile: &UnifiedProfile| most_time(profile).unwrap().text;
        assert_eq!(
            text(&profile),
            "Shares of the 100 µs of device ops in the window. At least 45.0 % of the busy time is in 2 ops at model.py:7."
        );
        for op in &mut profile.op_statistics.as_mut().unwrap().top_ops {
            op.busy_self_time_percent = Some(9.0);
        }
        assert_eq!(text(&profile), "Shares of the 100 µs of device ops in the window.");
    }
}
