//! The workers: one looks at what was dropped, then each load has two. The same program plays all roles; the first
//! order says which.

pub mod inflate;
pub mod look;
pub mod scan;

use crate::protocol::News;
use crate::wire;
use web_sys::DedicatedWorkerGlobalScope;

/// Tells the page something. A page that is gone needs no answer.
pub fn tell(scope: &DedicatedWorkerGlobalScope, news: &News) {
    let _ = scope.post_message(&wire::pack(news, &[]));
}
