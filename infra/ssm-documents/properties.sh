# shellcheck shell=sh disable=SC2154
# Prints the unit's properties for role $1, one a line: the least with which it works. $2: what a receiver writes, quoted;
# $3: its command.
unit_properties() {
  # Page cache counts too, so there is room; a daemon that grows without end must not take the machine with it. Start
  # Transfer, during which daemons run, takes 7 days at most: after 8 nobody is left who would stop them.
  cat <<END
NoNewPrivileges=yes
LimitNOFILE=65536
TimeoutStopSec=15
RuntimeMaxSec=8d
MemoryMax=75%
ProtectSystem=strict
ReadWritePaths="$run" "$private"
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
END
  case "$1" in
    send) echo "CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_SETUID CAP_SETGID" ;;
    receive)
      # What goes to a bucket is written nowhere on the machine, and an empty list would take back what is said above.
      [ -z "$2" ] || printf 'ReadWritePaths=%s\n' "$2"
      properties_for_kept "$3"
      ;;
    # Its own files are root's, and it powers its machine off by asking systemd.
    relay) printf '%s\n' CapabilityBoundingSet=CAP_SYS_BOOT ProtectHome=yes PrivateTmp=yes OOMScoreAdjust=-500 ;;
  esac
}
