# shellcheck shell=sh
# Prints the properties by which a daemon that dies or hangs is started again, one a line: not after an end of its own
# (codes 1 to 4), and not for ever. A frozen process does not hear SIGABRT, the watchdog's usual signal.
restart_properties() {
  cat <<END
Restart=on-failure
RestartPreventExitStatus=1 2 3 4
RestartSec=200ms
StartLimitIntervalSec=60
StartLimitBurst=5
WatchdogSec=6
WatchdogSignal=SIGKILL
NotifyAccess=main
END
}
