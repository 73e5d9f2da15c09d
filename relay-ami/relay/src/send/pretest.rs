//! Pre-tests: how fast is each relay pair, along the very path that data will take?
//!
//! Inter-region probes of all pairs run at the same time, since each pair has its own way out and in. Intra-region probes
//! would share this machine's network, so they run one after another, each for a quarter of the time. Data keeps flowing on
//! other paths meanwhile.

use std::sync::Arc;

use super::Shared;
use crate::control::ProbeResult;
use crate::defaults::INTRA_PROBE_SHARE;
use crate::documents::membership::{Hop, Probe};
use crate::net::Outlet;
use crate::progress::round;
use crate::relay::probe::send_filler;
use crate::thread::lock;

/// Runs one batch; batches go one after another.
pub fn run(shared: &Arc<Shared>, probes: &[Probe]) {
    let _one_batch = lock(&shared.pretests);
    let handles: Vec<_> = probes
        .iter()
        .map(|probe| {
            let (shared, probe) = (Arc::clone(shared), probe.clone());
            crate::thread::spawn("pretest", move || between(&shared, &probe))
        })
        .collect();
    for (probe, handle) in probes.iter().zip(handles) {
        let inter = handle
            .map_err(|error| error.to_string())
            .and_then(|handle| handle.join().unwrap_or_else(|_| Err("the probe panicked".to_owned())));
        let intra = if inter.is_ok() { to_first(shared, probe) } else { Err(String::new()) };
        let result = ProbeResult {
            generation: probe.path.generation,
            error: inter.as_ref().err().or(intra.as_ref().err()).cloned(),
            inter_region_mbps: inter.ok(),
            intra_region_mbps: intra.ok(),
        };
        tracing::info!(path = %probe.path.path_id, ?result, "pre-test");
        if let Err(error) = shared.control.write_probe(&probe.path.path_id, &result) {
            tracing::warn!(path = %probe.path.path_id, %error, "probe result");
        }
    }
}

fn hops(probe: &Probe) -> Result<(&Hop, &Hop), String> {
    match probe.path.hops.as_slice() {
        [first, second] => Ok((first, second)),
        other => Err(format!("a pre-test needs a pair of relays; the path has {}", other.len())),
    }
}

fn between(shared: &Shared, probe: &Probe) -> Result<f64, String> {
    let (first, second) = hops(probe)?;
    shared.router.measure_between(first, second, milliseconds(probe.seconds)).map(round).map_err(|error| error.to_string())
}

fn to_first(shared: &Shared, probe: &Probe) -> Result<f64, String> {
    let (first, _) = hops(probe)?;
    let time = milliseconds(probe.seconds * INTRA_PROBE_SHARE);
    let send = |socket| send_filler(&mut Outlet::new(socket, &shared.rules, shared.limit.as_ref()), time);
    shared.router.measure_to(first, time, send).map(round).map_err(|error| error.to_string())
}

/// At least 100 ms, so that a rate means something.
fn milliseconds(seconds: f64) -> u32 {
    (seconds * 1000.0).clamp(100.0, 600_000.0) as u32
}
