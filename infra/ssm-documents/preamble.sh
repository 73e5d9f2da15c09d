# shellcheck shell=sh disable=SC2034,SC2154
# Head of every document's script: plain sh, run by the SSM agent as root. Parameters arrive as variables SSM_{parameter}.
set -eu
umask 077
transfer="${SSM_TransferId:?SSM Agent 3.3.2746.0 or later is needed: older ones do not pass parameters as variables}"
home="${CPT_HOME:-/opt/cpt}"
run="$home/run/$transfer"
# What is never to be on a disk: /run is memory.
private="${CPT_PRIVATE:-/run/cpt}/$transfer"

fail() {
  echo "cpt: $*" >&2
  exit 1
}

# Units are started with properties that older ones do not know.
need_systemd() {
  version="$(systemctl --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')"
  [ "${version:-0}" -ge 247 ] || fail "systemd is '${version:-unknown}' on this machine: 247 or later is needed"
}

# Until `release`, or the end of the script, no other start or stop goes on on this machine.
exclusively() {
  mkdir -p "$home"
  exec 9>"$home/lock"
  flock 9
}

release() {
  exec 9>&-
}

# Writes the command, base64url with or without padding, to file $1.
write_command() {
  encoded="$SSM_Command"
  while [ $((${#encoded} % 4)) -ne 0 ]; do encoded="$encoded="; done
  printf '%s' "$encoded" | tr '_-' '/+' | base64 -d >"$1"
}
