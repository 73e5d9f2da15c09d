//! Options of the roles by hand.

use std::ffi::OsString;
use std::net::SocketAddrV4;
use std::path::PathBuf;

use cpt_relay::control::Seat;
use cpt_relay::defaults::PORT;
use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::command::{Compress, MAX_PROBE_SECONDS, Verify};
use cpt_relay::documents::selection::Selection;
use cpt_relay::documents::text::{KeepName, TransferId};

#[derive(Debug, Default)]
pub struct Options {
    pub role: String,
    pub ready: Option<PathBuf>,
    pub control_dir: Option<PathBuf>,
    /// Where the sender keeps the key that relays know.
    pub route_key: Option<PathBuf>,
    pub transfer: Option<TransferId>,
    /// Of a sender or a receiver that is not the only one of its side.
    pub seat: Option<Seat>,
    pub many_senders: bool,
    pub many_receivers: bool,
    /// Chunks per range of the plan.
    pub range_size: Option<u64>,
    pub listen: Vec<SocketAddrV4>,
    pub connect: Option<SocketAddrV4>,
    pub direct: bool,
    /// The relays of `via` dial the store of the end that is a bucket.
    pub to_store: bool,
    /// The destination is never synced.
    pub unsynced: bool,
    pub placing_threads: Option<usize>,
    /// Relays of each pair, or one relay.
    pub via: Vec<Vec<SocketAddrV4>>,
    pub lanes: Option<u32>,
    /// The sender opens no others.
    pub has_fixed_lanes: bool,
    pub chunk_mib: Option<u64>,
    /// In place of it, for rates of which a MiB takes too long.
    pub chunk_kib: Option<u64>,
    pub rate_mbps: Option<u64>,
    pub attempts: Option<u32>,
    /// How long a destination may take nothing, seconds.
    pub patience: Option<f64>,
    pub idle_seconds: Option<u64>,
    pub seconds: Option<f64>,
    pub verify: Verify,
    pub preserve: Preserve,
    pub compress: Compress,
    /// Of what is mirrored.
    pub select: Selection,
    /// Whether the extras are removed.
    pub delete: bool,
    /// What is replaced or removed is kept there.
    pub keep_replaced: Option<KeepName>,
    pub paths: Vec<PathBuf>,
}

const ROLES: [&str; 7] = ["scan", "plan", "mirror", "receive", "send", "relay", "probe"];
/// A year, which any clock can hold.
const MAX_PATIENCE_SECONDS: f64 = 31_536_000.0;

/// Whether these are arguments for a role by hand, and not for what the control plane calls.
pub fn are_by_hand(arguments: &[OsString]) -> bool {
    let is_role = arguments.first().and_then(|role| role.to_str()).is_some_and(|role| ROLES.contains(&role));
    is_role && !arguments.iter().any(|argument| argument == "--command")
}

impl Options {
    /// Reads the arguments after the program's name; the refusal names the argument and what would be right.
    pub fn parse(arguments: Vec<OsString>) -> Result<Self, String> {
        let mut arguments = arguments.into_iter();
        let role = arguments.next().ok_or("name a command")?;
        let role = role.into_string().map_err(|role| format!("{} is no command", role.display()))?;
        if !ROLES.contains(&role.as_str()) {
            return Err(format!("{role:?} is no command; one of {} is", ROLES.join(", ")));
        }
        let mut options = Self { role, ..Self::default() };
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--") => options.paths.extend(arguments.by_ref().map(PathBuf::from)),
                Some("--direct") => options.direct = true,
                Some("--to-store") => options.to_store = true,
                Some("--unsynced") => options.unsynced = true,
                Some("--fixed-lanes") => options.has_fixed_lanes = true,
                Some("--many-senders") => options.many_senders = true,
                Some("--many-receivers") => options.many_receivers = true,
                Some("--delete") => options.delete = true,
                Some(name) if name.starts_with("--") => {
                    let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
                    options.set(name, value)?;
                }
                _ => options.paths.push(argument.into()),
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: OsString) -> Result<(), String> {
        match name {
            "--ready" => self.ready = Some(value.into()),
            "--control-dir" => self.control_dir = Some(value.into()),
            "--route-key" => self.route_key = Some(value.into()),
            _ => {
                let text = value.into_string().map_err(|value| format!("{name} is {}, which is not text", value.display()))?;
                self.set_text(name, &text)?;
            }
        }
        Ok(())
    }

    fn set_text(&mut self, name: &str, text: &str) -> Result<(), String> {
        match name {
            "--transfer" => self.transfer = Some(TransferId::new(text).map_err(|why| format!("--transfer: {why}"))?),
            "--keep-replaced" => self.keep_replaced = Some(KeepName::new(text).map_err(|why| format!("--keep-replaced: {why}"))?),
            "--listen" => self.listen.push(address(name, text)?),
            "--connect" => self.connect = Some(address(name, text)?),
            "--via" => self.via.push(text.split(',').map(|text| address(name, text)).collect::<Result<_, _>>()?),
            "--seat" => self.seat = Some(Seat::new(text).map_err(|why| format!("--seat: {why}"))?),
            "--range-size" => self.range_size = Some(number(name, text, 1)?),
            "--lanes" => self.lanes = Some(number(name, text, 1)?),
            "--chunk-mib" => self.chunk_mib = Some(number(name, text, 1)?),
            "--chunk-kib" => self.chunk_kib = Some(number(name, text, 1)?),
            "--rate-mbps" => self.rate_mbps = Some(number(name, text, 1)?),
            "--attempts" => self.attempts = Some(number(name, text, 1)?),
            "--patience" => self.patience = Some(number(name, text, 0.0f64)?.min(MAX_PATIENCE_SECONDS)),
            "--idle-seconds" => self.idle_seconds = Some(number(name, text, 1)?),
            "--seconds" => self.seconds = Some(number(name, text, 0.0f64)?.min(MAX_PROBE_SECONDS)),
            "--placing-threads" => self.placing_threads = Some(number(name, text, 1)?),
            "--verify" => {
                self.verify = match text {
                    "digest" => Verify::Digest,
                    "readback" => Verify::Readback,
                    "crc64" => Verify::Crc64,
                    _ => return Err(format!("--verify is {text:?}; it must be digest, readback or crc64")),
                }
            }
            "--compress" => {
                self.compress = match text {
                    "never" => Compress::Never,
                    "auto" => Compress::Auto,
                    _ => return Err(format!("--compress is {text:?}; it must be never or auto")),
                }
            }
            "--preserve" => self.preserve = serde_json::from_str(text).map_err(|why| format!("--preserve is {text:?}: {why}"))?,
            "--select" => self.select = serde_json::from_str(text).map_err(|why| format!("--select is {text:?}: {why}"))?,
            _ => return Err(format!("{name} is no option")),
        }
        Ok(())
    }

    /// The transfer by hand; `local` where none is named.
    pub fn transfer(&self) -> TransferId {
        self.transfer.clone().or_else(|| TransferId::new("local").ok()).unwrap_or_else(|| unreachable!("a constant id is valid"))
    }
}

fn address(name: &str, text: &str) -> Result<SocketAddrV4, String> {
    let with_port = if text.contains(':') { text.to_owned() } else { format!("{text}:{PORT}") };
    with_port.parse().map_err(|_| format!("{name} is {text:?}; it must be an IPv4 address, or ip:port"))
}

fn number<T: std::str::FromStr + PartialOrd + std::fmt::Display>(name: &str, text: &str, least: T) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number >= least);
    number.ok_or_else(|| format!("{name} is {text:?}; it must be a number of at least {least}"))
}
