#!/bin/sh
# `make newcomer`: a stranger's first hour. From a clean clone, with an empty home and an empty environment, exactly the
# commands of README's code block under "Two commands", then the tutorial's. Prints the time and the disk of each.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
git clone --quiet "$root" "$place/papertrain"
mkdir "$place/home"
cd "$place/papertrain"
run() {
    began=$(date +%s)
    echo "\$ $1"
    # Nothing of the caller's environment but where programs lie, and where packages come from.
    env -i PATH="$PATH" HOME="$place/home" LANG=C.UTF-8 ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} ${PIP_CONFIG_FILE:+PIP_CONFIG_FILE="$PIP_CONFIG_FILE"} \
        sh -c "$1" >"$place/output.txt" 2>&1 || { tail -40 "$place/output.txt"; echo "FAILED: $1"; exit 1; }
    echo "  $(($(date +%s) - began)) s, $(du -sm "$place" | cut -f1) MB in all"
}
readme() { sed -n '/^## Two commands/,/^## /p' README.md | grep -oE '^make [a-z]+'; }
tutorial="$place/tutorial.txt"
tutorial() { grep -E '^\$ papertrain ' docs/tutorial.md | cut -c3-; }
tutorial >"$tutorial"
[ -n "$(readme)" ] && [ -s "$tutorial" ] || { echo "README or tutorial has no commands"; exit 1; }
for command in $(readme | tr ' ' '_'); do run "$(echo "$command" | tr '_' ' ')"; done
cp -r examples/first-minutes first-minutes  # inside the checkout: `launch` finds the training environment of `make demo` there
cd first-minutes
PATH="$place/papertrain/.venv/bin:$PATH"
export PATH
began=$(date +%s)
while IFS= read -r command; do
    echo "\$ $command"
    # 1 is an answer too: a finding.
    env -i PATH="$PATH" HOME="$place/home" LANG=C.UTF-8 sh -c "$command" </dev/null >"$place/output.txt" 2>&1 || [ $? -eq 1 ] || { cat "$place/output.txt"; echo "FAILED: $command"; exit 1; }
done <"$tutorial"
echo "tutorial: $(($(date +%s) - began)) s; $(du -sm "$place" | cut -f1) MB in all"
