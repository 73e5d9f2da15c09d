# shellcheck shell=sh
need_systemd
install_daemon
run_daemon delete
