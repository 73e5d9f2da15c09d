//! What a process writes and reads to get credentials.

use super::super::answers::malformed;
use super::super::aws::{Attributes, Aws};
use super::super::aws_items::{number, text};
use cpt_control::Result;

/// The answer of the function that issues them.
pub(super) enum Issued {
    /// For the process that has the key.
    Sealed { text: String, expires_at: f64 },
    /// In words.
    Refused(String),
}

impl Aws {
    /// Publishes the key to which credentials are sealed.
    pub(super) fn publish_sealing_key(&self, holder: &str, public: &str, epoch: Option<u64>) -> Result<()> {
        let mut attributes: Attributes = vec![("sealingPublicKey", text(public))];
        attributes.extend(epoch.map(|epoch| ("epoch", number(epoch))));
        let name = format!("sealing#{holder}");
        let update = self.update_record(&name, attributes);
        self.tell(&format!("write record {name}"), update.send()).map(drop)
    }

    /// What was issued last; none before that.
    pub(super) fn issued(&self, holder: &str) -> Result<Option<Issued>> {
        let name = format!("credentials#{holder}");
        let Some(item) = self.record(&name)? else { return Ok(None) };
        // Ends may write neither of these attributes.
        let said = |attribute: &str| item.get(attribute).and_then(|value| value.as_s().ok()).cloned();
        if let Some(why) = said("refused") {
            return Ok(Some(Issued::Refused(why)));
        }
        let Some(text) = said("sealed") else { return Ok(None) };
        let until = item.get("expiresAt").and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok());
        let expires_at = until.ok_or_else(|| malformed(name, "has no time of their end".to_owned()))?;
        Ok(Some(Issued::Sealed { text, expires_at }))
    }
}
