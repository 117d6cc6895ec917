# What a debugger from elsewhere reads of _amdgpu_r_debug: the stops at its breakpoint, and the list at each.
# Its layout is that of struct r_debug and struct link_map of <link.h>.
# Casts are written in C, wherever the program stops.
set language c
set pagination off
set confirm off
set breakpoint pending off
break main
run
set $debug = (char *)&_amdgpu_r_debug
break *(*(long *)($debug + 16))
commands
  silent
  printf "stop %d:", *(int *)($debug + 24)
  set $entry = *(long *)($debug + 8)
  while $entry
    printf " %s at %#lx", *(char **)($entry + 8), *(long *)$entry
    set $entry = *(long *)($entry + 24)
  end
  printf "\n"
  continue
end
continue
