# shellcheck shell=sh
exclusively
install_daemon
start_daemon send
