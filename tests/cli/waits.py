"""Wherever a rank waits for another, in MPI or in HDF5 on its behalf, the watch knows the collective it is in.

    waits.py MESOFORGE_THAT_ENDS_WHERE_THAT_IS_NOT_SO MPIEXEC
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from runs import check, finish, run

program, mpiexec = os.path.abspath(sys.argv[1]), sys.argv[2]


def goes(*words):
    status, _, err = run(program, *words, ranks=2, mpiexec=mpiexec, timeout=300)  # bench sends thousands of messages, each a turn of its ranks on a busy core
    check(status == 0 and "waits:" not in err, f"{status}: {' '.join(map(str, words))}: {err}")


# calls of MPI that wait for nobody, and its start and end
LOCAL = re.compile("MPI_(Abort|Init_thread|Finalize|Initialized|Finalized|Query_thread|Get_.*|Error_.*|Errhandler_.*|Info_.*|Type_.*|Op_.*|Group_.*|Isend|Irecv|Ibarrier|Ibcast|Imrecv|Test|Testsome|Testall|"
                   "Comm_(rank|size|compare|get_.*|set_.*|create_keyval|free_keyval|create_errhandler|call_errhandler|c2f|f2c|test_inter)|"
                   "File_(get_.*|set_errhandler|read_at|write_at)|File_iwrite_at|File_delete)")


def symbols(file, kind):
    lines = subprocess.run(["nm", "-D", kind, file], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if re.match("MPI_", line.split()[-1])}


def nothing_is_left_out():
    """What the program or HDF5 calls is looked at by tests/tool/waits.c, or waits for nobody."""
    hdf5 = re.search(r"libhdf5\S* => (\S+)", subprocess.run(["ldd", program], capture_output=True, text=True).stdout)
    check(hdf5, "the program has HDF5 as a library of its own")
    called = symbols(program, "--undefined-only") | (symbols(hdf5[1], "--undefined-only") if hdf5 else set())
    seen = symbols(program, "--defined-only")
    left = {name for name in called - seen if not LOCAL.fullmatch(name) and not name.startswith("MPI_T_")}
    check("MPI_Barrier" in seen and not left, f"not looked at: {sorted(left)}")


nothing_is_left_out()
folder = tempfile.mkdtemp(prefix="waits-")
os.chdir(folder)
goes(*"synth --kind gaussian --size 32 32 --volume-fraction 0.4 --correlation-length 2 --output t.npy".split())
goes(*"synth --kind gaussian --size 12 32 32 --volume-fraction 0.4 --correlation-length 2 --output t.h5".split())
match = "match --microstructure_filename t.npy --limit_to 8 --add_dimension 16 --checkpoint-every 5ev --output v.h5".split()
goes(*match, "--max_iter", 12, "--convergence_data_steps", 2, "--outfile_data_steps", 4)
goes(*match, "--max_iter", 20, "--polish-rounds", 2, "--restart", "auto")
goes(*"match --microstructure_filename t.h5 --descriptor_types S2_3D --limit_to 4 --max_iter 4 --output w.npy".split())
goes(*"match --microstructure_filename t.npy --limit_to 8 --optimizer_type SimulatedAnnealing --max_iter 300 --output a.npy".split())
goes(*"characterize --microstructure_filename t.h5 --limit_to 4 --output d.h5".split())
goes(*"compare t.h5 w.npy --limit_to 4".split())
goes(*"smooth t.h5 --output s.h5".split())
goes(*"bench allreduce alltoall halo p2p evaluation io --extent 32 --min_bytes 8 --max_bytes 8 --seconds 0.01 --precision 50".split())
os.chdir("/")
shutil.rmtree(folder)
finish("waits")
