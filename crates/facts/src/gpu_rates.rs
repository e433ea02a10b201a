//! Work that one core of a GPU does per clock cycle, by architecture (`gpu_rates.csv`).

use std::sync::LazyLock;

use super::arithmetic::{Arithmetic, Rates};
use super::table;
use base::number::decimal;

/// A core of a GPU architecture. NVIDIA calls such a core a streaming multiprocessor, and AMD calls it a compute unit.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuCore {
    /// Compute capability (`9.0`) or ISA (`gfx942`).
    pub arch: &'static str,
    /// Operations per cycle that XProf assumes for every type of operands.
    pub xprof: f64,
    /// Operations per cycle for each type of operands.
    pub rates: Rates,
    /// Bytes that shared memory or the L1 cache transfers per cycle.
    pub local_bytes: f64,
    /// URL of the publication.
    pub source: &'static str,
}

static CORES: LazyLock<Vec<GpuCore>> =
    LazyLock::new(|| table::rows(include_str!("gpu_rates.csv")).filter_map(|cells| parse(&cells)).collect());

fn parse(cells: &[&'static str]) -> Option<GpuCore> {
    let (&[arch, xprof], rest) = cells.split_first_chunk()?;
    let (rates, rest) = rest.split_at_checked(Arithmetic::ALL.len())?;
    let &[local_bytes, source] = rest else { return None };
    Some(GpuCore {
        arch,
        xprof: decimal(xprof)?,
        rates: Rates::parse(rates)?,
        local_bytes: decimal(local_bytes)?,
        source,
    })
}

/// Returns the core of NVIDIA GPUs with this compute capability. If the table lacks this compute capability, returns
/// the core of the next lower one.
pub fn nvidia(major: i64, minor: i64) -> Option<&'static GpuCore> {
    let version = |core: &&'static GpuCore| {
        let (major, minor) = core.arch.split_once('.')?;
        Some((major.parse::<i64>().ok()?, minor.parse::<i64>().ok()?))
    };
    CORES.iter().rfind(|core| version(core).is_some_and(|known| known <= (major, minor)))
}

/// Returns the core of an AMD ISA (`gfx942`).
pub fn amd(isa: &str) -> Option<&'static GpuCore> {
    CORES.iter().find(|core| core.arch.starts_with("gfx") && core.arch == isa)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(CORES.len(), table::rows(include_str!("gpu_rates.csv")).count());
        assert!(CORES.iter().all(|core| core.source.starts_with("https://")));
    }

    /// The product of cores, clock and rate must match the data sheets: 132 cores at 1.83 GHz for an H100 SXM, 40 at
    /// 1.59 GHz for a T4, and 304 at 2.1 GHz for an MI300X.
    #[test]
    fn rates_give_the_peaks_of_the_sheets() {
        let peak = |core: &GpuCore, kind, cores: f64, ghz: f64| core.rates.get(kind).unwrap() * cores * ghz * 1e-3;
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 0.01, "{a} {b}");
        close(peak(nvidia(9, 0).unwrap(), Arithmetic::Bf16, 132.0, 1.83), 989.5);
        close(peak(nvidia(9, 0).unwrap(), Arithmetic::Fp32, 132.0, 1.98), 67.0);
        close(peak(nvidia(8, 0).unwrap(), Arithmetic::Tf32, 108.0, 1.41), 156.0);
        close(peak(nvidia(7, 5).unwrap(), Arithmetic::Fp16, 40.0, 1.59), 65.0);
        close(peak(amd("gfx942").unwrap(), Arithmetic::Fp8, 304.0, 2.1), 2614.9);
        close(peak(amd("gfx950").unwrap(), Arithmetic::Fp4, 256.0, 2.4), 10066.3);
        close(peak(amd("gfx90a").unwrap(), Arithmetic::Fp64, 110.0, 1.7), 47.85);
    }

    #[test]
    fn unknown_capabilities_take_the_next_lower_row() {
        let arch = |major, minor| nvidia(major, minor).map(|core| core.arch);
        assert_eq!(arch(9, 0), Some("9.0"));
        assert_eq!(arch(8, 7), Some("8.6"));
        assert_eq!(arch(6, 2), Some("6.1"));
        assert_eq!(arch(10, 3), Some("10.0"));
        assert_eq!(arch(12, 1), Some("12.0"));
        assert_eq!(arch(1, 3), None);
        assert_eq!(amd("gfx1100"), None);
        assert_eq!(amd("9.0"), None);
    }
}
