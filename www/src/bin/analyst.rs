//! The analyst's entry.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::JsCast;
use www::worker::analyst::{Analyst, rehearse};
use www::worker::{pipe, serve};

fn main() {
    let analyst = Rc::new(RefCell::new(None));
    serve(move |scope, order, extras| {
        if order == www::protocol::Order::Analyse {
            analyst.replace(Some(Analyst::new(scope.clone())));
            let analyst = analyst.clone();
            pipe::listen(extras.get(1).unchecked_into(), move |image, buffer| {
                if let Some(analyst) = analyst.borrow_mut().as_mut() {
                    analyst.take(image, buffer);
                }
            });
        } else if order == www::protocol::Order::Rehearse {
            rehearse();
        } else if let Some(analyst) = analyst.borrow_mut().as_mut() {
            analyst.obey(order);
        }
    });
}
