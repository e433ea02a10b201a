//! What can go wrong so that there is nothing to show.
