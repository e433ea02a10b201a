//! Finds the devices in use that take part in the same collective.
//!
//! ```text
//! replica_groups={{0,1},{2,3}}      numbers of the program's devices, in the order in which it was compiled for them
//! device assignment [4, 5, 6, 7]    number 0 is the device with the id 4
//! core_details of /device:TPU:0     global_core_id 4: so this one is number 0, and its group is {0,1}
//! ```
//!
//! A trace of TPUs records the id of each device (`core_details`). If the trace records no ids and has only one host,
//! the id is the device's ordinal, because a process uses ordinals as ids. If a program needs more devices than the
//! host has, the program was started on several hosts, and the ids of the devices are unknown.

use base::sort;
use rustc_hash::{FxHashMap, FxHashSet};

use super::message::Message;
use crate::device::devices::Devices;
use trace::{Platform, StatValue, Trace};

/// Devices in use that belong to the groups of an instruction. Lists are indexed like `Devices::used`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Number that each device has in groups and pairs.
    numbers: Vec<Option<u32>>,
    /// Group in which each device waits.
    groups: Vec<Option<u32>>,
    /// Device in use that has each number.
    devices: FxHashMap<u32, u32>,
}

impl Members {
    pub(super) fn of_groups(groups: Vec<Option<u32>>) -> Members {
        Members { numbers: vec![None; groups.len()], groups, devices: FxHashMap::default() }
    }

    /// Returns true if no device in use has a known group.
    pub(super) fn are_unknown(&self) -> bool {
        self.groups.iter().all(Option::is_none)
    }

    /// Returns the number of a device in use in the instruction's groups and pairs, or `None` if the trace does not
    /// record it.
    pub fn number(&self, device: u32) -> Option<u32> {
        self.numbers.get(device as usize).copied().flatten()
    }

    /// Returns the device in use with this number in groups and pairs.
    pub fn device(&self, number: u32) -> Option<u32> {
        self.devices.get(&number).copied()
    }

    /// Returns the index of the group in which a device in use waits, or `None` if it is unknown.
    pub fn group(&self, device: u32) -> Option<u32> {
        self.groups.get(device as usize).copied().flatten()
    }
}

/// Numbers of the devices in use, from which the members of an instruction follow.
pub(super) struct Numbering {
    platform: Option<Platform>,
    ids: Vec<Option<u32>>,
    /// Ordinals are valid ids if the program has at most this number of devices. `None` if no limit applies.
    most: Option<usize>,
}

impl Numbering {
    pub(super) fn new(trace: &Trace, devices: &Devices) -> Numbering {
        let stated: Vec<Option<u32>> = devices.used.iter().map(|device| stated_id(trace, device.plane)).collect();
        let distinct: FxHashSet<u32> = stated.iter().flatten().copied().collect();
        let (ids, most) = if distinct.len() == devices.used.len() {
            (stated, None)
        } else if trace.hosts.len() > 1 {
            (vec![None; devices.used.len()], None)
        } else {
            let most = (devices.platform != Some(Platform::Cpu)).then_some(devices.num_visible() as usize);
            (devices.used.iter().map(|device| Some(device.ordinal)).collect(), most)
        };
        Numbering { platform: devices.platform, ids, most }
    }

    pub(super) fn platform(&self) -> Option<Platform> {
        self.platform
    }

    /// Returns the members of an instruction. `assigned` is the device assignment of the instruction's module, or empty
    /// if it is unknown.
    pub(super) fn members(&self, assigned: &[u32], message: &Message) -> Members {
        let named: FxHashSet<u32> = match &message.groups {
            _ if !assigned.is_empty() => assigned.iter().copied().collect(),
            Some(groups) => groups.iter().flatten().copied().collect(),
            None => message.pairs.iter().flat_map(|&(from, to)| [from, to]).collect(),
        };
        let is_known = self.most.is_none_or(|most| named.len() <= most);
        let positions: FxHashMap<u32, u32> = assigned.iter().copied().zip(0..).collect();
        let number = |id: u32| if assigned.is_empty() { Some(id) } else { positions.get(&id).copied() };
        let numbers: Vec<Option<u32>> = self.ids.iter().map(|id| id.filter(|_| is_known).and_then(number)).collect();
        let groups = self.groups(&numbers, message);
        let devices = numbers.iter().zip(0..).filter_map(|(number, device)| Some(((*number)?, device))).collect();
        Members { numbers, groups, devices }
    }

    fn groups(&self, numbers: &[Option<u32>], message: &Message) -> Vec<Option<u32>> {
        let devices = numbers.len();
        let everyone = || vec![Some(0); devices];
        let by_number =
            |group_of: FxHashMap<u32, u32>| numbers.iter().map(|number| group_of.get(&(*number)?).copied()).collect();
        match &message.groups {
            // A single group with as many members as there are devices contains all devices, regardless of their
            // numbers.
            Some(groups) if groups.len() == 1 && groups.iter().all(|group| group.len() >= devices) => everyone(),
            Some(groups) => {
                let numbered = (0u32..).zip(groups);
                by_number(numbered.flat_map(|(at, group)| group.iter().map(move |&number| (number, at))).collect())
            }
            None if !message.pairs.is_empty() => by_number(self.exchanging(&message.pairs)),
            // If only two devices exist, they communicate with each other.
            None if devices == 2 => everyone(),
            None => vec![None; devices],
        }
    }

