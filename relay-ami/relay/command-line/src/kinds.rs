//! The ends of a command, each of its kind.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use aws_credential_types::provider::SharedCredentialsProvider;
use cpt_control_aws::aws::Aws;
use cpt_control_aws::clients::http_client;
use cpt_control_aws::credentials::Holder;
use cpt_control_aws::names::Names;
use cpt_ends_hdfs::cluster::{Cluster, HeldToken, Lookup, resolve_by};
use cpt_ends_hdfs::destination as hdfs_destination;
use cpt_ends_hdfs::source as hdfs_source;
use cpt_ends_posix::{PosixDestination, PosixSource};
use cpt_ends_s3::client::{Bucket, Place, Setup};
use cpt_ends_s3::destination::BucketDestination;
use cpt_ends_s3::source::BucketSource;
use cpt_ends_s3::written::Written;
use cpt_relay::control::Control;
use cpt_relay::defaults::THREADS_AT_ONCE;
use cpt_relay::documents::command::{Receive, ScanDestination, ScanSource};
use cpt_relay::documents::end::{
    DestinationBucket, DestinationEnd, HdfsDestination, HdfsSource, MachineDestination, SourceBucket, SourceEnd,
};
use cpt_relay::documents::event::Failure;
use cpt_relay::documents::key_entry::KeyEntry;
use cpt_relay::documents::seat::Seat;
use cpt_relay::documents::text::{AccountId, BucketName, HdfsUser, KeepName, KeyPrefix, Region, TransferId};
use cpt_relay::ends::{Destination, Source};
use cpt_relay::stop::Stop;

use super::CliError;
use super::hdfs_token;
use super::roles::control_error;
use super::seat_credentials;

/// For whom a bucket's credentials are asked.
pub struct Asker<'a> {
    /// Through which they are asked; without it the environment has them, for whoever runs a role by hand.
    pub control: Option<&'a Arc<Aws>>,
    pub transfer: &'a TransferId,
    /// Of a daemon; a scan has none.
    pub epoch: Option<u64>,
    pub stop: &'a Stop,
}

impl Asker<'_> {
    fn credentials(&self, seat: Seat) -> Result<SharedCredentialsProvider, CliError> {
        let Some(control) = self.control else {
            let missing = || CliError::Usage("there is no control, nor AWS_ACCESS_KEY_ID; a bucket needs credentials".to_owned());
            return Setup::credentials_of_environment().ok_or_else(missing);
        };
        let holder = Holder { transfer: self.transfer.clone(), seat, epoch: self.epoch };
        Ok(seat_credentials::of_seat(control, holder, self.stop)?.shared())
    }
}

/// The source of a sender, and its bucket if it is one.
pub fn sending_source(end: &SourceEnd, seat: Seat, asker: &Asker<'_>) -> Result<(Box<dyn Source>, Option<Bucket>), CliError> {
    let SourceEnd::Bucket(of) = end else { return Ok((source(end, seat, asker)?, None)) };
    let bucket = source_bucket(of, seat, asker)?;
    Ok((Box::new(BucketSource::new(bucket.clone())), Some(bucket)))
}

/// The source of a command.
pub fn source(end: &SourceEnd, seat: Seat, asker: &Asker<'_>) -> Result<Box<dyn Source>, CliError> {
    match end {
        SourceEnd::Machine(end) => Ok(Box::new(PosixSource::new(end.paths.iter().map(|path| path.path().as_str().into()).collect()))),
        SourceEnd::Bucket(end) => Ok(Box::new(BucketSource::new(source_bucket(end, seat, asker)?))),
        SourceEnd::Hdfs(end) => Ok(Box::new(source_of_hdfs(end)?)),
    }
}

/// The source of a listing.
pub fn listed_source(scan: &ScanSource, overflow: Option<File>, asker: &Asker<'_>) -> Result<Box<dyn Source>, CliError> {
    match &scan.end {
        SourceEnd::Machine(end) => {
            let lands_as = end.paths.iter().map(|path| path.lands_as().map(|path| path.as_str().as_bytes().to_vec()));
            let source = PosixSource::new(end.paths.iter().map(|path| path.path().as_str().into()).collect())
                .landing_as(lands_as)
                .selecting(scan.select.clone())
                .preserving(end.preserve)
                .listing_unreadable(scan.list_unreadable);
            Ok(Box::new(source.spilling_into(overflow).leaving_free(scan.keep_replaced.clone())))
        }
        SourceEnd::Bucket(end) => {
            let source = BucketSource::new(source_bucket(end, Seat::SENDER, asker)?)
                .selecting(scan.select.clone())
                .preserving(end.preserve)
                .treating_archived(end.archived);
            Ok(Box::new(source.leaving_free(scan.keep_replaced.clone()).only(listed_keys(scan, asker)?)))
        }
        SourceEnd::Hdfs(end) => Ok(Box::new(source_of_hdfs(end)?.selecting(scan.select.clone()).leaving_free(scan.keep_replaced.clone()))),
    }
}

