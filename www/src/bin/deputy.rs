//! The entry of the program that answers in the analyst's place.

use std::cell::RefCell;
use std::rc::Rc;

use www::worker::deputy::{Deputy, begin};
use www::worker::serve::serve;

fn main() {
    let deputy = Rc::new(RefCell::new(Deputy::default()));
    serve(move |request, asker| begin(&deputy, request, asker));
}
