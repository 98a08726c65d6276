"""The tool that runs on a node: standard library only, Python 3.8 and up, shipped as one zipapp."""
