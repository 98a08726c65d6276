"""What makes a shadow package win where something else puts itself ahead of `PYTHONPATH`."""

SITECUSTOMIZE = b'''\
"""Written by dsv4deploy: the packages in this folder come before all others of their names.

A .pth file or an editable install of this environment puts itself ahead of PYTHONPATH.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

_HERE = os.path.dirname(os.path.abspath(__file__))


class _Front:
    """Finds what is in this folder, and leaves all else to the others."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        own = [_HERE] if path is None else [one for one in path if str(one).startswith(_HERE + os.sep)]
        return PathFinder.find_spec(name, own, target) if own and name != "sitecustomize" else None


sys.meta_path.insert(0, _Front)
_others = [one for one in sys.path if os.path.abspath(one or os.curdir) != _HERE]
_next = PathFinder.find_spec("sitecustomize", _others)
if _next is not None and _next.loader is not None:
    _next.loader.exec_module(module_from_spec(_next))
'''
