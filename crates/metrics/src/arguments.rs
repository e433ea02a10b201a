//! The arguments of the compiled programs: how large each is on a device, and which part of it each device holds.
//!
//! Reads the entry computations of the embedded HLO. A partitioned program is the one that each device runs, so the shapes in
//! it are those of a device's part. JAX names an argument by its place in the call (`state.params['w']`).

use hlo::{Modules, Placement, Shape};

/// One argument of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Index of the host whose file holds the program.
    pub host: u16,
    /// Number of the program.
    pub program_id: i64,
    /// Name of the program with its number: `jit_f(17)`.
    pub program: String,
    /// Number of the argument, from 0.
    pub number: i64,
    /// What the framework calls it, else the instruction's name.
    pub name: String,
    /// Shape of the argument on one device.
    pub shape: String,
    /// Bytes of the argument on one device, padding not counted.
    pub bytes_per_device: f64,
    /// Which part each device holds; `None` where the program does not say it.
    pub placement: Option<Placement>,
    /// The sharding as HLO text writes it, empty where there is none.
    pub sharding: String,
    /// Devices that the program runs on; `None` where it does not say it.
    pub devices: Option<u64>,
}

impl Argument {
    /// Bytes of the whole value, each part once. `None` where the sharding does not say how many parts there are.
    pub fn whole_bytes(&self) -> Option<f64> {
        let parts = match (&self.placement, self.devices) {
            (Some(placement), _) => placement.distinct()?,
            (None, Some(1)) => 1,
            (None, _) => return None,
        };
        Some(self.bytes_per_device * parts as f64)
    }

    /// Devices that hold the same part: more than 1 where memory could be saved by sharding. `None` where unknown.
    pub fn copies(&self) -> Option<u64> {
        match self.placement.as_ref() {
            Some(Placement::Replicated) => self.devices,
            Some(Placement::OneDevice(_)) => Some(1),
            Some(Placement::Sharded { copies, .. }) => Some(*copies),
            Some(Placement::Manual) => None,
            None => self.devices.filter(|&devices| devices == 1),
        }
    }
}

/// The arguments of all programs in the file: programs in its order, their arguments by number. Reads every module.
pub fn arguments(modules: &Modules) -> Vec<Argument> {
    let mut found = Vec::new();
    for (host, program_id, program, module) in modules.all() {
        let Some(entry) = module.entry() else { continue };
        let devices = module
            .devices()
            .and_then(|(replicas, partitions)| u64::try_from(replicas.max(1).checked_mul(partitions.max(1))?).ok());
        let parameters = module.instructions_of(entry).iter().filter(|instruction| instruction.is("parameter"));
        let own = parameters.map(|instruction| {
            let attributes = instruction.attributes();
            let rank = instruction.shape.array().map_or(0, |array| array.dimensions.len());
            let path = instruction.metadata.op_name.as_str();
            Argument {
                host,
                program_id,
                program: program.to_owned(),
                number: attributes.parameter_number.unwrap_or_default(),
                name: if path.is_empty() { instruction.name.clone() } else { path.to_owned() },
                shape: instruction.shape.text(false),
                bytes_per_device: instruction.shape.bytes(),
                placement: match &instruction.shape {
                    Shape::Array(_) => Placement::of(attributes, rank),
                    _ => None,
                },
                sharding: attributes.sharding.clone(),
                devices,
            }
        });
        let mut own: Vec<Argument> = own.collect();
        base::sort::sort_by_key(&mut own, |argument| argument.number);
        found.append(&mut own);
    }
    found
}
