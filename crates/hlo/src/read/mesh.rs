//! Reads `xla.MeshAxesReplicaGroupListProto`, in which Shardy stores devices that are grouped along the axes of a mesh.

use std::cell::Cell;

use super::fields::{bytes, fields, int, ints, text};
use crate::MeshAxes;

/// Reads the mesh and the grouped axes.
pub(super) fn axes(message: &[u8], damaged: &Cell<bool>) -> MeshAxes {
    let mut found = MeshAxes::default();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => mesh(bytes(value), damaged, &mut found),
            2 => found.grouped.push(axis_ref(bytes(value), damaged)),
            _ => {}
        }
    }
    found
}

fn mesh(message: &[u8], damaged: &Cell<bool>, found: &mut MeshAxes) {
    for (number, value) in fields(message, damaged) {
        match number {
            1 => {
                let mut axis = (String::new(), 0);
                for (number, value) in fields(bytes(value), damaged) {
                    match number {
                        1 => axis.0 = text(value),
                        2 => axis.1 = int(value),
                        _ => {}
                    }
                }
                found.axes.push(axis);
            }
            2 => ints(value, &mut found.device_ids),
            3 => {
                for (number, value) in fields(bytes(value), damaged) {
                    match number {
                        1 => ints(value, &mut found.device_iota.0),
                        2 => ints(value, &mut found.device_iota.1),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

fn axis_ref(message: &[u8], damaged: &Cell<bool>) -> (i64, Option<(i64, i64)>) {
    let mut axis = (0, None);
    for (number, value) in fields(message, damaged) {
        match number {
            1 => axis.0 = int(value),
            2 => {
                let mut part = (1, 1);
                for (number, value) in fields(bytes(value), damaged) {
                    match number {
                        1 => part.0 = int(value),
                        2 => part.1 = int(value),
                        _ => {}
                    }
                }
                axis.1 = Some(part);
            }
            _ => {}
        }
    }
    axis
}
