# shellcheck shell=sh disable=SC2154
# Sets $bin to the daemon for this machine's processor, fetched and verified once per version. Where it lies and what it
# hashes to are constants of the document: whoever may send the document cannot have it run anything else.
install_daemon() {
  case "$(uname -m)" in
    x86_64) uri="$daemon_uri_x86_64" sha256="$daemon_sha256_x86_64" ;;
    aarch64) uri="$daemon_uri_arm64" sha256="$daemon_sha256_arm64" ;;
    *) fail "there is no daemon for $(uname -m): x86_64 and aarch64 are known" ;;
  esac
  [ -n "$uri" ] || fail "no daemon for arm64 is deployed: run make daemon-arm64 in the checkout and deploy again"
  bin="$home/bin/cpt-relay-$sha256"
  [ ! -x "$bin" ] || return 0
  command -v aws >/dev/null || fail "the AWS command line is missing on this machine: install awscli 2"
  mkdir -p "$home/bin"
  # Two commands may come at once, and one download does for both.
  exec 8>"$home/bin/lock"
  flock 8
  [ ! -x "$bin" ] || { exec 8>&- && return 0; }
  download="$(mktemp "$home/bin/.download.XXXXXX")"
  trap 'rm -f "$download"' EXIT
  # By itself the command line waits for its keys for a second: too little on a machine that is busy. A service that never
  # answers is given up after 30 s, or 60 s by the second of two commands at once: the shortest document has 90 s.
  AWS_METADATA_SERVICE_TIMEOUT=5 aws s3 cp --only-show-errors --region "$daemon_region" "$uri" "$download" >&2 \
    || fail "cannot read $uri: attach the managed policy cpt-endpoint to this machine's role"
  echo "$sha256  $download" | sha256sum -c --status || fail "$uri does not hash to $sha256"
  chmod 755 "$download"
  mv -f "$download" "$bin"
  trap - EXIT
  exec 8>&-
}

