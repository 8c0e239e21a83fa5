"""Evaluation of voice anonymisation: the library behind the recipe scripts.

Scripts in ``steps/``, ``local/`` and ``utils/`` parse options and read files; what is computed lives here.
Nothing is imported by this file, so that a scorer starts fast.
"""

__version__ = "0.1.0"
