#!/bin/sh
# Runs a rank beneath a shell that outlives it a little, so that a launcher which ends the job as soon as one of
# its own processes has gone (MPICH's, after 20 ms) leaves the other ranks time to name the lost one.
"$@"
status=$?
[ $status -eq 0 ] || sleep 2
exit $status
