"""One file a command; its docstring is its help, its `GROUP` the step of the flow it belongs to."""
