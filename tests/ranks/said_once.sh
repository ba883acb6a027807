#!/bin/sh
# Runs a job whose start fails: one line of all ranks' output says why, and the status is 2.
#
#   said_once.sh BEGINNING WORD...    how that line begins, a pattern of grep's; the job
set -u
beginning=$1
shift
said=$("$@" 2>&1 </dev/null)
status=$?
# Launchers add lines of their own.
lines=$(printf '%s\n' "$said" | grep -E -c '\[SHUNT-[0-9]+\]|no such file')
if [ "$status" -eq 2 ] && [ "$lines" -eq 1 ] && printf '%s\n' "$said" | grep -q "^$beginning"; then exit 0; fi
echo "FAIL: status $status, and $lines lines, of which one should begin with: $beginning"
printf '%s\n' "$said"
exit 1
