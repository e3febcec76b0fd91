#!/bin/sh
# The gallery in small: it comes to its end, and its page holds all pictures and nothing that is elsewhere.
# usage: gallery.sh PROGRAM ROOT FOLDER
set -eu
rm -rf "$3"
MESOFORGE=$1 "$2/examples/gallery/gallery.sh" -q -o "$3"
[ "$(grep -c '<img alt="[^"]*" src="data:image/png;base64,iVBOR' "$3/index.html")" -eq 8 ] || { echo "not eight pictures" && exit 1; }
# Any letters may stand in the pictures themselves.
! sed 's/base64,[^"]*//g' "$3/index.html" | grep -E 'http|src="[^d]|href' || exit 1
[ -s "$3/sheet.png" ]
MESOFORGE=$1 "$2/examples/gallery/gallery.sh" -q -o "$3/own" "$3/blobs.npy" "$3/phases.npy"
grep -q 'blobs_like' "$3/own/index.html"
