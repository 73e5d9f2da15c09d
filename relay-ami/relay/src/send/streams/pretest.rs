//! Pre-tests: how fast are the relays of each path, along the very way that data will take?
//!
//! Probes between the relays of all paths run at the same time, since each path has its own way out and in; those of one path run
//! one after another, and the slowest hop counts; each hop's rate is told too. Whatever begins at this
//! machine would share its network, so that runs one after another: first probes of one hop (from here to a relay in the other
//! region, before pairs take from what that relay receives), at the end one intra-region probe, for a quarter of the time. It says
//! what this machine sends inside its region, which is the same to any relay, so the fastest path's first relay takes it: no
//! machine sends less inside its region than outside, and paths are ranked by what they carry between regions.
//! Data keeps flowing on other paths meanwhile. How long all of it takes, the estimate knows too:
//! `lambdas/core/estimate/pre_tests.py`.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::Builder;

use super::greeting::Streams;
use crate::control::{Control, ProbeResult};
use crate::defaults::{INTRA_PROBE_SHARE, PROBE_STREAMS, STACK_BYTES};
use crate::documents::event::round;
use crate::documents::membership::{Hop, Probe};
use crate::relay::probe::send_filler;
use crate::secure::outlet::Outlet;
use crate::thread::lock;
use crate::transport::route::RouteError;

/// A path whose hops between relays were measured.
struct Measured<'a> {
    probe: &'a Probe,
    first: &'a Hop,
    hops: Vec<f64>,
    inter: Result<f64, String>,
}

/// Runs batches of probes, one after another.
pub struct Pretests {
    streams: Arc<Streams>,
    control: Arc<dyn Control>,
    batch: Mutex<()>,
}

impl Pretests {
    pub fn new(streams: Arc<Streams>, control: Arc<dyn Control>) -> Self {
        Self { streams, control, batch: Mutex::default() }
    }

    /// Runs one batch.
    pub fn run(&self, probes: &[Probe]) {
        let _one_batch = lock(&self.batch);
        let mut longer = Vec::new();
        for probe in probes {
            match probe.path.hops.as_slice() {
                [] => {
                    self.note(probe, Vec::new(), Err("a path without relays cannot be pre-tested; it needs one at least".to_owned()), None)
                }
                [only] => self.note(probe, Vec::new(), to_relay(&self.streams, only, probe.seconds), None),
                [first, ..] => longer.push((probe, first)),
            }
        }
        let handles: Vec<_> = longer
            .iter()
            .map(|&(probe, _)| {
                let (streams, hops, time) = (Arc::clone(&self.streams), probe.path.hops.clone(), milliseconds(probe.seconds));
                let from = probe.measure_from;
                crate::thread::spawn("pretest", move || along(&streams, &hops, from, time))
            })
            .collect();
        let measured: Vec<_> = longer
            .iter()
            .zip(handles)
            .map(|(&(probe, first), handle)| {
                let (hops, ended) = match handle {
                    Ok(handle) => handle.join().unwrap_or_else(|_| (Vec::new(), Err("the probe panicked".to_owned()))),
                    Err(error) => (Vec::new(), Err(error.to_string())),
                };
                let inter = ended.map(|()| hops.iter().copied().fold(f64::INFINITY, f64::min));
                Measured { probe, first, hops, inter }
            })
            .collect();
        let rate = |one: &Measured| one.inter.as_ref().ok().copied().filter(|_| one.probe.measure_from == 0);
        let fastest = measured
            .iter()
            .filter(|one| rate(one).is_some())
            .max_by(|one, other| rate(one).partial_cmp(&rate(other)).unwrap_or(Ordering::Equal));
        let inner = fastest.map(|one| (one.first, one.probe.seconds * INTRA_PROBE_SHARE));
        let (waiting, done): (Vec<_>, Vec<_>) =
            measured.into_iter().partition(|one| rate(one).is_some() && inner.is_some_and(|(first, _)| first.address == one.first.address));
        for one in done {
            self.note(one.probe, one.hops, one.inter, None);
        }
        let Some((first, seconds)) = inner else { return };
        let intra = to_relay(&self.streams, first, seconds);
        for one in waiting {
            self.note(one.probe, one.hops, one.inter, Some(intra.clone()));
        }
    }

    fn note(&self, probe: &Probe, hops_mb_s: Vec<f64>, inter: Result<f64, String>, intra: Option<Result<f64, String>>) {
        let result = ProbeResult {
            generation: probe.path.generation,
            error: inter.as_ref().err().or(intra.as_ref().and_then(|intra| intra.as_ref().err())).cloned(),
            inter_region_mb_s: inter.ok(),
            intra_region_mb_s: intra.and_then(Result::ok),
            hops_mb_s,
        };
        tracing::info!(path = %probe.path.path_id, ?result, "pre-test");
        if let Err(error) = self.control.write_probe(&probe.path.path_id, &result) {
            tracing::warn!(path = %probe.path.path_id, %error, "probe result");
        }
    }
}

/// MB/s from relay to relay, hop after hop, and why the rest was not measured.
fn along(streams: &Streams, hops: &[Hop], from: usize, time: u32) -> (Vec<f64>, Result<(), String>) {
    let mut rates = Vec::new();
    for (at, hop) in hops.windows(2).enumerate().skip(from) {
        match together(|| streams.router.measure_between(&hops[..at], &hop[0], &hop[1], time)) {
            Ok(rate) => rates.push(rate),
            Err(why) => return (rates, Err(why)),
        }
    }
    let ended = if rates.is_empty() { Err(format!("no hop begins at relay {from} of this path, counted from 0")) } else { Ok(()) };
    (rates, ended)
}

fn to_relay(streams: &Streams, hop: &Hop, seconds: f64) -> Result<f64, String> {
    let time = milliseconds(seconds);
    let send = |socket| send_filler(&mut Outlet::new(socket, &streams.rules, Some(&streams.limit)), time);
    together(|| streams.router.measure_to(hop, time, send))
}

/// The sum of several streams: over a long path one carries its window per round trip and no more, but data gets more lanes.
fn together(measure: impl Fn() -> Result<f64, RouteError> + Sync) -> Result<f64, String> {
    std::thread::scope(|scope| {
        let start = |_| Builder::new().name("probe".to_owned()).stack_size(STACK_BYTES).spawn_scoped(scope, &measure);
        let streams = (0..PROBE_STREAMS).map(start).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let mut sum = 0.0;
        for stream in streams {
            let rate = stream.join().map_err(|_| "the probe panicked".to_owned())?;
            sum += rate.map_err(|error| error.to_string())?;
        }
        Ok(round(sum))
    })
}

/// At least 100 ms, so that a rate means something.
fn milliseconds(seconds: f64) -> u32 {
    (seconds * 1000.0).clamp(100.0, 600_000.0) as u32
}
