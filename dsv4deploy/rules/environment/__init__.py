"""Environment variables that SGLang overwrites or misreads."""
