"""Files made to do harm: each is refused with status 3 in a moment, takes no more memory than a sound file, and touches nothing but itself.

    hostile.py MESOFORGE       exit status 77: NumPy or h5py is missing
"""
import gzip
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import zlib

import runs
from hdf5 import dream3d_box, h5py
from runs import check, finish
from samples import np

PROGRAM = os.path.abspath(sys.argv[1])
SECONDS, WALL, MORE_KIB = 3, 60, 64 << 10  # processor time with the start of MPI; what a loaded machine may make of it; memory beside that of a sound file
HUGE = 1 << 60


def npy(shape, body=b"\0" * 64, length=None):
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    if length is None:
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + body
    return b"\x93NUMPY\2\0" + struct.pack("<I", length) + text + body


def nrrd(sizes, more="encoding: raw", body=b"\0" * 64):
    return f"NRRD0004\ntype: uint8\ndimension: 3\nsizes: {sizes}\n{more}\n\n".encode() + body


def vtk(extent, kind="ImageData", array='format="ascii">0 1 0 1', compressor="", head=""):
    return (f'<?xml version="1.0"?>{head}<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" {compressor}><{kind} WholeExtent="{extent}">'
            f'<Piece Extent="{extent}"><CellData><DataArray type="UInt8" Name="p" {array}</DataArray></CellData></Piece></{kind}></VTKFile>').encode()


def h5(fill):
    with h5py.File("made.h5", "w", libver="latest") as file:
        fill(file)
    return open("made.h5", "rb").read()


def bomb(file):
    """A gibibyte of zeros in some hundred kilobytes, more than deflate can promise for a file of that length."""
    data = file.create_dataset("a", (1 << 14, 1 << 10, 1 << 10), "u1", chunks=(1, 1 << 10, 1 << 10), compression="gzip")
    data[0] = 0


def virtual(file):
    layout = h5py.VirtualLayout((8, 8), "u1")
    layout[:] = h5py.VirtualSource("secret.h5", "a", (8, 8))
    file.create_virtual_dataset("a", layout)


def external(file):
    file.create_dataset("a", (8, 8), "u1", external=[("secret.raw", 0, 64)])


def filtered(file):
    """A filter that only a plug-in could undo: its number stands where deflate's was."""
    file.create_dataset("a", data=np.zeros((64, 64), "u1"), chunks=(64, 64), compression="lzf")


def geometry(file):
    dream3d_box(file, "Box", [HUGE] * 3).create_group("CellData")["Phases"] = np.zeros((2, 2, 2, 1), "i4")


def hollow():
    """A sound file whose length says exabytes, or as much as the file system knows."""
    with h5py.File("hollow.h5", "w") as file:
        file["a"] = np.zeros((8, 8), "u1")
    for length in (HUGE, 1 << 43):
        try:
            os.truncate("hollow.h5", length)
            return {"hollow.h5": None}
        except OSError as why:
            print(f"hollow.h5 of {length} bytes is left out: {why}")
    os.remove("hollow.h5")
    return {}


