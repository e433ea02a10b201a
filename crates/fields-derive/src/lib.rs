//! `#[derive(Fields)]` implements `base::fields::Fields`: the names of a struct's fields, and what their doc comments say, as
//! constants. The first sentence of a comment stands apart from the others.

use proc_macro::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Expr, ExprLit, Field, Fields, Lit, Meta, parse_macro_input};

/// Implements `base::fields::Fields` for a struct; an enum is one value, which has no fields.
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

/// The text of `#[doc = "text"]`, which is what a doc comment is.
fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(it) = &attribute.meta else { return None };
    match &it.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if it.path.is_ident("doc") => Some(text.value()),
        _ => None,
    }
}

/// `#[serde(flatten)]`: the fields of the value are those of the struct.
fn is_flattened(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|it| it.path().is_ident("serde") && it.parse_args::<syn::Ident>().is_ok_and(|it| it == "flatten"))
}

/// The first sentence of a doc comment, and the others without the one that says in which version the field was added.
fn split(text: &str) -> (&str, &str) {
    let text = match text.rfind("Added in ") {
        Some(start) => text[..start].trim_end(),
        None => text,
    };
    // A dot inside of a name in backquotes, as in `a.b`, ends no sentence; nor is there a blank behind it.
    text.split_once(". ").map_or((text, ""), |(first, _)| (&text[..=first.len()], text[first.len() + 1..].trim_start()))
}
