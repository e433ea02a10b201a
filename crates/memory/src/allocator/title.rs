//! Names of allocators for people: the device and the kind of its memory.
//!
//! ```text
//! GPU_0_bfc, 0      device 0 HBM
//! gpu_host_bfc      pinned host
//! GPU_collectivememory_1_bfc   device 1 collective memory
//! ```

use super::Allocator;

/// A kind of memory. Lists show the kinds in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The main memory of a device.
    Hbm,
    /// Device memory that collectives use.
    Collective,
    /// Host memory that devices read and write.
    PinnedHost,
    /// Unknown, because the name contains no kind.
    Other,
}

impl Kind {
    fn of(name: &str) -> Kind {
        let name = name.to_ascii_lowercase();
        let has = |word: &str| name.contains(word);
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if has("host") || has("pinned") {
            Kind::PinnedHost
        } else if has("collective") {
            Kind::Collective
        } else if has("gpu_") || has("tpu_") || has("hbm") || is_number {
            Kind::Hbm
        } else {
            Kind::Other
        }
    }
}

impl Allocator {
    /// Returns [`Allocator::title`].
    pub(super) fn titled(&self) -> String {
        let kind = match Kind::of(&self.name) {
            _ if self.name.is_empty() => return "unnamed allocator".to_owned(),
            Kind::Hbm => "HBM",
            Kind::Collective => "collective memory",
            Kind::PinnedHost => "pinned host",
            Kind::Other => return self.name.clone(),
        };
        match self.device_ordinal() {
            Some(device) => format!("device {device} {kind}"),
            None => kind.to_owned(),
        }
    }

    /// Compares by host, then by device number, then by kind of memory.
    pub(super) fn order(&self) -> impl Ord + use<> {
        let device = self.device_ordinal();
        (self.host, device.is_none(), device, Kind::of(&self.name), self.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_are_named_by_device_and_kind_in_order() {
        let names =
            ["gpu_host_bfc", "10", "GPU_host_2_bfc", "GPU_2_bfc", "1", "mklcpu", "GPU_collectivememory_2_bfc", ""];
        let mut all: Vec<Allocator> =
            names.map(|name| Allocator { name: name.to_owned(), ..Allocator::default() }).to_vec();
        all.sort_by_key(Allocator::order);
        let titles: Vec<String> = all.iter().map(Allocator::titled).collect();
        assert_eq!(
            titles,
            [
                "device 1 HBM",
                "device 2 HBM",
                "device 2 collective memory",
                "device 2 pinned host",
                "device 10 HBM",
                "pinned host",
                "unnamed allocator",
                "mklcpu"
            ]
        );
    }
}
