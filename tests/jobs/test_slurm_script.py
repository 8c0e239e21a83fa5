import shlex
import subprocess
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.jobs.array import parse
from vpeval.jobs.backends.slurm_control import Control, Status, is_left_behind
from vpeval.jobs.backends.slurm_script import Settings, sbatch_options, task_script

CONF = Path(__file__).resolve().parents[2] / "conf/slurm.conf"


def settings(tmp_path: Path, **changes: str) -> Settings:
    lines = [line for line in CONF.read_text().splitlines() if line.split(":")[0] not in changes]
    (tmp_path / "slurm.conf").write_text("\n".join([*lines, *(f"{name}: {text}" for name, text in changes.items())]))
    return Settings.read(tmp_path / "slurm.conf")


def test_options_are_put_into_the_words_of_sbatch(tmp_path: Path) -> None:
    plain = sbatch_options(parse(["x.log", "true"]), settings(tmp_path))
    assert plain == ["--cpus-per-task=1", "--nodes=1", "--ntasks-per-node=1", "--no-requeue"]
    array = parse(shlex.split("--mem 1500M --num-threads 4 --gpu 2 --time 1-12 --num-nodes 3 x.log true"))
    chosen = settings(
        tmp_path, partition="cpu", account="me", gpu_partition="gpu", gpu_type="a100", mem="9G", extra="['--qos=long']"
    )
    assert sbatch_options(array, chosen) == [
        *("--cpus-per-task=4", "--nodes=3", "--ntasks-per-node=1", "--mem=1536000K", "--time=1-12"),
        *("--gres=gpu:a100:2", "--partition=gpu", "--account=me", "--no-requeue", "--qos=long"),
    ]
    options = sbatch_options(
        parse(["--gpu", "1", "x.log", "true"]), settings(tmp_path, partition="cpu", mem="9G", time="'60'")
    )
    assert {"--gres=gpu:1", "--partition=cpu", "--mem=9437184K", "--time=60"} <= set(options)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"extra": "'--qos=long'"}, "'extra' must be of type list"),
        ({"extra": "[qos]"}, "'extra' must be a list of options of sbatch"),
        ({"poll_seconds": "0"}, "'poll_seconds' must be greater than 0"),
        ({"attempts": "0"}, "'attempts' must be greater than 0"),
        ({"mem": "lots"}, "slurm.conf: mem lots: expected a number with K, M, G or T"),
        ({"time": "soon"}, "slurm.conf: time soon: expected minutes"),
        ({"queue": "''"}, "unknown key 'queue'"),
    ],
)
def test_a_wrong_configuration_is_explained(tmp_path: Path, changes: dict[str, str], complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        settings(tmp_path, **changes)
    assert complaint in str(caught.value)


def run_task(array_words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: int) -> Control:
    """Run one task as Slurm would."""
    monkeypatch.chdir(tmp_path)
    array = parse(array_words)
    array.log_of(1).parent.mkdir(exist_ok=True)
    control = Control.of(array)
    control.begin(array, task_script(array, control.path))
    number = control.add_submission([1, 5, 7])
    variables = {"SLURM_ARRAY_TASK_ID": str(index), "SLURM_ARRAY_JOB_ID": "9", "SLURM_JOB_ID": "11"}
    for name, value in (variables | {"SLURMD_NODENAME": "n2", "SLURM_TMPDIR": str(tmp_path)}).items():
        monkeypatch.setenv(name, value)
    out = control.path / "out" / f"{number}.{index}"
    with open(out, "w") as file:
        subprocess.run(["bash", control.path.resolve() / "task.sh", str(number)], cwd="/", stdout=file, stderr=file)
    return control


def test_a_task_does_the_job_of_its_line_and_leaves_a_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["JOB=1:9", "log/x.JOB.log", "bash", "-c", "echo this is JOB in $VPEVAL_SCRATCH; exit 3"]
    control = run_task(words, tmp_path, monkeypatch, 2)
    assert f"\nthis is 5 in {tmp_path}\n" in (tmp_path / "log/x.5.log").read_text()
    assert "# Ended (code 3) at " in (tmp_path / "log/x.5.log").read_text()
    control.read_statuses()
    assert control.statuses == {5: [Status(5, 1, 3, "n2")]}
    assert list((control.path / "out").iterdir()) == []


def test_a_status_counts_by_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    control = run_task(["JOB=1:9", "log/x.JOB.log", "true"], tmp_path, monkeypatch, 1)
    half = control.path / "status/7.1"
    half.write_text("0 1")
    (control.path / "status/5.1.33.tmp").write_text("0 12 n1\n")
    control.read_statuses()
    assert control.statuses.keys() == {1}
    half.write_text("0 12 n1\n")
    control.read_statuses()
    control.read_statuses()
    assert control.statuses == {1: [Status(1, 1, 0, "n2")], 7: [Status(7, 1, 0, "n1")]}


def test_a_run_is_known_by_its_logs_and_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    array = parse(["JOB=1:9", "log/x.JOB.log", "true", "JOB"])
    control = Control.of(array)
    assert control.name == "" and not is_left_behind(tmp_path / "log/x.array.log")
    control.begin(array, "script")
    assert is_left_behind(tmp_path / "log/x.array.log")
    assert Control.of(parse(["n=1:9", "log/x.n.log", "true"])).name == control.name
    assert control.belongs_to(array)
    assert not control.belongs_to(parse(["JOB=1:8", "log/x.JOB.log", "true", "JOB"]))
    assert (control.add_submission([4, 5]), control.add_submission([5])) == (1, 2)
    assert control.submissions() == {1: [4, 5], 2: [5]}
    (control.path / "run.json").write_text("{")
    with pytest.raises(InputError, match="is damaged; end its jobs with scancel, then remove the directory"):
        is_left_behind(tmp_path / "log/x.array.log")
