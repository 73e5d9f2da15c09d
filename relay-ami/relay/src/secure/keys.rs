//! Keys made fresh by each process; private halves never leave it.

use std::sync::Arc;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;
use rustls::crypto::aws_lc_rs::sign::any_eddsa_type;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use super::SecureError;

/// A node's identity in TLS, as a raw public key (RFC 7250).
pub struct Identity {
    pub(super) certified: Arc<CertifiedKey>,
    public: Vec<u8>,
}

impl Identity {
    pub fn generate() -> Result<Self, SecureError> {
        let pkcs8 = Ed25519KeyPair::generate().and_then(|key| key.to_pkcs8v1()).map_err(|_| SecureError::NoKey)?;
        let key = any_eddsa_type(&PrivatePkcs8KeyDer::from(pkcs8.as_ref().to_vec()))?;
        let public = key.public_key().ok_or(SecureError::NoKey)?.as_ref().to_vec();
        let certified = Arc::new(CertifiedKey::new(vec![CertificateDer::from(public.clone())], key));
        Ok(Self { certified, public })
    }

    /// SubjectPublicKeyInfo, DER: what the peer pins.
    #[must_use]
    pub fn public(&self) -> &[u8] {
        &self.public
    }
}

/// The sender's key for route headers, which relays know from their command.
pub fn generate_route_key() -> Result<Ed25519KeyPair, SecureError> {
    Ed25519KeyPair::generate().map_err(|_| SecureError::NoKey)
}

/// The public half, 32 bytes.
#[must_use]
pub fn route_public(key: &Ed25519KeyPair) -> [u8; 32] {
    let mut public = [0; 32];
    public.copy_from_slice(key.public_key().as_ref());
    public
}

/// Random bytes from the operating system's generator. Not from the library's: it would measure 50 ms of jitter first, which
/// a relay, needing nothing but challenges, can do without.
pub fn random<const N: usize>() -> Result<[u8; N], SecureError> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        match rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(_) => return Err(SecureError::NoKey),
        }
    }
    Ok(bytes)
}
