//! What a run says of memory, apart from everything else: all that tables and pages of memory are made of.
//!
//! It can go to another worker as bytes, so that the page's analyst, which has no room for it, need not know buffers.

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

/// What a run says of memory. What needs decoding is decoded once, when somebody asks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// `TPU`, `GPU` or `CPU`, for the names of memory spaces; another word where it is not known.
    pub platform: String,
    /// Bytes of a device's memory, as the capture states it.
    pub device_memory_bytes: Option<u64>,
    /// Was the run read from a trace in JSON, which holds no programs?
    pub is_json: bool,
    /// Does the run have anything on a timeline?
    pub has_events: bool,
    /// What the run's hosts are called, by their index.
    pub hosts: Vec<String>,
    /// The compiled programs that its files embed, in their order.
    pub programs: Vec<RecordedProgram>,
    /// What allocators reported, by host, device and kind of memory.
    pub allocators: Vec<Allocator>,
    /// The bytes of a device memory profile (pprof), where this is one.
    heap: Option<RecordedHeap>,
    /// The device memory profile that was saved before it, with the name of its run.
    earlier: Option<(String, RecordedHeap)>,
    /// The text of an out-of-memory error, where this is one.
    error: Option<String>,
}

/// A compiled program that a file embeds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RecordedProgram {
    /// Name of the program with its number: `jit_f(17)`.
    pub name: String,
    /// Number of the program.
    pub program_id: i64,
    /// Index of the host whose file it stands in.
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
    /// What a trace says of memory. `start` is when the capture begins. The platform and the memory of a device are not known here.
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

    /// The record with the device memory profile that the run is, and the one that was saved before it with the name of
    /// its run.
    pub fn with_heap_profile(self, own: Option<Arc<[u8]>>, earlier: Option<(String, Arc<[u8]>)>) -> Recorded {
        let heap = |bytes| RecordedHeap { bytes, profile: OnceLock::new() };
        Recorded { heap: own.map(heap), earlier: earlier.map(|(name, bytes)| (name, heap(bytes))), ..self }
    }

    /// The record with the text of an out-of-memory error, where the run is one.
    pub fn with_error(self, text: Option<&str>) -> Recorded {
        Recorded { error: text.map(str::to_owned), ..self }
    }

    /// Bytes of the programs as the files have them.
    pub fn program_bytes(&self) -> usize {
        self.programs.iter().map(|program| program.bytes.len()).sum()
    }

    /// Is the run the text of an out-of-memory error?
    pub fn is_error(&self) -> bool {
        self.error.is_some()
    }

    /// What the text of an out-of-memory error lists, where the run is one.
    pub fn errors(&self) -> Vec<OutOfMemory> {
        self.error.as_deref().map(OutOfMemory::read).unwrap_or_default()
    }

    /// The device memory profile, where the run is one.
    pub fn heap_profile(&self) -> Option<&HeapProfile> {
        self.heap.as_ref().map(RecordedHeap::profile)
    }

    /// The device memory profile that was saved before it, with the name of its run.
    pub fn earlier_heap_profile(&self) -> Option<(&str, &HeapProfile)> {
        self.earlier.as_ref().map(|(name, heap)| (name.as_str(), heap.profile()))
    }

    /// The whole as bytes, for [`Recorded::from_bytes`] of the same build.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Nothing of it has a length that is not known, so nothing can fail.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// What [`Recorded::to_bytes`] wrote; `None` where these are other bytes.
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
    /// Memory of the program; `None` where the file does not say it.
    pub fn memory(&self) -> Option<&ProgramMemory> {
        self.classifier().map(|classifier| &**classifier.program())
    }

    /// Memory of the program with what each buffer is for; `None` where the file does not say it.
    pub fn classifier(&self) -> Option<&Arc<Classifier>> {
        let read = || Some(Arc::new(Classifier::new(&Arc::new(ProgramMemory::read(&self.bytes)?))));
        self.classifier.get_or_init(read).as_ref()
    }

    /// Estimates of the program's main memory with something changed; `None` where the file does not say its memory.
    pub fn what_if(&self) -> Option<&WhatIf> {
        self.what_if.get_or_init(|| WhatIf::new(self.classifier()?)).as_ref()
    }

    /// The program's arguments that share their memory with no result, though one could have it.
    pub fn unshared_arguments(&self) -> Vec<UnsharedArgument> {
        self.memory().map(|memory| unshared_arguments(memory, &self.bytes)).unwrap_or_default()
    }
}

/// Bytes as one value: serde's own way is one value per byte.
mod shared_bytes {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};
    use serde_bytes::ByteBuf;

    pub fn serialize<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
        Ok(ByteBuf::deserialize(deserializer)?.into_vec().into())
    }
}
