#!/bin/sh
# One rank's write fails in the middle, or would: the old file stays, no temporary is left. io_cut.sh MPIEXEC PROGRAM RANKS ENDING.
folder=$(mktemp -d) || exit 77
failed=0
"$1" -n "$3" "$2" write "$folder/m.$4" || failed=1
sum=$(sha256sum "$folder"/*)
for way in limit bound; do
    "$1" -n "$3" "$2" $way "$folder/m.$4" 12 2>"$folder/said" || failed=1
    cat "$folder/said"
    rm "$folder/said"
done
[ "$sum" = "$(sha256sum "$folder"/*)" ] || { echo "the old file changed"; failed=1; }
left=$(find "$folder" -name '.*.tmp')
[ -z "$left" ] || { echo "left behind: $left"; failed=1; }
rm -r "$folder"
exit $failed
