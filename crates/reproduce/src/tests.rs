//! Tests of whole scripts.
