"""What users give as files, and what happens to what they are given back: arrays by name, files that are turned or have too much in them,
outputs that another run holds, disks that are full.

    given.py MESOFORGE MPIEXEC ...       exit status 77: NumPy or h5py is missing
"""
import json
import os
import subprocess
import sys
import tempfile

from hdf5 import dream3d_box, h5py
from runs import check, finish, line, locked, measure, refuses, run
from samples import blobs, np

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2:]
VOLUME = blobs((6, 8, 10), [0.6, 0.4], 1)
IMAGE = blobs((24, 24), [0.6, 0.4], 2)


def several(name, **arrays):
    """DREAM.3D's file version 7."""
    shape = next(iter(arrays.values())).shape
    with h5py.File(name, "w") as file:
        cells = dream3d_box(file, "Box", shape[::-1]).create_group("CellData")
        for title, a in arrays.items():
            cells[title] = a[..., None].astype("i4")
    return name


def vti(name, attributes, a, grid="ImageData", coordinates=""):
    extent = "0 %d 0 %d 0 %d" % a.shape[::-1]
    values = " ".join(map(str, a.ravel()))
    with open(name, "w") as file:
        file.write(f'<VTKFile type="{grid}" version="1.0" byte_order="LittleEndian">\n<{grid} WholeExtent="{extent}" {attributes}>'
                   f'<Piece Extent="{extent}"><CellData Scalars="p"><DataArray type="UInt8" Name="p" format="ascii">{values}</DataArray>'
                   f"</CellData>{coordinates}</Piece></{grid}></VTKFile>\n")
    return name


def nrrd(name, a, more="", tail=b""):
    sizes = " ".join(map(str, a.shape[::-1]))
    with open(name, "wb") as file:
        file.write(f"NRRD0004\ntype: uint8\ndimension: {a.ndim}\nsizes: {sizes}\n{more}encoding: raw\n\n".encode() + a.tobytes() + tail)
    return name


def arrays_by_name():
    """FILE:ARRAY, wherever a field is read."""
    mask = (VOLUME == 7).astype("u1")
    mask[0] = 1
    several("two.dream3d", Grains=VOLUME, Mask=mask)
    np.save("v.npy", VOLUME.astype("u1"))
    np.save("mask.npy", mask)
    want = measure(PROGRAM, "characterize", "v.npy", "--limit_to", 3, "--mask", "mask.npy", "--descriptor_types", "FFTCorrelations")
    got = measure(PROGRAM, "characterize", "two.dream3d:Grains", "--limit_to", 3, "--mask", "two.dream3d:DataContainers/Box/CellData/Mask",
                  "--descriptor_types", "FFTCorrelations", ranks=2, mpiexec=MPIEXEC)
    check(got and got["phases"] == want["phases"], "arrays of one file as field and mask")
    check(os.path.exists("results/two_characterization.h5"), f"a name without the array: {os.listdir('results')}")
    refuses(PROGRAM, [(3, ["characterize", "two.dream3d"], "FILE:ARRAY"),
                      (3, ["characterize", "two.dream3d:Other"], "Other"),
                      (3, ["characterize", "none.dream3d:Grains"], "cannot open 'none.dream3d:Grains'"),
                      (2, ["characterize", "two.dream3d:Grains", "--dataset", "Mask"], "names an array of its own"),
                      (2, ["characterize", "v.npy:Grains"], "holds one array without a name, and 'Grains' is asked for"),
                      (2, ["smooth", "two.dream3d:Grains", "--output", "two.dream3d"], "is the input")], ranks=(1,))
    np.save("a:b.npy", VOLUME.astype("u1"))
    done = run(PROGRAM, "view", "two.dream3d:Grains", "--output", "two.png")
    check(done.status == 0 and os.path.getsize("two.png"), f"view: {done.err}")
    check(run(PROGRAM, "smooth", "a:b.npy", "--output", "ab.npy").status == 0, "a file whose name has a colon")
    several("fix.dream3d", Keep=np.where(np.arange(VOLUME.size).reshape(VOLUME.shape) < 40, VOLUME, -1), Start=VOLUME)
    done = run(PROGRAM, "match", "v.npy", "--limit_to", 3, "--max_iter", 2, "--no_polish", "--fixed", "fix.dream3d:Keep",
               "--initial_microstructure_file", "fix.dream3d:Start", "--output", "m.npy")
    check(done.status == 0 and (np.load("m.npy").ravel()[:40] == VOLUME.ravel()[:40]).all(), f"fixed and start: {done.err}")
    check(f"{VOLUME.size - 40} voxels are free" in done.err, f"what is free is said: {done.err}")


