#!/bin/sh
# Reads the frameworks' keys, types and choices again out of their own wheels, at the versions on record, and shows what differs.
# A new version: copy a file under its name, change the versions in its made_by, and run this.
set -eu
wheels=.cache/wheels
mkdir -p "$wheels"
for file in src/papertrain/facts/frameworks/*.json; do
  names=$(.venv/bin/python -c 'import json, sys; print(*[w for w in json.load(open(sys.argv[1]))["made_by"].split() if w.endswith(".whl")])' "$file")
  [ -n "$names" ] || { echo "$file: converted once, left as it is"; continue; }
  paths=
  for name in $names; do
    package=$(echo "$name" | cut -d- -f1)==$(echo "$name" | cut -d- -f2)
    [ -f "$wheels/$name" ] || .venv/bin/pip download --disable-pip-version-check --quiet --no-deps --only-binary :all: -d "$wheels" "$package"
    paths="$paths $wheels/$name"
  done
  .venv/bin/python -m papertrain.facts.frameworks.extract --keep "$file" $paths > "$wheels/new.json"
  mv "$wheels/new.json" "$file"
done
git --no-pager diff --stat -- src/papertrain/facts/frameworks
