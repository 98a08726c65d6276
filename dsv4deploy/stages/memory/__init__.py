"""Memory fit: what a launch takes of each card, and what is left for tokens and long prompts."""

from dsv4deploy.stages.memory.fit import fit
from dsv4deploy.stages.memory.launch import account_of

__all__ = ["account_of", "fit"]
