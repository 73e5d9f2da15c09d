# shellcheck shell=sh disable=SC2154
# Starts role $1 as a unit and prints its ready file. Its command may be for several machines: $machine is this one. Sent twice with the same command, it only prints the ready file again.
start_daemon() {
  unit="cpt-$1-$transfer"
  command="$run/$1.json"
  ready="$run/$1.ready"
  mkdir -p "$run" "$private"
  write_command "$command.new"
  if systemctl is-active --quiet "$unit" && cmp -s "$command.new" "$command"; then
    rm -f "$command.new"
  else
    stop_unit "$unit"
    rm -f "$ready"
    mv -f "$command.new" "$command"
    writes=
    [ "$1" != receive ] || writes="$("$bin" make-destination --command "$command")" || fail "cannot make the destination; see above"
    # Long paths use BBR, and a daemon without CAP_NET_ADMIN does not get the module loaded.
    modprobe -q tcp_bbr 2>/dev/null || :
    role="$1"
    set --
    while read -r property; do [ -z "$property" ] || set -- "$@" "--property=$property"; done <<END
$(unit_properties "$role" "$writes" "$(cat "$command")")
$(restart_properties)
${SSM_CpuQuota:+CPUQuota=$SSM_CpuQuota}
${SSM_CpuWeight:+CPUWeight=$SSM_CpuWeight}
${SSM_IoWeight:+IOWeight=$SSM_IoWeight}
${lease_properties-}
END
    # The agent kills a command's process group at its timeout, hence a unit of its own.
    start_unit --unit="$unit" "$@" "$bin" "$role" --command "$command" --ready "$ready" \
      ${machine:+--machine "$machine"} ${steer:+--steer "$steer"} >&2 9>&-
  fi
  release
  "$bin" await-ready "$ready" --seconds 20 || {
    journalctl -u "$unit" -n 20 --no-pager >&2
    fail "$unit was not ready after 20 s; its last lines are above"
  }
}
