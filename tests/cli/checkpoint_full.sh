#!/bin/sh
# A disk with room for the volume and none for a checkpoint: one that is due is a warning and the run ends well; one on
# leaving is refused with 7 and the bytes. checkpoint_full.sh PROGRAM MPIEXEC ...
# Needs a file system of 1 MB of its own; 77 (skipped) where mounting is not allowed.
if [ "$MF_INSIDE" != yes ]; then
    unshare -m true 2>/dev/null || { echo "no mount namespace here"; exit 77; }
    MF_INSIDE=yes exec unshare -m sh "$0" "$@"
fi
program=$1
shift
folder=$(mktemp -d) || exit 77
mount -t tmpfs -o size=1m tmpfs "$folder" 2>/dev/null || { rmdir "$folder"; echo "mounting is not allowed"; exit 77; }
failed=0
complain() { echo "$1"; cat "$folder/said"; failed=1; }
"$program" synth --kind gaussian --size 32 32 --volume-fraction 0.4 --correlation-length 2 --output "$folder/t.npy" 2>"$folder/said" ||
    complain "synth"
head -c 800k /dev/zero >"$folder/others"
match="match --microstructure_filename $folder/t.npy --add_dimension 32 --limit_to 6 --max_iter 20 --polish-rounds 2"
"$@" -n 2 "$program" $match --checkpoint-every 3ev --output "$folder/v.npy" 2>"$folder/said" || complain "due: $?"
grep -q "needs [0-9]* bytes and [0-9]* are free.*continues without" "$folder/said" || complain "due: not said"
[ -s "$folder/v.npy" ] || complain "due: no volume"
grep -q "needs [0-9]* bytes and [0-9]* are free.*could not save a checkpoint" "$folder/said" || complain "begin: not said"
"$@" -n 2 "$program" $match --max-hours 1e-9 --output "$folder/w.npy" 2>"$folder/said"
[ $? -eq 7 ] || complain "leaving: not 7"
grep -q "needs [0-9]* bytes and [0-9]* are free" "$folder/said" || complain "leaving: not said"
left=$(find "$folder" -name '*.tmp' -o -name '*ckpt*')
[ -z "$left" ] || complain "left behind: $left"
# A limit of one rank's process on the size of files: known before, by all ranks.
cat >"$folder/bound" <<'EOF'
[ "$OMPI_COMM_WORLD_RANK" != 1 ] || ulimit -f 100
exec "$@"
EOF
rm "$folder/others"
"$@" -n 2 sh "$folder/bound" "$program" $match --checkpoint-every 3ev --output "$folder/y.npy" 2>"$folder/said" || complain "bound: $?"
grep -q "a file may have [0-9]* here (ulimit -f) (rank 1; 1 of 2 ranks failed); the run continues without" "$folder/said" || complain "bound: not said"
rm "$folder/bound" "$folder/y.npy"
# A limit that the result itself does not keep: known before the work.
bash -c 'ulimit -f 20; exec "$@"' limit "$program" $match --output "$folder/z.npy" 2>"$folder/said"
[ $? -eq 7 ] || complain "limit: not 7"
grep -q "z.npy': it needs [0-9]* bytes and a file may have [0-9]* here" "$folder/said" && ! grep -q "evaluations" "$folder/said" || complain "limit: late"
# A folder that may not be written: known before the work, one sentence, nothing hangs.
said=$(mktemp)
mount -o remount,ro "$folder"
"$@" -n 2 "$program" $match --checkpoint-every 3ev --output "$folder/x.npy" 2>"$said"
status=$?
[ $status -eq 7 ] && [ "$(grep -c '^mesoforge: ' "$said")" -eq 1 ] && grep -q "Read-only" "$said" ||
    { echo "read-only: $status"; cat "$said"; failed=1; }
rm "$said"
umount "$folder"
rmdir "$folder"
exit $failed
