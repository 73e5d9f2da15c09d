# shellcheck shell=sh
need_systemd
install_daemon
start_answering delete 840
