//! Values from a fixed list of names. Errors suggest the nearest names, and shells complete the names.

use std::ffi::OsStr;

use base::suggest;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use crossprof::TableName;
use crossprof::facts::devices;

#[derive(Clone)]
pub(super) struct Tables;

/// Parses the name of a table. An empty value means all tables.
#[derive(Clone)]
pub(super) struct OneOrAll;

/// One table, or all tables if `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OneOrAllTables(pub Option<TableName>);

/// Parses the name of a device, as users or profiles write it.
#[derive(Clone)]
pub(super) struct Device;

/// Lists the tables with a description of their contents, for the help of `crossprof table`.
pub(super) fn tables_help() -> String {
    let width = TableName::ALL.iter().map(|name| name.key().len()).max().unwrap_or(0);
    let lines = TableName::ALL.iter().map(|name| format!("\n  {:width$}  {}", name.key(), name.about()));
    format!("Tables:{}", lines.collect::<String>())
}

impl TypedValueParser for Tables {
    type Value = TableName;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<TableName, Error> {
        let key = value.to_string_lossy();
        TableName::from_key(&key).ok_or_else(|| {
            let keys: Vec<&str> = TableName::ALL.iter().map(|name| name.key()).collect();
            let question = suggest::question(&suggest::words(&key, &keys));
            refused(command, argument, &key, &format!("the tables are {}.{question}", keys.join(", ")))
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(TableName::ALL.into_iter().map(|name| PossibleValue::new(name.key()).help(name.about()))))
    }
}

impl TypedValueParser for OneOrAll {
    type Value = OneOrAllTables;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<OneOrAllTables, Error> {
        let one = if value.is_empty() { None } else { Some(Tables.parse_ref(command, argument, value)?) };
        Ok(OneOrAllTables(one))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(TableName::ALL.into_iter().map(|name| PossibleValue::new(name.key()))))
    }
}

impl TypedValueParser for Device {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        let name = value.to_string_lossy();
        known_device(&name).map_err(|message| refused(command, argument, &name, &message))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(devices::all().iter().map(|device| PossibleValue::new(device.key).help(device.label))))
    }
}

/// Returns the name if a device has it.
///
/// # Errors
///
/// Fails if no device has this name. The message suggests the nearest names.
pub(crate) fn known_device(name: &str) -> Result<String, String> {
    if devices::chosen(name).is_some() {
        return Ok(name.to_owned());
    }
    let keys: Vec<&str> = devices::all().iter().map(|device| device.key).collect();
    let word = name.to_lowercase().replace([' ', '_'], "-");
    match suggest::words(&word, &keys) {
        near if near.is_empty() => {
            Err(format!("the peaks of this device are unknown. The devices are {}.", keys.join(", ")))
        }
        near => Err(format!("the peaks of this device are unknown.{}", suggest::question(&near))),
    }
}

/// Creates an error about a value, worded like clap's own errors.
fn refused(command: &Command, argument: Option<&Arg>, value: &str, why: &str) -> Error {
    let name = argument.map(ToString::to_string).unwrap_or_default();
    let message = format!("invalid value '{value}' for '{name}': {why}\n\nFor more information, try '--help'.\n");
    Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
}
