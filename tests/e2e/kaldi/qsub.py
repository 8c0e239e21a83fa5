#!/usr/bin/env python3
"""Stands in for SGE's qsub on one machine: two tasks at a time, which get the variables that were named and no others."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WITH_VALUE = ("-v", "-S", "-j", "-l", "-o", "-pe", "-q", "-tc", "-t")


def main() -> None:
    """Start the tasks, and leave them to a process of its own."""
    words, given = sys.argv[1:], {}
    while words[0].startswith("-"):
        option = words.pop(0)
        if option in WITH_VALUE:
            given[option] = words.pop(0)
            if option == "-pe":
                words.pop(0)
        elif option != "-cwd":
            sys.exit(f"qsub: Unknown option {option}")
    script = words[0]
    first, _, last = given.get("-t", "1:1").partition(":")
    passed = {name: os.environ[name] for name in given.get("-v", "").split(",") if name in os.environ}
    with open(Path(sys.argv[0]).with_name("submitted"), "a") as file:
        file.write(f"{' '.join(sys.argv[1:])}\n")
    print(f'Your job-array 7.{first}-{last}:1 ("{Path(script).name}") has been submitted', flush=True)
    if os.fork():
        return
    os.setsid()

    def run(task: int) -> None:
        number = {"SGE_TASK_ID": str(task) if "-t" in given else "undefined"}
        with open(given["-o"], "a") as out:
            environment = {"HOME": os.environ["HOME"], **passed, **number}
            subprocess.call(["bash", script], env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    with ThreadPoolExecutor(min(2, int(given.get("-tc", 2)))) as pool:
        list(pool.map(run, range(int(first), int(last) + 1)))


if __name__ == "__main__":
    main()
