"""What makes a cluster ask who comes: Kerberos, tokens for blocks, and what guards bytes on their way."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from local.hadoop.errors import HadoopError
from local.hadoop.java import Java
from local.hadoop.kdc import REALM, Kdc
from local.hadoop.machine import Machine

DAEMONS = "hdfs/cluster"
"""Principal of name node and data nodes; its first part is the superuser."""
KEYSTORE_PASSWORD = "of this test alone"  # noqa: S105 - guards a key that lives as long as a test

AES = {"dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding"}


@dataclass(frozen=True)
class Guard:
    """How bytes are guarded. `rpc`, `data`: `authentication`, `integrity` or `privacy`.

    `encrypt`: with `dfs.encrypt.data.transfer`, by this cipher, `3des` or `aes`; empty: without. `renew_seconds`,
    `most_seconds`: how long a delegation token holds until it is renewed, and in all.
    """

    rpc: str = "authentication"
    data: str = "authentication"
    encrypt: str = ""
    renew_seconds: int = 86_400
    most_seconds: int = 7 * 86_400


@dataclass(frozen=True)
class Security:
    """A KDC that runs, the keys of the daemons, and how bytes are guarded."""

    kdc: Kdc
    keystore: Path
    guard: Guard

    def key_table(self, user: str) -> Path:
        """The key of a user of HDFS, whose principal has the user's name. Raises HadoopError."""
        return self.kdc.key_table(user)

    @property
    def java_options(self) -> tuple[str, ...]:
        """What each Java needs to find the KDC."""
        return (f"-Djava.security.krb5.conf={self.kdc.configuration}",)

    def as_user(self, user: str | None) -> dict[str, str]:
        """The environment in which a program of Hadoop is a user; without one, the superuser."""
        principal = user or DAEMONS
        return {"KRB5PRINCIPAL": f"{principal}@{REALM}", "KRB5KEYTAB": str(self.kdc.key_table(principal))}

    def core(self) -> dict[str, str]:
        """What core-site.xml says."""
        return {
            "hadoop.security.authentication": "kerberos",
            "hadoop.security.authorization": "true",
            "hadoop.rpc.protection": self.guard.rpc,
        }

    def hdfs(self, name_node: Machine, machine: Machine | None) -> dict[str, str]:
        """What hdfs-site.xml says of a machine with a daemon; without one, of a client."""
        guard = self.guard
        principal = f"{DAEMONS}@{REALM}"
        said = {
            "dfs.block.access.token.enable": "true",
            "dfs.namenode.kerberos.principal": principal,
            "dfs.datanode.kerberos.principal": principal,
            "dfs.http.policy": "HTTPS_ONLY",
            "dfs.namenode.https-address": f"{name_node.address}:{name_node.ports[-1]}",
            "dfs.encrypt.data.transfer": str(bool(guard.encrypt)).lower(),
            "dfs.data.transfer.protection": guard.data,
            **(AES if guard.encrypt == "aes" else {}),
        }
        if machine is None:
            return said
        keys = str(self.kdc.key_table(DAEMONS))
        web = str(self.kdc.key_table("HTTP/cluster"))
        return said | {
            "dfs.namenode.keytab.file": keys,
            "dfs.datanode.keytab.file": keys,
            "dfs.web.authentication.kerberos.principal": f"HTTP/cluster@{REALM}",
            "dfs.web.authentication.kerberos.keytab": web,
            "dfs.datanode.https.address": f"{machine.address}:{machine.ports[-1]}",
            "dfs.namenode.delegation.token.renew-interval": str(1000 * guard.renew_seconds),
            "dfs.namenode.delegation.token.max-lifetime": str(1000 * guard.most_seconds),
        }

    def of_https(self) -> dict[str, str]:
        """What ssl-server.xml says."""
        return {
            "ssl.server.keystore.location": str(self.keystore),
            "ssl.server.keystore.type": "pkcs12",
            "ssl.server.keystore.password": KEYSTORE_PASSWORD,
            "ssl.server.keystore.keypassword": KEYSTORE_PASSWORD,
        }


@contextmanager
def secured(
    java: Java, folder: Path, address: str, port: int, guard: Guard, prefix: Sequence[str] = ()
) -> Iterator[Security]:
    """A KDC at an address, which keeps all in `folder`. Raises HadoopMissingError, HadoopError or TimeoutError."""
    with Kdc(folder / "kdc", address, port, prefix) as kdc:
        keystore = folder / "keystore.p12"
        _make_keystore(java, keystore)
        kdc.key_table(DAEMONS)
        kdc.key_table("HTTP/cluster")
        yield Security(kdc, keystore, guard)


def _make_keystore(java: Java, file: Path) -> None:
    made = subprocess.run(
        [
            str(java.program.with_name("keytool")),
            *("-genkeypair", "-alias", "cluster", "-keyalg", "EC", "-dname", "CN=cluster", "-storetype", "PKCS12"),
            *("-keystore", str(file), "-storepass", KEYSTORE_PASSWORD, "-keypass", KEYSTORE_PASSWORD),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        raise HadoopError(f"keytool: {(made.stderr or made.stdout).strip()[-500:]}")
