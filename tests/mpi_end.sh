#!/bin/sh
# mpi_end.sh STATUS LINE COMMAND...: the command ends within 20 s with STATUS ("any": not 0) and prints LINE exactly
# once ("": whatever it prints). Open MPI takes up to 3 s to end a job whose process was killed.
want=$1 line=$2
shift 2
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
