//! Entry point of the graph worker.

use www::worker::graph::Graph;
use www::worker::serve::serve;

fn main() {
    let mut graph = Graph::default();
    serve(move |request, asker| graph.begin(request, asker));
}
