# shellcheck shell=sh
install_daemon
run_daemon scan
