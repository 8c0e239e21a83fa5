"""What every command-line script shares: option parsing, messages, exit codes.

The only module of the library that knows about the terminal.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TextIO

from vpeval.cli.terminal import LogHandler, closed_stream, plain_streams
from vpeval.core.errors import InputError


class Parser(argparse.ArgumentParser):
    """argparse with Kaldi manners: options in full only, exit code 1, and a pointer to --help."""

    def __init__(self, doc: str | None) -> None:
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Report what is wrong with the command line and exit."""
        self.exit(1, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """As argparse does, but without ignoring that it could not be written."""
        (file or sys.stderr).write(message)


def batch_parser(doc: str | None) -> Parser:
    """Options of the steps that turn data directories into directories of results."""
    parser = Parser(doc)
    parser.add_argument("--cmd", default="utils/run.py", help="launcher of the jobs (default: utils/run.py)")
    parser.add_argument("--nj", type=positive, default=2, help="jobs at a time (default: 2)")
    add_verify_option(parser)
    parser.add_argument("conf", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("data", metavar="data-dir", type=Path, nargs="+")
    return parser


def add_verify_option(parser: Parser) -> None:
    """The option that checks all files again instead of trusting stored digests (`vpeval.jobs.audio_digest`)."""
    parser.add_argument(
        "--verify",
        action=_Verify,
        choices=("true", "false"),
        help="true: read every file again before a set counts as up to date (default: false)",
    )


class _Verify(argparse.Action):
    """Jobs and libraries find the choice in their environment."""

    def __call__(self, parser: object, namespace: object, values: object, option: str | None = None) -> None:
        os.environ["VPEVAL_VERIFY"] = str(values)


def add_published_option(parser: Parser) -> None:
    """The option that adds the published baselines of editions to the results, as sources of records."""
    parser.add_argument(
        "--published",
        action=_Published,
        default=[],
        metavar="EDITION",
        help="also the published baselines of 2020, 2022, 2024 or 2026; several are divided by commas",
    )


class _Published(argparse.Action):
    def __call__(self, parser: object, namespace: object, values: object, option: str | None = None) -> None:
        from vpeval.results.load import Source
        from vpeval.results.published import baselines_files

        try:
            found = [Source(path) for path in baselines_files(str(values))]
        except InputError as error:
            raise argparse.ArgumentError(self, str(error)) from None
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), *found])


def boolean(text: str) -> bool:
    """The strict true|false of Kaldi options."""
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"expected true or false, not '{text}'")
    return text == "true"


def natural(text: str) -> int:
    """A whole number of at least 0."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, not '{text}'")
    return int(text)


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, not '{text}'")
    return int(text)


def main(function: Callable[[], int | None], log_to_stdout: bool = False, failure: int = 1) -> NoReturn:
    """Run a script's `function`: a participant's mistake is one message and exit code 1, never a traceback.

    What the library logs goes to stderr; with `log_to_stdout`, only warnings do. Output that cannot be written is an
    error, whatever else succeeded. `failure` is the exit code of mistakes, where 1 means something else.
    """
    program = Path(sys.argv[0]).name
    if closed := closed_stream():
        if sys.stderr is not None:
            print(f"{program}: {closed} is closed; send it to a file or to /dev/null", file=sys.stderr)
        os._exit(1)
    with plain_streams():
        messages = LogHandler(sys.stdout if log_to_stdout else sys.stderr)
        messages.addFilter(lambda record: record.levelno < logging.WARNING)
        warnings = LogHandler(sys.stderr)
        warnings.setLevel(logging.WARNING)
        logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[messages, warnings])
        skipped = SkippedCounter()
        messages.addFilter(skipped)

        def work() -> int | None:
            try:
                return function()
            finally:
                if line := skipped.line():
                    logging.info(line)

        code = _exit_code(program, work, failure)
    sys.exit(code)


class SkippedCounter(logging.Filter):
    """Counts messages that something was up to date (`vpeval.jobs.progress`), for one line at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Let everything else pass."""
        found = getattr(record, "skipped", None)
        if found is None:
            return True
        what, count = found
        self._counts[what] = self._counts.get(what, 0) + count
        return False

    def line(self) -> str:
        """All in one line; nothing where nothing was skipped."""
        counts = ", ".join(f"{count} {what}" for what, count in self._counts.items())
        return f"{counts} up to date, skipped" if counts else ""


def _exit_code(program: str, function: Callable[[], int | None], failure: int) -> int | str:
    """The exit code of `function`, after a message where one is needed."""
    try:
        try:
            code: int | str = function() or 0
        except SystemExit as left:
            code = failure if left.code == 1 else left.code or 0
        sys.stdout.flush()
        sys.stderr.flush()
        return code
    except InputError as error:
        return _fail(failure if error.exit_code == 1 else error.exit_code, program, str(error))
    except (PermissionError, FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        return _fail(failure, program, f"{error.filename}: {error.strerror}; check the path and its permissions")
    except BrokenPipeError:
        # The reader (head, less) has gone.
        _discard(sys.stdout)
        return 128 + signal.SIGPIPE
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _fail(failure, program, f"{place}{error.strerror or error}; is the disk full or read-only?")
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _fail(code: int, program: str, message: str) -> int:
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is sys.stderr:
                print(f"{program}: {message}".replace("\r", r"\r"), file=stream)
            stream.flush()
        except OSError:
            _discard(stream)  # or Python would report it again at exit, with another exit code
    return code


def _discard(stream: TextIO) -> None:
    """Drop what is left in a stream that cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
