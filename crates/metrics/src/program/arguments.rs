//! Lists the arguments of the compiled programs, with the size of each argument on a device, and the part that each
//! device holds.
//!
//! Reads the entry computations of the embedded HLO. All devices run the same partitioned program, so the program's
//! shapes describe the part of an argument on one device. JAX names an argument by its place in the call
//! (`state.params['w']`).

use hlo::{Modules, Placement, Shape};

/// An argument of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Index of the host whose file contains the program.
    pub host: u16,
    /// Id of the program.
    pub program_id: i64,
    /// Name of the program with its id: `jit_f(17)`.
    pub program: String,
    /// Number of the argument, from 0.
    pub number: i64,
    /// The framework's name for the argument, or the instruction's name if the framework gave no name.
    pub name: String,
    /// Shape of the argument on one device.
    pub shape: String,
    /// Bytes of the argument on one device, without padding.
    pub bytes_per_device: f64,
    /// The part that each device holds. `None` if the program does not record it.
    pub placement: Option<Placement>,
    /// Sharding in HLO syntax. Empty if the argument has no sharding.
    pub sharding: String,
    /// Number of devices that the program runs on. `None` if the program does not record it.
    pub devices: Option<u64>,
}

impl Argument {
    /// Returns the bytes of the whole argument, counting each distinct part once. `None` if the sharding does not
    /// determine the number of parts.
    pub fn whole_bytes(&self) -> Option<f64> {
        let parts = match (&self.placement, self.devices) {
            (Some(placement), _) => placement.distinct()?,
            (None, Some(1)) => 1,
            (None, _) => return None,
        };
        Some(self.bytes_per_device * parts as f64)
    }

    /// Returns the number of devices that hold the same part. If more than one device holds the same part, sharding
    /// could save memory. `None` if unknown.
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

/// Returns the arguments of all programs. Programs are in the order of the file, and arguments are sorted by number.
/// Reads every module.
pub(crate) fn arguments(modules: &Modules) -> Vec<Argument> {
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
