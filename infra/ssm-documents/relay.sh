# shellcheck shell=sh
need_systemd
exclusively
install_daemon
machine="$AWS_SSM_INSTANCE_ID"
start_daemon relay
