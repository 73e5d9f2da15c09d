# shellcheck shell=sh disable=SC2154
# Stops a unit; 5 is systemctl's code for one that is not loaded.
stop_unit() {
  systemctl stop "$1.service" 2>/dev/null || [ $? -eq 5 ] || fail "systemctl could not stop $1"
}
