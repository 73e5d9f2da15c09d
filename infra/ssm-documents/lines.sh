# shellcheck shell=sh disable=SC2154
# Prints the last lines of the log of role $1, $2 bytes at most. A journal of years may be slow to read: what is not there after 5 s is not
# waited for.
last_lines() {
  timeout 5 journalctl -u "cpt-$1-$transfer" -n 500 -o short-iso --no-pager -q 2>/dev/null | tail -c "$2" || :
}
