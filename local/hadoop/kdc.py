"""A Kerberos of a cluster's own: one KDC of MIT's, with its realm, principals and key tables in a folder."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from local.hadoop.errors import HadoopError, HadoopMissingError
from local.waiting import wait_for

REALM = "CPT.TEST"
PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local")
PLACES = "/usr/sbin:/sbin"
START_SECONDS = 10
REMEDY = "no KDC: on Debian `apt-get install krb5-kdc krb5-admin-server`"


class Kdc:
    """One that listens at an address; `with` starts it, and ends it.

    `prefix`: what stands before a command to run it on its machine. Raises HadoopMissingError where there is no KDC.
    """

    def __init__(self, folder: Path, address: str, port: int, prefix: Sequence[str] = ()) -> None:
        self.configuration = folder / "krb5.conf"
        self._folder, self._address, self._port, self._prefix = folder, address, port, tuple(prefix)
        path = f"{os.environ.get('PATH', '')}:{PLACES}"
        found = {name: shutil.which(name, path=path) for name in PROGRAMS}
        if None in found.values():
            raise HadoopMissingError(REMEDY)
        self._programs = {name: str(program) for name, program in found.items()}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """What programs of MIT's need to reach it."""
        return {"KRB5_CONFIG": str(self.configuration), "KRB5_KDC_PROFILE": str(self._folder / "kdc.conf")}

    def __enter__(self) -> Kdc:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.configuration.write_text(client_settings(self._address, self._port), encoding="utf-8")
        (self._folder / "kdc.conf").write_text(
            server_settings(self._folder, self._address, self._port), encoding="utf-8"
        )
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "of this test alone")
        with (self._folder / "kdc.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._prefix, self._programs["krb5kdc"], "-n", "-r", REALM],
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def wait_listening(self) -> None:
        """Wait until it answers at its address, from where this process runs. Raises HadoopError or TimeoutError."""
        wait_for(self._listens, START_SECONDS)

    def key_table(self, principal: str) -> Path:
        """A file with the key of a principal, which is made if there is none. Raises HadoopError."""
        file = self._folder / f"{principal.replace('/', '-')}.keytab"
        if not file.exists():
            self._run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}@{REALM}")
            self._run("kadmin.local", "-r", REALM, "-q", f"ktadd -norandkey -k {file} {principal}@{REALM}")
            if not file.exists():
                raise HadoopError(f"the KDC has made no key for {principal}")
        return file

    def _listens(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            said = (self._folder / "kdc.log").read_text(errors="replace")[-1000:]
            raise HadoopError(f"the KDC has ended: {said}")
        try:
            socket.create_connection((self._address, self._port), 1).close()
        except OSError:
            return False
        return True

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [self._programs[program], *words],
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise HadoopError(f"{program} {words[0]}: {(done.stderr or done.stdout).strip()[-1000:]}")


def client_settings(address: str, port: int) -> str:
    """krb5.conf: the realm, by TCP at one address, and no names that are looked up elsewhere. Pure."""
    return f"""[libdefaults]
 default_realm = {REALM}
 dns_lookup_realm = false
 dns_lookup_kdc = false
 rdns = false
 dns_canonicalize_hostname = false
 udp_preference_limit = 1
[realms]
 {REALM} = {{
  kdc = {address}:{port}
 }}
"""


def server_settings(folder: Path, address: str, port: int) -> str:
    """kdc.conf: all that it keeps is in a folder. Pure."""
    return f"""[kdcdefaults]
 kdc_listen = ""
 kdc_tcp_listen = {address}:{port}
[realms]
 {REALM} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
  max_life = 24h
 }}
[logging]
 kdc = STDERR
"""