/// The keys that alone are listed, where a command has a list of them.
fn listed_keys(scan: &ScanSource, asker: &Asker<'_>) -> Result<Option<Vec<String>>, CliError> {
    let (Some(parts), Some(control)) = (scan.key_parts, asker.control) else { return Ok(None) };
    let mut keys = Vec::new();
    for part in 0..parts {
        let name = format!("{}keys/part-{part:05}.ndjson", scan.control.prefix);
        let body = control.read_object(&name, None).map_err(control_error)?;
        for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let entry = KeyEntry::parse(line).map_err(|why| CliError::failed(Failure::PlanInvalid, format!("{name}: {why}")))?;
            keys.push(entry.key);
        }
    }
    Ok(Some(keys))
}

/// A destination; of a machine with the directory in which a command says that what is replaced is kept.
pub fn destination(end: &DestinationEnd, keep: Option<&KeepName>, asker: &Asker<'_>) -> Result<Box<dyn Destination>, CliError> {
    match end {
        DestinationEnd::Machine(end) => Ok(Box::new(directory(end, keep, asker.transfer))),
        DestinationEnd::Bucket(end) => Ok(Box::new(bucket_destination(end, keep, (Seat::RECEIVER, asker))?)),
        DestinationEnd::Hdfs(end) => Ok(Box::new(destination_in_hdfs(end, keep)?)),
    }
}

/// The destination of a survey.
pub fn surveyed_destination(scan: &ScanDestination, asker: &Asker<'_>) -> Result<Box<dyn Destination>, CliError> {
    let keep = scan.keep_replaced.as_ref();
    match &scan.end {
        // Machines of one transfer try beside each other.
        DestinationEnd::Hdfs(end) if !scan.dry_run => {
            Ok(Box::new(destination_in_hdfs(end, keep)?.tried_by(format!("{}-{}", scan.transfer_id, scan.seat))))
        }
        end => destination(end, keep, asker),
    }
}

/// Objects that are put at once: each takes as long as a bucket takes to answer, 20 to 100 ms, whatever its size.
const OBJECTS_AT_ONCE: usize = 64;
/// Files that are written into HDFS at once: each takes six calls of the name node, and a connection to data nodes.
const FILES_IN_HDFS_AT_ONCE: usize = 32;

/// Threads that place files where a destination is far.
pub const fn placing_threads(end: &DestinationEnd) -> usize {
    match end {
        DestinationEnd::Machine(_) => THREADS_AT_ONCE,
        DestinationEnd::Bucket(_) => OBJECTS_AT_ONCE,
        DestinationEnd::Hdfs(_) => FILES_IN_HDFS_AT_ONCE,
    }
}

/// The destination of a receiver, and its bucket if it is one.
pub fn receiving_destination(command: &Receive, asker: &Asker<'_>) -> Result<(Box<dyn Destination>, Option<Bucket>), CliError> {
    let Receive { end, keep_replaced, transfer_id, above, many_receivers, seat, .. } = command;
    match end {
        DestinationEnd::Machine(of) => {
            let directory = directory(of, keep_replaced.as_ref(), transfer_id);
            let directory = directory.making(above).beside_others(many_receivers.then_some(*seat));
            Ok((Box::new(directory), None))
        }
        DestinationEnd::Bucket(of) => {
            let destination = bucket_destination(of, keep_replaced.as_ref(), (*seat, asker))?;
            let bucket = destination.bucket().clone();
            Ok((Box::new(destination.received_by(*seat).beside_others(*many_receivers)), Some(bucket)))
        }
        DestinationEnd::Hdfs(of) => {
            let destination = destination_in_hdfs(of, keep_replaced.as_ref())?;
            Ok((Box::new(destination.received_by(*seat).beside_others(*many_receivers)), None))
        }
    }
}

