//! Placement of a value on the devices, from the sharding in HLO text.
//!
//! ```text
//! {replicated}                                    every device holds all of it
//! {maximal device=3}                              one device holds it
//! {devices=[4,1]<=[8] last_tile_dim_replicate}    dimension 0 in 4 parts, each on 2 devices
//! ```

use super::attributes::Attributes;

/// Placement of a value on the devices of its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Each device holds the whole value.
    Replicated,
    /// Only this device holds the value.
    OneDevice(u64),
    /// The value is split into parts.
    Sharded {
        /// Number of parts in each dimension. 1 if the dimension is not split.
        parts: Vec<u64>,
        /// Number of devices that hold the same part.
        copies: u64,
    },
    /// The user's code places the value itself (`shard_map`).
    Manual,
}

impl Placement {
    /// Parses a sharding from [`Attributes::sharding`]. `rank` is the number of dimensions of the value. Returns `None`
    /// if the sharding is empty, is unknown, or belongs to a tuple.
    pub fn parse(sharding: &str, rank: usize) -> Option<Placement> {
        let inner = sharding.strip_prefix('{')?.strip_suffix('}')?;
        match inner {
            "replicated" => return Some(Placement::Replicated),
            "manual" => return Some(Placement::Manual),
            _ => {}
        }
        if let Some(device) = inner.strip_prefix("maximal device=") {
            return device.parse().ok().map(Placement::OneDevice);
        }
        let (tiles, _) = inner.strip_prefix("devices=[")?.split_once(']')?;
        let tiles: Vec<u64> = tiles.split(',').map(|size| size.parse().ok()).collect::<Option<_>>()?;
        let (parts, rest) = tiles.split_at_checked(rank)?;
        let copies = rest.iter().try_fold(1_u64, |copies, &size| copies.checked_mul(size))?;
        if parts.iter().all(|&parts| parts == 1) {
            return Some(Placement::Replicated);
        }
        Some(Placement::Sharded { parts: parts.to_vec(), copies })
    }

    /// Returns the placement from an instruction's attributes.
    pub fn of(attributes: &Attributes, rank: usize) -> Option<Placement> {
        Placement::parse(&attributes.sharding, rank)
    }

    /// Returns the number of distinct parts. Returns `None` if the user's code places the value itself.
    pub fn distinct(&self) -> Option<u64> {
        match self {
            Placement::Replicated | Placement::OneDevice(_) => Some(1),
            Placement::Sharded { parts, .. } => parts.iter().try_fold(1_u64, |all, &parts| all.checked_mul(parts)),
            Placement::Manual => None,
        }
    }

    /// Returns the placement as a label: `replicated`, `one device`, `sharded`, `manual`.
    pub fn label(&self) -> &'static str {
        match self {
            Placement::Replicated => "replicated",
            Placement::OneDevice(_) => "one device",
            Placement::Sharded { .. } => "sharded",
            Placement::Manual => "manual",
        }
    }

    /// Returns the dimensions that are split, with the number of parts: `0 into 4, 1 into 2`. Empty if no dimension is
    /// split.
    pub fn split(&self) -> String {
        let Placement::Sharded { parts, .. } = self else { return String::new() };
        let split = parts.iter().enumerate().filter(|(_, parts)| **parts > 1);
        split.map(|(dimension, parts)| format!("{dimension} into {parts}")).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_say_which_dimensions_are_split() {
        let sharded = |parts: &[u64], copies| Some(Placement::Sharded { parts: parts.to_vec(), copies });
        let parse = Placement::parse;
        assert_eq!(parse("{devices=[8,1]<=[8]}", 2), sharded(&[8, 1], 1));
        assert_eq!(parse("{devices=[4,1,2]<=[8] last_tile_dim_replicate}", 2), sharded(&[4, 1], 2));
        assert_eq!(parse("{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}", 1), sharded(&[2], 4));
        assert_eq!(parse("{devices=[1,1,8]<=[8] last_tile_dim_replicate}", 2), Some(Placement::Replicated));
        assert_eq!(
            parse("{devices=[2,4]<=[2,4]T(1,0)}", 2).map(|it| it.split()).as_deref(),
            Some("0 into 2, 1 into 4")
        );
        assert_eq!(parse("{replicated}", 3), Some(Placement::Replicated));
        assert_eq!(parse("{maximal device=3}", 0), Some(Placement::OneDevice(3)));
        assert_eq!(parse("{manual}", 1), Some(Placement::Manual));
        for text in ["", "{}", "{devices=[2]<=[2]}", "{devices=[x,1]<=[2]}", "{{replicated}, {replicated}}"] {
            assert_eq!(parse(text, 2), None, "{text}");
        }
    }

    #[test]
    fn parts_are_counted_once_however_many_devices_hold_them() {
        let distinct = |text| Placement::parse(text, 2).and_then(|it| it.distinct());
        assert_eq!(distinct("{devices=[4,1,2]<=[8] last_tile_dim_replicate}"), Some(4));
        assert_eq!(distinct("{replicated}"), Some(1));
        assert_eq!(distinct("{manual}"), None);
        assert_eq!(distinct("{devices=[9223372036854775807,4]<=[8]}"), None);
    }
}
