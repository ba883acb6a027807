#!/bin/sh
# Runs a rank beneath a shell that outlives it: a launcher that ends the job as soon as one of its own processes has
# gone (MPICH's) then leaves the other ranks time to name the lost one, UNDER_SHELL_SECONDS or 30. A job that ends
# itself does not wait for that.
"$@"
status=$?
[ $status -eq 0 ] || sleep "${UNDER_SHELL_SECONDS:-30}"
exit $status
