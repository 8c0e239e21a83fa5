"""GPUs are found, shared and leased as a stub of nvidia-smi and of the kernel's files say; none is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

from vpeval.core import gpus
from vpeval.core.errors import InputError
from vpeval.core.gpus import Gpus, Leases, visible

A100 = "GPU {n}: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a7{n})"
PART = "  MIG 1g.5gb      Device  {n}: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3{n})"


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """No GPU, no variables, and leases of its own."""
    for name in (*gpus._VARIABLES, gpus._ABOVE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VPEVAL_GPU_LEASES", str(tmp_path / "leases"))
    monkeypatch.setattr(gpus, "_DEVICES", tmp_path / "dev")
    monkeypatch.setattr(gpus, "_AMD_NODES", tmp_path / "nodes")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def smi(tmp_path):
    """Make nvidia-smi print these lines."""

    def write(*lines: str, code: int = 0) -> None:
        path = tmp_path / "bin/nvidia-smi"
        path.parent.mkdir(exist_ok=True)
        listing = "\n".join(lines)
        path.write_text(f"#!/bin/sh\n[ $1 = -L ] && echo '{listing}'\nexit {code}\n")
        path.chmod(0o755)

    return write


def four(smi) -> None:
    smi(*(A100.format(n=n) for n in range(4)))


def test_without_a_driver_there_is_no_gpu(smi):
    assert visible().names == ()
    smi("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", code=9)
    assert visible().names == ()


def test_all_gpus_are_used_where_nothing_is_hidden(smi):
    four(smi)
    assert visible().variable == "CUDA_VISIBLE_DEVICES" and visible().names == ("0", "1", "2", "3")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("2,3", ("2", "3")),
        ("3, 1", ("3", "1")),
        ("", ()),
        ("-1", ()),
        ("NoDevFiles", ()),
        ("0,-1,1", ("0",)),
        ("1,7,2", ("1",)),
        ("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a72", ("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a72",)),
        ("MIG-GPU-5d5b/1/0,MIG-GPU-5d5b/2/0", ("MIG-GPU-5d5b/1/0", "MIG-GPU-5d5b/2/0")),
    ],
)
def test_what_the_user_hides_stays_hidden_and_names_are_passed_on_as_they_are(smi, monkeypatch, given, names):
    four(smi)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    assert visible().names == names


def test_a_gpu_has_one_name_for_leases_by_number_or_uuid(smi, monkeypatch):
    four(smi)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    by_number = visible().keys
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a72")
    assert visible().keys == by_number
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert visible().keys[2:3] == by_number


def test_parts_of_a_gpu_stand_in_its_place(smi):
    smi(A100.format(n=0), PART.format(n=0), PART.format(n=1), A100.format(n=1))
    parts = [f"MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3{n}" for n in range(2)]
    assert visible().names == (*parts, "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a71")


def test_gpus_of_amd_are_counted_without_the_cpus_and_have_their_variables(tmp_path, monkeypatch):
    for node, simds in enumerate((0, 0, 304, 304)):
        (tmp_path / f"nodes/{node}").mkdir(parents=True)
        (tmp_path / f"nodes/{node}/properties").write_text(f"cpu_cores_count 64\nsimd_count {simds}\n")
    assert (visible().variable, visible().names) == ("HIP_VISIBLE_DEVICES", ("0", "1"))
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "1")
    assert (visible().variable, visible().names) == ("ROCR_VISIBLE_DEVICES", ("1",))


def test_a_driver_that_hangs_is_an_error_and_not_a_machine_without_gpus(smi, monkeypatch):
    def hang(*command: object, **options: object) -> None:
        raise subprocess.TimeoutExpired("nvidia-smi", 30)

    monkeypatch.setattr(gpus.subprocess, "run", hang)
    with pytest.raises(InputError, match="nvidia-smi gave no answer in 30 s"):
        visible()


def machine_of(count: int) -> Gpus:
    return Gpus("CUDA_VISIBLE_DEVICES", tuple(map(str, range(count))), tuple(f"nvidia {n}" for n in range(count)))


def test_jobs_are_spread_evenly_and_a_gpu_that_is_given_back_is_used_again():
    leases = Leases(machine_of(2))
    assert [leases.take(job, 1, 2) for job in range(5)] == [("0",), ("1",), ("0",), ("1",), ()]
    leases.give_back(2)
    assert leases.take(4, 1, 2) == ("0",)
    leases.close()


def test_two_launchers_do_not_take_the_same_gpu():
    first, second = Leases(machine_of(2)), Leases(machine_of(2))
    assert (first.take(1, 1, 1), second.take(1, 1, 1), first.take(2, 1, 1)) == (("0",), ("1",), ())
    assert second.holders() == [Path(first._path).name.partition("-")[0]]
    first.close()
    assert second.take(2, 1, 1) == ("0",)
    second.close()


def test_a_whole_gpu_is_not_one_with_a_part_taken_and_several_are_taken_at_once_or_not_at_all():
    first, second = Leases(machine_of(3)), Leases(machine_of(3))
    assert first.take(1, 1, 3) == ("0",)
    assert second.take(1, 3, 1) == ()
    assert second.take(1, 2, 1) == ("1", "2")
    assert first.take(2, 1, 3) == ("0",)
    for leases in (first, second):
        leases.close()


def test_jobs_of_any_number_are_spread_and_stop_nobody():
    hooks, encoders = Leases(machine_of(2)), Leases(machine_of(2))
    assert [hooks.take(job, 1, 0) for job in range(3)] == [("0",), ("1",), ("0",)]
    assert encoders.take(1, 1, 1) == ("1",)
    for leases in (hooks, encoders):
        leases.close()


def test_leases_of_a_launcher_that_was_killed_count_no_more(tmp_path):
    program = (
        "import time; from vpeval.core.gpus import Gpus, Leases; leases = Leases(Gpus('X', ('0',), ('nvidia 0',)));"
        "print(leases.take(1, 1, 1), flush=True); time.sleep(100)"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", program], cwd=root, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout and other.stdout.readline() == "('0',)\n"
        leases = Leases(machine_of(1))
        assert leases.take(1, 1, 1) == ()
        assert leases.holders() == [str(other.pid)]
        other.kill()
        other.wait()
    assert leases.take(1, 1, 1) == ("0",)
    assert [path.name for path in (tmp_path / "leases").iterdir()] == [leases._path.name]
    leases.close()
    assert not any((tmp_path / "leases").iterdir())


def test_a_launcher_inside_a_job_may_use_the_gpu_of_the_job(monkeypatch):
    outer, stranger = Leases(machine_of(1)), Leases(machine_of(1))
    given = outer.variables(outer.take(1, 1, 1))
    assert given["CUDA_VISIBLE_DEVICES"] == "0" and stranger.take(1, 1, 1) == ()
    monkeypatch.setenv(gpus._ABOVE, given[gpus._ABOVE])
    inner = Leases(machine_of(1))
    assert inner.take(1, 1, 1) == ("0",)
    for leases in (inner, stranger, outer):
        leases.close()


def test_a_place_for_leases_that_does_not_work_is_named_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("VPEVAL_GPU_LEASES", str(tmp_path / "file"))
    with pytest.raises(InputError, match="export VPEVAL_GPU_LEASES=<directory>"):
        Leases(machine_of(1)).take(1, 1, 1)
