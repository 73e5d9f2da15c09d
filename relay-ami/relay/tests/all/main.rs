//! Everything that runs the library or the program as a whole, in one binary because each links the AWS SDK.

mod by_hand;
mod contracts;
mod faults;
mod harness;
mod paths;
mod relays;
mod transfers;
