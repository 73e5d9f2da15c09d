# shellcheck shell=sh disable=SC2154
# Starts role $1 as a unit and prints its ready file. Sent twice with the same command, it only prints the ready file again.
start_daemon() {
  unit="cpt-$1-$transfer"
  command="$run/$1.json"
  ready="$run/$1.ready"
  mkdir -p "$run"
  write_command "$command.new"
  if systemctl is-active --quiet "$unit" && cmp -s "$command.new" "$command"; then
    rm -f "$command.new"
  else
    stop_unit "$unit"
    rm -f "$ready"
    mv -f "$command.new" "$command"
    # The agent kills a command's process group at its timeout, hence a unit of its own.
    systemd-run --quiet --unit="$unit" --collect --property=NoNewPrivileges=yes --property=LimitNOFILE=65536 \
      --property=TimeoutStopSec=15 ${SSM_CpuQuota:+"--property=CPUQuota=$SSM_CpuQuota"} "$bin" "$1" --command "$command" --ready "$ready" >&2 9>&-
  fi
  release
  "$bin" await-ready "$ready" --seconds 20 || {
    journalctl -u "$unit" -n 20 --no-pager >&2
    fail "$unit was not ready after 20 s; its last lines are above"
  }
}
