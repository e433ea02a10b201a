//! Reads JSON through a tree, with as little code per type as possible.
//!
//! With `serde_json`, the code of `derive(Deserialize)` reads every struct from objects and from arrays, and repeats
//! the parser's text handling for each field. In the browser, a smaller program is worth more than the time that this
//! code saves.
//!
//! This module therefore parses text into a [`Value`] with code that exists only once. A struct is read only from an
//! object, and a list only from an array, so the compiler drops the code for the other cases. The remaining code of a
//! struct expects its fields in order, so this module looks up the fields by name, with one piece of code for all
//! types.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde_json::{Error, Map, Value};

/// Reads a value from JSON text.
///
/// # Errors
///
/// Returns an error if the text is not JSON or does not fit the type.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    // `serde_json` has separate parsers for bytes and for text. Other code needs the parser for bytes, so use it here as
    // well.
    from_tree(serde_json::from_slice(text.as_bytes())?)
}

/// Reads a value from a tree.
///
/// # Errors
///
/// Returns an error if the tree does not fit the type.
pub fn from_tree<T: DeserializeOwned>(tree: Value) -> Result<T, Error> {
    T::deserialize(Tree::<false>(tree))
}

/// Reads a value from a tree that another program wrote. The error names the part that does not fit, in the words of
/// `serde_json`. The error texts need more code for every type.
///
/// # Errors
///
/// Returns an error if the tree does not fit the type.
pub fn from_foreign_tree<T: DeserializeOwned>(tree: Value) -> Result<T, Error> {
    T::deserialize(Tree::<true>(tree))
}

// Nothing is inlined. Otherwise, a struct with thirty numbers would contain thirty copies of the code that reads a number.
struct Tree<const EXPLAINS: bool>(Value);

fn misfit<'de, const EXPLAINS: bool, T, V: Visitor<'de>>(value: &Value, visitor: &V) -> Result<T, Error> {
    Err(if EXPLAINS { invalid_type(value, visitor) } else { unexplained() })
}

#[inline(never)]
fn unexplained() -> Error {
    Error::custom("a value has another type than expected")
}

#[inline(never)]
fn invalid_type(value: &Value, expected: &dyn Expected) -> Error {
    let found = match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::String(text) => Unexpected::Str(text),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(value), _) => Unexpected::Unsigned(value),
            (None, Some(value)) => Unexpected::Signed(value),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    Error::invalid_type(found, expected)
}

/// Declares the methods for numbers of all widths. The methods share one piece of code.
macro_rules! numbers {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            number::<EXPLAINS, V>(&self.0, visitor)
        }
    )*};
}

#[inline(never)]
fn number<'de, const EXPLAINS: bool, V: Visitor<'de>>(value: &Value, visitor: V) -> Result<V::Value, Error> {
    let Value::Number(number) = value else { return misfit::<EXPLAINS, _, _>(value, &visitor) };
    if let Some(value) = number.as_u64() {
        visitor.visit_u64(value)
    } else if let Some(value) = number.as_i64() {
        visitor.visit_i64(value)
    } else {
        visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN))
    }
}

impl<'de, const EXPLAINS: bool> Deserializer<'de> for Tree<EXPLAINS> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::String(text) => visitor.visit_str(&text),
            Value::Number(_) => number::<EXPLAINS, V>(&self.0, visitor),
            Value::Array(values) => visitor.visit_seq(List::<EXPLAINS>(values.into_iter())),
            Value::Object(entries) => {
                visitor.visit_map(Entries::<EXPLAINS> { entries: entries.into_iter(), value: None })
            }
        }
    }

    numbers! { deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
    deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64 }

    #[inline(never)]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(value),
            other => misfit::<EXPLAINS, _, _>(&other, &visitor),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    #[inline(never)]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(text) => visitor.visit_str(&text),
            other => misfit::<EXPLAINS, _, _>(&other, &visitor),
        }
    }

    #[inline(never)]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            other => misfit::<EXPLAINS, _, _>(&other, &visitor),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        misfit::<EXPLAINS, _, _>(&self.0, &visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        misfit::<EXPLAINS, _, _>(&self.0, &visitor)
    }

    #[inline(never)]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            other => misfit::<EXPLAINS, _, _>(&other, &visitor),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    #[inline(never)]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(values) => visitor.visit_seq(List::<EXPLAINS>(values.into_iter())),
            other => misfit::<EXPLAINS, _, _>(&other, &visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    #[inline(never)]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(entries) => {
                visitor.visit_map(Entries::<EXPLAINS> { entries: entries.into_iter(), value: None })
            }
            other => misfit::<EXPLAINS, _, _>(&other, &visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        fields::<EXPLAINS, V>(self.0, names, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let variant = match self.0 {
            Value::String(name) => Variant::<EXPLAINS> { name, value: None },
            Value::Object(entries) => match entries.into_iter().next() {
                Some((name, value)) => Variant::<EXPLAINS> { name, value: Some(value) },
                None => return misfit::<EXPLAINS, _, _>(&Value::Object(Map::new()), &visitor),
            },
            other => return misfit::<EXPLAINS, _, _>(&other, &visitor),
        };
        visitor.visit_enum(variant)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}

struct List<const EXPLAINS: bool>(std::vec::IntoIter<Value>);

impl<'de, const EXPLAINS: bool> SeqAccess<'de> for List<EXPLAINS> {
    type Error = Error;

    #[inline(never)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|value| seed.deserialize(Tree::<EXPLAINS>(value))).transpose()
    }
}

