"""The command line: arguments, streams, progress and exit code. Nothing else prints or exits.

Exit codes, the same for every format: 0 when nothing is at ``deny``, 1 when something is, 2 when
the command could not run or could judge nothing.
"""

from __future__ import annotations

import os
import sys

from distcycle.cli.arguments import build_parser
from distcycle.cli.output import say_error
from distcycle.errors import DistcycleError, InputError

# Importing typing alone takes as long as starting Python; type checkers know this name by itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words after the program's name; None for this process's.

    Returns:
        The exit code.
    """
    words = sys.argv[1:] if arguments is None else arguments
    options = build_parser(words).parse_args(words)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except DistcycleError as error:
        say_error(error)
        return 2
    except BrokenPipeError:
        # Whoever read the output has seen enough; keep the interpreter from saying so at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except OSError as error:
        # Standard output could not take it all; the interpreter would say so again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        say_error(InputError(f"cannot be written: {error.strerror}", path="<stdout>"))
        return 2
    except KeyboardInterrupt:
        return 130
    return code
