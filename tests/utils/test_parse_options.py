import subprocess
from pathlib import Path

import pytest

UTILS = Path(__file__).resolve().parents[2] / "utils"
SCRIPT = f"""
set -euo pipefail
nj=4
cmd=run.pl
skip_wav=false
empty=
help_message="Usage: x.sh [--nj <n>] 100% <data>"
. "{UTILS}/parse_options.sh"
printf '%s|' "$nj" "$cmd" "$skip_wav" "$empty" $# "$@"
"""


def run(*args: str, cwd: Path | None = None, script: str = SCRIPT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", script, "x.sh", *args], capture_output=True, text=True, cwd=cwd)


def values(*args: str, cwd: Path | None = None) -> list[str]:
    """nj, cmd, skip_wav, empty, and what is left in "$@" with its length before it."""
    done = run(*args, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.removesuffix("|").split("|")


def test_defaults_stay_without_options() -> None:
    assert values() == ["4", "run.pl", "false", "", "0"]


def test_options_set_their_variables_and_positional_arguments_stay() -> None:
    assert values("--nj", "8", "--skip-wav", "true", "data/x", "exp") == [
        "8",
        "run.pl",
        "true",
        "",
        "2",
        "data/x",
        "exp",
    ]


def test_parsing_stops_at_the_first_argument_that_is_no_option() -> None:
    assert values("data", "--nj", "8") == ["4", "run.pl", "false", "", "3", "data", "--nj", "8"]
    assert values("", "--nj", "8") == ["4", "run.pl", "false", "", "3", "", "--nj", "8"]


def test_the_last_of_repeated_options_wins_and_values_may_have_blanks_or_be_empty() -> None:
    assert values("--nj", "1", "--nj", "2", "--cmd", "slurm.pl --mem 4G", "--empty", "", "d") == [
        "2",
        "slurm.pl --mem 4G",
        "false",
        "",
        "1",
        "d",
    ]


def test_a_value_may_begin_with_hyphens() -> None:
    assert values("--empty", "--some-flag") == ["4", "run.pl", "false", "--some-flag", "0"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--njobs", "8"], "invalid option --njobs; try --help"),
        (["--", "8"], "invalid option --; try --help"),
        (["--PATH", "/x"], "invalid option --PATH; try --help"),
        (["--nj=8"], "write '--nj 8' instead of '--nj=8'; try --help"),
        (["--nj"], "option --nj needs a value; try --help"),
        (["--nj", "--skip-wav", "true"], "option --nj needs a value; try --help"),
        (["--skip-wav", "True"], "option --skip-wav needs true or false, not 'True'; try --help"),
        (["--skip-wav", ""], "option --skip-wav needs true or false, not ''; try --help"),
        (["--cmd", ""], "option --cmd needs a value that is not empty; try --help"),
        (["--config", "nowhere.conf"], "cannot read the file 'nowhere.conf' of --config; try --help"),
        (["--config"], "cannot read the file '' of --config; try --help"),
    ],
)
def test_mistakes_are_named(args: list[str], message: str) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"x.sh: {message}\n")


@pytest.mark.parametrize("args", [["--help"], ["-h"], ["--nj", "3", "--help"]])
def test_help_prints_the_message_as_it_is(args: list[str]) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (0, "Usage: x.sh [--nj <n>] 100% <data>\n")


def test_a_config_file_comes_before_the_command_line_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "x.conf").write_text("nj=16\nskip_wav=true\n")
    assert values("--nj", "2", "--config", "x.conf", "d", cwd=tmp_path) == ["2", "run.pl", "true", "", "1", "d"]


def test_a_config_named_after_the_options_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "x.conf").write_text("nj=16\n")
    assert values("d", "--config", "x.conf", cwd=tmp_path)[0] == "4"


@pytest.mark.parametrize(
    "text", ["$(touch hit)", "`touch hit`", "'; touch hit; '", '"; touch hit; "', "a[$(touch hit)]", "$PATH"]
)
def test_values_and_names_are_never_run(tmp_path: Path, text: str) -> None:
    assert values("--empty", text, cwd=tmp_path)[3] == text
    assert run(f"--{text}", "1", cwd=tmp_path).returncode == 1
    assert run("--skip-wav", text, cwd=tmp_path).returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_the_parser_is_left_behind() -> None:
    done = run("--nj", "2", script=SCRIPT + "compgen -A variable -A function _po || true")
    assert "_po" not in done.stdout


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--skip-wav"], "true 4 0"),
        (["--skip-wav", "--nj", "2"], "true 2 0"),
        (["--nj", "2", "--skip-wav", "data"], "true 2 1"),
        (["--skip-wav", "false", "data"], "false 4 1"),
        (["--skip-wav", "--config", "some.conf"], "true 7 0"),
    ],
)
def test_a_flag_may_stand_alone(args: list[str], expected: str, tmp_path: Path) -> None:
    (tmp_path / "some.conf").write_text("nj=7\n")
    script = f'set -euo pipefail\nnj=4 skip_wav=false _flags=skip_wav\n. "{UTILS}/parse_options.sh"\n'
    done = run(*args, cwd=tmp_path, script=script + 'echo "$skip_wav $nj $#"')
    assert (done.stdout, done.stderr) == (f"{expected}\n", "")
