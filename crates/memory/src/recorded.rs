//! Memory data of a run, separate from its other data. All tables and pages about memory are built from the memory
//! data.
//!
//! The data can be sent to another worker as bytes.

use std::sync::{Arc, OnceLock};

use base::Ps;
use serde::{Deserialize, Serialize};
use trace::{SourceFormat, Trace};

use crate::allocator::{Allocator, allocators};
use crate::class::Classifier;
use crate::donation::{UnsharedArgument, unshared_arguments};
use crate::heap_profile::HeapProfile;
use crate::oom::OutOfMemory;
use crate::program::ProgramMemory;
use crate::what_if::WhatIf;

/// Memory data of a run. Each part is decoded once, on first access.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// `TPU`, `GPU` or `CPU`, for the names of memory spaces. Another text if the platform is unknown.
    pub platform: String,
    /// Bytes of a device's memory, as stated in the capture.
    pub device_memory_bytes: Option<u64>,
    /// True if the run was read from a JSON trace, which contains no programs.
    pub is_json: bool,
    /// True if the run has events for a timeline.
    pub has_events: bool,
    /// Names of the run's hosts, by index.
    pub hosts: Vec<String>,
    /// Compiled programs that the run's files embed, in file order.
    pub programs: Vec<RecordedProgram>,
    /// Allocators with their events, by host, device and kind of memory.
    pub allocators: Vec<Allocator>,
    /// Device memory profile (pprof), if the run was read from one.
    heap: Option<RecordedHeap>,
    /// Device memory profile that was saved before the run's own profile, with the name of the earlier run.
    earlier: Option<(String, RecordedHeap)>,
    /// Text of the out-of-memory error, if the run was read from one.
    error: Option<String>,
}

/// A compiled program embedded in a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RecordedProgram {
    /// Name of the program with its id: `jit_f(17)`.
    pub name: String,
    /// Id of the program.
    pub program_id: i64,
    /// Index of the host whose file contains the program.
    pub host: u16,
    /// The `xla.HloProto`.
    #[serde(with = "shared_bytes")]
    bytes: Arc<[u8]>,
    #[serde(skip)]
    classifier: OnceLock<Option<Arc<Classifier>>>,
    #[serde(skip)]
    what_if: OnceLock<Option<WhatIf>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct RecordedHeap {
    #[serde(with = "shared_bytes")]
    bytes: Arc<[u8]>,
    #[serde(skip)]
    profile: OnceLock<HeapProfile>,
}

impl Recorded {
    /// Collects the memory data of a trace. `start` is the start of the capture. Callers must set the platform and
    /// the memory of a device.
    pub fn new(trace: &Trace, start: Ps) -> Recorded {
        let program = |proto: &trace::HloProto| RecordedProgram {
            name: trace.text(proto.name).to_owned(),
            program_id: proto.program_id,
            host: proto.host,
            bytes: proto.bytes.clone(),
            ..RecordedProgram::default()
        };
        Recorded {
            platform: String::new(),
            device_memory_bytes: None,
            is_json: trace.format == Some(SourceFormat::ChromeJson),
            has_events: !trace.events.is_empty(),
            hosts: trace.hosts.clone(),
            programs: trace.hlo.iter().map(program).collect(),
            allocators: allocators(trace, start),
            ..Recorded::default()
        }
    }

    /// Adds the device memory profile if the run was read from one, and the profile that was saved before it, with the name of
    /// the earlier run.
    pub fn with_heap_profile(self, own: Option<Arc<[u8]>>, earlier: Option<(String, Arc<[u8]>)>) -> Recorded {
        let heap = |bytes| RecordedHeap { bytes, profile: OnceLock::new() };
        Recorded { heap: own.map(heap), earlier: earlier.map(|(name, bytes)| (name, heap(bytes))), ..self }
    }

    /// Adds the text of the out-of-memory error, if the run was read from one.
    pub fn with_error(self, text: Option<&str>) -> Recorded {
        Recorded { error: text.map(str::to_owned), ..self }
    }

    /// Returns the total size of the embedded programs, in bytes.
    pub fn program_bytes(&self) -> usize {
        self.programs.iter().map(|program| program.bytes.len()).sum()
    }

    /// Returns true if the run was read from the text of an out-of-memory error.
    pub fn is_error(&self) -> bool {
        self.error.is_some()
    }

    /// Returns the reports in the text of the out-of-memory error. Empty if the run was not read from such a text.
    pub fn errors(&self) -> Vec<OutOfMemory> {
        self.error.as_deref().map(OutOfMemory::read).unwrap_or_default()
    }

    /// Returns the device memory profile if the run was read from one.
    pub fn heap_profile(&self) -> Option<&HeapProfile> {
        self.heap.as_ref().map(RecordedHeap::profile)
    }

    /// Returns the device memory profile that was saved before the run's own profile, with the name of the earlier run.
    pub fn earlier_heap_profile(&self) -> Option<(&str, &HeapProfile)> {
        self.earlier.as_ref().map(|(name, heap)| (name.as_str(), heap.profile()))
    }

    /// Serialises all data, for [`Recorded::from_bytes`] of the same build.
    pub fn to_bytes(&self) -> Vec<u8> {
        // All lengths are known, so serialisation cannot fail.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// Reads the output of [`Recorded::to_bytes`]. Returns `None` for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Recorded> {
        postcard::from_bytes(bytes).ok()
    }
}

impl RecordedHeap {
    fn profile(&self) -> &HeapProfile {
        self.profile.get_or_init(|| HeapProfile::read(&self.bytes))
    }
}

impl RecordedProgram {
    /// Returns the memory of the program. Returns `None` if the file has no buffer assignment.
    pub fn memory(&self) -> Option<&ProgramMemory> {
        self.classifier().map(|classifier| &**classifier.program())
    }

    /// Returns the classifier of the program's buffers. Returns `None` if the file has no buffer assignment.
    pub fn classifier(&self) -> Option<&Arc<Classifier>> {
        let read = || Some(Arc::new(Classifier::new(&Arc::new(ProgramMemory::read(&self.bytes)?))));
        self.classifier.get_or_init(read).as_ref()
    }

    /// Returns the what-if estimates of the program's main memory. Returns `None` if the file has no buffer
    /// assignment.
    pub fn what_if(&self) -> Option<&WhatIf> {
        self.what_if.get_or_init(|| WhatIf::new(self.classifier()?)).as_ref()
    }

    /// Returns the program's arguments whose memory no result shares, although a result would fit.
    pub fn unshared_arguments(&self) -> Vec<UnsharedArgument> {
        self.memory().map(|memory| unshared_arguments(memory, &self.bytes)).unwrap_or_default()
    }
}

/// Serialises a list of bytes as one value. Serde's default is a separate value for each byte.
mod shared_bytes {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};
    use serde_bytes::ByteBuf;

    pub(super) fn serialize<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
        Ok(ByteBuf::deserialize(deserializer)?.into_vec().into())
    }
}
