//! An address at which nobody listens.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

/// It stays taken as long as the process lives: nobody else is given its port, so that whoever connects is refused.
pub fn nobody() -> SocketAddrV4 {
    let taken = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&taken, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let Ok(SocketAddr::V4(address)) = getsockname(&taken).unwrap().try_into() else { unreachable!("it is bound to one of IPv4") };
    std::mem::forget(taken);
    address
}
