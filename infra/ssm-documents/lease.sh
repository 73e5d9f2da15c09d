# shellcheck shell=sh disable=SC2154
# On a node of the pool, where no agent runs it: `boot` starts the unit that reads the node's leases, which then calls `start` and
# `stop` for each of them.
need_systemd
install_daemon
case "$1" in
  boot)
    identity="$(metadata instance-id)" || fail "the metadata service does not say which instance this is"
    mkdir -p "$home"
    start_unit --unit=cpt-serve-leases --property=Restart=always --property=RestartSec=1 --property=WatchdogSec=60 --property=NotifyAccess=main \
      "$bin" serve-leases "$2" --to "$node_table$identity" --seconds "$node_seconds" 9>&-
    ;;
  start)
    exclusively
    machine="$(metadata instance-id)" || fail "the metadata service does not say which instance this is"
    # Leases of others go on beside it, whatever this one takes.
    lease_properties="MemoryMax=$lease_memory
LimitNOFILE=$lease_descriptors"
    # Where `serve-leases` tells the daemon what it may send, and reads what it has moved.
    steer="$run"
    start_daemon relay
    ;;
  stop)
    exclusively
    stop_unit "cpt-relay-$transfer"
    rm -rf "$run" "$private"
    ;;
esac
