"""What pyproject.toml cannot say: an installed package has `conf/` and the scripts of `local/` in it."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["vpeval*"]), "vpeval.conf", "vpeval.scripts"],
    package_dir={"vpeval.conf": "conf", "vpeval.scripts": "local"},
)
