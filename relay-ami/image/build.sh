#!/bin/sh
# Makes a relay of the machine that it runs on: build.sh DAEMON SHA256. Root; rootfs/ and validate.sh lie beside it.
# ROOT (tests): the file system that is changed, / by default.
set -eu
daemon="$1" sha256="$2"
here="$(cd "$(dirname "$0")" && pwd)"
root="${ROOT:-}"

echo "$sha256  $daemon" | sha256sum -c --status || {
  echo "cpt: $daemon does not hash to $sha256: build the pipeline's recipe again" >&2
  exit 1
}
# Where the SSM documents look before they fetch anything.
install -d -m 755 "$root/opt/cpt/bin" "$root/opt/cpt/image"
install -m 755 "$daemon" "$root/opt/cpt/bin/cpt-relay-$sha256"
install -m 755 "$here/validate.sh" "$root/opt/cpt/image/validate.sh"
(cd "$here/rootfs" && find . -type f) | while read -r file; do
  install -D -m 644 "$here/rootfs/$file" "$root/$file"
done