def told_apart():
    """info names a DREAM.3D file and what a verb would take of it."""
    several("one.dream3d", Phases=VOLUME)
    for name, says in (("one.dream3d", "DREAM.3D array"), ("two.dream3d", "DREAM.3D file")):
        done = run(PROGRAM, "info", name)
        check(done.status == 0 and says in done.out and "another program" not in done.out, f"info {name}: {done.out} {done.err}")


def refused():
    """Files that would be misread, each with a sentence that says what is wrong."""
    small = VOLUME[:2, :3, :4].astype("u1")
    turn = 'Direction="0 1 0 1 0 0 0 0 1"'
    planes = lambda *axes: "<Coordinates>" + "".join(
        f'<DataArray type="Float64" Name="c" format="ascii">{" ".join(map(str, a))}</DataArray>' for a in axes) + "</Coordinates>"
    long = 'Direction="' + " ".join(["1.0000000000000000e+00" if i % 4 == 0 else "0.0000000000000000e+00" for i in range(9)]) + '"'
    check(run(PROGRAM, "info", vti("straight.vti", long, small)).status == 0, "a Direction that turns nothing")
    cases = [(vti("turned.vti", turn, small), "is rotated in space"),
             (vti("far.vti", 'Direction="' + " " * 600 + '0 1 0 1 0 0 0 0 1"', small), "its Direction is too long"),
             (vti("wide.vti", 'Spacing="1 1 1.' + "0" * 200 + '"', small), "its Spacing is too long"),
             (vti("down.vtr", "", small, "RectilinearGrid", planes([0, 1, 2, 3, 4], [3, 2, 1, 0], [0, 1, 2])), "along y descend"),
             (nrrd("tail.nrrd", small, tail=b"abc"), "3 more follow"),
             (nrrd("flat.nrrd", small, "spacings: 1 0 1\n"), "is 0"),
             (nrrd("minus.nrrd", small, "spacings: 1 1 -2\n"), "is -2")]
    refuses(PROGRAM, [(3, ["characterize", name, "--limit_to", 2], says) for name, says in cases], ranks=(1,))
    text = open(vti("huge.vti", "", np.zeros((1, 1, 1), "u1"))).read()
    with open("huge.vti", "w") as file:
        file.write(text.replace("0 1 0 1 0 1", "0 1099511627775 0 1099511627775 0 1099511627775"))
    refuses(PROGRAM, [(3, ["characterize", "huge.vti"], "more values than can be counted"),
                      (2, ["match", "i.npy", "--limit_to", 4, "--add_dimension", 16, "--output", "v.png"], ".dream3d")], ranks=(1,))


def held():
    """What a run has locked no verb writes; other files of that stem are free."""
    with locked(".busy.lock", "process 99 on here", "busy.h5"):
        refuses(PROGRAM, [(7, [*words, "--output", "busy.h5"], "process 99 on here") for words in (
            ["smooth", "i.npy"], ["characterize", "i.npy", "--limit_to", 4], ["synth", "--size", 16, 16],
            ["merge", "s2.npy", "s2.npy"], ["match", "i.npy", "--limit_to", 4, "--max_iter", 2])], ranks=(1,))
        refuses(PROGRAM, [(7, ["smooth", "i.npy", "--output", "busy.h5"], "process 99 on here")], ranks=(2,), mpiexec=MPIEXEC)
        check(not os.path.exists("busy.h5"), "nothing was written")
        refuses(PROGRAM, [(7, ["match", "i.npy", "--limit_to", 4, "--max_iter", 2, "--output", "busy.npy"],
                           "writes 'busy.h5' now, whose checkpoints would have the same names: process 99")], ranks=(1,))
        check(run(PROGRAM, "view", "i.npy", "--output", "busy.png").status == 0, "another file of that stem")
    check(run(PROGRAM, "smooth", "i.npy", "--output", "busy.h5").status == 0, "a lock that nobody has any more")


