#!/bin/sh
# Runs one case of refusal: exact exit status, exactly one line "mesoforge: ..." on standard error, and in it the text
# that .stderr holds. The same on every number of ranks.
# usage: run.sh PROGRAM CASE RANKS MPIEXEC
#   CASE.args     arguments, as a shell reads them; $W: an empty folder of this run; $HERE: the folder of the cases
#   CASE.status   exit status
#   CASE.stderr   lines, each part of the message
#   CASE.setup    optional shell script, run in $W before
set -eu
program=$1 case=$2 ranks=$3 mpiexec=$4
HERE=$(dirname "$case")
HERE=$(cd "$HERE" && pwd)
case=$HERE/$(basename "$case")
W=$(mktemp -d)
export W HERE program
trap 'chmod -R u+w "$W"; rm -rf "$W"' EXIT
cd "$W"
[ ! -f "$case.setup" ] || sh -eu "$case.setup"
eval "set -- $(cat "$case.args")"
want=$(cat "$case.status")
status=0
if [ "$ranks" = 1 ]; then
    "$program" "$@" >stdout 2>stderr || status=$?
else
    "$mpiexec" -q -n "$ranks" "$program" "$@" >stdout 2>stderr || status=$?
fi

fail() {
    echo "$case on $ranks ranks: $1"
    echo "--- standard error:"
    cat stderr
    exit 1
}

[ "$status" = "$want" ] || fail "exit status $status, want $want"
lines=$(grep -c '^mesoforge: ' stderr || true)
[ "$lines" = 1 ] || fail "$lines lines of error, want 1"
while IFS= read -r part; do
    grep '^mesoforge: ' stderr | grep -qF -- "$part" || fail "the message lacks '$part'"
done <"$case.stderr"
