//! Peaks of devices as published by their vendors (`devices.csv`).

use std::sync::LazyLock;

use super::arithmetic::Rates;
use super::table;
use base::number::decimal;

/// A unit of hardware that profiles number as one device: a chip, or one core or die of a chip.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Key by which a user chooses the device (`h100-sxm`).
    pub key: &'static str,
    /// Product name to show to the user.
    pub label: &'static str,
    names: &'static str,
    /// Vendor: `google`, `nvidia` or `amd`.
    pub vendor: &'static str,
    arch: &'static str,
    cores: Option<u64>,
    /// Rates of dense arithmetic, in operations per second.
    pub rates: Rates,
    /// Bandwidth of the device memory, in bytes per second.
    pub hbm_bytes_per_second: Option<f64>,
    /// Size of the device memory in GB, as the vendor states it. `None` if the device shares the memory of its host.
    pub hbm_gb: Option<f64>,
    /// Bandwidth of the links to other devices, in bytes per second, both directions together.
    pub interconnect_bytes_per_second: Option<f64>,
    /// URL of the vendor's publication.
    pub source: &'static str,
}

static DEVICES: LazyLock<Vec<Device>> =
    LazyLock::new(|| table::rows(include_str!("devices.csv")).filter_map(|cells| parse(&cells)).collect());

fn parse(cells: &[&'static str]) -> Option<Device> {
    let (&[key, label, names, vendor, arch, cores], rest) = cells.split_first_chunk()?;
    let (rates, rest) = rest.split_at_checked(super::arithmetic::Arithmetic::ALL.len())?;
    let &[hbm_speed, hbm_gb, interconnect, source] = rest else { return None };
    Some(Device {
        key,
        label,
        names,
        vendor,
        arch,
        cores: cores.parse().ok(),
        rates: Rates::parse(rates)?.scaled(1e12),
        hbm_bytes_per_second: number(hbm_speed)?.map(|gb| gb * 1e9),
        hbm_gb: number(hbm_gb)?,
        interconnect_bytes_per_second: number(interconnect)?.map(|gb| gb * 1e9),
        source,
    })
}

/// Parses a cell. Returns `Some(None)` if the cell is empty, and `None` if it is not a number.
fn number(cell: &str) -> Option<Option<f64>> {
    if cell.is_empty() { Some(None) } else { decimal(cell).map(Some) }
}

/// Returns all devices, in table order.
pub fn all() -> &'static [Device] {
    &DEVICES
}

/// Returns the device whose key is `key`. Ignores case.
pub fn by_key(key: &str) -> Option<&'static Device> {
    DEVICES.iter().find(|device| device.key.eq_ignore_ascii_case(key.trim()))
}

/// A device that the user chose.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The chosen device, with its peak rates.
    pub device: &'static Device,
    /// Name to show to the user: the device's label, or the name of a slice or product as the user wrote it.
    pub name: String,
}

/// Returns the device that a user chose by its key (`tpu-v4`), by the TPU slice that contains it (`v4-8`, `TPU
/// v5litepod-16`), or by the product name that profiles use (`NVIDIA A100-SXM4-40GB`).
pub fn chosen(text: &str) -> Option<Chosen> {
    let text = text.trim();
    if let Some(device) = by_key(text) {
        return Some(Chosen { device, name: device.label.to_owned() });
    }
    slice(text).or_else(|| Some(Chosen { device: find(text)?, name: text.to_owned() }))
}

/// Parses the name of a TPU slice (`v4-8`): a generation and a number of cores or chips.
fn slice(text: &str) -> Option<Chosen> {
    let lower = text.to_ascii_lowercase();
    let name = lower.strip_prefix("tpu").unwrap_or(&lower).trim_start_matches(['-', ' ']);
    let (generation, size) = name.rsplit_once('-')?;
    let is_size = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
    let known = if generation == "v5litepod" { "v5e" } else { generation };
    let device = by_key(&format!("tpu-{known}")).filter(|_| is_size)?;
    Some(Chosen { device, name: format!("TPU {generation}-{size}") })
}

/// Words that are part of a different product's name: an RTX 4070 Ti is not an RTX 4070.
const OTHER_PRODUCTS: &[&str] = &["ti", "super", "laptop", "mobile", "max", "d", "mig", "gre"];

/// Returns the device that profiles call `name`, for example `NVIDIA H100 80GB HBM3`, `TPU v5 lite` or `AMD Instinct
/// MI300X`.
pub fn find(name: &str) -> Option<&'static Device> {
    by_name(name).map(|(device, _)| device)
}

