//! Memory spaces: XLA's numbers for the memories of a device.

use trace::Platform;

/// The device's main memory (HBM).
pub const MAIN: i64 = 0;

/// Returns the name of a memory space on a platform (`TPU`, `GPU`, `CPU`; another text if unknown). Numbers from 1 on
/// come from the TPU compiler (`S(1)` in a layout), and get the names that XProf's memory analysis uses. On a GPU,
/// space 1 is memory for collectives.
pub fn space_name(space: i64, platform: &str) -> String {
    let name = match (space, Platform::named(platform)) {
        (0, Some(Platform::Tpu | Platform::Gpu)) => "HBM",
        (0, _) => "main memory",
        (1, Some(Platform::Gpu)) => "collective memory",
        (5, _) => "host",
        (1, Some(Platform::Tpu)) => "VMEM",
        (2, Some(Platform::Tpu)) => "sync flags",
        (3, Some(Platform::Tpu)) => "CMEM",
        (4, Some(Platform::Tpu)) => "SMEM",
        (6, Some(Platform::Tpu)) => "workspace",
        (7, Some(Platform::Tpu)) => "SparseCore stack in HBM",
        (8, Some(Platform::Tpu)) => "SparseCore sequencer flags",
        (9, Some(Platform::Tpu)) => "pinned HBM",
        (10, Some(Platform::Tpu)) => "SparseCore tile flags",
        _ => return format!("space {space}"),
    };
    name.to_owned()
}
