# shellcheck shell=sh disable=SC2154
# Sets $bin to the daemon for this machine's processor, fetched and verified once per version.
install_daemon() {
  case "$(uname -m)" in
    x86_64) uri="$SSM_DaemonUri" sha256="$SSM_DaemonSha256" ;;
    aarch64) uri="${SSM_DaemonUriArm64:-}" sha256="${SSM_DaemonSha256Arm64:-}" ;;
    *) fail "there is no daemon for $(uname -m): x86_64 and aarch64 are known" ;;
  esac
  [ -n "$uri" ] || fail "no daemon for arm64 is deployed: run make daemon-arm64 in the checkout and deploy again"
  bin="$home/bin/cpt-relay-$sha256"
  [ ! -x "$bin" ] || return 0
  command -v aws >/dev/null || fail "the AWS command line is missing on this machine: install awscli 2"
  mkdir -p "$home/bin"
  download="$(mktemp "$home/bin/.download.XXXXXX")"
  trap 'rm -f "$download"' EXIT
  aws s3 cp --only-show-errors --region "$SSM_DaemonRegion" "$uri" "$download" >&2 \
    || fail "cannot read $uri: attach the managed policy cpt-endpoint to this machine's role"
  echo "$sha256  $download" | sha256sum -c --status || fail "$uri does not hash to $sha256"
  chmod 755 "$download"
  mv -f "$download" "$bin"
  trap - EXIT
}

