#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   schedule.sh COMMAND PLAYER sqlite
#
# schedule preview: what it tells of patterns, intervals and specs, around
# changes of clocks, and what it refuses. It needs no store, and its zone is the
# test's own.
set -eu
. "$(dirname -- "$0")/lib.sh"

# A zone file that is a rule and nothing else.
header='TZif3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
mkdir -p "$work/zones/America"
printf "$header"'\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0'"$header"\
'\0\0\0\0\0\0\0\1\0\0\0\4\0\0\0\0\0\0UTC\0\nEST5EDT,M3.2.0,M11.1.0\n' \
    >"$work/zones/America/New_York"
printf 'no zone' >"$work/zones/America/Nowhere"
export TZDIR="$work/zones"

cat >"$work/spec" <<'END'
{
  "zone": "America/New_York",
  "cron": ["30 2 * * *", "30 1 * * SUN"],
  "every": {"every": "1w", "anchor": "2026-03-08T12:00:00-05:00"},
  "dst_gap": "shift",
  "dst_fold": "both",
  "exclude_days": ["2026-03-09/2026-10-31", "--12-25"],
  "start": "2026-03-07T00:00:00-05:00",
  "end": "2026-11-03T00:00:00-05:00"
}
END
printf '{"at":["2026-01-01T00:00Z","2026-01-01T00:00:00.250Z"]}' >"$work/at"
printf '{"every":"1s","exclude_days":"1970-01-01/2199-12-31"}' >"$work/none"
# The first times of it are excluded, and more than one search looks at; the last
# ones too.
printf '{"every":"1s","end":"2026-01-01T00:00Z",
"exclude_days":["1970-01-01/1970-12-31","2025-12-31"]}' >"$work/past"
printf '{"every":"1s","end":"1970-01-01T00:01Z",
"exclude_days":"1970-01-01"}' >"$work/never"
printf '{"cron":' >"$work/broken"
printf '{"crom":"@daily"}' >"$work/wrong"
new_york='--zone America/New_York'
spring='--from 2026-03-07T00:00-05:00'
autumn='--from 2026-11-01T00:00-04:00'

# Unquoted: options and their values.
t schedule preview '30 2 * * *' $new_york $spring --count 3
t schedule preview '30 1 * * *' $new_york $autumn --count 2
t schedule preview '30 * * * *' $new_york $autumn --count 4
t schedule preview '0 0 9 ? * 2#1' --dialect quartz $spring --count 3
t schedule preview --every 1h30m --from 2026-01-01T00:00Z --count 3
t schedule preview --spec "$work/spec" --from 1970-01-01T00:00Z
t schedule preview --spec "$work/at" --from 2026-01-01T00:00Z
t schedule preview '30 2 * * *' $new_york $spring --count 2 --json
t schedule preview --spec "$work/at" --from 1970-01-01T00:00Z --json
t schedule preview @daily --from 2026-01-01T00:00Z
t schedule preview --spec "$work/at" --from 2026-01-01T00:00:00.251Z
t schedule preview '0 0 31 2 *'
t schedule preview '0 0 31 2 *' --json
t schedule preview --spec "$work/past" --from 2025-12-31T23:59:00Z
t schedule preview --spec "$work/past" --from 2026-06-01T00:00Z
t schedule preview --spec "$work/never" --from 1970-01-01T00:00Z
t schedule preview --spec "$work/none" --from 2026-01-01T00:00Z
cli_end schedule.txt

t schedule
t schedule list
t schedule preview
t schedule preview '0 9 * * *' '0 10 * * *'
t schedule preview @daily --every 1h
t schedule preview --spec "$work/spec" --zone UTC
t schedule preview --spec "$work/spec" --dialect ocps
t schedule preview --every 1h --dialect quartz
t schedule preview '61 * * * *'
t schedule preview '0 9 * * *' --dialect quartz
t schedule preview --every 5x
t schedule preview --every 500ms
t schedule preview @daily --zone America/Nowhere
t schedule preview @daily --zone Europe/Paris
t schedule preview @daily --zone ../etc/passwd
t schedule preview @daily --zone localtime
t schedule preview @reboot
t schedule preview @daily --from tomorrow
t schedule preview @daily --from 2026-01-01T00:00
t schedule preview @daily --count 0
t schedule preview @daily --count 10001
t schedule preview @daily --dialect vixie
t schedule preview --spec "$work/broken"
t schedule preview --spec "$work/wrong"
t schedule preview --spec "$work/nothing"
cli_end schedule-usage.txt

# From standard input as from a file; without --from it is from now on.
run schedule preview --spec "$work/spec" $spring >"$work/by_file"
run schedule preview --spec - $spring <"$work/spec" | cmp - "$work/by_file"
[ "$(run schedule preview '* * * * * *' --json | wc -l)" -eq 11 ]
before=$(date -u +%s)
first=$(run schedule preview '* * * * * *' --count 1 --json |
    sed -n 's/.*"at":"\([^"]*\)".*/\1/p')
first=$(date -u -d "$first" +%s)
[ "$first" -ge "$before" ] && [ "$first" -le "$(($(date -u +%s) + 1))" ]
