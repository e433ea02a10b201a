//! Undamaged inputs of every format: the fixtures of the tests, the output of the generators of the tests and the
//! benchmark, and real profiles if these are available.

mod generated;
mod memory;
pub mod pack;

use std::path::{Path, PathBuf};

use crossprof::compare::{Options, Subject, compare};
use crossprof::{Session, Settings, UnifiedProfile, export};

use crate::Format;

/// Maximum size of a sample. Larger samples make cases slow, and do not reveal more problems.
const MOST_BYTES: usize = 160 << 10;

/// An undamaged input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Format of the input.
    pub format: Format,
    /// Name of the sample's file in a corpus.
    pub name: String,
    /// Content of the input.
    pub bytes: Vec<u8>,
}

/// Returns all samples. The order of the samples depends only on the files.
///
/// # Errors
///
/// Fails if a fixture cannot be read.
pub fn all() -> Result<Vec<Sample>, String> {
    let mut samples = Vec::new();
    let mut add = |format, name: String, bytes: Vec<u8>| {
        if !bytes.is_empty() && bytes.len() <= MOST_BYTES {
            samples.push(Sample { format, name, bytes });
        }
    };
    for (name, bytes) in files()? {
        let plain = pack::gunzip(&bytes).unwrap_or_else(|| bytes.clone());
        let stem = name.trim_end_matches(".gz").to_owned();
        if name.contains("-archives-") {
            add(Format::Archives, name, bytes);
            continue;
        }
        if stem.ends_with(".xplane.pb") {
            add(Format::Xplane, stem, plain);
        } else if stem.ends_with(".hlo.pb") {
            add(Format::HloDump, stem, plain);
        } else if stem.ends_with(".txt") && name.contains("-hlo-text-") {
            add(Format::HloText, stem, plain);
        } else if stem.ends_with(".prof") {
            add(Format::MemoryProfile, stem, plain);
        } else if stem.ends_with(".pb") && (name.contains("-hlo-") || name.contains("-freezing-")) {
            let text = crossprof::hlo::print(&crossprof::hlo::read_module(&plain)).text;
            add(Format::HloText, format!("{stem}.txt"), text.into_bytes());
            add(Format::Hlo, stem, plain);
        } else if stem.ends_with(".json") {
            add(Format::ChromeJson, stem, plain);
        }
        if name.ends_with(".gz") {
            add(Format::Archives, name, bytes);
        }
    }
    for lines in [0, 1, 3, 12, 60] {
        add(Format::MemoryProfile, format!("{lines}-lines.prof"), memory::heap_profile(lines));
    }
    for (name, text) in memory::errors() {
        add(Format::OutOfMemory, name.to_owned(), text.into_bytes());
    }
    let traces = generated::traces();
    for (format, name, bytes) in &traces {
        add(*format, name.clone(), bytes.clone());
    }
    for (name, bytes) in archives(&traces) {
        add(Format::Archives, name, bytes);
    }
    for (name, text) in documents(&traces) {
        add(Format::ProfileJson, name, text.into_bytes());
    }
    for (index, text) in budgets()?.into_iter().enumerate() {
        add(Format::Budgets, format!("docs-{index}.toml"), text.into_bytes());
    }
    Ok(samples)
}

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the files that may become samples. Each file is named by its path.
fn files() -> Result<Vec<(String, Vec<u8>)>, String> {
    let real = std::env::var_os("CROSSPROF_TRACES").map_or_else(|| root().join("../shared/traces"), PathBuf::from);
    let mut found = Vec::new();
    for (folder, name) in [(root().join("tests/data"), "tests"), (real, "real")] {
        collect(&folder, name, &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<(String, Vec<u8>)>) -> Result<(), String> {
    // Real profiles are optional.
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = format!("{prefix}-{}", entry.file_name().to_string_lossy());
        if path.is_dir() {
            collect(&path, &name, found)?;
        } else if entry.metadata().is_ok_and(|data| data.len() <= MOST_BYTES as u64) {
            let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            found.push((name, bytes));
        }
    }
    Ok(())
}

/// Returns archives of each kind, and an archive inside an archive.
fn archives(traces: &[(Format, String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let Some((_, _, json)) = traces.iter().find(|trace| trace.0 == Format::ChromeJson) else { return Vec::new() };
    let Some((_, _, xplane)) = traces.iter().find(|trace| trace.0 == Format::Xplane) else { return Vec::new() };
    let packed = pack::gzip(json);
    let members = [
        ("plugins/profile/r/a.trace.json.gz", &packed[..]),
        ("plugins/profile/r/a.xplane.pb", xplane),
        ("plugins/profile/s/b.xplane.pb", xplane),
        ("config.json", br#"{"model_type":"gemma","hidden_size":2048,"num_hidden_layers":18}"#),
    ];
    let (tar, zip) = (pack::tar(&members), pack::zip(&members, true));
    let nested = [("inner.tar.gz", &pack::gzip(&tar)[..]), ("inner.zip", &zip)];
    vec![
        ("all.zip".to_owned(), zip.clone()),
        ("stored.zip".to_owned(), pack::zip(&members, false)),
        ("nested.zip".to_owned(), pack::zip(&nested, false)),
        ("all.tar.gz".to_owned(), pack::gzip(&tar)),
        ("streams.json.gz".to_owned(), json.chunks(1 + json.len() / 3).flat_map(pack::gzip).collect()),
        ("all.tar".to_owned(), tar),
    ]
}

/// Returns JSON documents and HTML reports in the forms that crossprof writes and reads.
fn documents(traces: &[(Format, String, Vec<u8>)]) -> Vec<(String, String)> {
    let profiles: Vec<UnifiedProfile> = traces.iter().filter_map(|(_, name, bytes)| profile(name, bytes)).collect();
    let subjects: Vec<Subject> = profiles.iter().map(|profile| Subject::new(profile.clone())).collect();
    let comparison = compare(&subjects, &Options::default());
    let mut found = vec![
        ("several.json".to_owned(), export::json::profiles(&profiles)),
        ("comparison.json".to_owned(), export::comparison::json(&comparison)),
        ("comparison.html".to_owned(), export::comparison::html(&comparison, &subjects)),
    ];
    for (index, profile) in profiles.iter().enumerate() {
        found.push((format!("profile-{index}.json"), export::json::profile(profile)));
        found.push((format!("report-{index}.html"), export::html::report(profile)));
    }
    let config = r#"{"model_type":"gemma","hidden_size":2048,"num_hidden_layers":18,"num_attention_heads":8,
        "num_key_value_heads":1,"head_dim":256,"intermediate_size":16384,"vocab_size":256000}"#;
    let sidecar =
        r#"{"batch_size":16,"seq_length":128,"device":"tpu-v5e","model_dims":2048,"num_layers":18,"num_heads":8}"#;
    let results = r#"{"gpu_count":4,"n_qubit":8,"timestamp":"2024-12-01T14:30:22","step_timing":{"unitary_gradient_lcam":45.2},
        "total_params":96,"unitary_grad_lcam":{"execution_time":45.2,"success":true,"tensorboard_trace":"t/lcam_trace"}}"#;
    // Resembles the printed example of the schema: it has comments, and alternatives on one line.
    let example = "# A profile\n{\"metadata\": {\"platform\": \"TPU\" or \"GPU\", \"num_devices\": 1}, // one\n \
        \"step_timing\": {\"num_steps\": 5, \"avg_step_time_us\": 82600}, \"kernels\": {\"top_kernels\": [...]}, \"io_operations\": {...}}";
    for (name, text) in
        [("config.json", config), ("crossprof.json", sidecar), ("results.json", results), ("example.json", example)]
    {
        found.push((name.to_owned(), text.to_owned()));
    }
    found
}

fn profile(name: &str, bytes: &[u8]) -> Option<UnifiedProfile> {
    let mut session = Session::new();
    let file = session.begin(name, None);
    session.push(file, bytes);
    session.finish(file);
    session.runs();
    session.report(0, &Settings::default())
}

/// Returns the budgets and the lists of limits from docs/budgets.md.
fn budgets() -> Result<Vec<String>, String> {
    let file = root().join("docs/budgets.md");
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let blocks = text.split("```").skip(1).step_by(2);
    let wanted = blocks.filter_map(|block| block.strip_prefix("toml\n").or_else(|| block.strip_prefix("rules\n")));
    let as_list = |block: &str| {
        let rules: Vec<String> = block.lines().map(|line| format!("  {line:?},\n")).collect();
        format!("limits = [\n{}]\n", rules.concat())
    };
    Ok(wanted.map(|block| if block.contains(" = ") { block.to_owned() } else { as_list(block) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_samples() {
        let samples = all().unwrap();
        for format in Format::ALL {
            let own = samples.iter().filter(|sample| sample.format == format && !sample.name.starts_with("real-"));
            assert!(own.count() >= 4, "{format:?}");
        }
    }
}
