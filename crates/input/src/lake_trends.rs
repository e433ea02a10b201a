//! Reads the trends of a lake: the JSON document that `crossprof lake export` writes.
//!
//! ```text
//! {"format": "crossprof-lake", "version": 1, "workloads": [{...}], "captures": [{"workload": 0, ...}], "verdicts": [{"workload": 0, ...}]}
//! ```
//!
//! Records are read one by one, so the whole document is never in memory as a tree. If a document ends early, the
//! records before its end are kept. A value of the wrong type, or a number that no measurement can give, is treated as
//! absent. A record without a workload is skipped. Warnings state the number of invalid values and of skipped records.

use std::fmt;

use base::{Error, Warning, WarningCode};
use report::{LakeCapture, LakeTrends, LakeVerdict, LakeWorkload, STEP_PARTS};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Value of the field `format`.
pub(super) const FORMAT: &str = "crossprof-lake";
/// Version of the format that this module reads. A new field does not change the version.
const VERSION: u64 = 1;
/// Maximum size of a document in bytes. A capture takes about 700 bytes.
pub(crate) const MAX_BYTES: usize = 256 << 20;
/// Maximum number of records of each kind.
const MOST_RECORDS: usize = 200_000;
/// Maximum number of findings per capture.
const MOST_FINDINGS: usize = 8;
/// Maximum duration of a step: 100 days in picoseconds.
const LONGEST_PS: f64 = 8.64e18;

/// Reads the JSON document in `text`. The returned warnings name `path`.
///
/// # Errors
///
/// Returns [`Error::Unsupported`] for another version, and [`Error::Malformed`] if the document ends before its first record.
pub fn read_lake_trends(text: &[u8], path: &str) -> Result<(LakeTrends, Vec<Warning>), Error> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut found = Found::default();
    let mut reader = serde_json::Deserializer::from_slice(text);
    let end = reader.deserialize_map(&mut found).and_then(|()| reader.end());
    if found.format.as_deref() != Some(FORMAT) {
        return Err(malformed(format!("its format is not {FORMAT}")));
    }
    match found.version.as_ref().map(|version| (version.as_u64(), version)) {
        Some((Some(VERSION), _)) => {}
        Some((_, version)) => {
            return Err(Error::Unsupported {
                what: format!("A lake export of version {version}"),
                remedy: "Use a newer version of crossprof.".to_owned(),
            });
        }
        None => return Err(malformed("it has no version".to_owned())),
    }
    let mut warnings = Vec::new();
    let mut warn = |code, message: String| warnings.push(Warning::new(code, message).with_file(path));
    if let Err(error) = end {
        if found.workloads.is_empty() {
            return Err(malformed(format!("its JSON is damaged ({error})")));
        }
        let captures = found.captures.len();
        let message = format!("The JSON is damaged ({error}). The {captures} captures before this place were read.");
        warn(WarningCode::LakeTruncated, message);
    }
    if found.left_out > 0 {
        let message = format!("{} records above the limit of {MOST_RECORDS} were not read.", found.left_out);
        warn(WarningCode::LakeTooLarge, message);
    }
    let mut odd = found.odd;
    let mut trends = LakeTrends { workloads: std::mem::take(&mut found.workloads) };
    for (workload, capture) in found.captures {
        match trends.workloads.get_mut(workload) {
            Some(workload) => workload.captures.push(capture),
            None => odd = odd.saturating_add(1),
        }
    }
    for (workload, verdict) in found.verdicts {
        match trends.workloads.get_mut(workload) {
            Some(workload) => workload.verdicts.push(verdict),
            None => odd = odd.saturating_add(1),
        }
    }
    if odd > 0 {
        let message = format!("{odd} values or records are invalid and were not read.");
        warn(WarningCode::LakeInvalid, message);
    }
    Ok((trends, warnings))
}

fn malformed(reason: String) -> Error {
    Error::Malformed {
        what: "a lake export".to_owned(),
        reason,
        remedy: "Write it again with crossprof lake export.".to_owned(),
    }
}

/// Content of the document that was read so far.
#[derive(Default)]
struct Found {
    format: Option<String>,
    version: Option<Value>,
    workloads: Vec<LakeWorkload>,
    /// Captures, each with the index of its workload.
    captures: Vec<(usize, LakeCapture)>,
    verdicts: Vec<(usize, LakeVerdict)>,
    /// Number of invalid values and records.
    odd: u64,
    /// Number of records that were skipped because there were too many.
    left_out: u64,
}

impl Found {
    fn add(&mut self, list: List, record: Value) {
        let Value::Object(fields) = record else {
            self.odd = self.odd.saturating_add(1);
            return;
        };
        let mut fields = Fields { fields, odd: 0 };
        match list {
            List::Workloads => self.workloads.push(workload(&mut fields)),
            List::Captures => {
                let of = fields.index();
                let capture = capture(&mut fields);
                self.captures.push((of, capture));
            }
            List::Verdicts => {
                let of = fields.index();
                let verdict = verdict(&mut fields);
                self.verdicts.push((of, verdict));
            }
        }
        self.odd = self.odd.saturating_add(fields.odd);
    }

