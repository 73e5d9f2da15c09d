# shellcheck shell=sh disable=SC2154
# Units by full name: `cpt-*-b` would also stop those of a transfer called a-b. Partial files stay for a later attempt.
# A start that is under way comes first: it would outlive its stop.
exclusively
for role in send receive relay; do stop_unit "cpt-$role-$transfer"; done
# Nobody waits for those that answer: one may hang in a file system.
for file in "$run"/*.unit; do
  [ ! -e "$file" ] || systemctl --no-block stop "$(cat "$file").service" 2>/dev/null || :
done
# A daemon's own keeper cancels its token of HDFS: these are of one that was killed. Each is who it says, and needs no key.
for token in "$private"/*.token; do
  [ ! -e "$token" ] || HADOOP_TOKEN_FILE_LOCATION="$token" timeout 20 "$(cat "$private/program")" fetchdt --cancel "$token" >&2 \
    || echo "cpt: the token $token is not cancelled: it ends by itself" >&2
done
rm -rf "$run" "$private"
# Run Command returns 8 000 characters of errors. A machine is one end of a transfer, or lent to it as a relay.
for role in send receive relay; do last_lines "$role" 7500 >&2; done
echo "{\"stopped\":\"$transfer\"}"
