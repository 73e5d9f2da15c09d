#!/usr/bin/env bash
# Chromium for the tests of the report's page. Root gets it from Debian's packages; for anybody else those tests are skipped.
set -u
for name in chromium chromium-browser google-chrome; do
  command -v "$name" > /dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null 2>&1; then
  echo "setup: chromium, from the operating system's packages"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null && exit 0
fi
echo "setup: note: no browser: the tests of the report's page will be skipped. On Debian: apt-get install chromium" >&2
