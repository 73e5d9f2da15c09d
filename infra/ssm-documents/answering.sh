# shellcheck shell=sh disable=SC2154
# Starts role $1 as a unit that may take $2 seconds and writes its answer into the table: a command that waits for it would hold one of
# the agent's five workers. Sent twice, it is started once. A file for each, as two probes may run at once.
start_answering() {
  id="${SSM_Answer##* }"
  unit="cpt-$1-$transfer-$id"
  mkdir -p "$run"
  if [ ! -e "$run/$id.unit" ]; then
    write_command "$run/$id.json"
    # The stop document finds it by this: a scan of millions of files outlives the execution that asked for it.
    echo "$unit" >"$run/$id.unit"
    # What answers is to outlive a role that has taken too much memory.
    start_unit --unit="$unit" --property=RuntimeMaxSec="$2" --property=TimeoutStopSec=15 --property=OOMPolicy=continue \
      --property=LimitNOFILE=65536 "$bin" answer "$1" --command "$run/$id.json" --to "$SSM_Answer" >&2
  fi
  echo "{\"started\":\"$unit\"}"
}
