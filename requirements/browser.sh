#!/bin/sh
# What the tests of the page and of the tool server use besides Python: Chromium, axe-core and the official inspector.
# Debian packages are installed if root, else named; the npm packages lie in .envs/browser. Without them those tests are skipped.
set -eu
cd "$(dirname "$0")/.."
if ! command -v chromedriver >/dev/null || ! command -v chromium >/dev/null; then
    if [ "$(id -u)" = 0 ]; then
        apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core fonts-noto-cjk >/dev/null
    else
        echo "for the tests in a browser: apt-get install chromium chromium-driver fonts-noto-cjk"
    fi
fi
if command -v npm >/dev/null; then
    npm install --silent --no-fund --no-audit --prefix .envs/browser axe-core@4.14.1 @modelcontextprotocol/inspector
else
    echo "for axe-core and the inspector: install npm"
fi
