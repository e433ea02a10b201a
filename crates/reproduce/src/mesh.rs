//! Finds the devices that take part in an op's collectives.

use hlo::{Instruction, Module, collective, collective_kind};

use crate::{Unsupported, limits, python};

/// Device groups. All groups have the same size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mesh {
    /// Members of each group, as indices into the program's list of devices.
    pub groups: Vec<Vec<u32>>,
}

impl Mesh {
    /// Returns the mesh of an instruction and of everything that it calls. `None` if there are no collectives.
    pub(crate) fn new(module: &Module, instruction: &Instruction) -> Result<Option<Mesh>, Unsupported> {
        let mut found = Search { groups: None, devices: 0, asks: false, left: limits::INSTRUCTIONS };
        found.visit(module, instruction, 0)?;
        let (replicas, partitions) = module.devices().unwrap_or((1, 1));
        let everyone = usize::try_from(replicas.saturating_mul(partitions)).unwrap_or(usize::MAX).max(found.devices);
        let groups = match found.groups {
            Some(groups) => groups,
            None if found.devices == 0 && !found.asks => return Ok(None),
            None if everyone > limits::DEVICES => return Err(too_many(everyone)),
            None => vec![(0..u32::try_from(everyone).unwrap_or(1)).collect()],
        };
        let size = groups.first().map_or(0, Vec::len);
        if size == 0 || groups.iter().any(|group| group.len() != size) {
            return Err(Unsupported::no_call("a collective whose groups have different sizes"));
        }
        let mut all: Vec<u32> = groups.iter().flatten().copied().collect();
        if all.len() > limits::DEVICES {
            return Err(too_many(all.len()));
        }
        base::sort::sort_by(&mut all, Ord::cmp);
        let count = all.len();
        all.dedup();
        if all.len() != count || all.len() < found.devices {
            return Err(Unsupported::missing("the devices", &instruction.name));
        }
        // Groups contain replicas or partitions, which a damaged file may lack.
        let place = |id: &u32| u32::try_from(all.partition_point(|it| it < id)).unwrap_or(0);
        Ok(Some(Mesh { groups: groups.iter().map(|group| group.iter().map(place).collect()).collect() }))
    }

    /// Returns the number of devices.
    pub(crate) fn devices(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// Returns the name of the axis along which the devices of a group communicate.
    pub(crate) fn axis(&self) -> &'static str {
        "\"member\""
    }

    /// Returns the names of all axes.
    pub(crate) fn axes(&self) -> &'static str {
        if self.groups.len() == 1 { "(\"member\",)" } else { "(\"group\", \"member\")" }
    }

    /// Returns the position of a device in the mesh, counted along all axes.
    pub(crate) fn place(&self, device: u32) -> Option<usize> {
        self.groups.iter().flatten().position(|&it| it == device)
    }

    /// Returns the positions of the devices as a Python list.
    pub(crate) fn list(&self) -> String {
        let group = |group: &Vec<u32>| {
            let members: Vec<String> = group.iter().map(u32::to_string).collect();
            format!("[{}]", members.join(", "))
        };
        let groups: Vec<String> = self.groups.iter().map(group).collect();
        if groups.len() == 1 { groups.concat() } else { format!("[{}]", groups.join(", ")) }
    }

    /// Returns the pairs of a collective-permute, as positions counted along all axes.
    pub(crate) fn pairs(&self, pairs: &[(u32, u32)]) -> Option<String> {
        let pair = |&(source, target): &(u32, u32)| Some(python::tuple([self.place(source)?, self.place(target)?]));
        let pairs: Vec<String> = pairs.iter().map(pair).collect::<Option<_>>()?;
        Some(format!("[{}]", pairs.join(", ")))
    }
}

fn too_many(devices: usize) -> Unsupported {
    Unsupported::no_call(format!("a collective over {devices} devices"))
}

struct Search {
    groups: Option<Vec<Vec<u32>>>,
    /// Minimum number of devices that the pairs of permutes need.
    devices: usize,
    /// True if an instruction reads the number of the device that it runs on.
    asks: bool,
    left: usize,
}

impl Search {
    fn visit(&mut self, module: &Module, instruction: &Instruction, depth: usize) -> Result<(), Unsupported> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || depth > limits::DEPTH {
            return Ok(());
        }
        self.asks |= instruction.is("partition-id") || instruction.is("replica-id");
        self.own(module, instruction)?;
        for n in 0..instruction.called.len() {
            let Some(computation) = module.called(instruction, n) else { continue };
            for inner in module.instructions_of(computation) {
                self.visit(module, inner, depth + 1)?;
            }
        }
        Ok(())
    }
    /// Adds the devices of an instruction that is itself a collective.
    fn own(&mut self, module: &Module, instruction: &Instruction) -> Result<(), Unsupported> {
        let is_container =
            instruction.is("fusion") || instruction.is("async-start") || instruction.opcode.ends_with("-done");
        if is_container || !instruction.called.is_empty() && collective_kind(module, instruction).is_none() {
            return Ok(());
        }
        let Some(found) = collective(module, instruction) else { return Ok(()) };
        for &(source, target) in &found.pairs {
            self.devices = self.devices.max(source.max(target) as usize + 1);
        }
        match (found.replica_groups, &self.groups) {
            (Some(groups), Some(known)) if groups != *known => {
                return Err(Unsupported::no_call("several collectives over different groups of devices in one op"));
            }
            (Some(groups), _) => self.groups = Some(groups),
            (None, _) if found.pairs.is_empty() && !matches!(found.kind, "send" | "recv") => {
                return Err(Unsupported::missing("the groups of devices", &instruction.name));
            }
            (None, _) => {}
        }
        Ok(())
    }
}