    fn len(&self, list: List) -> usize {
        match list {
            List::Workloads => self.workloads.len(),
            List::Captures => self.captures.len(),
            List::Verdicts => self.verdicts.len(),
        }
    }
}

impl<'de> Visitor<'de> for &mut Found {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            let list = match key.as_str() {
                "workloads" => List::Workloads,
                "captures" => List::Captures,
                "verdicts" => List::Verdicts,
                "format" => {
                    self.format = entries.next_value::<Value>()?.as_str().map(str::to_owned);
                    continue;
                }
                "version" => {
                    self.version = Some(entries.next_value()?);
                    continue;
                }
                _ => {
                    entries.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            entries.next_value_seed(Records { found: self, list })?;
        }
        Ok(())
    }
}

/// A list in the document.
#[derive(Clone, Copy)]
enum List {
    Workloads,
    Captures,
    Verdicts,
}

/// Reads the records in a list of the document.
struct Records<'f> {
    found: &'f mut Found,
    list: List,
}

impl<'de> DeserializeSeed<'de> for Records<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Records<'_> {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut records: A) -> Result<(), A::Error> {
        while self.found.len(self.list) < MOST_RECORDS {
            let Some(record) = records.next_element::<Value>()? else { return Ok(()) };
            self.found.add(self.list, record);
        }
        while records.next_element::<IgnoredAny>()?.is_some() {
            self.found.left_out = self.found.left_out.saturating_add(1);
        }
        Ok(())
    }
}

/// Fields of a record. Each field is removed when it is read.
struct Fields {
    fields: Map<String, Value>,
    /// Number of invalid fields so far.
    odd: u64,
}

impl Fields {
    /// Removes a field and returns its value, if the value is valid. Absent and null fields are not invalid.
    fn take<T>(&mut self, name: &str, valid: impl FnOnce(Value) -> Option<T>) -> Option<T> {
        let value = self.fields.remove(name).filter(|value| !value.is_null())?;
        let found = valid(value);
        self.odd = self.odd.saturating_add(u64::from(found.is_none()));
        found
    }

    /// Returns the index of the record's workload. For an invalid index, returns an index that no workload has.
    fn index(&mut self) -> usize {
        let index = self.fields.remove("workload").and_then(|value| value.as_u64());
        index.and_then(|index| usize::try_from(index).ok()).unwrap_or(usize::MAX)
    }

    fn text(&mut self, name: &str) -> Option<String> {
        self.take(name, |value| if let Value::String(text) = value { Some(text) } else { None })
    }

    fn count(&mut self, name: &str) -> Option<u64> {
        self.take(name, |value| value.as_u64())
    }

    fn ps(&mut self, name: &str) -> Option<f64> {
        self.take(name, |value| time_ps(&value))
    }

    fn percent(&mut self, name: &str) -> Option<f64> {
        self.take(name, |value| value.as_f64().filter(|percent| percent.abs() < 1e9))
    }
}

fn time_ps(value: &Value) -> Option<f64> {
    value.as_f64().filter(|ps| (0.0..=LONGEST_PS).contains(ps))
}

fn workload(fields: &mut Fields) -> LakeWorkload {
    LakeWorkload {
        key: fields.text("workload_key").unwrap_or_default(),
        program: fields.text("program"),
        device_kind: fields.text("device_kind"),
        num_devices: fields.count("num_devices"),
        batch_size: fields.count("batch_size"),
        seq_length: fields.count("seq_length"),
        captures: Vec::new(),
        verdicts: Vec::new(),
    }
}

fn capture(fields: &mut Fields) -> LakeCapture {
    LakeCapture {
        id: fields.text("capture_id").unwrap_or_default(),
        run: fields.text("run").unwrap_or_default(),
        path: fields.text("path").unwrap_or_default(),
        time: fields.text("time"),
        git_sha: fields.text("git_sha"),
        typical_step_ps: fields.ps("typical_step_ps"),
        median_step_time_ps: fields.ps("median_step_time_ps"),
        p25_step_time_ps: fields.ps("p25_step_time_ps"),
        p75_step_time_ps: fields.ps("p75_step_time_ps"),
        num_steps_counted: fields.count("num_steps_counted"),
        parts_ps: fields.take("parts", |value| parts_ps(&value)).unwrap_or_default(),
        findings: fields.take("findings", |value| findings(&value)).unwrap_or_default(),
    }
}

fn parts_ps(value: &Value) -> Option<Vec<Option<f64>>> {
    let parts = value.as_object()?;
    let of_part = |(name, _): (&str, &str)| parts.get(&format!("{name}_ps")).and_then(time_ps);
    Some(STEP_PARTS.into_iter().map(of_part).collect())
}

