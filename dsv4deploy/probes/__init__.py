"""Probes: hazards of GPU and collectives reproduced in seconds, without loading a model.

They run under the engine's own Python, which has torch and nothing of ours: this room imports the standard library,
and torch and Triton where a case runs. One file in `cases/` adds a probe.
"""
