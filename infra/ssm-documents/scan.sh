# shellcheck shell=sh
need_systemd
install_daemon
start_answering scan 840
