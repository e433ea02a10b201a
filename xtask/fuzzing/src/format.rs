//! The formats that are fuzzed.

/// A format, with its own mutations and its own way through the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Chrome trace JSON, plain.
    ChromeJson,
    /// An xplane: `XSpace`.
    Xplane,
    /// One compiled module (`HloModuleProto`), which is put into an xplane whose device runs its instructions.
    Hlo,
    /// A compiled program with its buffer assignment (`HloProto`), as `--xla_dump_to` writes it.
    HloDump,
    /// A device memory profile (pprof).
    MemoryProfile,
    /// The text of an out-of-memory error.
    OutOfMemory,
    /// gzip, zip and tar, of profiles.
    Archives,
    /// JSON documents: profiles, comparisons, model configurations; and HTML reports, which hold them.
    ProfileJson,
    /// Budgets in TOML.
    Budgets,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 9] = [
        Format::ChromeJson,
        Format::Xplane,
        Format::Hlo,
        Format::HloDump,
        Format::MemoryProfile,
        Format::OutOfMemory,
        Format::Archives,
        Format::ProfileJson,
        Format::Budgets,
    ];

    /// The name of its folder in the corpus, of its target in fuzz/, and of the cases that are kept.
    pub fn name(self) -> &'static str {
        match self {
            Format::ChromeJson => "chrome_json",
            Format::Xplane => "xplane",
            Format::Hlo => "hlo",
            // No name may begin with another: kept cases are called by them.
            Format::HloDump => "dumped_hlo",
            Format::MemoryProfile => "memory_profile",
            Format::OutOfMemory => "out_of_memory",
            Format::Archives => "archives",
            Format::ProfileJson => "profile_json",
            Format::Budgets => "budgets",
        }
    }

    /// The format of a kept case: what its file is called by.
    pub fn of_file_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| name.starts_with(format.name()))
    }
}
