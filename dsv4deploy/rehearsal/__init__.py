"""The rehearsal engine: what stands in for SGLang on a machine without a GPU, and the data that it plays from.

`engine/` runs with the standard library of Python 3.8 and later and knows nobody here; `record.py` compiles for it what
one version does, and `install.py` puts both into a folder that looks like a virtual environment.
"""
