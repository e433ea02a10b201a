//! The two workers of a load. The same program plays both roles; the first order says which.

pub mod inflate;
pub mod scan;

use crate::protocol::News;
use crate::wire;
use web_sys::DedicatedWorkerGlobalScope;

/// Tells the page something. A page that is gone needs no answer.
pub fn tell(scope: &DedicatedWorkerGlobalScope, news: &News) {
    let _ = scope.post_message(&wire::pack(news, &[]));
}
