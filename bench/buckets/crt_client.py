"""Copies files into a bucket, or objects out of one, by awscrt's client of S3.

It is a program of its own, whose time is measured.
"""

import argparse
import json
import os
from concurrent.futures import Future
from pathlib import Path
from threading import Semaphore
from urllib.parse import quote, urlsplit

from awscrt.auth import AwsCredentialsProvider
from awscrt.http import HttpHeaders, HttpRequest
from awscrt.io import ClientBootstrap, ClientTlsContext, DefaultHostResolver, EventLoopGroup, TlsContextOptions
from awscrt.s3 import (
    S3ChecksumAlgorithm,
    S3ChecksumConfig,
    S3ChecksumLocation,
    S3Client,
    S3RequestTlsMode,
    S3RequestType,
    create_default_s3_signing_config,
)

MIB = 1 << 20
UP = S3ChecksumConfig(algorithm=S3ChecksumAlgorithm.CRC64NVME, location=S3ChecksumLocation.TRAILER)
DOWN = S3ChecksumConfig(validate_response=True)


def options() -> argparse.Namespace:
    """What is copied, where and how."""
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=("up", "down"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", type=Path)
    for name in ("endpoint", "region", "bucket", "prefix", "ca"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--part-mib", type=int, required=True)
    parser.add_argument("--gbps", type=float, required=True)
    parser.add_argument("--at-once", type=int, required=True)
    return parser.parse_args()


def client(asked: argparse.Namespace) -> S3Client:
    """A client for this endpoint."""
    group = EventLoopGroup(os.cpu_count())
    bootstrap = ClientBootstrap(group, DefaultHostResolver(group))
    keys = (os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])
    credentials = AwsCredentialsProvider.new_static(*keys)
    is_tls = asked.endpoint.startswith("https")
    tls = None
    if is_tls:
        trusted = TlsContextOptions()
        trusted.override_default_trust_store_from_path(None, asked.ca)
        tls = ClientTlsContext(trusted).new_connection_options()
    return S3Client(
        bootstrap=bootstrap,
        region=asked.region,
        tls_mode=S3RequestTlsMode.ENABLED if is_tls else S3RequestTlsMode.DISABLED,
        tls_connection_options=tls,
        signing_config=create_default_s3_signing_config(region=asked.region, credential_provider=credentials),
        part_size=asked.part_mib * MIB,
        throughput_target_gbps=asked.gbps,
    )


def main() -> None:
    """Copy them all; whatever fails is raised."""
    asked = options()
    s3, host = client(asked), urlsplit(asked.endpoint).netloc
    room, made, failed = Semaphore(asked.at_once), set[Path](), list[BaseException]()

    def over(done: Future[None]) -> None:
        if error := done.exception():
            failed.append(error)
        room.release()

    for name in json.loads(asked.names.read_text()):
        room.acquire()
        if failed:
            break
        path, key = asked.folder / name, f"/{asked.bucket}/{quote(asked.prefix + name)}"
        if asked.way == "up":
            headers = [("host", host), ("content-length", str(path.stat().st_size))]
            request = HttpRequest("PUT", key, HttpHeaders(headers))
            copy = s3.make_request(
                type=S3RequestType.PUT_OBJECT, request=request, send_filepath=str(path), checksum_config=UP
            )
        else:
            if path.parent not in made:
                path.parent.mkdir(parents=True, exist_ok=True)
                made.add(path.parent)
            request = HttpRequest("GET", key, HttpHeaders([("host", host)]))
            copy = s3.make_request(
                type=S3RequestType.GET_OBJECT, request=request, recv_filepath=str(path), checksum_config=DOWN
            )
        copy.finished_future.add_done_callback(over)
    for _ in range(asked.at_once):
        room.acquire()
    if failed:
        raise failed[0]


if __name__ == "__main__":
    main()
