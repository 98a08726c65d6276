"""The catalogue of known-bad combinations: one file a rule, one folder a family."""
