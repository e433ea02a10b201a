//! Entry point of the analyst.

use std::cell::RefCell;
use std::rc::Rc;

use www::worker::analyst::{Analyst, begin};
use www::worker::serve::serve;

fn main() {
    let analyst = Rc::new(RefCell::new(Analyst::default()));
    serve(move |request, asker| begin(&analyst, request, asker));
}
