#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of a batch: compute the result of every utterance of its splits with a worker class of the library.

Usage: steps/jobs/work.py <module>:<class> [<argument of the class> ...] -- <job> <work-dir> ...
"""

import sys

from vpeval.cli import script
from vpeval.core.lazy import Deferred
from vpeval.jobs.worker import work


def main() -> None:
    """Work through the splits of one job."""
    worker, *rest = sys.argv[1:]
    end = len(rest) - 1 - rest[::-1].index("--")  # the last one: an argument may look like this as well
    module, _, name = worker.partition(":")
    job, *works = rest[end + 1 :]
    work(Deferred(module, name), rest[:end], job, works)


if __name__ == "__main__":
    script.main(main)
