"""The options of ``distcycle audit`` that a policy can give under ``[audit]``, by their long names.

What belongs to one run (inputs, ``--policy``, verbosity, ``--write-baseline``) has no place in a
policy, and ``--allow``, ``--warn`` and ``--deny`` have a table of their own.
"""

from __future__ import annotations

__all__ = ["OPTIONS"]
