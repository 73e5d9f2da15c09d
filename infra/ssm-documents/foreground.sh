# shellcheck shell=sh disable=SC2154
# Runs role $1 to its end; its last line of output is one JSON line. A file per call: two probes may run at once.
# SSM keeps the first 8 000 characters of what is written to stderr, and why a daemon failed is at the end: so that is passed on alone.
run_daemon() {
  mkdir -p "$run"
  command="$(mktemp "$run/$1.XXXXXX")"
  trap 'rm -f "$command" "$command.pid" "$command.log"' EXIT
  write_command "$command"
  "$bin" "$1" --command "$command" 2>"$command.log" &
  # The stop document finds it by this: a scan of millions of files outlives the execution that asked for it.
  echo "$!" >"$command.pid"
  code=0
  wait "$!" || code=$?
  tail -c 6000 "$command.log" >&2 || :
  return "$code"
}
