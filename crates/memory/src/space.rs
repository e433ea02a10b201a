//! Memory spaces: XLA's numbers for the memories of a device.

/// The device's main memory (HBM).
pub const MAIN: i64 = 0;

/// Returns the name of a memory space on a platform (`TPU`, `GPU`, `CPU`; another text if unknown). Numbers from 1 on
/// are those of the TPU compiler (`S(1)` in a layout), with the names of XProf's memory analysis. On a GPU, 1 is
/// memory for collectives.
pub fn space_name(space: i64, platform: &str) -> String {
    let name = match (space, platform) {
        (0, "TPU" | "GPU") => "HBM",
        (0, _) => "main memory",
        (1, "GPU") => "collective memory",
        (5, _) => "host",
        (1, "TPU") => "VMEM",
        (2, "TPU") => "sync flags",
        (3, "TPU") => "CMEM",
        (4, "TPU") => "SMEM",
        (6, "TPU") => "workspace",
        (7, "TPU") => "SparseCore stack in HBM",
        (8, "TPU") => "SparseCore sequencer flags",
        (9, "TPU") => "pinned HBM",
        (10, "TPU") => "SparseCore tile flags",
        _ => return format!("space {space}"),
    };
    name.to_owned()
}