def windows():
    """Windows of S2 as arrays, where descriptor files are."""
    done = measure(PROGRAM, "merge", "s2.npy", "s2.npy", "merged.h5", "--limit_to", 5)
    check(done and done["lag"] == 5, f"merge of arrays: {done}")
    done = run(PROGRAM, "interpolate", "s2.npy", "s2.npy", "--n_steps", 2, "--output", "way.h5")
    check(done.status == 0 and os.path.exists("way_1.h5"), f"interpolate: {done.err}")
    refuses(PROGRAM, [(2, ["merge", "merged.h5", "merged.h5", "--limit_to", 4], "--limit_to is for .npy"),
                      (2, ["merge", "s2.npy", "s2.npy", "--limit_to", 99], "allow --limit_to 1 to"),
                      (2, ["merge", "s2.npy", "s2.npy", "--limit_to", -1], "not -1")], ranks=(1,))


def planned():
    """A plan for a run goes where the plan's own words say, never over the run's output or what it reads."""
    words = ("match", "i.npy", "--limit_to", 4, "--max_iter", 3, "--no_polish", "--output", "run.npy")
    with open("run.yaml", "w") as file:
        file.write(run(PROGRAM, *words, "--print-config").out)
    check(run(PROGRAM, "match", "--config", "run.yaml").status == 0, "the run")
    before = open("run.npy", "rb").read()
    check(run(PROGRAM, "plan", "match", "--config", "run.yaml").status == 0 and open("run.npy", "rb").read() == before, "a plan over the run's output")
    done = run(PROGRAM, "plan", "match", "--config", "run.yaml", "--output", "here.json")
    check(done.status == 0 and json.load(open("here.json"))["schema"] == "plan", f"a plan that was asked for: {done.err}")
    with open("plan.yaml", "w") as file:
        file.write("output: there.json\n")
    done = run(PROGRAM, "plan", "match", "i.npy", "--limit_to", 4, "--config", "plan.yaml")
    check(done.status == 0 and os.path.exists("there.json"), f"the plan's own configuration: {done.err}")
    refuses(PROGRAM, [(2, ["plan", "match", "i.npy", "--output", "i.npy"], "must end with .json"),
                      (2, ["probe", "--output", "run.npy"], "must end with .json")], mpiexec=MPIEXEC)


def kept():
    """What goes beside a volume cannot cost it; what can be known before is said before."""
    os.mkdir("out.xdmf")
    refuses(PROGRAM, [(7, ["smooth", "i.npy", "--output", "out.h5"], "'out.xdmf': it is a folder")], ranks=(1,))
    check(not os.path.exists("out.h5"), "refused before the work")
    for ranks in (1, 2):
        done = run(PROGRAM, "smooth", "i.npy", "--output", "late.h5", ranks=ranks, mpiexec=MPIEXEC, fault="io.write.xdmf:rank=0")
        check(done.status == 7 and "'late.h5', is complete" in done.err, f"the .xdmf fails: {done.status} {done.err}")
        check(run(PROGRAM, "verify", "late.h5").status == 0 and not os.path.exists("late.xdmf"), "the volume is there")
        done = run(PROGRAM, "characterize", "i.npy", "--limit_to", 4, "--output", "late.h5", ranks=ranks, mpiexec=MPIEXEC, fault="io.create:visit=2:rank=0")
        check(done.status == 7 and "'late.h5', are complete" in done.err, f"the picture fails: {done.status} {done.err}")
        check(run(PROGRAM, "verify", "late.h5").status == 0 and not os.path.exists("late.png"), "the descriptors are there")
        os.remove("late.h5")
    with open("/dev/full", "w") as full:
        got = subprocess.run(line(PROGRAM, "info", "i.npy", "--json"), stdout=full, stderr=subprocess.PIPE, text=True)
    check(got.returncode == 7 and "/dev/full" in got.stderr, f"JSON on a full disk: {got.stderr}")
    where = os.path.abspath("logs.log")
    done = run(PROGRAM, "info", "i.npy", "--logfile_name", where)
    check(done.status == 0 and os.path.exists(where), f"a log with a path of its own: {done.err} {os.listdir('.')}")


with tempfile.TemporaryDirectory() as home:
    os.chdir(home)
    np.save("i.npy", IMAGE.astype("u1"))
    transform = np.fft.fft2(IMAGE == 1)
    np.save("s2.npy", np.fft.fftshift(np.fft.ifft2(abs(transform) ** 2).real / IMAGE.size))
    arrays_by_name()
    told_apart()
    refused()
    windows()
    held()
    planned()
    kept()
finish("given")
