"""Stands in for vLLM, of which SGLang imports one name when it is built for no GPU."""
