python -m sglang.launch_server \ lead --x a\
b	--tab  \
   "end"  ; python -m sglang.launch_server --second&&python -m sglang.launch_server --third || python -m sglang.launch_server --never
