# shellcheck shell=sh
need_systemd
exclusively
install_daemon
start_daemon receive
