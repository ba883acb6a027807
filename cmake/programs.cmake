# The programs: the command's program and the applications.
