# shellcheck shell=sh disable=SC2154
# Units by full name: `cpt-*-b` would also stop those of a transfer called a-b. Partial files stay for a later attempt.
# A start that is under way comes first: it would outlive its stop.
exclusively
for role in send receive relay; do stop_unit "cpt-$role-$transfer"; done
for pid in "$run"/*.pid; do [ ! -e "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || :; done
rm -rf "$run"
echo "{\"stopped\":\"$transfer\"}"
