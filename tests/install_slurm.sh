#!/usr/bin/env bash
# Install what tests/cluster needs: Slurm and munge as Debian packages, without starting them.
set -euo pipefail

packages=(slurmctld slurmd slurm-client munge)
programs=(slurmctld slurmd sbatch squeue scancel scontrol srun munged)

PATH=$PATH:/usr/sbin:/sbin
missing=()
for program in "${programs[@]}"; do command -v "$program" >/dev/null || missing+=("$program"); done
[ ${#missing[@]} -gt 0 ] || { echo "$0: Slurm is there: $(slurmctld -V)"; exit 0; }
command -v apt-get >/dev/null || {
  echo "$0: no ${missing[*]} here, and no apt-get to install ${packages[*]} with; use the packages of your system" >&2
  exit 1
}
sudo=()
[ "$(id -u)" = 0 ] || sudo=(sudo)
command -v "${sudo[@]:-true}" >/dev/null || {
  echo "$0: ask an administrator for: apt-get install --no-install-recommends ${packages[*]}" >&2
  exit 1
}
# The tests start daemons of their own, as whoever runs them; those of the packages have no configuration and stay off.
install() {
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${packages[@]}"
}
install || { "${sudo[@]}" apt-get update && install; }
