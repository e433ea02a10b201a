//! Parses `kernel_details`: how collectors describe a kernel launch.
//!
//! ```text
//! CUPTI   regs:12 static_shared:0 dynamic_shared:0 grid:3,1,1 block:128,1,1 occ_pct:100
//! older   regs:12 shm:0 grid:250,64,1 block:13,13,1
//! ROCm     grid:3072,1,1 block:256,1,1 private_mem:0 group_mem:32768 occ_pct:0
//! ```
//!
//! ROCm's collector writes the occupancy 0, because it lacks the real value. No kernel that ran can have an occupancy
//! of 0, so this value is ignored. Other values that no GPU can have are ignored too: builds of ROCm and of TensorFlow
//! write uninitialised memory. Valid values are used even if other values are invalid.

use base::number::decimal;

/// Sizes and resources of a kernel launch. Fields that the trace does not record are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaunchShape {
    /// Registers per thread.
    pub registers_per_thread: Option<u64>,
    /// Shared memory that the kernel declares, in bytes. In older files, this is the total shared memory.
    pub static_shared_bytes: Option<u64>,
    /// Shared memory that the launch adds, in bytes.
    pub dynamic_shared_bytes: Option<u64>,
    /// Scratch memory per thread, in bytes (ROCm).
    pub private_bytes: Option<u64>,
    /// Memory that a work group shares, in bytes (ROCm's name for shared memory).
    pub group_bytes: Option<u64>,
    /// Blocks per dimension.
    pub grid: Option<[u32; 3]>,
    /// Threads of a block per dimension.
    pub block: Option<[u32; 3]>,
    /// Share of a multiprocessor's threads that can run at once with these resources, in percent. This is an upper
    /// bound on the achieved occupancy.
    pub occupancy_percent: Option<f64>,
}

/// Upper bound on the registers per thread on any GPU (AMD's CDNA has 512).
const MAX_REGISTERS: u64 = 512;

/// Upper bound on the threads per block on any GPU.
const MAX_BLOCK: u64 = 1024;

/// Upper bound on the shared memory of a multiprocessor, in bytes (NVIDIA's Hopper and Blackwell have 228 KiB).
const MAX_SHARED_BYTES: u64 = 1 << 20;

/// Upper bound on the private memory of a thread, in bytes (CUDA: 512 KiB).
const MAX_PRIVATE_BYTES: u64 = 512 << 10;

impl LaunchShape {
    /// Parses `kernel_details`.
    pub fn parse(details: &str) -> LaunchShape {
        let mut shape = LaunchShape::default();
        for pair in details.split_ascii_whitespace() {
            let Some((key, value)) = pair.split_once(':') else { continue };
            let number = |most: u64| value.parse::<u64>().ok().filter(|&number| number <= most);
            match key {
                "regs" => shape.registers_per_thread = number(MAX_REGISTERS),
                "static_shared" | "shm" => shape.static_shared_bytes = number(MAX_SHARED_BYTES),
                "dynamic_shared" => shape.dynamic_shared_bytes = number(MAX_SHARED_BYTES),
                "private_mem" => shape.private_bytes = number(MAX_PRIVATE_BYTES),
                "group_mem" => shape.group_bytes = number(MAX_SHARED_BYTES),
                "grid" => shape.grid = triple(value),
                "block" => shape.block = triple(value).filter(|&sizes| volume(sizes) <= MAX_BLOCK),
                "occ_pct" => {
                    shape.occupancy_percent = decimal(value).filter(|&percent| percent > 0.0 && percent <= 100.0);
                }
                _ => {}
            }
        }
        shape
    }

    /// Returns the total shared memory of a block, in bytes: static plus dynamic, or the memory of the work group on
    /// ROCm.
    pub fn shared_bytes(&self) -> Option<u64> {
        match (self.static_shared_bytes, self.dynamic_shared_bytes) {
            (None, None) => self.group_bytes,
            (fixed, added) => Some(fixed.unwrap_or(0).saturating_add(added.unwrap_or(0))),
        }
    }

    /// Returns the number of blocks in the grid.
    pub fn blocks(&self) -> Option<u64> {
        self.grid.map(volume)
    }
}

/// Returns the number of blocks in a grid, or of threads in a block.
fn volume(sizes: [u32; 3]) -> u64 {
    sizes.iter().fold(1, |all: u64, &size| all.saturating_mul(u64::from(size)))
}

/// Parses `3,1,1`. A zero means that the launch was not recorded.
fn triple(text: &str) -> Option<[u32; 3]> {
    let mut sizes = text.split(',').map(|size| size.parse::<u32>().ok().filter(|&size| size > 0));
    let triple = [sizes.next()??, sizes.next()??, sizes.next()??];
    sizes.next().is_none().then_some(triple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collectors_form_is_read() {
        let cupti = "regs:168 static_shared:16 dynamic_shared:1024 grid:3,2,1 block:128,1,1 occ_pct:18.75";
        let shape = LaunchShape::parse(cupti);
        assert_eq!(
            (shape.registers_per_thread, shape.shared_bytes(), shape.blocks()),
            (Some(168), Some(1040), Some(6))
        );
        assert_eq!((shape.block, shape.occupancy_percent), (Some([128, 1, 1]), Some(18.75)));

        let rocm = LaunchShape::parse(" grid:3072,1,1 block:256,1,1 private_mem:8 group_mem:32768 occ_pct:0");
        assert_eq!((rocm.registers_per_thread, rocm.shared_bytes()), (None, Some(32_768)));
        assert_eq!((rocm.private_bytes, rocm.occupancy_percent), (Some(8), None));

        let old = LaunchShape::parse("regs:12 shm:48 grid:250,64,1 block:13,13,1");
        assert_eq!((old.shared_bytes(), old.grid), (Some(48), Some([250, 64, 1])));
    }

    #[test]
    fn an_impossible_value_is_absent_and_the_others_stay() {
        let unset =
            LaunchShape::parse(" regs:2191500840 grid:3072,1,1 block:256,1,1 private_mem:0 group_mem:32768 occ_pct:0");
        let kept = (unset.grid, unset.block, unset.private_bytes, unset.shared_bytes());
        assert_eq!(kept, (Some([3072, 1, 1]), Some([256, 1, 1]), Some(0), Some(32_768)));
        assert_eq!((unset.registers_per_thread, unset.occupancy_percent), (None, None));

        let block = LaunchShape::parse("regs:32 shm:4294967296 grid:4,4,1 block:4294967295,4294967295,4294967295");
        assert_eq!((block.registers_per_thread, block.grid), (Some(32), Some([4, 4, 1])));
        assert_eq!((block.block, block.shared_bytes()), (None, None));

        let pointers = "regs:2139142098800 shm:x grid:86792367942624,204,0 block:2138893713408,2139142101976,7";
        assert_eq!(LaunchShape::parse(pointers), LaunchShape::default());
        assert_eq!(LaunchShape::parse("grid:0,1,1 block:1,1 occ_pct:250 occ_pct:NaN"), LaunchShape::default());
        assert_eq!(LaunchShape::parse("regs"), LaunchShape::default());
    }
}