/// The cluster of this machine, as a user of it.
pub fn cluster(user: &HdfsUser, failure: Failure) -> Result<Cluster, CliError> {
    cluster_of(user.as_str(), hdfs_token::held()).map_err(|error| CliError::failed(failure, error))
}

/// The cluster of this machine, as a user of it, by a token where it has Kerberos.
pub fn cluster_of(user: &str, token: Option<&HeldToken>) -> io::Result<Cluster> {
    resolve_by(lookup);
    Cluster::of_machine(user, token)
}

/// Addresses of `host:port`, by the daemon's own resolver.
fn lookup(host: String) -> Lookup {
    static NAMES: OnceLock<Names> = OnceLock::new();
    Box::pin(async move {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, format!("{host} is not host:port"));
        let (name, port) = host.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let found = NAMES.get_or_init(Names::default).lookup(name).await?;
        Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    })
}

fn source_of_hdfs(end: &HdfsSource) -> Result<hdfs_source::HdfsSource, CliError> {
    let asked = end.paths.iter().map(|path| hdfs_source::Asked {
        path: path.path().as_str().to_owned(),
        lands_as: path.lands_as().map(|path| path.as_str().to_owned()),
    });
    Ok(hdfs_source::HdfsSource::new(cluster(&end.user, Failure::SurveyProblem)?, asked.collect())
        .preserving(&end.preserve)
        .between(end.snapshot_diff.clone()))
}

fn destination_in_hdfs(end: &HdfsDestination, keep: Option<&KeepName>) -> Result<hdfs_destination::HdfsDestination, CliError> {
    if keep.is_some() {
        return Err(CliError::Usage("keepReplaced is given; HDFS keeps what is replaced by its own snapshots".to_owned()));
    }
    let stored = hdfs_destination::Stored {
        replication: end.replication.map(|replication| replication.get().into()),
        block_bytes: end.block_size_bytes.map(Into::into),
    };
    let destination = hdfs_destination::HdfsDestination::new(cluster(&end.user, Failure::DestinationError)?, end.path.as_str());
    Ok(destination.storing(stored).into_trash(end.trash).preserving(&end.preserve))
}

fn directory(end: &MachineDestination, keep: Option<&KeepName>, transfer: &TransferId) -> PosixDestination {
    PosixDestination::new(end.path.as_str().into()).keeping(keep, transfer)
}

/// A destination that is a bucket.
pub fn bucket_destination(
    end: &DestinationBucket,
    keep: Option<&KeepName>,
    (seat, asker): (Seat, &Asker<'_>),
) -> Result<BucketDestination, CliError> {
    if keep.is_some() {
        return Err(CliError::Usage("keepReplaced is given; a bucket keeps what is replaced by its own versions".to_owned()));
    }
    let written = Written {
        storage_class: end.storage_class.map(|class| class.as_str().to_owned()),
        tags: (!end.tags.is_empty()).then(|| end.tags.query()),
        kms_key: end.kms_key_id.as_ref().map(|key| key.as_str().to_owned()),
    };
    let bucket = opened(&end.bucket, &end.prefix, (&end.region, end.owner.as_ref()), (seat, asker))?;
    Ok(BucketDestination::new(bucket.writing(written)).preserving(end.preserve))
}

/// The client of a bucket that is read.
pub fn source_bucket(end: &SourceBucket, seat: Seat, asker: &Asker<'_>) -> Result<Bucket, CliError> {
    opened(&end.bucket, &end.prefix, (&end.region, end.owner.as_ref()), (seat, asker))
}

fn opened(
    bucket: &BucketName,
    prefix: &KeyPrefix,
    (region, owner): (&Region, Option<&AccountId>),
    (seat, asker): (Seat, &Asker<'_>),
) -> Result<Bucket, CliError> {
    let place = Place {
        bucket: bucket.as_str().to_owned(),
        prefix: prefix.as_str().to_owned(),
        region: region.as_str().to_owned(),
        owner: owner.map(|owner| owner.as_str().to_owned()),
    };
    let (http, credentials) = (http_client().map_err(control_error)?, asker.credentials(seat)?);
    let setup = Setup { endpoint: Setup::endpoint_of_environment(), http, credentials };
    Bucket::new(place, setup).map_err(|error| CliError::failed(Failure::DestinationError, error))
}
