"""On a terminal a progress bar is overwritten by the next, or its line ends: no sentence is written behind a bar.

    terminal.py MESOFORGE MPIEXEC       exit status 77: NumPy is missing, or terminals are
"""
import os
import pty
import re
import subprocess
import sys
import tempfile

from runs import check, finish
from samples import blobs, save

PROGRAM = os.path.abspath(sys.argv[1])


def on_terminal(*command):
    """Exit status, and what the command wrote to its terminal."""
    try:
        near, far = pty.openpty()
    except OSError as why:
        print("no terminal to be had:", why)
        sys.exit(77)
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=far)
    os.close(far)
    text = b""
    while True:
        try:
            piece = os.read(near, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(near)
    return child.wait(), text.decode()


with tempfile.TemporaryDirectory() as folder:
    image = save(folder, "image.npy", blobs((64, 64), [0.6, 0.4], 1))
    status, text = on_terminal(PROGRAM, "match", image, "--add_dimension", "32", "--max_iter", "50", "--threads", "1",
                               "--limit_to", "10", "--output", f"{folder}/volume.npy")
    check(status == 0, f"exit {status}: {text[-600:]}")
    check("polish " in text and "evaluations [" in text, "no bar was drawn")
    check(not re.search(r"polish [^\r\n]* left", text), "nobody knows when the polish ends")
    check(re.search(r"polish \d+, \d+ s  \d+ swaps", text), "rounds of the polish are counted")
    status, grids = on_terminal(PROGRAM, "match", image, "--max_iter", "40", "--threads", "1", "--limit_to", "8", "--descriptor_types", "S2",
                                "--use_multigrid_reconstruction", "--no_polish", "--output", f"{folder}/grids.npy")
    seen = [tuple(map(int, found)) for found in re.findall(r"evaluations \[[#.]*\] (\d+)/(\d+)", grids)]
    whole = int(re.search(r"(\d+) evaluations, ", grids)[1])
    check(status == 0 and seen[-1] == (whole, whole) and len(re.findall("all evaluated", grids)) == 1, f"evaluations of all grids are counted: {seen}: {grids[-400:]}")
    check(all(made <= of for made, of in seen) and [made for made, _ in seen] == sorted(made for made, _ in seen), f"the count goes back: {seen}")
    behind = re.findall(r"\x1b\[K[^\r\n]+", text)
    check(not behind, f"written behind a bar: {behind[:3]}")
finish("terminal")
