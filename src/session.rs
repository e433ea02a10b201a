//! The facade that the command line, the web worker and the tests drive.
