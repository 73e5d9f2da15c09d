# shellcheck shell=sh
install_daemon
start_daemon receive
