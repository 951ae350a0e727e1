#!/bin/sh
# Slurm and munge from Debian's packages, for the tests of a real one-node cluster. They start their own daemons in a folder of theirs.
if command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v munged >/dev/null; then exit 0; fi
packages="slurm-wlm munge"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "no Slurm here: its tests are skipped. On Debian, as root: apt-get install $packages"; exit 0
fi
echo "installing $packages (half a minute)"
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages; } >/tmp/papertrain-slurm.$$ 2>&1 ||
  echo "  not installed: $(tail -n 1 /tmp/papertrain-slurm.$$); the tests of Slurm are skipped"
rm -f /tmp/papertrain-slurm.$$
