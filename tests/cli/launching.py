"""What the tests of launch share: stand-ins for srun, mpirun, sbatch and others, which note their words, and the folder they are in."""
import os
import subprocess
import sys
import tempfile

from runs import around, check

program, *files = map(os.path.abspath, sys.argv[1:3])  # names as the caller wrote them: from here on this is another folder
folder = tempfile.mkdtemp(prefix="launch-")
os.chdir(folder)
os.mkdir("bin")
for name in ("srun", "mpirun", "docker", "podman", "enroot", "scontrol", "sbatch"):
    with open(f"bin/{name}", "w") as file:
        file.write('#!/bin/sh\nfor w in "$0" "$@"; do printf "%s\\0" "$w"; done >>"$RECORD"\nprintf "\\0" >>"$RECORD"\n'
                   + ('cat >"$RECORD.script"\n' if name == "sbatch" else "")
                   + 'printf %s "$SLURM_JOB_END_TIME" >"$RECORD.end"\n'
                   + 'grep SigIgn /proc/$$/status >"$RECORD.ignored"\n'
                   + ('[ "$TELL" != save ] || { trap "exit 75" USR2; touch "$RECORD.ready"; kill -USR2 "$PPID"; while :; do /bin/sleep 0.1; done; }\n' if name in ("mpirun", "enroot") else "")
                   + ('[ -z "$TELL" ] || { touch "$RECORD.ready"; [ "$TELL" = later ] || kill -"${ASKS-USR1}" "$PPID"; [ "$TELL" = ends ] || exec /bin/sleep 5; }\n' if name in ("mpirun", "enroot") else "")
                   + ('[ -z "$FLIGHT" ] || touch -d "1 hour ago" "$FLIGHT"\nexit "${STATUS:-0}"\n' if name in ("srun", "mpirun", "enroot") else ""))
    os.chmod(f"bin/{name}", 0o755)
with open("bin/sleep", "w") as file:  # a second of a script
    file.write("#!/bin/sh\nexec /bin/sleep 0.02\n")
os.chmod("bin/sleep", 0o755)
open("m.npy", "w").close()
with open("bad.yaml", "w") as file:
    file.write("limit_to: 0\n")
PATH = os.path.abspath("bin") + ":/usr/bin:/bin"


def launch(*words, **more):
    """(status, what it printed, its complaint, [argv of every stand-in])."""
    record = os.path.abspath("record")
    for name in (record, record + ".script"):
        if os.path.exists(name):
            os.remove(name)
    env = around("SLURM_", "CUDA_", "PMI", "OMPI_", RECORD=record, **{"PATH": PATH, **more})
    done = subprocess.run([program, "launch", *words], capture_output=True, env=env, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace"), recorded(record)


def recorded(record):
    if not os.path.exists(record):
        return []
    calls = open(record, "rb").read().split(b"\0\0")[:-1]
    return [[os.path.basename(call.split(b"\0")[0]).decode(), *call.split(b"\0")[1:]] for call in calls]


def execute(script, **more):
    """A batch script with stand-ins around it: its status and their argv."""
    if os.path.exists("record"):
        os.remove("record")
    env = around("SLURM_", "CUDA_", PATH=PATH, RECORD=os.path.abspath("record"), SLURM_JOB_ID="7", **more)
    with open("job.sh", "wb" if isinstance(script, bytes) else "w") as file:  # Slurm makes a copy at each start
        file.write(script)
    done = subprocess.run(["bash", "job.sh"], env=env, capture_output=True, timeout=60)
    check(done.stderr == b"" or "TELL" in more, f"the script complains: {done.stderr[:300]}")
    return done.returncode, recorded("record")


def refused(status, part, *words, **more):
    got, out, err, calls = launch(*words, **more)
    check(got == status and part in err and err.count("\n") == 1 and not calls and not out, f"{words}: {got} {out} {err}")