/// Returns the device that profiles call `name`, and the other devices that the name may refer to. For example, `NVIDIA
/// H100` may be an SXM, PCIe or NVL product. Leaves out devices that contradict `cores` or `memory_bytes`, if these are
/// known. The list of other devices is empty if the name is unambiguous.
pub fn assumed(
    name: &str,
    cores: Option<u64>,
    memory_bytes: Option<f64>,
) -> Option<(&'static Device, Vec<&'static Device>)> {
    let (device, family) = by_name(name)?;
    let Some(family) = family else { return Some((device, Vec::new())) };
    let is_of_family = |it: &&Device| {
        let stem = |name: &str| name == family || name.strip_prefix(family).is_some_and(|rest| rest.starts_with('-'));
        it.names.split('|').any(|name| stem(name.trim_end_matches('?')))
    };
    let fits = |it: &&Device| {
        let same_cores = it.cores.zip(cores).is_none_or(|(known, found)| known == found);
        let memory = it.hbm_gb.map(|gb| gb * (1u64 << 30) as f64).zip(memory_bytes);
        same_cores && memory.is_none_or(|(known, found)| apart(known, found) <= MEMORY_TOLERANCE)
    };
    let fitting: Vec<&'static Device> = DEVICES.iter().filter(is_of_family).filter(fits).collect();
    let chosen = fitting.iter().copied().find(|it| it.key == device.key).or(fitting.first().copied()).unwrap_or(device);
    Some((chosen, fitting.into_iter().filter(|it| it.key != chosen.key).collect()))
}

/// Maximum relative difference between the memory size in a profile and the vendor's figure.
const MEMORY_TOLERANCE: f64 = 0.08;

/// Returns the device that a product name refers to. If several devices share a part of the name and no other word of
/// the name decides between them, also returns that part.
fn by_name(name: &str) -> Option<(&'static Device, Option<&'static str>)> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let matches = |pattern: &str| {
        let wanted: Vec<&str> = pattern.split('-').collect();
        let other = words.iter().any(|word| OTHER_PRODUCTS.contains(word) && !wanted.contains(word));
        !other && words.windows(wanted.len()).any(|window| window == wanted)
    };
    DEVICES.iter().find_map(|device| {
        let pattern = device.names.split('|').find(|pattern| matches(pattern.trim_end_matches('?')))?;
        Some((device, pattern.strip_suffix('?')))
    })
}

