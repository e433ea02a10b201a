//! Entry point of the second analyst, called deputy.

use std::cell::RefCell;
use std::rc::Rc;

use www::worker::deputy::{Deputy, begin};
use www::worker::serve::serve;

fn main() {
    let deputy = Rc::new(RefCell::new(Deputy::default()));
    serve(move |request, asker| begin(&deputy, request, asker));
}
