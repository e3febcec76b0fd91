#!/bin/sh
# mpi_end.sh STATUS LINE COMMAND...: the command ends within 20 s with STATUS ("any": not 0) and prints LINE exactly
# once ("": whatever it prints). Open MPI takes up to 3 s to end a job whose process was killed.
# The line of a watch, and of an error of MPI, names a file that holds what each rank did last; no other end leaves one.
want=$1 line=$2
shift 2
folder=$(mktemp -d) && cd "$folder" || exit 1
trap 'rm -rf "$folder"' EXIT
out=$(timeout -k 2 20 "$@" 2>&1)
got=$?
echo "$out"
[ "$got" -ne 124 ] || { echo "it hung"; exit 1; }
if [ "$want" = any ]; then
    [ "$got" -ne 0 ] || { echo "status 0, want another"; exit 1; }
else
    [ "$got" -eq "$want" ] || { echo "status $got, want $want"; exit 1; }
fi
[ -z "$line" ] && exit 0
n=$(echo "$out" | grep -c "mesoforge: $line")
[ "$n" -eq 1 ] || { echo "'$line' stands there $n times, want once"; exit 1; }
record=$(echo "$out" | sed -n 's/.*; what each rank did last: \(.*\); try: .*/\1/p')
case $line in
*"has not come to"* | *"has not sent to"* | *"wait for each other"* | *"is lost"*) cat "$record" && grep -q "^0.*agreement" "$record" || { echo "its flight record is not among: $(ls)"; exit 1; } ;;
*) [ -z "$record$(ls)" ] || { echo "a flight record that nobody needs: $record $(ls)"; exit 1; } ;;
esac
