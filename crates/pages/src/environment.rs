//! Formats facts about a capture for display: the device, the software, the model and everything else that is recorded
//! about the environment.

use base::format;
use base::number::decimal;
use metrics::is_amd;
use report::UnifiedProfile;

/// Returns the facts about the capture and the model of a profile as `(name, value)`. Omits unknown
/// facts.
#[inline(never)]
pub fn facts(profile: &UnifiedProfile) -> Vec<(String, String)> {
    let metadata = &profile.metadata;
    let mut facts = Vec::new();
    let mut add = |key: &str, value: String| facts.push((key.to_owned(), value));
    if let Some(timestamp) = &metadata.timestamp {
        add("Captured", moment(timestamp));
    }
    add("Platform", metadata.platform.clone());
    add("Device", metadata.device_type.clone());
    add("Devices", format::count(metadata.num_devices));
    if let Some(visible) = metadata.num_devices_visible {
        add("Devices visible", format::count(visible));
    }
    if let Some(hosts) = metadata.num_hosts {
        add("Hosts", format::count(hosts));
    }
    add("Framework", metadata.framework.clone());
    if let Some(duration) = metadata.capture_duration_us {
        add("Length of the capture", format::time_us(duration));
    }
    if let Some(format) = &metadata.source_format {
        add("Read from", format.replace('_', " "));
    }
    // Dimensions of the model, under the names of their fields.
    if let Ok(serde_json::Value::Object(model)) = serde_json::to_value(&profile.model_config) {
        for (key, value) in &model {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            add(&key.replace('_', " "), value);
        }
    }
    facts.extend(metadata.environment.iter().filter_map(|(key, value)| in_words(key, value)));
    let is_amd = is_amd(&metadata.device_type);
    for (_, value) in facts.iter_mut().filter(|(name, _)| is_amd && name == "memory bandwidth") {
        value.push_str(" in the profile, which is half of the vendor's value. crossprof uses the vendor's value");
    }
    facts.retain(|(_, value)| !value.eq_ignore_ascii_case("unknown"));
    facts
}

/// Formats a timestamp: `2026-01-31 12:00:00 UTC` for `2026-01-31T12:00:00.123Z`. Omits the time
/// zone if it is unknown.
fn moment(timestamp: &str) -> String {
    let zone = if timestamp.ends_with('Z') { " UTC" } else { "" };
    let second = timestamp.trim_end_matches('Z').split('.').next().unwrap_or_default();
    format!("{}{zone}", second.replacen('T', " ", 1))
}

/// Formats a property of a device or program with its unit. Returns `None` for the peak bandwidth of a memory that the device
/// does not have.
fn in_words(key: &str, value: &str) -> Option<(String, String)> {
    let number = decimal(value);
    // XLA reports `cpu` as the version of a CPU.
    if key.ends_with("_version") && !value.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (name, value) = match (key, number) {
        ("clock_rate", Some(khz)) => (key, format::si(khz * 1e3, "Hz")),
        ("memory_bandwidth", Some(bytes)) => (key, format::si(bytes, "B/s")),
        ("memory_size", Some(bytes)) => (key, format::bytes(bytes as u64)),
        _ => match (key.strip_suffix("_gigabytes_per_second"), key.strip_suffix("_teraflops_per_second"), number) {
            (Some(_), _, Some(0.0)) => return None,
            (Some(name), _, Some(rate)) => (name, format!("{} GB/s", format::number(rate))),
            (_, Some(name), Some(rate)) => (name, format::si(rate * 1e12, "FLOP/s")),
            _ => (key, value.to_owned()),
        },
    };
    let word = |word: &str| match word {
        "bw" => "bandwidth".to_owned(),
        "rd" => "read".to_owned(),
        "wr" => "write".to_owned(),
        "hbm" | "cmem" | "vmem" | "sram" | "cpu" | "gpu" => word.to_ascii_uppercase(),
        "cap" => "capability".to_owned(),
        _ => word.to_owned(),
    };
    Some((name.split('_').map(word).collect::<Vec<_>>().join(" "), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_of_the_capture_is_given_to_the_second() {
        assert_eq!(moment("2025-03-11T19:41:39.081Z"), "2025-03-11 19:41:39 UTC");
        assert_eq!(moment("2026-05-20T08:45:02"), "2026-05-20 08:45:02");
        assert_eq!(moment("yesterday"), "yesterday");
    }

    #[test]
    fn values_of_the_environment_have_units() {
        let said = |key: &str, value: &str| in_words(key, value).map(|(key, value)| format!("{key}: {value}"));
        let expect = |text: &str| Some(text.to_owned());
        assert_eq!(
            said("peak_hbm_bw_gigabytes_per_second", "1637.993152512"),
            expect("peak HBM bandwidth: 1\u{202f}638 GB/s")
        );
        assert_eq!(said("peak_teraflops_per_second", "918"), expect("peak: 918 TFLOP/s"));
        assert_eq!(said("memory_size", "85018279936"), expect("memory size: 79.2 GiB"));
        assert_eq!(said("memory_bandwidth", "2662400000000"), expect("memory bandwidth: 2.66 TB/s"));
        assert_eq!(said("clock_rate", "2100000"), expect("clock rate: 2.10 GHz"));
        assert_eq!(said("cpu_version", "cpu"), None);
        assert_eq!(said("peak_cmem_rd_bw_gigabytes_per_second", "0"), None);
        assert_eq!(said("jax_version", "0.10.2"), expect("jax version: 0.10.2"));
    }
}
