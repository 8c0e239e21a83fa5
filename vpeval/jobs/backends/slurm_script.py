"""What is handed to sbatch: its options, and the script that runs one task of an array.

A task finds its job in the list of its submission, runs the command of that job and leaves a status file,
``<code> <seconds> <node>``, which appears with one rename. All of it is plain bash: starting Python would cost an empty
task more than Slurm does.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from pathlib import Path

from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.jobs.array import JobArray
from vpeval.jobs.resources import parse_memory, parse_time

_SCRIPT = r"""#!/bin/bash
# One task of a job array: the job whose number is in line $SLURM_ARRAY_TASK_ID of the list of submission $1.
control={control}
cd -- {directory} || exit 1
mapfile -t -s "$((SLURM_ARRAY_TASK_ID - 1))" -n 1 job <"$control/$1.jobs"
[ -n "$job" ] || {{ echo "$control/$1.jobs has no line $SLURM_ARRAY_TASK_ID on $SLURMD_NODENAME"; exit 1; }}
line={line}
log={log}
{fill}
# What Slurm itself says, such as why it ends a task, comes to this output as well, and so into the log.
mv -f -- "$control/out/$1.$SLURM_ARRAY_TASK_ID" "$log" || exit 1
export OMP_NUM_THREADS={threads} OPENBLAS_NUM_THREADS={threads} MKL_NUM_THREADS={threads}
# Scratch of the node: what the site gives a job, or what there is.
VPEVAL_SCRATCH=${{SLURM_TMPDIR:-${{TMPDIR:-/tmp}}}}
[ -d "$VPEVAL_SCRATCH" ] || VPEVAL_SCRATCH=/tmp
export VPEVAL_SCRATCH TMPDIR=$VPEVAL_SCRATCH
printf '# %s\n# Started at %(%c)T on %s as Slurm job %s_%s\n#\n' "$line" -1 \
  "$SLURMD_NODENAME" "$SLURM_ARRAY_JOB_ID" "$SLURM_ARRAY_TASK_ID"
bash -o pipefail -c "$line" </dev/null
code=$?
printf '# Accounting: time=%d threads={threads}\n# Ended (code %d) at %(%c)T, elapsed time %d seconds\n' \
  "$SECONDS" "$code" -1 "$SECONDS"
status=$control/status/$job.$1
printf '%d %d %s\n' "$code" "$SECONDS" "$SLURMD_NODENAME" >"$status.$SLURM_JOB_ID.tmp" || exit 1
mv -f -- "$status.$SLURM_JOB_ID.tmp" "$status"
exit "$code"
"""


@dataclass(frozen=True)
class Settings:
    """conf/slurm.conf."""

    partition: str
    account: str
    gpu_partition: str
    gpu_type: str
    mem: str
    time: str
    extra: tuple[str, ...]
    poll_seconds: float
    attempts: int
    visible_seconds: float
    patience_seconds: float

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Read and check."""
        kinds = {"int": int, "float": float, "str": str, "tuple[str, ...]": list}
        found = read_config(path, **{field.name: kinds[str(field.type)] for field in fields(cls)})
        if not all(isinstance(option, str) and option.startswith("-") for option in found["extra"]):
            raise InputError("'extra' must be a list of options of sbatch, such as ['--qos=long']", path)
        settings = cls(**{**found, "extra": tuple(found["extra"])})
        for name in ("poll_seconds", "attempts"):
            if getattr(settings, name) <= 0:
                raise InputError(f"'{name}' must be greater than 0", path)
        try:
            for text, parse in ((settings.mem, parse_memory), (settings.time, parse_time)):
                if text:
                    parse(text)
        except InputError as error:
            raise InputError(str(error).replace("--", "", 1), path) from None
        return settings


def sbatch_options(array: JobArray, settings: Settings) -> list[str]:
    """What the jobs of an array ask for, in sbatch's words."""
    options = [f"--cpus-per-task={array.num_threads}", f"--nodes={array.num_nodes}", "--ntasks-per-node=1"]
    if mem := array.mem or settings.mem:
        options.append(f"--mem={parse_memory(mem) >> 10}K")
    if limit := array.time or settings.time:
        options.append(f"--time={limit}")
    if array.gpus:
        options.append(f"--gres=gpu:{settings.gpu_type}:{array.gpus}".replace("::", ":"))
    if partition := (array.gpus and settings.gpu_partition) or settings.partition:
        options.append(f"--partition={partition}")
    if settings.account:
        options.append(f"--account={settings.account}")
    # A job that its node took along is submitted again by us, who can tell; Slurm would do it unseen, minutes later.
    return [*options, "--no-requeue", *settings.extra]


def task_script(array: JobArray, control: Path) -> str:
    """The script of every task of an array."""
    name = shlex.quote(array.name)
    fill = f"line=${{line//{name}/$job}} log=${{log//{name}/$job}}" if array.name else ""
    return _SCRIPT.format(
        control=shlex.quote(str(control.resolve())),
        directory=shlex.quote(str(Path.cwd())),
        line=shlex.quote(array.line),
        log=shlex.quote(array.log),
        fill=fill,
        threads=array.num_threads,
    )
