//! The ops as a tree, by program, category, framework name scope or source.
