//! HPKE (RFC 9180), base mode: X25519, HKDF-SHA256, AES-256-GCM. `lambdas/operations/seats/sealing.py` is the other end of it.

use aws_credential_types::Credentials;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::crypto::aws_lc_rs::hpke::DH_KEM_X25519_HKDF_SHA256_AES_256 as SUITE;
use rustls::crypto::hpke::{EncapsulatedSecret, Hpke as _, HpkePrivateKey};
use serde::Deserialize;
use std::time::{Duration, UNIX_EPOCH};

/// Of the encapsulated key, which is before the ciphertext.
const ENCAPSULATED_BYTES: usize = 32;

/// The key to which credentials are sealed, of this process alone.
pub(super) struct SealingKey {
    private: HpkePrivateKey,
    public: Vec<u8>,
}

/// What is sealed. Without `Debug`: nothing shows it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Keys {
    access_key_id: String,
    secret_access_key: String,
    session_token: String,
    /// Unix time, seconds.
    expires_at: f64,
}

impl SealingKey {
    pub(super) fn generate() -> Result<Self, String> {
        let (public, private) = SUITE.generate_key_pair().map_err(|error| error.to_string())?;
        Ok(Self { private, public: public.0 })
    }

    /// The public half, base64url.
    pub(super) fn public_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.public)
    }

    /// A name for the process that has it, as random as the key is.
    pub(super) fn process(&self) -> String {
        self.public.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// What was sealed to it for this holder.
    pub(super) fn open(&self, sealed: &str, partition: &str, holder: &str) -> Result<Credentials, String> {
        let sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(|error| format!("is no base64url: {error}"))?;
        let (encapsulated, ciphertext) = sealed.split_at_checked(ENCAPSULATED_BYTES).ok_or("is too short")?;
        let info = format!("cpt seat credentials 1\n{partition}\n{holder}");
        let secret = EncapsulatedSecret(encapsulated.to_vec());
        let text = SUITE.open(&secret, info.as_bytes(), &[], ciphertext, &self.private);
        let text = text.map_err(|_| "is not sealed to this process")?;
        // The error would show what it found.
        let keys: Keys = serde_json::from_slice(&text).map_err(|_| "holds no credentials")?;
        let until = Duration::try_from_secs_f64(keys.expires_at).map_err(|_| "holds no time of their end")?;
        Ok(Credentials::new(keys.access_key_id, keys.secret_access_key, Some(keys.session_token), Some(UNIX_EPOCH + until), "seat"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::Value;

    use super::*;

    fn vector() -> (Value, SealingKey) {
        let vector: Value = serde_json::from_str(include_str!("../../../../../contracts/examples/sealed-credentials.json")).unwrap();
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(vector[name].as_str().unwrap()).unwrap();
        let key = SealingKey { private: bytes("privateKey").into(), public: bytes("publicKey") };
        (vector, key)
    }

    #[test]
    fn what_the_function_seals_is_opened() {
        let (vector, key) = vector();
        let text = |name: &str| vector[name].as_str().unwrap();
        let keys = key.open(text("sealed"), text("partition"), text("holder")).unwrap();
        let told: Value = serde_json::from_str(text("text")).unwrap();
        assert_eq!(keys.access_key_id(), told["accessKeyId"]);
        assert_eq!(keys.secret_access_key(), told["secretAccessKey"]);
        assert_eq!(keys.session_token().unwrap(), told["sessionToken"]);
        assert_eq!(keys.expiry().unwrap(), UNIX_EPOCH + Duration::from_secs_f64(told["expiresAt"].as_f64().unwrap()));
        assert_eq!(key.process().len(), 16);
    }

    #[test]
    fn nothing_else_is_opened_and_no_refusal_shows_what_was_sealed() {
        let (vector, key) = vector();
        let text = |name: &str| vector[name].as_str().unwrap();
        let other = SealingKey::generate().unwrap();
        let broken = format!("{}A", &text("sealed")[..text("sealed").len() - 1]);
        let refused = [
            other.open(text("sealed"), text("partition"), text("holder")),
            key.open(text("sealed"), text("partition"), "s0-0123456789abcdef"),
            key.open(text("sealed"), "another+partition", text("holder")),
            key.open(&broken, text("partition"), text("holder")),
            key.open("AAAA", text("partition"), text("holder")),
            key.open("é", text("partition"), text("holder")),
        ];
        for answer in refused {
            let why = answer.unwrap_err();
            assert!(!why.contains("SECRET") && !why.contains("token"), "{why}");
        }
    }
}
