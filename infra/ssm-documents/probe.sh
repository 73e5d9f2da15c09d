# shellcheck shell=sh
need_systemd
install_daemon
start_answering probe 150
