#!/bin/sh
# Fails unless this machine is a relay as build.sh makes it: validate.sh files SHA256, and validate.sh booted once it has
# started from the image. Says all that is wrong, not the first alone.
set -u
mode="$1" sha256="${2:-}"
wrong=0

complain() {
  echo "cpt: $*" >&2
  wrong=1
}

check_daemon() {
  daemon="/opt/cpt/bin/cpt-relay-$sha256"
  echo "$sha256  $daemon" | sha256sum -c --status 2>/dev/null || complain "$daemon is absent or not what its name says"
  "$daemon" --version >/dev/null || complain "$daemon does not run here"
}

# Drop-ins are read for a unit of the name that the document gives; systemd names what it does not understand.
check_units() {
  unit=/run/systemd/system/cpt-relay-validation.service
  mkdir -p "${unit%/*}"
  printf '[Service]\nExecStart=/opt/cpt/bin/cpt-relay-%s --version\n' "$sha256" >"$unit"
  said="$(systemd-analyze verify "$unit" 2>&1)" || complain "systemd-analyze verify failed"
  [ -z "$said" ] || complain "units: $said"
  [ -f /etc/systemd/system/cpt-relay-.service.d/50-image.conf ] || complain "the units' drop-in is missing"
  rm -f "$unit"
  systemctl --root=/ is-enabled --quiet amazon-ssm-agent || complain "amazon-ssm-agent is not enabled: nothing could start the relay"
  command -v aws >/dev/null || complain "the AWS command line is missing: a newer daemon could not be fetched"
}

check_leftovers() {
  for left in /root/.aws /root/.ssh/authorized_keys /root/.bash_history /opt/cpt/run /tmp/cpt-image; do
    [ ! -e "$left" ] || complain "$left is left over"
  done
  for other in /opt/cpt/bin/*; do
    [ "$other" = "/opt/cpt/bin/cpt-relay-$sha256" ] || complain "$other is of another build"
  done
}

# Line by line `name = value`; what the kernel has must be what the image says.
check_kernel() {
  grep -v '^#' /etc/sysctl.d/90-cpt.conf | while IFS='=' read -r name value; do
    name="$(echo "$name" | tr -d ' ' | tr . /)"
    has="$(tr '\t' ' ' <"/proc/sys/$name")" || has=""
    [ "$has" = "${value# }" ] || echo "cpt: $name is '$has', not '${value# }'" >&2
  done 2>&1 | grep . >&2 && wrong=1
  systemctl is-active --quiet amazon-ssm-agent || complain "amazon-ssm-agent does not run"
}

case "$mode" in
  files)
    check_daemon
    check_units
    check_leftovers
    ;;
  booted) check_kernel ;;
  *) complain "mode '$mode' is neither files nor booted" ;;
esac
exit "$wrong"
