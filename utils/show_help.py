"""Print the help text of a script before there is an environment.

Usage: python3 utils/show_help.py <script>

path.sh calls it, with any Python. Dummy modules replace packages that are not installed yet, because printing a help
text uses none of them.
"""

import ast
import os
import runpy
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Meta(type):
    """Classes that can be called, indexed, computed with and asked for any attribute."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything

    def __call__(cls, *args, **options):
        # As a decorator it leaves things as they are.
        return args[0] if len(args) == 1 and not options and callable(args[0]) else Anything

    def __iter__(cls):
        return iter(())

    def _itself(cls, *_):
        return Anything

    __getitem__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _itself
    __pow__ = __rpow__ = __neg__ = __lshift__ = __rlshift__ = __lt__ = __gt__ = _itself


class Anything(metaclass=_Meta):
    """Stands for whatever a missing package would have had."""


class _Package(ModuleType):
    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything


class _StandIns(MetaPathFinder, Loader):
    """Finds what nobody else has found."""

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] == "vpeval" else ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return _Package(spec.name)

    def exec_module(self, module):
        pass


def main(script):
    sys.dont_write_bytecode = True
    sys.meta_path.append(_StandIns())
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    sys.argv = [script, "--help"]
    try:
        runpy.run_path(script, run_name="__main__")
    except Exception:  # an old Python, or more than stand-ins can play: what the script says of itself will do
        with open(script, encoding="utf-8") as text:
            print(ast.get_docstring(ast.parse(text.read())))


if __name__ == "__main__":
    main(sys.argv[1])
