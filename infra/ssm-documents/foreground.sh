# shellcheck shell=sh disable=SC2154
# Runs role $1 to its end; its last line of output is one JSON line. A file per call: two probes may run at once.
# SSM keeps the first 8 000 characters of stderr, and why a daemon failed is at the end: so its beginning is passed on at once, and its
# end when it has ended. A script that is killed has said the beginning.
run_daemon() {
  mkdir -p "$run"
  command="$(mktemp "$run/$1.XXXXXX")"
  trap 'rm -f "$command" "$command.pid" "$command.err"' EXIT
  write_command "$command"
  mkfifo "$command.err"
  { head -c 1500 && tail -c 6000; } <"$command.err" >&2 &
  passing="$!"
  "$bin" "$1" --command "$command" 2>"$command.err" &
  # The stop document finds it by this: a scan of millions of files outlives the execution that asked for it.
  echo "$!" >"$command.pid"
  code=0
  wait "$!" || code=$?
  wait "$passing" || :
  return "$code"
}
