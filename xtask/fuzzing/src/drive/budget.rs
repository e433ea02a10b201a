//! Checks damaged budgets against an undamaged profile, and every kind of limit against the profile of a damaged input.

use std::sync::OnceLock;

use crossprof::UnifiedProfile;
use crossprof::budget::file::BudgetFile;
use crossprof::budget::{self, Catalogue, CheckReport, Document, Limit};

use super::{Kept, promise, reference};
use crate::Random;

/// Limits that contain more than a path and a number.
const LIMITS: [&str; 9] = [
    "steps[*].idle_us < 5 ms if measured",
    "count(findings[severity=critical]) == 0",
    "throughput.steps_per_sec >= 97 % of baseline",
    "kernels.kernels_by_category.*.percent <= baseline + 3 % if measured",
    "multi_device.device_stats[*].utilization_percent >= baseline - 5",
    "scope[*attn*|*dot*].self_time_us <= 105 % of baseline",
    "scope[*].exposed_time_us < 5 ms if measured",
    "family[mat?ul|*fusion*].occurrences < 100",
    "count(new findings[severity=warning|critical]) <= 1",
];

/// Maximum number of lines of a damaged budget that are read as limits.
const MOST_LINES: usize = 100;

/// Number of paths per case whose numbers are compared with the numbers of the baseline.
const PATHS: usize = 12;

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(Catalogue::of_profile)
}

/// Parses a budget file, and each line of the file in the way that the command line parses a limit.
pub(super) fn text(bytes: &[u8]) -> Kept {
    let text = String::from_utf8_lossy(bytes);
    let mut limits = BudgetFile::parse(&text, catalogue()).map(|file| file.limits).unwrap_or_default();
    for line in text.lines().take(MOST_LINES) {
        match Limit::parse(line, catalogue()) {
            Ok(limit) => limits.push(limit),
            Err(error) if line.get(error.span.clone()).is_none() => {
                return Err(format!("The position of a mistake is outside its line: {:?}", error.span));
            }
            Err(_) => {}
        }
    }
    let run = document(reference(), "reference.json")?;
    shapes(&CheckReport::new(None, vec![budget::check(&limits, &run, &[&run])]))
}

/// Checks limits on the numbers of a profile. The reference profile is the baseline.
pub(super) fn judged(profile: &UnifiedProfile, random: &mut Random) -> Kept {
    let numbers = catalogue().numbers();
    let of_path = |_| format!("{} >= 97 % of baseline", random.pick(&numbers));
    let paths: Vec<String> = (0..PATHS).map(of_path).collect();
    let texts = LIMITS.iter().copied().chain(paths.iter().map(String::as_str));
    // Not every number supports a fraction of the baseline.
    let limits: Vec<Limit> = texts.filter_map(|text| Limit::parse(text, catalogue()).ok()).collect();
    let run = document(profile, "run")?;
    let baseline = document(reference(), "reference.json")?;
    shapes(&CheckReport::new(None, vec![budget::check(&limits, &run, &[&baseline, &run])]))?;
    shapes(&CheckReport::new(None, vec![budget::check(&limits, &baseline, &[&run])]))
}

fn document(profile: &UnifiedProfile, file: &str) -> Result<Document, String> {
    Document::of(profile, file).map_err(|error| error.to_string())
}

fn shapes(report: &CheckReport) -> Kept {
    promise::finite("the result of a check", report)?;
    promise::plain("the text of a check", &budget::to_text(report))?;
    promise::inert("the Markdown of a check", &budget::to_markdown(report))?;
    promise::inert("the JUnit file of a check", &budget::to_junit(report))?;
    promise::json("the result of a check", &report.to_json(), true)
}
