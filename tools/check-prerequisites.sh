#!/usr/bin/env bash
# Says what make cannot install into the checkout itself, and how to get it (Debian's package names).
set -u
missing=0
need() { # need COMMAND PACKAGE WHY
  command -v "$1" > /dev/null 2>&1 && return
  echo "setup: '$1' is missing ($3). On Debian: apt-get install $2" >&2
  missing=1
}
need git git "the source"
need cc gcc "the daemon's crypto is C"
need make make "this build"
need cargo "cargo, or better rustup's stable toolchain" "the daemon is Rust"
need node nodejs "AWS CDK; version 20 or newer"
need npm npm "AWS CDK"
need python3 python3 "Lambdas and tools; version 3.11 to 3.13"
need ip iproute2 "addresses of the local instances"
if command -v node > /dev/null 2>&1; then
  major=$(node --version | sed -E 's/^v([0-9]+).*/\1/')
  [ "$major" -ge 20 ] || { echo "setup: node is $(node --version); version 20 or newer is needed" >&2; missing=1; }
fi
if command -v cargo > /dev/null 2>&1; then
  minor=$(cargo --version | sed -E 's/^cargo 1\.([0-9]+).*/\1/')
  [ "$minor" -ge 94 ] || { echo "setup: $(cargo --version) is too old; 1.94 or newer is needed (rustup update stable)" >&2; missing=1; }
fi
if command -v python3 > /dev/null 2>&1; then
  python3 -c 'import ensurepip, venv' 2> /dev/null || { echo "setup: python3 has no venv. On Debian: apt-get install python3-venv" >&2; missing=1; }
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "setup: $(python3 --version); 3.11 or newer is needed" >&2; missing=1; }
fi
command -v mvn > /dev/null 2>&1 || echo "setup: note: no 'mvn': what needs a Hadoop is skipped. On Debian: apt-get install maven" >&2
if [ "$(id -u)" = 0 ]; then
  for tool in tc nft; do
    command -v "$tool" > /dev/null 2>&1 || echo "setup: note: no '$tool': local instances will be processes, not network namespaces. On Debian: apt-get install iproute2 nftables" >&2
  done
fi
exit "$missing"
