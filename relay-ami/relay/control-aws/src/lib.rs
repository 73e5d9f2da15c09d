//! The control plane in AWS, behind its port: DynamoDB, S3 and EventBridge.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod answer;
mod answers;
pub mod aws;
mod aws_items;
mod calls;
mod chunk_changes;
pub mod clients;
pub mod credentials;
mod leases;
pub mod names;
pub mod pool;
pub mod proxy;