fn findings(value: &Value) -> Option<Vec<(String, String)>> {
    let text = |finding: &Value, name: &str| finding.get(name).and_then(Value::as_str).map(str::to_owned);
    let finding = |it: &Value| Some((text(it, "id")?, text(it, "severity").unwrap_or_default()));
    Some(value.as_array()?.iter().take(MOST_FINDINGS).filter_map(finding).collect())
}

fn verdict(fields: &mut Fields) -> LakeVerdict {
    LakeVerdict {
        capture_id: fields.text("capture_id").unwrap_or_default(),
        time: fields.text("time"),
        verdict: fields.text("verdict").unwrap_or_default(),
        before_ps: fields.ps("before_ps"),
        after_ps: fields.ps("after_ps"),
        change_percent: fields.percent("change_percent"),
        margin_percent: fields.percent("margin_percent"),
        least_provable_percent: fields.percent("least_provable_percent"),
        threshold_percent: fields.percent("threshold_percent"),
        first_capture_id: fields.text("first_capture_id"),
        first_bad_capture_id: fields.text("first_bad_capture_id"),
        last_good_capture_id: fields.text("last_good_capture_id"),
        cause_part: fields.text("cause_part"),
        cause_scope: fields.text("cause_scope"),
        cause_op: fields.text("cause_op"),
        cause_host: fields.text("cause_host"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        r#"{"format":"crossprof-lake","version":1,"workloads":[{"workload_key":"a","program":"f"}],"captures":["#;

    fn read(text: &str) -> Result<(LakeTrends, Vec<Warning>), Error> {
        read_lake_trends(text.as_bytes(), "trend.json")
    }

    fn codes(warnings: &[Warning]) -> Vec<&str> {
        warnings.iter().map(|warning| warning.code.as_str()).collect()
    }

    #[test]
    fn a_document_that_is_cut_keeps_the_records_before_its_end() {
        let capture =
            |number: usize| format!(r#"{{"workload":0,"capture_id":"{number}","typical_step_ps":{number}}},"#);
        let whole = format!("{HEAD}{}", (1..=3).map(capture).collect::<String>());
        let mut most = 0;
        for end in 0..whole.len() {
            if let Ok((trends, warnings)) = read(whole.get(..end).unwrap()) {
                assert_eq!(codes(&warnings), ["lake_truncated"]);
                most = most.max(trends.workloads[0].captures.len());
            }
        }
        assert_eq!(most, 3);
        assert!(read(HEAD).is_ok() && read(HEAD.get(..50).unwrap()).is_err());
    }

    #[test]
    fn another_version_or_format_is_one_sentence() {
        let error = |from: &str, to: &str| read(&format!("{HEAD}]}}").replace(from, to)).unwrap_err().to_string();
        assert_eq!(error(":1,", ":2,"), "A lake export of version 2 cannot be read. Use a newer version of crossprof.");
        assert!(error(":1,", ":\"<b>\",").contains("version \"<b>\""));
        assert!(error("crossprof-lake", "other").contains("its format is not crossprof-lake"));
        assert!(error("\"version\":1,", "").contains("it has no version"));
        assert!(read("[]").is_err() && read("").is_err());
    }

    #[test]
    fn absurd_values_are_absent_and_counted() {
        let capture = r#"{"workload":0,"capture_id":7,"typical_step_ps":1e300,"p25_step_time_ps":-1,"p75_step_time_ps":null,
            "num_steps_counted":3,"parts":[],"findings":[{"id":"x"},7]},7,{"workload":9},{"workload":-1}],
            "verdicts":[{"workload":0,"verdict":"slower","change_percent":1e12}]}"#;
        let (trends, warnings) = read(&format!("{HEAD}{capture}")).unwrap();
        assert_eq!(codes(&warnings), ["lake_invalid"]);
        // Four fields of the capture, three records, and a percentage.
        assert!(warnings[0].message.starts_with("8 values"), "{}", warnings[0].message);
        let workload = &trends.workloads[0];
        assert_eq!((workload.captures.len(), workload.verdicts.len()), (1, 1));
        let capture = &workload.captures[0];
        assert_eq!((capture.typical_step_ps, capture.num_steps_counted), (None, Some(3)));
        assert_eq!(capture.findings, [("x".to_owned(), String::new())]);
        assert_eq!(workload.verdicts[0].change_percent, None);
    }

    #[test]
    fn records_above_the_limit_are_counted() {
        let records = "{\"workload\":0},".repeat(MOST_RECORDS + 2);
        let text = format!("{HEAD}{}]}}", records.trim_end_matches(','));
        let (trends, warnings) = read(&text).unwrap();
        assert_eq!(trends.workloads[0].captures.len(), MOST_RECORDS);
        assert!(warnings[0].message.starts_with("2 records"), "{}", warnings[0].message);
    }
}
