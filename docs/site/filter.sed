# Of Doxygen's input. The comment at the head of a header is the header's, not the next namespace's.
1s,^/// ,/// \\file\n/// ,
# Doxygen 1.9.4 loses the end of a fenced block in a comment of `///`.
s,^( */// *)```(cpp|text|console)$,\1\\code{.\2},
s,^( */// *)```$,\1\\endcode,
