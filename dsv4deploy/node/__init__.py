"""What runs on the node: the standard library of Python 3.8 and nothing else, so that it imports nobody of the house."""
