#!/bin/sh
# A log file that a full disk cuts short is said, and costs nothing else (the option has a line in it). log_cut.sh PROGRAM
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
ln -s /dev/full "$folder/run.log"
"$1" synth --kind checkerboard --size 16 16 --data_folder "$folder" --logfile_name run --output "$folder/c.npy" --share-gpu 2>"$folder/said"
[ $? -eq 0 ] && [ -s "$folder/c.npy" ] && grep -q "log file is not complete: No space left on device" "$folder/said" || { cat "$folder/said"; exit 1; }
