//! The stand-in server, seen from the other end of a TCP connection.

mod client;

mod answers;
mod endpoints;
mod faults;
mod refusals;
