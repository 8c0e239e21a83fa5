import argparse
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from vpeval.cli import script
from vpeval.core.errors import InputError


def left_with(function) -> int:
    with pytest.raises(SystemExit) as left:
        script.main(function)
    assert isinstance(left.value.code, int)
    return left.value.code


def raiser(error: BaseException):
    def function() -> None:
        raise error

    return function


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/local/score_x.py"])


def test_the_exit_code_is_what_the_function_returns() -> None:
    assert left_with(lambda: None) == 0
    assert left_with(lambda: 3) == 3


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("blank line; remove it", "data/x/text", 3), "data/x/text:3: blank line; remove it"),
        (
            PermissionError(13, "Permission denied", "exp/out"),
            "exp/out: Permission denied; check the path and its permissions",
        ),
        (
            FileNotFoundError(2, "No such file or directory", "a/b"),
            "a/b: No such file or directory; check the path and its permissions",
        ),
        (
            FileExistsError(17, "File exists", "exp"),
            "exp: File exists; check the path and its permissions",
        ),
        (OSError(28, "No space left on device"), "No space left on device; is the disk full or read-only?"),
        (OSError(30, "Read-only file system", "out"), "out: Read-only file system; is the disk full or read-only?"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_1(capsys: pytest.CaptureFixture[str], error, message: str) -> None:
    assert left_with(raiser(error)) == 1
    assert capsys.readouterr() == ("", f"score_x.py: {message}\n")


def test_ctrl_c_ends_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert left_with(raiser(KeyboardInterrupt())) == 130
    assert capsys.readouterr() == ("", "")


def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        script.main(raiser(ZeroDivisionError()))


def test_a_reader_that_has_gone_is_no_reason_to_complain() -> None:
    code = "from vpeval.cli import script\nscript.main(lambda: print('x' * 100000, *range(50000), sep='\\n'))"
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert child.stdout and child.stderr
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait() == 141


WRITERS = {
    "print": "print('numbers')",
    "log": "import logging; logging.getLogger('vpeval').info('numbers')",
    "help": "script.Parser('Do x.').parse_args(['--help'])",
}


def outcome(code: str, redirection: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """How a script that runs `code` ends when its output goes where the shell's `redirection` says."""
    program = f"from vpeval.cli import script\ndef work():\n    {code}\nscript.main(work, log_to_stdout=True)"
    return subprocess.run(
        ["bash", "-c", f'"$0" -c "$1" {redirection}', sys.executable, program],
        env={"PYTHONPATH": str(Path(__file__).parents[2]), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("writer", WRITERS)
def test_output_that_cannot_be_written_is_an_error(writer: str, unbuffered: str) -> None:
    done = outcome(WRITERS[writer], ">/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (1, "-c: No space left on device; is the disk full or read-only?\n")


def test_a_warning_that_cannot_be_written_is_an_error() -> None:
    assert outcome("import logging; logging.warning('beware')", "2>/dev/full").returncode == 1


def test_with_a_closed_output_nothing_is_begun(tmp_path: Path) -> None:
    begin = f"open({str(tmp_path / 'begun')!r}, 'w')"
    done = outcome(begin, ">&-")
    assert (done.returncode, done.stderr) == (1, "-c: standard output is closed; send it to a file or to /dev/null\n")
    assert outcome(begin, "2>&-").returncode == 1
    assert not (tmp_path / "begun").exists()
    assert outcome(begin, "<&-").returncode == 0


def test_names_in_data_do_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "a\x1b[2J\x07-1\x9b\u202e\ud800"
    shown = r"a\x1b[2J\x07-1\x9b\u202e\ud800"

    def work() -> None:
        print(f"speaker {evil}\tok")
        logging.getLogger("vpeval").warning("%s\rall is well", evil[:-1])  # no process of pytest sends a surrogate
        raise InputError(f"utterance '{evil}\r' appears twice", "data/x/utt2spk", 3)

    assert left_with(work) == 1
    out, err = capsys.readouterr()
    assert out == f"speaker {shown}\tok\n"
    assert err.endswith(f"score_x.py: data/x/utt2spk:3: utterance '{shown}\\r' appears twice\n")


@pytest.mark.parametrize("arguments", [["--nj"], ["--unknown", "1"], ["--n", "3"], [], ["a", "b"]])
def test_a_wrong_command_line_is_exit_code_1_and_a_pointer_to_help(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    parser = script.Parser("Do x.\n\nUsage: local/score_x.py <in>")
    parser.add_argument("--nj")
    parser.add_argument("input")
    with pytest.raises(SystemExit) as left:
        parser.parse_args(arguments)
    assert left.value.code == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("score_x.py: ") and second == "Try 'score_x.py --help'."


def test_help_shows_the_docstring_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        script.Parser("Do x.\n\nUsage: local/score_x.py <in>\n e.g.: 100 %").parse_args(["--help"])
    assert left.value.code == 0
    assert "\nUsage: local/score_x.py <in>\n e.g.: 100 %\n" in capsys.readouterr().out


def test_steps_over_data_directories_share_their_options() -> None:
    args = script.batch_parser("x").parse_args(["--nj", "3", "conf/a.yaml", "exp/out", "data/a", "data/b"])
    assert (args.cmd, args.nj, args.conf, args.out) == ("utils/run.py", 3, Path("conf/a.yaml"), Path("exp/out"))
    assert args.data == [Path("data/a"), Path("data/b")]


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (script.boolean, {"true": True, "false": False}, ["True", "1", "yes", ""]),
        (script.natural, {"0": 0, "12": 12}, ["-1", "1.5", "", "²", "x"]),
        (script.positive, {"1": 1, "08": 8}, ["0", "-1", "", "²", "1e3"]),
    ],
)
def test_values_of_options_are_read_strictly(read, good: dict[str, object], bad: list[str]) -> None:
    assert {text: read(text) for text in good} == good
    for text in bad:
        with pytest.raises(argparse.ArgumentTypeError, match="expected"):
            read(text)
