"""The cases: each file has `CASES`, and is found by being here."""