    /// Finds the devices that wait for each other in a permute: the devices that pairs connect. In XLA's CPU backend,
    /// all devices of the instruction wait for each other before any of them copies.
    fn exchanging(&self, pairs: &[(u32, u32)]) -> FxHashMap<u32, u32> {
        let mut root: FxHashMap<u32, u32> = pairs.iter().flat_map(|&(a, b)| [(a, a), (b, b)]).collect();
        if self.platform == Some(Platform::Cpu) {
            root.values_mut().for_each(|group| *group = 0);
            return root;
        }
        fn find(root: &mut FxHashMap<u32, u32>, mut at: u32) -> u32 {
            while let Some(&up) = root.get(&at).filter(|&&up| up != at) {
                // Halves the path for the next search.
                let next = root.get(&up).copied().unwrap_or(up);
                root.insert(at, next);
                at = next;
            }
            at
        }
        for &(from, to) in pairs {
            let (a, b) = (find(&mut root, from), find(&mut root, to));
            root.insert(a.max(b), a.min(b));
        }
        let mut members: Vec<u32> = root.keys().copied().collect();
        sort::sort_by(&mut members, Ord::cmp);
        members.into_iter().map(|member| (member, find(&mut root, member))).collect()
    }
}

/// Returns the number that a TPU's plane records: the number of the core, or the number of the chip if both of its
/// cores work as one.
pub(crate) fn stated_id(trace: &Trace, plane: usize) -> Option<u32> {
    let plane = trace.planes.get(plane)?;
    let int = |name: &str| match trace.plane_stat(plane, name)? {
        StatValue::Int(number) => u32::try_from(number).ok(),
        StatValue::Double(_) | StatValue::Text(_) => None,
    };
    if int("has_megacore") == Some(1) { int("global_chip_id") } else { int("global_core_id") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbering(platform: Platform, ids: &[u32], most: Option<usize>) -> Numbering {
        Numbering { platform: Some(platform), ids: ids.iter().copied().map(Some).collect(), most }
    }

    fn groups(lists: &[&[u32]]) -> Message {
        Message { groups: Some(lists.iter().map(|list| list.to_vec()).collect()), ..Message::default() }
    }

    fn of(members: &Members) -> Vec<Option<u32>> {
        members.groups.clone()
    }

    #[test]
    fn an_assignment_maps_numbers_to_devices() {
        // The mesh lists the chips in the order 6, 7, 5, 4.
        let four = numbering(Platform::Tpu, &[4, 5, 6, 7], None);
        let members = four.members(&[6, 7, 5, 4], &groups(&[&[0, 1], &[2, 3]]));
        assert_eq!(of(&members), [Some(1), Some(1), Some(0), Some(0)]);
        assert_eq!((members.number(0), members.device(0)), (Some(3), Some(2)));
    }

    #[test]
    fn members_on_another_host_are_not_ours() {
        let wanted = groups(&[&[0, 4], &[1, 5], &[2, 6], &[3, 7]]);
        let all: Vec<u32> = (0..8).collect();
        let second = numbering(Platform::Tpu, &[4, 5, 6, 7], None).members(&all, &wanted);
        assert_eq!(of(&second), [Some(0), Some(1), Some(2), Some(3)]);
        // The four ordinals of a program for eight devices may be any four of the eight.
        let unknown = numbering(Platform::Gpu, &[0, 1, 2, 3], Some(4));
        assert_eq!(of(&unknown.members(&all, &wanted)), [None; 4]);
        assert_eq!(of(&unknown.members(&[], &wanted)), [None; 4]);
        let everyone = groups(&[&[0, 1, 2, 3, 4, 5, 6, 7]]);
        assert_eq!(of(&unknown.members(&all, &everyone)), [Some(0); 4]);
    }

    #[test]
    fn permutes_wait_along_their_pairs() {
        let rings = Message { pairs: vec![(0, 2), (2, 0), (3, 1)], ..Message::default() };
        let tpu = numbering(Platform::Tpu, &[0, 1, 2, 3, 4], None).members(&[], &rings);
        assert_eq!(of(&tpu), [Some(0), Some(1), Some(0), Some(1), None]);
        let cpu = numbering(Platform::Cpu, &[0, 1, 2, 3, 4], None).members(&[], &rings);
        assert_eq!(of(&cpu), [Some(0), Some(0), Some(0), Some(0), None]);
        let chain = Message { pairs: (0..9).rev().map(|at| (at, at + 1)).collect(), ..Message::default() };
        let ids: Vec<u32> = (0..10).collect();
        assert_eq!(of(&numbering(Platform::Gpu, &ids, None).members(&[], &chain)), [Some(0); 10]);
    }

    #[test]
    fn unknown_groups_are_those_of_two_devices_only() {
        let nothing = Message::default();
        assert_eq!(of(&numbering(Platform::Gpu, &[0, 1], Some(2)).members(&[], &nothing)), [Some(0), Some(0)]);
        assert_eq!(of(&numbering(Platform::Gpu, &[0, 1, 2], Some(3)).members(&[], &nothing)), [None; 3]);
    }
}
