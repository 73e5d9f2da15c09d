//! Addresses of host names, asked of the machine's name servers (`/etc/hosts`, `/etc/resolv.conf`) in Rust.
//!
//! The daemon is linked statically. The C library's `getaddrinfo` would load modules of the machine's own C library, which is of
//! another version, into the same process, and crash where `/etc/nsswitch.conf` names one.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime_api::client::dns::{DnsFuture, ResolveDns, ResolveDnsError};
use hickory_resolver::TokioResolver;
use hickory_resolver::net::NetError;

use cpt_process::thread::lock;

/// A question to a name server; it is repeated twice.
const QUESTION: Duration = Duration::from_secs(1);
const REPEATS: usize = 2;
/// The limit of a whole lookup: less than a connection may take, of which it is a part.
const LOOKUP: Duration = Duration::from_secs(4);

/// The machine's name servers, as its files have them. After a lookup that fails the files are read again.
#[derive(Clone, Default)]
pub struct Names {
    resolver: Arc<Mutex<Option<Arc<TokioResolver>>>>,
}

impl Names {
    fn resolver(&self) -> Result<Arc<TokioResolver>, NetError> {
        let mut kept = lock(&self.resolver);
        if let Some(resolver) = &*kept {
            return Ok(resolver.clone());
        }
        let mut builder = TokioResolver::builder_tokio()?;
        builder.options_mut().timeout = QUESTION;
        builder.options_mut().attempts = REPEATS;
        let resolver = Arc::new(builder.build()?);
        *kept = Some(resolver.clone());
        Ok(resolver)
    }
}

impl Names {
    /// The addresses of a name.
    ///
    /// # Errors
    ///
    /// If no name server knows it, or none answers in time.
    pub async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = match self.resolver() {
            // A lookup that its caller gives up would not be noticed as one that fails.
            Ok(resolver) => tokio::time::timeout(LOOKUP, resolver.lookup_ip(name)).await.unwrap_or(Err(NetError::Timeout)),
            Err(error) => Err(error),
        };
        found.map(|addresses| addresses.iter().collect()).map_err(|error| {
            *lock(&self.resolver) = None;
            io::Error::other(error)
        })
    }
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Names")
    }
}

impl ResolveDns for Names {
    fn resolve_dns<'a>(&'a self, name: &'a str) -> DnsFuture<'a> {
        DnsFuture::new(async move { self.lookup(name).await.map_err(ResolveDnsError::new) })
    }
}
