//! Enums whose values are fixed words in a document.

/// Declares enums with one word for each value (`Name = "word"`). Documents contain the word of a value, which the
/// method `label` returns.
///
/// The calling crate must depend on `serde` and `schemars`. Mark the default value with `#[default]`.
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
            /// Returns the word of the value in documents.
            pub fn label(self) -> &'static str {
                match self {
                    $($Enum::$Name => $word,)*
                }
            }
        }
    )*};
}
