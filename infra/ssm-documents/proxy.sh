# shellcheck shell=sh disable=SC2154
# Starts a unit with these options of systemd-run, and with the variables that name a proxy: a unit has none of the agent's environment,
# where an administrator sets them.
start_unit() {
  for name in no_proxy NO_PROXY https_proxy HTTPS_PROXY; do
    eval "value=\${$name-}"
    [ -z "$value" ] || set -- "--setenv=$name=$value" "$@"
  done
  systemd-run --quiet --collect "$@"
}
