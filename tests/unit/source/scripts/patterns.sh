python -m sglang.launch_server --cuda-graph-bs [1,2] --x *.nothing --y "{a,b}" --z {} --w {x}
