//! The reader's entry: takes the role that its first order gives it.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Array;
use wasm_bindgen::JsCast;
use www::protocol::{Order, Piece};
use www::worker::scan::Scanner;
use www::worker::{inflate, look, pipe, serve};

fn main() {
    serve(|scope, order, extras| match order {
        Order::Look(paths) => {
            wasm_bindgen_futures::spawn_local(look::run(scope.clone(), paths, Array::from(&extras.get(1))));
        }
        Order::Unpack(entries) => {
            let (port, files) = (extras.get(1).unchecked_into(), Array::from(&extras.get(2)));
            wasm_bindgen_futures::spawn_local(inflate::run(scope.clone(), entries, files, port));
        }
        Order::Scan { files, left_out } => {
            let to_analyst = extras.get(2).unchecked_into();
            let scanner = Rc::new(RefCell::new(Some(Scanner::new(scope.clone(), files, &left_out, to_analyst))));
            pipe::listen(extras.get(1).unchecked_into(), move |piece: Piece, buffer| {
                if piece == Piece::Done {
                    if let Some(scanner) = scanner.borrow_mut().take() {
                        wasm_bindgen_futures::spawn_local(scanner.hand_over());
                    }
                } else if let Some(scanner) = scanner.borrow_mut().as_mut() {
                    scanner.take(piece, buffer);
                }
            });
        }
        // The analyst's.
        Order::Rehearse
        | Order::Analyse
        | Order::Report { .. }
        | Order::Page { .. }
        | Order::Table { .. }
        | Order::Summary { .. }
        | Order::Compare { .. } => {}
    });
}
