//! Everything that runs the library or the program as a whole, in one binary because each links the AWS SDK.

mod aws;
mod by_hand;
mod comparison;
mod contracts;
mod destination;
mod ends;
mod faults;
mod fixed_keys;
mod harness;
mod keepalives;
mod listing;
mod look;
mod mesh;
mod paths;
mod port;
mod presence;
mod problems;
mod records;
mod relays;
mod roots;
mod silence;
mod sources;
mod speaker;
mod transfers;
mod unauthenticated;
mod users;
