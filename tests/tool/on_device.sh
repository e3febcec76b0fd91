#!/bin/sh
# The program with --device $MF_TEST_DEVICE behind what the caller says, unless that names a device itself: so every test
# of the program runs on any back end. PROGRAM: where the program is.
for word; do
    case $word in --device | --device=*) exec "$PROGRAM" "$@" ;; esac
done
case ${1:-} in
characterize | compare | match | reconstruct | synth | view) exec "$PROGRAM" "$@" --device "$MF_TEST_DEVICE" ;;
esac
exec "$PROGRAM" "$@"