BLOCK = zlib.compress(bytes(1 << 20), 9)
CASES = {
    "shape.npy": npy(f"({HUGE}, 8)"), "wraps.npy": npy(f"({1 << 32}, {1 << 32})"), "header.npy": npy("(8, 8)", length=0xFFFFFFFF),
    "pickle.npy": npy("(8, 8)").replace(b"|u1", b"|O8"), "sizes.nrrd": nrrd(f"{HUGE} 8 8"), "wraps.nrrd": nrrd(f"{1 << 32} {1 << 32} 1"),
    "bomb.nrrd": nrrd("1024 1024 4096", "encoding: gzip", gzip.compress(bytes(1 << 20))),
    "out.nhdr": nrrd("8 8 1", "encoding: raw\ndata file: ../secret.raw", b""), "root.nhdr": nrrd("8 8 1", "encoding: raw\ndata file: /etc/passwd", b""),
    "list.nhdr": nrrd("8 8 1", "encoding: raw\ndata file: LIST\nsecret.raw", b""), "pipe.nhdr": nrrd("8 8 1", "encoding: raw\ndata file: pipe", b""),
    "extent.vti": vtk(f"0 {HUGE} 0 {HUGE} 0 1"), "minus.vti": vtk("0 -5 0 4 0 1"), "extent.vtr": vtk(f"0 {HUGE} 0 1 0 1", "RectilinearGrid"),
    "entity.vti": vtk("0 2 0 2 0 1", head='<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>', array='format="ascii">&a;'),
    "offset.vti": vtk("0 2 0 2 0 1", array=f'format="appended" offset="{HUGE}">'),
    "bomb.vti": vtk("0 1024 0 1024 0 4096", compressor='compressor="vtkZLibDataCompressor"', array='format="binary">AAAQAAAAEAAAAAAAAAAAAA=='),
    "tall.tif": struct.pack("<2sHIH", b"II", 42, 8, 8) + b"".join(struct.pack("<HHII", *tag) for tag in (
        (256, 4, 1, 0x7FFFFFFF), (257, 4, 1, 0x7FFFFFFF), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8),
        (278, 4, 1, 0x7FFFFFFF), (279, 4, 1, 64))) + bytes(4),
    "wide.png": b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d)) for t, d in (
        (b"IHDR", struct.pack(">IIBBBBB", 0x7FFFFFFF, 0x7FFFFFFF, 8, 0, 0, 0, 0)), (b"IDAT", BLOCK), (b"IEND", b""))),
}
TREES = {"bomb.h5": bomb, "virtual.h5": virtual, "external.h5": external, "filter.h5": filtered, "geometry.dream3d": geometry,
         "link.h5": lambda file: file.__setitem__("a", h5py.ExternalLink("secret.h5", "/a")),
         "soft.h5": lambda file: file.__setitem__("a", h5py.SoftLink("/b"))}


def used(name):
    """Status, what it says, processor time and most memory [KiB] of reading it."""
    words = [PROGRAM, "smooth", f"{name}:a" if name.endswith(".h5") else name, "--output", "made.npy"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
        late = threading.Timer(WALL, lambda: os.kill(job.pid, signal.SIGKILL))  # it then reads -9, and is no 3
        late.start()
        err = job.stderr.read()
        late.cancel()
        _, status, usage = os.wait4(job.pid, 0)
        job.returncode = os.waitstatus_to_exitcode(status)
    return job.returncode, err, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


with tempfile.TemporaryDirectory() as home:
    os.mkdir(f"{home}/in")
    os.chdir(f"{home}/in")
    for folder in ("", "../"):
        open(f"{folder}secret.raw", "wb").write(bytes(64))
    with h5py.File("secret.h5", "w") as file:
        file["a"] = np.zeros((8, 8), "u1")
    os.mkfifo("pipe")
    for name, fill in TREES.items():
        CASES[name] = h5(fill)
    os.remove("made.h5")
    open("good.npy", "wb").write(npy("(8, 8)"))
    for name, content in CASES.items():
        open(name, "wb").write(content)
    CASES.update(hollow())
    before = sorted(os.listdir(".")) + sorted(os.listdir(".."))
    status, err, _, base = used("good.npy")
    check(status == 0, f"a sound file: {status} {err}")
    os.remove("made.npy")
    for name in CASES:
        status, err, seconds, kib = used(name)
        check(status == 3 and name.split(".")[0] in err, f"{name}: {status} {err}")
        check(seconds < SECONDS and kib < base + MORE_KIB, f"{name} takes {seconds:.2f} s and {kib - base} KiB more than a sound file: {err}")
    check(sorted(os.listdir(".")) + sorted(os.listdir("..")) == before, f"nothing is made: {os.listdir('.')} {os.listdir('..')}")
    for verb in ("info", "verify", "report", "view", "smooth"):
        got = runs.run(PROGRAM, verb, "pipe", timeout=20)
        check(got.status == 3 and "pipe" in got.err, f"{verb} of a pipe that nobody writes to: {got}")
    print(f"{len(CASES)} files")
finish("hostile")
