# shellcheck shell=sh disable=SC2154
# Units by full name: `cpt-*-b` would also stop those of a transfer called a-b. Partial files stay for a later attempt.
# A start that is under way comes first: it would outlive its stop.
exclusively
for role in send receive relay; do stop_unit "cpt-$role-$transfer"; done
# A number that is another program's by now is left alone.
for file in "$run"/*.pid; do
  pid="$(cat "$file" 2>/dev/null)" || continue
  case "$(readlink "/proc/$pid/exe")" in "$(readlink -f "$home")"/bin/cpt-relay-*) kill "$pid" 2>/dev/null || : ;; esac
done
rm -rf "$run"
echo "{\"stopped\":\"$transfer\"}"
