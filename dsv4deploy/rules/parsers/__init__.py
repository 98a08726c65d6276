"""Tool-call and reasoning parsers, and chat templates."""
