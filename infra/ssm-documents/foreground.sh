# shellcheck shell=sh disable=SC2154
# Runs role $1 to its end; its last line of output is one JSON line. A file per call: two probes may run at once.
run_daemon() {
  mkdir -p "$run"
  command="$(mktemp "$run/$1.XXXXXX")"
  trap 'rm -f "$command" "$command.pid"' EXIT
  write_command "$command"
  "$bin" "$1" --command "$command" &
  # The stop document finds it by this: a scan of millions of files outlives the execution that asked for it.
  echo "$!" >"$command.pid"
  wait "$!"
}
