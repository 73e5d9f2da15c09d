//! The handshake: raw public keys both ways, the peer's pinned.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    ServerConnection, SignatureScheme, client, server, version,
};

use super::SecureError;
use super::keys::Identity;
use super::record::{Opener, Sealer};
use crate::deadline::Deadline;
use crate::outlet::Outlet;

/// Decides about a peer's public key (SubjectPublicKeyInfo, DER).
pub type KeyCheck = dyn Fn(&[u8]) -> bool + Send + Sync;

/// Opens TLS as the sender.
pub fn connect(outlet: Outlet, identity: &Identity, check: Arc<KeyCheck>, deadline: Deadline) -> Result<(Sealer, Opener), SecureError> {
    let provider = provider();
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned { check, provider }))
        .with_client_cert_resolver(Arc::new(client::AlwaysResolvesClientRawPublicKeys::new(Arc::clone(&identity.certified))));
    config.enable_secret_extraction = true;
    config.enable_sni = false;
    config.resumption = client::Resumption::disabled();
    let name = ServerName::try_from("receiver").map_err(|_| SecureError::Cipher)?;
    run(ClientConnection::new(Arc::new(config), name)?.into(), outlet, deadline)
}

/// Opens TLS as the receiver.
pub fn accept(outlet: Outlet, identity: &Identity, check: Arc<KeyCheck>, deadline: Deadline) -> Result<(Sealer, Opener), SecureError> {
    run(ServerConnection::new(Arc::new(server_config(identity, check)?))?.into(), outlet, deadline)
}

pub fn server_config(identity: &Identity, check: Arc<KeyCheck>) -> Result<ServerConfig, SecureError> {
    let provider = provider();
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&version::TLS13])?
        .with_client_cert_verifier(Arc::new(Pinned { check, provider }))
        .with_cert_resolver(Arc::new(server::AlwaysResolvesServerRawPublicKeys::new(Arc::clone(&identity.certified))));
    config.enable_secret_extraction = true;
    // A ticket would be a record after the handshake that nobody needs: lanes never resume.
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn provider() -> Arc<CryptoProvider> {
    let suites = vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256, aws_lc_rs::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256];
    Arc::new(CryptoProvider { cipher_suites: suites, ..aws_lc_rs::default_provider() })
}

/// Both sides' messages fit the sockets' buffers, so that only reading may have to wait.
fn run(mut connection: Connection, mut outlet: Outlet, deadline: Deadline) -> Result<(Sealer, Opener), SecureError> {
    let socket = outlet.socket();
    let mut reader = RecordReader { from: deadline.on(&socket), header: [0; 5], given: 5, left: 0 };
    loop {
        while connection.wants_write() {
            connection.write_tls(&mut outlet)?;
        }
        if !connection.is_handshaking() {
            break;
        }
        if connection.read_tls(&mut reader)? == 0 {
            return Err(SecureError::Truncated);
        }
        if let Err(error) = connection.process_new_packets() {
            // The alert tells the peer why; that it may not arrive changes nothing.
            let _ = connection.write_tls(&mut outlet);
            return Err(error.into());
        }
    }
    // What follows the handshake, `Hello` or `Welcome`, is due by then too, and comes from a peer that is known.
    socket.set_read_timeout(Some(deadline.left()?))?;
    let secrets = connection.dangerous_extract_secrets()?;
    Ok((Sealer::new(secrets.tx, outlet)?, Opener::new(secrets.rx, socket)?))
}

/// Never reads beyond the record it is in: what follows the handshake belongs to the [`Opener`].
struct RecordReader<R> {
    from: R,
    header: [u8; 5],
    given: usize,
    left: usize,
}

impl<R: Read> Read for RecordReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == 5 && self.left == 0 {
            self.from.read_exact(&mut self.header)?;
            self.given = 0;
            self.left = usize::from(u16::from_be_bytes([self.header[3], self.header[4]]));
        }
        if self.given < 5 {
            let count = buffer.len().min(5 - self.given);
            buffer[..count].copy_from_slice(&self.header[self.given..self.given + count]);
            self.given += count;
            return Ok(count);
        }
        let limit = buffer.len().min(self.left);
        let count = self.from.read(&mut buffer[..limit])?;
        self.left -= count;
        Ok(count)
    }
}

/// Accepts exactly the keys that `check` accepts.
struct Pinned {
    check: Arc<KeyCheck>,
    provider: Arc<CryptoProvider>,
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pinned")
    }
}

impl Pinned {
    fn judge(&self, key: &CertificateDer<'_>) -> Result<(), Error> {
        if (self.check)(key.as_ref()) { Ok(()) } else { Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)) }
    }
}

/// The judgement that both ends share; the two traits have these methods, of the same names, each for itself.
macro_rules! by_raw_key {
    () => {
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::General("TLS 1.2 is not spoken".to_owned()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            key: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let key = SubjectPublicKeyInfoDer::from(key.as_ref());
            verify_tls13_signature_with_raw_key(message, &key, signed, &self.provider.signature_verification_algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.judge(key).map(|()| ServerCertVerified::assertion())
    }

    by_raw_key!();
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(&self, key: &CertificateDer<'_>, _: &[CertificateDer<'_>], _: UnixTime) -> Result<ClientCertVerified, Error> {
        self.judge(key).map(|()| ClientCertVerified::assertion())
    }

    by_raw_key!();
}
