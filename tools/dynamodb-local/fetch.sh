#!/usr/bin/env bash
# Copies DynamoDB Local into the directory given and checks every file; without Java 17 or Maven it says so and succeeds.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
into=$1
for program in java mvn; do
  if ! command -v "$program" > /dev/null 2>&1; then
    echo "dynamodb-local: no '$program' here; the tests against it are skipped. On Debian: apt-get install openjdk-17-jre-headless maven"
    exit 0
  fi
done
mkdir -p "$into"
if ! (cd "$into" && sha256sum --check --status "$here/files.sha256" 2> /dev/null); then
  echo "dynamodb-local: fetching (50 MB)"
  mvn --quiet --batch-mode --file "$here/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$(realpath "$into")"
  (cd "$into" && sha256sum --check --quiet "$here/files.sha256")
fi
