#!/bin/sh
# A full disk: the old file stays as it was, no temporary is left, the code is 7. io_full.sh MPIEXEC PROGRAM RANKS.
# Needs a file system of 24 MB of its own; 77 (skipped) where mounting is not allowed.
if [ "$4" != inside ]; then
    unshare -m true 2>/dev/null || { echo "no mount namespace here"; exit 77; }
    exec unshare -m sh "$0" "$1" "$2" "$3" inside
fi
folder=$(mktemp -d) || exit 77
mount -t tmpfs -o size=24m tmpfs "$folder" 2>/dev/null || { rmdir "$folder"; echo "mounting is not allowed"; exit 77; }
failed=0
for ending in h5 npy tif; do
    file=$folder/m.$ending
    "$1" -n "$3" "$2" write "$file" || failed=1
    sum=$(sha256sum "$folder"/m.*)
    "$1" -n "$3" "$2" refuse "$file" 40 2>"$folder/said" || failed=1
    grep -q "needs [0-9]* bytes and [0-9]* are free" "$folder/said" || { cat "$folder/said"; failed=1; }
    rm "$folder/said"
    [ "$sum" = "$(sha256sum "$folder"/m.*)" ] || { echo "the old file of .$ending changed"; failed=1; }
    left=$(find "$folder" -name '.*.tmp')
    [ -z "$left" ] || { echo "left behind: $left"; failed=1; }
    rm "$folder"/m.*
done
umount "$folder"
rmdir "$folder"
exit $failed