/// Returns the AMD device with this ISA (`gfx942`) and `cores` compute units. If several devices match, returns the one
/// whose memory size (bytes) and half-precision rate (FLOP/s) are nearest to the given values.
pub fn by_shape(arch: &str, cores: u64, memory_bytes: f64, fp16_rate: f64) -> Option<&'static Device> {
    let distance = |device: &Device| {
        let memory = device.hbm_gb.unwrap_or(0.0) * (1u64 << 30) as f64;
        let rate = device.rates.get(super::arithmetic::Arithmetic::Fp16).unwrap_or(0.0);
        apart(memory, memory_bytes) + apart(rate, fp16_rate)
    };
    let fitting = DEVICES.iter().filter(|device| device.arch == arch && device.cores == Some(cores));
    fitting.min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn apart(known: f64, found: f64) -> f64 {
    if known > 0.0 { (found - known).abs() / known } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::arithmetic::Arithmetic;
    use super::super::gpu_rates;
    use super::*;

    #[test]
    fn every_row_is_read_and_complete() {
        assert_eq!(DEVICES.len(), table::rows(include_str!("devices.csv")).count());
        let keys: BTreeSet<&str> = all().iter().map(|device| device.key).collect();
        assert_eq!(keys.len(), all().len(), "a key occurs twice");
        for device in all() {
            let highest = Arithmetic::ALL.iter().filter_map(|&kind| device.rates.get(kind)).fold(0.0, f64::max);
            assert!((4e12..2e16).contains(&highest), "{}: {highest}", device.key);
            assert!(device.hbm_bytes_per_second.is_some_and(|speed| (1e11..1e13).contains(&speed)), "{}", device.key);
            let shares_memory = ["gfx1150", "gfx1151"].contains(&device.arch);
            assert!(device.hbm_gb.is_some() != shares_memory, "{}", device.key);
            assert!(device.source.starts_with("https://"), "{}", device.key);
            assert_eq!(by_key(device.key), Some(device));
        }
    }

    #[test]
    fn narrower_arithmetic_is_no_slower() {
        for device in all() {
            let rate = |kind| device.rates.get(kind);
            // Only MI100 has half the rate for bfloat16.
            for (wide, narrow) in [
                (Arithmetic::Fp64, Arithmetic::Fp32),
                (Arithmetic::Fp32, Arithmetic::Tf32),
                (Arithmetic::Tf32, Arithmetic::Fp16),
                (Arithmetic::Bf16, Arithmetic::Fp8),
                (Arithmetic::Fp8, Arithmetic::Fp4),
            ] {
                if let (Some(wide_rate), Some(narrow_rate)) = (rate(wide), rate(narrow)) {
                    assert!(narrow_rate >= wide_rate, "{}: {wide:?} {narrow:?}", device.key);
                }
            }
        }
    }

    #[test]
    fn devices_are_found_by_the_names_of_profiles() {
        let cases = [
            ("TPU v2", "tpu-v2"),
            ("TPU v3", "tpu-v3"),
            ("TPU v4", "tpu-v4"),
            ("TPU v4 Lite", "tpu-v4i"),
            ("TPU v5 lite", "tpu-v5e"),
            ("TPU v5 Lite", "tpu-v5e"),
            ("TPU v5e", "tpu-v5e"),
            ("TPU v5", "tpu-v5p"),
            ("TPU v5p", "tpu-v5p"),
            ("TPU v6 Lite", "tpu-v6e"),
            ("TPU v6e", "tpu-v6e"),
            ("TPU7x", "tpu-v7x"),
            ("TPU v7x", "tpu-v7x"),
            ("Tesla V100-SXM2-16GB", "v100-sxm"),
            ("Tesla V100-PCIE-32GB", "v100-pcie"),
            ("Tesla V100S-PCIE-32GB", "v100s-pcie"),
            ("Quadro RTX 6000", "quadro-rtx-6000"),
            ("Tesla T4", "t4"),
            ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
            ("NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"),
            ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
            ("NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"),
            ("NVIDIA A10", "a10"),
            ("NVIDIA A10G", "a10g"),
            ("NVIDIA A2", "a2"),
            ("NVIDIA A16", "a16"),
            ("NVIDIA A800-SXM4-80GB", "a800-sxm-80gb"),
            ("NVIDIA A800 80GB PCIe", "a800-pcie-80gb"),
            ("NVIDIA H800", "h800-sxm"),
            ("NVIDIA H800 PCIe", "h800-pcie"),
            ("NVIDIA L4", "l4"),
            ("NVIDIA L40", "l40"),
            ("NVIDIA L40S", "l40s"),
            ("NVIDIA H100 80GB HBM3", "h100-sxm"),
            ("NVIDIA H100 PCIe", "h100-pcie"),
            ("NVIDIA H100 NVL", "h100-nvl"),
            ("NVIDIA H200", "h200"),
            ("NVIDIA H20", "h20"),
            ("NVIDIA GH200 480GB", "gh200"),
            ("NVIDIA GH200 144G HBM3e", "gh200-144gb"),
            ("NVIDIA B200", "b200"),
            ("NVIDIA GB200", "gb200"),
            ("NVIDIA GeForce GTX 1080 Ti", "gtx-1080-ti"),
            ("NVIDIA TITAN V", "titan-v"),
            ("NVIDIA TITAN RTX", "titan-rtx"),
            ("NVIDIA GeForce RTX 3090", "rtx-3090"),
            ("NVIDIA GeForce RTX 4090", "rtx-4090"),
            ("NVIDIA RTX A6000", "rtx-a6000"),
            ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
            ("NVIDIA RTX 5000 Ada Generation", "rtx-5000-ada"),
            ("NVIDIA RTX 4000 Ada Generation", "rtx-4000-ada"),
            ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"),
            ("AMD Instinct MI300X", "mi300x"),
            ("AMD Instinct MI250X/MI250", "mi250x"),
            ("AMD Radeon RX 7900 XTX", "rx-7900-xtx"),
            ("Radeon RX 7900 XT", "rx-7900-xt"),
            ("AMD Radeon PRO W7900 Dual Slot", "pro-w7900"),
            ("AMD Radeon RX 9070 XT", "rx-9070-xt"),
            ("AMD Radeon RX 9070", "rx-9070"),
            ("AMD Radeon AI PRO R9700", "r9700"),
            ("Radeon 8060S Graphics", "radeon-8060s"),
            ("AMD RYZEN AI MAX+ PRO 395 w/ Radeon 8060S", "radeon-8060s"),
            ("AMD Radeon 890M Graphics", "radeon-890m"),
        ];
        for (name, key) in cases {
            assert_eq!(find(name).map(|device| device.key), Some(key), "{name}");
        }
    }

    /// Numbers that the vendors publish, without sparsity: bf16 (or fp16 if bf16 is missing), 8-bit, memory in GB/s,
    /// links in GB/s. A TPU7x chip has two devices, and an MI250X has two dies.
    #[test]
    fn well_known_numbers() {
        use Arithmetic::{Bf16, Fp8, Fp16, Int8};
        for (key, wide, narrow, memory, links) in [
            ("tpu-v3", (Bf16, 123.0 / 2.0), None, 900.0 / 2.0, None),
            ("tpu-v4", (Bf16, 275.0), Some((Int8, 275.0)), 1200.0, Some(600.0)),
            ("tpu-v5e", (Bf16, 197.0), Some((Int8, 393.0)), 819.0, Some(400.0)),
            ("tpu-v5p", (Bf16, 459.0), Some((Fp8, 459.0)), 2765.0, Some(1200.0)),
            ("tpu-v6e", (Bf16, 918.0), Some((Int8, 1836.0)), 1638.0, Some(800.0)),
            ("tpu-v7x", (Bf16, 2307.0 / 2.0), Some((Fp8, 4614.0 / 2.0)), 7380.0 / 2.0, Some(1200.0 / 2.0)),
            ("v100-sxm", (Fp16, 125.0), None, 900.0, Some(300.0)),
            ("a100-sxm-80gb", (Bf16, 312.0), Some((Int8, 624.0)), 2039.0, Some(600.0)),
            ("h100-sxm", (Bf16, 1979.0 / 2.0), Some((Fp8, 3958.0 / 2.0)), 3350.0, Some(900.0)),
            ("h200", (Bf16, 1979.0 / 2.0), Some((Fp8, 3958.0 / 2.0)), 4800.0, Some(900.0)),
            ("b200", (Bf16, 36_000.0 / 8.0 / 2.0), Some((Fp8, 72_000.0 / 8.0 / 2.0)), 7700.0, Some(1800.0)),
            ("b300", (Bf16, 2250.0), Some((Int8, 307.0 / 2.0)), 7700.0, Some(1800.0)),
            ("gb300", (Bf16, 2500.0), Some((Int8, 165.0)), 8000.0, Some(1800.0)),
            ("l4", (Bf16, 242.0 / 2.0), Some((Fp8, 485.0 / 2.0)), 300.0, Some(64.0)),
            ("rtx-4090", (Bf16, 330.4 / 2.0), Some((Int8, 660.6)), 1008.0, Some(64.0)),
            ("mi250x", (Bf16, 383.0 / 2.0), Some((Int8, 383.0 / 2.0)), 3276.8 / 2.0, None),
            ("mi300x", (Bf16, 1307.4), Some((Fp8, 2614.9)), 5300.0, Some(7.0 * 128.0)),
            ("mi355x", (Bf16, 2516.6), Some((Fp8, 5033.2)), 8000.0, Some(1075.0)),
        ] {
            let device = by_key(key).unwrap();
            let equal =
                |found: Option<f64>, wanted: f64| found.is_some_and(|found| (found / wanted - 1.0).abs() < 2e-3);
            for (kind, tera) in [Some(wide), narrow].into_iter().flatten() {
                assert!(equal(device.rates.get(kind), tera * 1e12), "{key}: {kind:?}");
            }
            assert!(equal(device.hbm_bytes_per_second, memory * 1e9), "{key}");
            let found = device.interconnect_bytes_per_second;
            assert!(links.map_or(found.is_none(), |links| equal(found, links * 1e9)), "{key}: {found:?}");
        }
    }

    /// At a clock between 1 and 3 GHz, the rates of a GPU's cores must add up to the published peak of the GPU.
    #[test]
    fn rates_of_cores_and_of_devices_agree() {
        for (key, arch, cores) in [
            ("v100-sxm", "7.0", 80.0),
            ("t4", "7.5", 40.0),
            ("a100-sxm-80gb", "8.0", 108.0),
            ("h100-sxm", "9.0", 132.0),
            ("b200", "10.0", 148.0),
            ("mi250x", "gfx90a", 110.0),
            ("mi300x", "gfx942", 304.0),
            ("mi355x", "gfx950", 256.0),
        ] {
            let core = match arch.split_once('.') {
                Some((major, minor)) => gpu_rates::nvidia(major.parse().unwrap(), minor.parse().unwrap()),
                None => gpu_rates::amd(arch),
            };
            let core = core.unwrap();
            let device = by_key(key).unwrap();
            let mut clocks: Vec<f64> = Vec::new();
            for kind in [Arithmetic::Fp16, Arithmetic::Fp8, Arithmetic::Int8, Arithmetic::Fp32] {
                if let (Some(device), Some(core)) = (device.rates.get(kind), core.rates.get(kind)) {
                    clocks.push(device / core / cores / 1e9);
                }
            }
            let (least, most) = clocks.iter().fold((f64::MAX, 0.0), |(a, b): (f64, f64), &it| (a.min(it), b.max(it)));
            assert!((1.0..3.0).contains(&least) && most / least < 1.12, "{key}: {clocks:?} GHz");
        }
    }

    #[test]
    fn users_name_devices_by_key_slice_or_product() {
        let chosen = |text| super::chosen(text).map(|chosen| (chosen.device.key, chosen.name));
        let expect = |key: &'static str, name: &str| Some((key, name.to_owned()));
        assert_eq!(chosen("TPU-v4"), expect("tpu-v4", "TPU v4"));
        assert_eq!(chosen("TPU v4-8"), expect("tpu-v4", "TPU v4-8"));
        assert_eq!(chosen("v5litepod-16"), expect("tpu-v5e", "TPU v5litepod-16"));
        assert_eq!(chosen("tpu-v6e-4"), expect("tpu-v6e", "TPU v6e-4"));
        assert_eq!(chosen("NVIDIA A100-SXM4-40GB"), expect("a100-sxm-40gb", "NVIDIA A100-SXM4-40GB"));
        for unknown in ["", "v4", "v9-8", "v4-x", "v4-", "abacus"] {
            assert_eq!(chosen(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn similar_products_do_not_match() {
        for name in [
            "NVIDIA GeForce RTX 3080 Ti",
            "NVIDIA GeForce RTX 4080 SUPER",
            "NVIDIA GeForce RTX 4090 Laptop GPU",
            "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
            "NVIDIA GeForce GTX 1080",
            "NVIDIA RTX 4000 SFF Ada Generation",
            "NVIDIA RTX 5000 Ada Generation Laptop GPU",
            "AMD GPU gfx942",
            "AMD Radeon RX 7900 GRE",
            "AMD Radeon RX 9070 GRE",
            "NVIDIA GPU (Hopper, compute capability 9.0)",
            "CPU",
            "",
        ] {
            assert_eq!(find(name).map(|device| device.key), None, "{name}");
        }
    }

    #[test]
    fn an_ambiguous_name_gives_the_assumed_product_and_the_others() {
        let told = |name, cores, memory_gb: Option<f64>| {
            let memory = memory_gb.map(|gb| gb * (1u64 << 30) as f64);
            let (device, others) = assumed(name, cores, memory).unwrap();
            (device.key, others.iter().map(|device| device.key).collect::<Vec<_>>())
        };
        assert_eq!(told("NVIDIA H100", None, None), ("h100-sxm", vec!["h100-nvl", "h100-pcie"]));
        assert_eq!(told("NVIDIA H100", Some(132), Some(79.1)), ("h100-sxm", vec![]));
        assert_eq!(told("NVIDIA H100", Some(132), Some(93.1)), ("h100-nvl", vec![]));
        assert_eq!(told("NVIDIA H100", Some(114), None), ("h100-pcie", vec![]));
        assert_eq!(told("NVIDIA A100", Some(108), Some(39.4)), ("a100-pcie-40gb", vec!["a100-sxm-40gb"]));
        for (name, key) in
            [("NVIDIA H100 80GB HBM3", "h100-sxm"), ("NVIDIA H100 PCIe", "h100-pcie"), ("NVIDIA H200", "h200")]
        {
            assert_eq!(told(name, None, None), (key, vec![]), "{name}");
        }
    }

    #[test]
    fn amd_devices_are_detected_by_isa_units_and_memory() {
        let key = |arch, cores, memory, rate| by_shape(arch, cores, memory, rate).map(|device| device.key);
        assert_eq!(key("gfx942", 304, 206_141_652_992.0, 1.307e15), Some("mi300x"));
        assert_eq!(key("gfx942", 304, 274_000_000_000.0, 1.307e15), Some("mi325x"));
        assert_eq!(key("gfx942", 228, 137_000_000_000.0, 0.98e15), Some("mi300a"));
        assert_eq!(key("gfx950", 256, 309_220_868_096.0, 2.5166e15), Some("mi355x"));
        assert_eq!(key("gfx950", 256, 309_220_868_096.0, 2.307e15), Some("mi350x"));
        assert_eq!(key("gfx942", 80, 206_141_652_992.0, 1e15), None);
    }
}
