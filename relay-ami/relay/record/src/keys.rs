//! Keys made fresh for each transfer; private halves never leave the machine.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
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

/// The same key for each process of the transfer on this machine, which relays know: kept in `file`, for nobody else to read.
pub fn kept_route_key(file: &Path) -> Result<Ed25519KeyPair, SecureError> {
    match std::fs::read(file) {
        Ok(pkcs8) => return Ed25519KeyPair::from_pkcs8_maybe_unchecked(&pkcs8).map_err(|_| SecureError::NoKey),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let key = generate_route_key()?;
    let pkcs8 = key.to_pkcs8v1().map_err(|_| SecureError::NoKey)?;
    let new = file.with_extension("new");
    let _ = std::fs::remove_file(&new);
    let mut written = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    written.write_all(pkcs8.as_ref())?;
    written.sync_data()?;
    std::fs::rename(&new, file)?;
    Ok(key)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_route_key_outlives_its_process_and_is_for_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("send.key");
        let first = route_public(&kept_route_key(&file).unwrap());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(route_public(&kept_route_key(&file).unwrap()), first);
        std::fs::remove_file(&file).unwrap();
        assert_ne!(route_public(&kept_route_key(&file).unwrap()), first);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
