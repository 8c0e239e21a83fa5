#!/usr/bin/env python3
"""Stands in for Kaldi's run.pl, queue.pl, slurm.pl and retry.pl: does by its name what they do with a command.

What matters to the recipes is as there: the words of the command are joined and not quoted unless they have blanks, the
name of the array is replaced everywhere, only PATH reaches the jobs of a cluster, whose scripts source ./path.sh, and
how a job ended is known from files and from the last line of its log.
"""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NAME = Path(sys.argv[0]).name
OPTIONS = {
    "queue.pl": {
        "--mem": "-l mem_free={0},ram_free={0}",
        "--num-threads": "-pe smp {0}",
        "--max-jobs-run": "-tc {0}",
        "--gpu": "-l gpu={0} -q g.q",
    },
    "slurm.pl": {
        "--mem": "--mem-per-cpu={0}",
        "--num-threads": "--cpus-per-task={0} --ntasks-per-node=1",
        "--max-jobs-run": "",
        "--gpu": "-p gpu --gres=gpu:{0}",
        "--time": "--time={0}",
    },
}
SCRIPT = """#!/bin/bash
cd {cwd}
. ./path.sh
( echo '#' Running on `hostname`
  echo '#' Started at `date`
  echo -n '# '; cat <<EOF
{command}
EOF
) >{log}
time1=`date +"%s"`
 ( {command} ) 2>>{log} >>{log}
ret=$?
time2=`date +"%s"`
echo '#' Accounting: time=$(($time2-$time1)) threads={threads} >>{log}
echo '#' Finished at `date` with status $ret >>{log}
[ $ret -eq 137 ] && exit 100;
touch {done}.$VARIABLE
exit $[$ret ? 1 : 0]
"""


def join(words):
    """The command for bash, as in Kaldi."""
    quoted = (word if re.fullmatch(r"\S+", word) else f"'{word}'" if '"' in word else f'"{word}"' for word in words)
    return " ".join(quoted)


def parse(words):
    """Options, name of the array with its first and last, log, command."""
    options, words = [], list(words)
    while words and words[0].startswith("-"):
        if words[0] == "-V":
            options.append((words.pop(0), ""))
        else:
            options.append((words.pop(0), words.pop(0)))
    name, first, last = "", 1, 1
    if match := re.fullmatch(r"(\w+)=(\d+)(?::(\d+))?", words[0]):
        name, first, last = match[1], int(match[2]), int(match[3] or match[2])
        words.pop(0)
        if name not in words[0] and last > first:
            sys.exit(f"{NAME}: you are trying to run a parallel job but you are putting the output into just one log")
    log, *command = words
    if re.match(r"\w+=", log):
        sys.exit(f"{NAME}: suspicious log file {log}")
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    return options, name, first, last, log, join(command)


def run_here(options, name, first, last, log, command):
    """As run.pl; returns how many failed."""

    def run(job):
        line, file = (text.replace(name, str(job)) if name else text for text in (command, log))
        with open(file, "w") as out:
            out.write(f"# {line}\n# Started at {time.ctime()}\n#\n")
            out.flush()
            begun = time.time()
            code = subprocess.call(["bash", "-c", line], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            spent = round(time.time() - begun)
            out.write(f"# Accounting: time={spent} threads=1\n")
            out.write(f"# Ended (code {code}) at {time.ctime()}, elapsed time {spent} seconds\n")
        return code != 0

    most = int(dict(options).get("--max-jobs-run", last - first + 1))
    with ThreadPoolExecutor(most) as pool:
        return sum(pool.map(run, range(first, last + 1)))


def run_in_queue(options, name, first, last, log, command):
    """As queue.pl and slurm.pl; returns how many failed."""
    sge = NAME == "queue.pl"
    variable = "SGE_TASK_ID" if sge else "SLURM_ARRAY_TASK_ID"
    words, threads = [], "1"
    for option, value in options:
        if option not in OPTIONS[NAME]:
            sys.exit(f"{NAME}: Command line option {option} not described in conf/{Path(NAME).stem}.conf (or default)")
        threads = value if option == "--num-threads" else threads
        if (option, value) not in (("--gpu", "0"), ("--num-threads", "1"), ("--mem", "0")):
            words += OPTIONS[NAME][option].format(value).split()
    directory = Path(log).parent / "q"
    directory.mkdir(exist_ok=True)
    stem = Path(log).name.replace(f".{name}", "") if name else Path(log).name
    done = directory.resolve() / f"done.{stem}.{os.getpid()}"
    script = directory / f"{stem.removesuffix('.log')}.sh"
    fill = (lambda text: text.replace(name, "${" + variable + "}")) if name else (lambda text: text)
    text = SCRIPT.format(cwd=Path.cwd(), command=fill(command), log=fill(log), threads=threads, done=done)
    script.write_text(text.replace("$VARIABLE", f"${variable}" if name else "1"))
    jobs = range(first, last + 1)
    out = str(directory / f"{stem}.out")
    if sge:
        passed = os.environ.get("KALDI_PASSES", "PATH")
        line = ["qsub", "-v", passed, "-cwd", "-S", "/bin/bash", "-j", "y", "-l", "arch=*64*", "-o", out, *words]
        line += ["-t", f"{first}:{last}"] if name else []
    else:
        line = ["sbatch", "--export=PATH", f"--output={out}", *words]
        line += [f"--array={first}-{last}"] if name else []
    with open(out, "w") as file:
        if subprocess.call([*line, str(script)], stdout=file, stderr=file):
            sys.exit(f"{NAME}: error submitting jobs to queue (return status was not 0)\n" + Path(out).read_text())
    failed = 0
    for job in jobs:
        marker = Path(f"{done}.{job}")
        while not marker.exists():
            time.sleep(0.1)
        marker.unlink()
        lines = Path(log.replace(name, str(job)) if name else log).read_text().splitlines()
        failed += not re.search("with status 0$", lines[-1])
    return failed


def main():
    """Run what was asked for."""
    words = sys.argv[1:]
    if NAME == "retry.pl":
        tries = 2
        if words[0] == "--num-tries":
            tries, words = int(words[1]), words[2:]
        for attempt in range(1, tries + 1):
            code = subprocess.call(words)
            if not code:
                return 0
            print(f"{NAME}: job failed with status {code}, attempt {attempt} of {tries}", file=sys.stderr)
        return 1
    parsed = parse(words)
    failed = (run_here if NAME == "run.pl" else run_in_queue)(*parsed)
    if failed:
        _, name, first, last, log, _ = parsed
        log = log.replace(name, "*") if name else log
        print(f"{NAME}: {failed} / {last - first + 1} failed, log is in {log}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
