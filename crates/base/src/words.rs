//! Enums whose values are words of a document.

/// Declares enums by their words: `Name = "word"`. Each writes and reads its word, and says it by its method `label`.
///
/// The crate that declares one uses `serde` and `schemars`. The default is what has `#[default]`.
#[macro_export]
macro_rules! words {
    ($($(#[$about:meta])* pub enum $Enum:ident { $($(#[$doc:meta])* $Name:ident = $word:literal,)* })*) => {$(
        $(#[$about])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum $Enum {
            $($(#[$doc])* #[serde(rename = $word)] $Name,)*
        }

        impl $Enum {
            /// Word of the value in documents.
            pub fn label(self) -> &'static str {
                match self {
                    $($Enum::$Name => $word,)*
                }
            }
        }
    )*};
}
