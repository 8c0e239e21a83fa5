#!/usr/bin/env python3
"""Make or update the virtual environment; path.sh calls it with the system's Python and only the standard library.

Usage: utils/make_venv.py <root> <requirements.txt> ...

Two calls at once are safe (the second waits). Resumes after an interruption, and does nothing when the environment
already has these requirements. Uses no new syntax, so that an old Python can report that it is too old.
"""

import fcntl
import glob
import hashlib
import os
import shlex
import shutil
import subprocess
import sys

OLDEST, NEWEST = (3, 11), (3, 13)
NEEDED_GB = 3
OWN = "Or set VPEVAL_PYTHON=/path/to/python of an environment that has the packages of requirements.txt."
FULL = "No space left on device"
NETWORK = (
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "Connection refused",
    "Max retries exceeded",
    "NewConnectionError",
    "ProxyError",
    "ReadTimeoutError",
    "connection broken",
    "Failed to establish a new connection",
    "(from versions: none)",
)


def main(root, requirements):
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        stop(
            "Python %s to %s is needed and %s is %s.\nInstall one of them and put it on PATH as python3.X. %s"
            % (dotted(OLDEST), dotted(NEWEST), sys.executable, dotted(sys.version_info), OWN)
        )
    refuse_unreadable(os.path.join(root, ".venv"))
    try:
        lock = open(os.path.join(root, ".venv.lock"), "w")
    except OSError as error:
        stop("cannot write to %s (%s).\nClone into a directory that you may write to. %s" % (root, error.strerror, OWN))
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("another process is setting up the environment; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        update(root, requirements)


def update(root, requirements):
    venv = os.path.join(root, ".venv")
    stamp = os.path.join(venv, "requirements.sha256")
    # One digest for each leading part of the list: the packages for the tests include those for the recipes.
    constraints = os.path.join(root, "constraints.txt")
    parts = [digest([constraints, *requirements[: n + 1]]) for n in range(len(requirements))]
    python = os.path.join(venv, "bin", "python")
    if parts[-1] in read(stamp).split() and os.access(python, os.X_OK):
        os.utime(stamp)
        return
    free = shutil.disk_usage(root).free / 1e9
    if free < NEEDED_GB and not os.path.exists(stamp):
        stop(
            "the environment needs %d GB and %s has %.1f GB free.\nFree some there, or clone to another disk. %s"
            % (NEEDED_GB, root, free, OWN)
        )
    if not works(python):
        make(venv)
    say("installing %s (once; log in .venv/install.log)" % " and ".join(map(os.path.basename, requirements)))
    install(python, root, requirements)
    show_library(venv, root)
    with open(stamp + ".tmp", "w") as file:
        file.write("\n".join(parts) + "\n")
    os.replace(stamp + ".tmp", stamp)
    say("the environment is ready")


def refuse_unreadable(venv):
    """What this user may not read would end in another Python, and that in 'No module named numpy'."""
    places = [venv, *(os.path.join(venv, name) for name in ("bin", "lib"))]
    places += glob.glob(os.path.join(glob.escape(venv), "lib", "python3.*"))
    places += [os.path.join(place, "site-packages") for place in places[3:]]
    for place in places:
        if os.path.lexists(place) and not os.access(place, os.R_OK | os.X_OK):
            stop("you may not read %s.\nAsk its owner to run: chmod -R a+rX %s\n%s" % (place, shlex.quote(venv), OWN))
    python = os.path.join(venv, "bin", "python")
    try:
        os.stat(python)
    except PermissionError:
        stop(
            "%s is a link to %s, which you may not run.\nAsk its owner for access, or remove .venv and start again "
            "with another Python. %s" % (python, os.path.realpath(python), OWN)
        )
    except OSError:
        pass  # it is not there (any more), and will be made


def works(python):
    if not os.path.exists(python):
        return False
    quiet = subprocess.DEVNULL
    return subprocess.call([python, "-m", "pip", "--version"], stdout=quiet, stderr=quiet) == 0


def make(venv):
    say("making the environment %s with Python %s" % (venv, dotted(sys.version_info)))
    done = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", venv],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
    )
    if done.returncode:
        remedy = (
            "Free space and start again."
            if FULL in done.stdout
            else "On Debian and Ubuntu the module is in the package python3-venv."
        )
        stop("cannot make %s:\n%s\n%s %s" % (venv, "\n".join(done.stdout.strip().splitlines()[-3:]), remedy, OWN))


def show_library(venv, root):
    """Let .venv/bin/python find vpeval without path.sh, too."""
    packages = os.path.join(venv, "lib", "python" + dotted(sys.version_info), "site-packages")
    if os.path.isdir(packages):
        with open(os.path.join(packages, "vpeval.pth"), "w") as file:
            file.write(root + "\n")


def install(python, root, requirements):
    command = [
        python,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar",
        "off",
        "--retries",
        "2",
        "-c",
        os.path.join(root, "constraints.txt"),
    ]
    for name in requirements:
        command += ["-r", name]
    terminal = sys.stderr.isatty()
    lines = []
    with open(os.path.join(root, ".venv", "install.log"), "w") as log:
        pip = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        for line in pip.stdout:
            log.write(line)
            log.flush()
            lines.append(line.strip())
            if line.startswith(("Collecting", "Installing")):
                shown = "  " + line.split(" (from")[0].strip()[:75]
                sys.stderr.write("\r%-78s" % shown if terminal else shown + "\n")
                sys.stderr.flush()
    if terminal:
        sys.stderr.write("\r%78s\r" % "")
    if pip.wait():
        text = "\n".join(lines)
        last = [line for line in lines if line.startswith("ERROR")][:2] or lines[-2:] or ["no message"]
        if FULL in text:
            stop("the disk is full: %s\nFree space and start again; what is there already is used. %s" % (last[0], OWN))
        if any(sign in text for sign in NETWORK):
            stop(
                "the package index cannot be reached (%s).\nCheck the network or pip's settings (proxy, index) and "
                "start again; what is there already is used. %s" % (last[0], OWN)
            )
        stop("pip failed: %s\nThe whole log is in .venv/install.log. %s" % ("\n".join(last), OWN))


def dotted(version):
    return "%d.%d" % tuple(version[:2])


def digest(paths):
    content = hashlib.sha256(dotted(sys.version_info).encode())
    for path in paths:
        with open(path, "rb") as file:
            content.update(file.read())
    return content.hexdigest()


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path) as file:
        return file.read()


def say(message):
    sys.stderr.write("path.sh: %s\n" % message)


def stop(message):
    say(message)
    sys.exit(1)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        main(os.path.abspath(sys.argv[1]), sys.argv[2:])
    except KeyboardInterrupt:
        stop("interrupted; start again to go on")
    except OSError as error:
        stop("cannot write the environment (%s).\nFree space or fix the permissions and start again. %s" % (error, OWN))
