//! The face, seen from the client's side.
