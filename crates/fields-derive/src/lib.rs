//! `#[derive(Fields)]` implements `base::fields::Fields`: constants with the names and the doc comments of a struct's
//! fields. The first sentence of a doc comment is a separate constant.

use proc_macro::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Expr, ExprLit, Field, Fields, Lit, Meta, parse_macro_input};

/// Implements `base::fields::Fields` for a struct. An enum is treated as a single value without fields.
#[proc_macro_derive(Fields)]
pub fn fields(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let (name, fields) = (&input.ident, fields_of(&input.data).into_iter().map(field));
    quote! {
        impl ::base::fields::Fields for #name {
            const FIELDS: &'static [::base::fields::ReportField] = &[#(#fields),*];
        }
    }
    .into()
}

fn fields_of(data: &Data) -> Vec<&Field> {
    match data {
        Data::Struct(it) => match &it.fields {
            Fields::Named(fields) => fields.named.iter().collect(),
            Fields::Unnamed(_) | Fields::Unit => Vec::new(),
        },
        Data::Enum(_) | Data::Union(_) => Vec::new(),
    }
}

fn field(field: &Field) -> proc_macro2::TokenStream {
    let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    let (value, is_flat) = (&field.ty, is_flattened(&field.attrs));
    let text = field.attrs.iter().filter_map(doc_line).map(|line| line.trim().to_owned()).collect::<Vec<_>>().join(" ");
    let (sentence, more) = split(text.trim());
    quote! {
        ::base::fields::ReportField {
            name: #name,
            is_flattened: #is_flat,
            definition: ::base::fields::Definition { sentence: #sentence, more: #more },
            suffix: <#value as ::base::fields::Fields>::SUFFIX,
            fields: <#value as ::base::fields::Fields>::FIELDS,
        }
    }
}

/// Returns the text of `#[doc = "text"]`, which is how the compiler represents a doc comment.
fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(it) = &attribute.meta else { return None };
    match &it.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if it.path.is_ident("doc") => Some(text.value()),
        _ => None,
    }
}

/// Returns true for `#[serde(flatten)]`: the fields of the value belong to the struct itself.
fn is_flattened(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|it| it.path().is_ident("serde") && it.parse_args::<syn::Ident>().is_ok_and(|it| it == "flatten"))
}

/// Splits a doc comment into the first sentence and the remaining sentences. Drops the sentence about the version in
/// which the field was added.
fn split(text: &str) -> (&str, &str) {
    let text = match text.rfind("Added in ") {
        Some(start) => text[..start].trim_end(),
        None => text,
    };
    // A dot inside a name in backquotes, as in `a.b`, does not end a sentence, because no space follows it.
    text.split_once(". ").map_or((text, ""), |(first, _)| (&text[..=first.len()], text[first.len() + 1..].trim_start()))
}
