#!/bin/sh
# R for the tests that hold our statistics against it. Installed here if root on Debian, else named.
if command -v Rscript >/dev/null; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing r-base-core"
  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends r-base-core) >/dev/null 2>&1 || echo "could not install R: its tests will be skipped"
else
  echo "R is not installed: its tests will be skipped (Debian package: r-base-core)"
fi
exit 0
