"""Limits and state of the machine: shared memory, paths, ports, files."""
