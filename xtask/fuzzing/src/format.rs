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
    /// gzip, zip and tar, of profiles.
    Archives,
    /// JSON documents: profiles, comparisons, model configurations; and HTML reports, which hold them.
    ProfileJson,
    /// Budgets in TOML.
    Budgets,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 6] =
        [Format::ChromeJson, Format::Xplane, Format::Hlo, Format::Archives, Format::ProfileJson, Format::Budgets];

    /// The name of its folder in the corpus, of its target in fuzz/, and of the cases that are kept.
    pub fn name(self) -> &'static str {
        match self {
            Format::ChromeJson => "chrome_json",
            Format::Xplane => "xplane",
            Format::Hlo => "hlo",
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
