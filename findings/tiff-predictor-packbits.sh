#!/usr/bin/env bash
# tifffile writes PackBits with a horizontal predictor, and undoes it when it reads. Pillow, by libtiff, does not.
# One would guess that a reader undoes the tag or refuses it. libtiff knows the tag with LZW, Deflate and Zstandard alone;
# with PackBits it does not even return it, and the differences of pixels are taken for pixels.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install tifffile==2026.3.3 imagecodecs==2026.3.6 pillow==13.0.0 numpy==2.4.2
cd "$folder"
v/bin/python - <<'PY'
import numpy as np, tifffile
from PIL import Image, __version__, features
print("tifffile", tifffile.__version__, "Pillow", __version__, "libtiff", features.version("libtiff"))
image = np.where(np.arange(960).reshape(24, 40) % 7 < 3, 200, 60).astype("u1")
for compression, same in (("packbits", False), ("lzw", True)):
    tifffile.imwrite("image.tif", image, photometric="minisblack", compression=compression, predictor=True)
    mine, theirs = tifffile.imread("image.tif"), np.asarray(Image.open("image.tif"))
    print(f"  {compression:9s}mean {image.mean():.1f}, tifffile {mine.mean():.1f}, Pillow {theirs.mean():.1f}")
    assert (mine == image).all() and (theirs == image).all() == same, "the behaviour has changed"
PY
