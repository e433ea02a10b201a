//! The formats that are fuzzed.

/// An input format. Each format has its own mutations and its own path through the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Chrome trace JSON, not compressed.
    ChromeJson,
    /// An xplane: `XSpace`.
    Xplane,
    /// One compiled module (`HloModuleProto`). The module is wrapped in an xplane file, in which a device runs the
    /// instructions of the module.
    Hlo,
    /// A compiled program with its buffer assignment (`HloProto`), in the form that `--xla_dump_to` writes.
    HloDump,
    /// A compiled program as text, with its buffer assignment and the lifetimes of its values.
    HloText,
    /// A device memory profile (pprof).
    MemoryProfile,
    /// Text of an out-of-memory error.
    OutOfMemory,
    /// gzip, zip and tar archives of profiles.
    Archives,
    /// JSON documents (profiles, comparisons, model configurations), and HTML reports that contain them.
    ProfileJson,
    /// Budgets in TOML.
    Budgets,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 10] = [
        Format::ChromeJson,
        Format::Xplane,
        Format::Hlo,
        Format::HloDump,
        Format::HloText,
        Format::MemoryProfile,
        Format::OutOfMemory,
        Format::Archives,
        Format::ProfileJson,
        Format::Budgets,
    ];

    /// Returns the name of the format. The format's folder in the corpus, its target in fuzz/ and the files of saved
    /// cases have this name.
    pub fn name(self) -> &'static str {
        match self {
            Format::ChromeJson => "chrome_json",
            Format::Xplane => "xplane",
            Format::Hlo => "hlo",
            // No name may be a prefix of another, because the file names of saved cases start with them.
            Format::HloDump => "dumped_hlo",
            Format::HloText => "text_of_hlo",
            Format::MemoryProfile => "memory_profile",
            Format::OutOfMemory => "out_of_memory",
            Format::Archives => "archives",
            Format::ProfileJson => "profile_json",
            Format::Budgets => "budgets",
        }
    }

    /// Reads the format of a saved case from the name of the file.
    pub fn of_file_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| name.starts_with(format.name()))
    }
}
