"""Primary and contrastive submissions of a participant."""

import json
import shutil

import pytest
from in_process import call
from toy_submission import make, members, rewrite, violations

from vpeval.submission.roles import check_entry


def renamed(path, system, role):
    """A copy of the archive of another system; its role is all that matters here."""
    shutil.copy("s.tar.gz", path)

    def change(files):
        manifest = json.loads(files["mine/manifest.json"])
        manifest |= {"system": system, "role": role}
        files["mine/manifest.json"] = json.dumps(manifest).encode()

    rewrite(change, path)
    return path


def test_the_manifest_says_whether_a_system_is_primary_or_contrastive(submission_dir):
    for options, role in (((), "primary"), (("--role", "contrastive"), "contrastive")):
        assert make("s.tar.gz", *options).returncode == 0
        assert json.loads(members()["mine/manifest.json"])["role"] == role
        assert f"remark: {role} submission\n" in call("check_submission.py", "s.tar.gz").stdout
    assert make("s.tar.gz", "--role", "best").returncode == 1


@pytest.mark.parametrize("role", [None, "best", 1])
def test_a_manifest_without_a_role_is_a_violation(submission_dir, role):
    make()

    def change(files):
        manifest = json.loads(files["mine/manifest.json"])
        manifest.pop("role")
        manifest |= {"role": role} if role else {}
        files["mine/manifest.json"] = json.dumps(manifest).encode()

    rewrite(change)
    named = "does not say whether the system is primary" if role is None else f"has the role {role!r}"
    assert [kind for kind, message in violations() if named in message] == ["manifest"]


def test_at_most_five_submissions_of_which_one_is_primary(submission_dir):
    make()
    paths = [submission_dir / f"{n}.tar.gz" for n in range(6)]
    for n, path in enumerate(paths):
        renamed(path, f"system{n}", "contrastive" if n else "primary")
    assert not check_entry(paths[:5]).problems
    assert check_entry(paths[:5]).systems[paths[1]] == ("system1", "contrastive")
    assert check_entry(paths).problems == ("6 submissions; a participant may make up to 5",)
    assert "there is none" in check_entry(paths[1:3]).problems[0]
    renamed(paths[1], "system0", "primary")
    twice = check_entry(paths[:2]).problems
    assert "system0 is there twice" in twice[0] and "there is 2" in twice[1]
    done = call("check_entry.py", *map(str, paths[1:3]))
    assert done.returncode == 0 and f"{paths[1]}: system0, primary" in done.stdout
    (submission_dir / "x.tar.gz").write_text("no archive")
    done = call("check_entry.py", str(paths[0]), "x.tar.gz")
    assert done.returncode == 1 and "x.tar.gz: is no submission" in done.stderr
