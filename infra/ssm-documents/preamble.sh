# shellcheck shell=sh disable=SC2034,SC2154
# Head of every document's script: plain sh, run by the SSM agent as root. Parameters arrive as variables SSM_{parameter}.
set -eu
umask 077
transfer="${SSM_TransferId:?SSM Agent 3.3.2746.0 or later is needed: older ones do not pass parameters as variables}"
home="${CPT_HOME:-/opt/cpt}"
run="$home/run/$transfer"

fail() {
  echo "cpt: $*" >&2
  exit 1
}

# Sets $bin to the daemon, fetched and verified once per version.
install_daemon() {
  bin="$home/bin/cpt-relay-$SSM_DaemonSha256"
  [ ! -x "$bin" ] || return 0
  command -v aws >/dev/null || fail "the AWS command line is missing on this machine: install awscli 2"
  mkdir -p "$home/bin"
  download="$(mktemp "$home/bin/.download.XXXXXX")"
  trap 'rm -f "$download"' EXIT
  aws s3 cp --only-show-errors --region "$SSM_DaemonRegion" "$SSM_DaemonUri" "$download" >&2 \
    || fail "cannot read $SSM_DaemonUri: attach the managed policy cpt-endpoint to this machine's role"
  echo "$SSM_DaemonSha256  $download" | sha256sum -c --status || fail "$SSM_DaemonUri does not hash to $SSM_DaemonSha256"
  chmod 755 "$download"
  mv -f "$download" "$bin"
  trap - EXIT
}

# Writes the command, base64url with or without padding, to file $1.
write_command() {
  encoded="$SSM_Command"
  while [ $((${#encoded} % 4)) -ne 0 ]; do encoded="$encoded="; done
  printf '%s' "$encoded" | tr '_-' '/+' | base64 -d >"$1"
}
