"""Bash as far as a launch script needs it: its words, its variables, its statements; nothing is ever run."""
