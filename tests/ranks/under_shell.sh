#!/bin/sh
# Runs a rank beneath a shell that outlives it a little, so that a launcher which ends the job as soon as one of
# its own processes has gone (MPICH's) leaves the other ranks time to name the lost one: UNDER_SHELL_SECONDS, or 2.
"$@"
status=$?
[ $status -eq 0 ] || sleep "${UNDER_SHELL_SECONDS:-2}"
exit $status
