//! Numbers as people read them.
