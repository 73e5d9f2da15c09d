# shellcheck shell=sh disable=SC2154
# Units by full name: `cpt-*-b` would also stop those of a transfer called a-b. Partial files stay for a later attempt.
# A start that is under way comes first: it would outlive its stop.
exclusively
for role in send receive relay; do stop_unit "cpt-$role-$transfer"; done
# Nobody waits for those that answer: one may hang in a file system.
for file in "$run"/*.unit; do
  [ ! -e "$file" ] || systemctl --no-block stop "$(cat "$file").service" 2>/dev/null || :
done
rm -rf "$run"
# Run Command returns 8 000 characters of errors. A machine is one end of a transfer, or lent to it as a relay.
for role in send receive relay; do last_lines "$role" 7500 >&2; done
echo "{\"stopped\":\"$transfer\"}"