#[inline(never)]
fn fields<'de, const EXPLAINS: bool, V: Visitor<'de>>(
    value: Value,
    names: &'static [&'static str],
    visitor: V,
) -> Result<V::Value, Error> {
    match value {
        Value::Object(entries) => {
            let entries = entries.into_iter().collect();
            let mut fields = Fields::<EXPLAINS> { entries, names: names.iter(), missing: None };
            let read = visitor.visit_seq(&mut fields);
            // The visitor's error only counts fields, but a reader of the error needs the name.
            match fields.missing {
                Some(name) if EXPLAINS && read.is_err() => Err(Error::missing_field(name)),
                _ => read,
            }
        }
        other => misfit::<EXPLAINS, _, _>(&other, &visitor),
    }
}

/// Yields the fields of a struct in declaration order.
struct Fields<const EXPLAINS: bool> {
    /// Entries sorted by key. This is a vector, because removing an entry from a map costs two kilobytes of
    /// WebAssembly.
    entries: Vec<(String, Value)>,
    names: std::slice::Iter<'static, &'static str>,
    /// Name of the last requested field, if it is not optional and the document lacks it.
    missing: Option<&'static str>,
}

impl<'de, const EXPLAINS: bool> SeqAccess<'de> for &mut Fields<EXPLAINS> {
    type Error = Error;

    /// Reads an absent field as null if the field is optional. Otherwise the sequence ends, and the struct uses its
    /// default or returns an error.
    #[inline(never)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some((value, name)) = self.take() else { return Ok(None) };
        match (seed.deserialize(Tree::<EXPLAINS>(value)), name) {
            (Ok(value), _) => Ok(Some(value)),
            (Err(error), None) => Err(error),
            (Err(_), absent) => {
                self.missing = absent;
                Ok(None)
            }
        }
    }
}

impl<const EXPLAINS: bool> Fields<EXPLAINS> {
    /// Returns the value of the next field. If the document lacks it, returns null and the field's name.
    #[inline(never)]
    fn take(&mut self) -> Option<(Value, Option<&'static str>)> {
        self.missing = None;
        let &name = self.names.next()?;
        let found = self.entries.binary_search_by(|(key, _)| key.as_str().cmp(name)).ok();
        let value = found.and_then(|at| self.entries.get_mut(at)).map(|(_, value)| value.take());
        Some(value.map_or((Value::Null, Some(name)), |value| (value, None)))
    }
}

struct Entries<const EXPLAINS: bool> {
    entries: serde_json::map::IntoIter,
    value: Option<Value>,
}

impl<'de, const EXPLAINS: bool> MapAccess<'de> for Entries<EXPLAINS> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(StrDeserializer::new(&key)).map(Some)
    }

    #[inline(never)]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(Tree::<EXPLAINS>(self.value.take().unwrap_or(Value::Null)))
    }
}

struct Variant<const EXPLAINS: bool> {
    name: String,
    value: Option<Value>,
}

impl<'de, const EXPLAINS: bool> EnumAccess<'de> for Variant<EXPLAINS> {
    type Error = Error;
    type Variant = Tree<EXPLAINS>;

    #[inline(never)]
    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Tree<EXPLAINS>), Error> {
        let Variant { name, value } = self;
        Ok((seed.deserialize(StrDeserializer::<Error>::new(&name))?, Tree::<EXPLAINS>(value.unwrap_or(Value::Null))))
    }
}

impl<'de, const EXPLAINS: bool> VariantAccess<'de> for Tree<EXPLAINS> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, names: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        fields::<EXPLAINS, V>(self.0, names, visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    struct Part {
        must: u32,
        may: Option<u32>,
        #[serde(default)]
        list: Vec<u32>,
        #[serde(default)]
        number: f64,
        #[serde(rename = "last")]
        named: String,
    }

    #[test]
    fn absent_fields_are_none_or_the_default_or_an_error() {
        let read = |text: &str| from_str::<Part>(text);
        let most = Part { must: 7, named: "x".into(), ..Part::default() };
        assert_eq!(read("{\"last\":\"x\",\"more\":[1],\"must\":7}").unwrap(), most);
        assert_eq!(read("{\"must\":7,\"last\":\"x\",\"may\":null}").unwrap(), most);
        let all = Part { may: Some(1), list: vec![2], number: 0.5, ..most };
        assert_eq!(read("{\"number\":0.5,\"list\":[2],\"last\":\"x\",\"may\":1,\"must\":7}").unwrap(), all);
        for text in [
            "{\"last\":\"x\"}",
            "{\"must\":7}",
            "{\"must\":null,\"last\":\"x\"}",
            "{\"must\":7,\"last\":\"x\",\"list\":null}",
            "{\"must\":7,\"last\":1.5}",
        ] {
            assert!(read(text).is_err(), "{text}");
            // Documents from other programs are rejected with the error text of serde_json.
            let tree: Value = serde_json::from_str(text).unwrap();
            let theirs = serde_json::from_value::<Part>(tree.clone()).unwrap_err().to_string();
            assert_eq!(from_foreign_tree::<Part>(tree).unwrap_err().to_string(), theirs, "{text}");
        }
    }
}
