//! Reads JSON by way of a tree, with as little code as possible a type.
//!
//! What `derive(Deserialize)` makes for `serde_json` reads every struct from objects and from arrays, and holds the parser's
//! text handling in every place. In the browser such code weighs more than the time it saves: here text is parsed into a
//! [`Value`] by code that exists once, and a struct is read from an object, a list from an array, and from nothing else, so
//! that the compiler drops the other half. Of the two halves a struct keeps the small one, which takes its fields one after
//! another: what compares each key with all names of fields is left out, and the fields are looked up by name here, once for
//! all types.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde_json::{Error, Value};

/// Reads a value from JSON text.
///
/// # Errors
///
/// Text that is no JSON, and JSON that does not fit the type.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    T::deserialize(Tree(serde_json::from_str(text)?))
}

/// Reads a value from a tree.
///
/// # Errors
///
/// A tree that does not fit the type.
pub fn from_tree<T: DeserializeOwned>(tree: Value) -> Result<T, Error> {
    T::deserialize(Tree(tree))
}

// Nothing is inlined: a struct of thirty numbers would hold the reading of a number thirty times.
struct Tree(Value);

fn misfit<T>() -> Result<T, Error> {
    Err(Error::custom("a value has another type than expected"))
}

/// Numbers: all widths are one, so that a number is read by one piece of code.
macro_rules! numbers {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            number(&self.0, visitor)
        }
    )*};
}

#[inline(never)]
fn number<'de, V: Visitor<'de>>(value: &Value, visitor: V) -> Result<V::Value, Error> {
    let Value::Number(number) = value else { return misfit() };
    if let Some(value) = number.as_u64() {
        visitor.visit_u64(value)
    } else if let Some(value) = number.as_i64() {
        visitor.visit_i64(value)
    } else {
        visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN))
    }
}

impl<'de> Deserializer<'de> for Tree {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::String(text) => visitor.visit_str(&text),
            Value::Number(_) => number(&self.0, visitor),
            Value::Array(values) => visitor.visit_seq(List(values.into_iter())),
            Value::Object(entries) => visitor.visit_map(Entries { entries: entries.into_iter(), value: None }),
        }
    }

    numbers! { deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
    deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64 }

    #[inline(never)]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(value),
            _ => misfit(),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    #[inline(never)]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(text) => visitor.visit_str(&text),
            _ => misfit(),
        }
    }

    #[inline(never)]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            _ => misfit(),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        misfit()
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        misfit()
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
            _ => misfit(),
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
            Value::Array(values) => visitor.visit_seq(List(values.into_iter())),
            _ => misfit(),
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
            Value::Object(entries) => visitor.visit_map(Entries { entries: entries.into_iter(), value: None }),
            _ => misfit(),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        fields(self.0, names, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let variant = match self.0 {
            Value::String(name) => Variant { name, value: None },
            Value::Object(entries) => match entries.into_iter().next() {
                Some((name, value)) => Variant { name, value: Some(value) },
                None => return misfit(),
            },
            _ => return misfit(),
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

struct List(std::vec::IntoIter<Value>);

impl<'de> SeqAccess<'de> for List {
    type Error = Error;

    #[inline(never)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|value| seed.deserialize(Tree(value))).transpose()
    }
}

#[inline(never)]
fn fields<'de, V: Visitor<'de>>(value: Value, names: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
    match value {
        Value::Object(entries) => visitor.visit_seq(Fields { entries, names: names.iter() }),
        _ => misfit(),
    }
}

/// The fields of a struct in its order.
struct Fields {
    entries: serde_json::Map<String, Value>,
    names: std::slice::Iter<'static, &'static str>,
}

impl<'de> SeqAccess<'de> for Fields {
    type Error = Error;

    /// An absent field is nothing where it may be (an option); else the struct's own default or complaint takes its place.
    #[inline(never)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(&name) = self.names.next() else { return Ok(None) };
        match self.entries.remove(name) {
            Some(value) => seed.deserialize(Tree(value)).map(Some),
            None => Ok(seed.deserialize(Tree(Value::Null)).ok()),
        }
    }
}

struct Entries {
    entries: serde_json::map::IntoIter,
    value: Option<Value>,
}

impl<'de> MapAccess<'de> for Entries {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(StrDeserializer::new(&key)).map(Some)
    }

    #[inline(never)]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(Tree(self.value.take().unwrap_or(Value::Null)))
    }
}

struct Variant {
    name: String,
    value: Option<Value>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Tree;

    #[inline(never)]
    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Tree), Error> {
        let Variant { name, value } = self;
        Ok((seed.deserialize(StrDeserializer::<Error>::new(&name))?, Tree(value.unwrap_or(Value::Null))))
    }
}

impl<'de> VariantAccess<'de> for Tree {
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
        fields(self.0, names, visitor)
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
    fn absent_fields_are_absent_or_the_default_or_missed() {
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
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
