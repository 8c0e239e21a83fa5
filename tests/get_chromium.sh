#!/usr/bin/env bash
# Make sure that there is a Chromium for the tests of pages, and print where it is.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export VPEVAL_TESTS=1
. ./path.sh

find_chromium() {
  (cd tests && python3 - <<'EOF'
from browsing import find_chromium
from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    print(find_chromium(playwright) or "")
EOF
  )
}

chromium=$(find_chromium)
if [ -z "$chromium" ]; then
  echo "$0: installing Chromium" >&2
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    install=(apt-get -o DPkg::Lock::Timeout=300 install -y chromium)
    { "${install[@]}" || { apt-get update && "${install[@]}"; }; } >&2 ||
      python3 -m playwright install chromium >&2 || true
  else
    python3 -m playwright install chromium >&2 || true
  fi
  chromium=$(find_chromium)
fi
[ -n "$chromium" ] || {
  echo "$0: no Chromium, and none could be installed; install one and put it on PATH, or set VPEVAL_CHROMIUM" >&2
  exit 1
}
echo "$chromium"
