//! The documents of `contracts/`, as types: whoever holds one holds a checked one.

pub mod attributes;
pub mod chunk;
pub mod command;
pub mod end;
pub mod entry;
pub mod event;
pub mod extras;
pub mod key_entry;
pub mod leases;
pub mod membership;
pub mod options;
pub mod percent;
pub mod plan;
pub mod role_commands;
pub mod seat;
pub mod selection;
pub mod survey;
pub mod text;
pub mod written;
