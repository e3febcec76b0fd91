"""Hosts for one test that are none: network, mount and host-name namespaces on a bridge, each with an address, a name and shared memory of its
own. The test itself runs in a world of its own (network, processes, mounts, host name): nothing outside is touched, and all of it ends
with the test, however that ends. Needs root."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NAMES, NET = ("n1", "n2"), "198.18.77"
SKIPPED = 77
OWN_WORLD = ["unshare", "--net", "--mount", "--propagation", "private", "--uts", "--ipc", "--pid", "--fork", "--kill-child",
             "--mount-proc"]


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def is_own_world():
    """Is this process the first of processes of its own? Only there may all others be killed."""
    return bool(os.environ.get("MF_OWN_WORLD")) and os.getpid() == 1


def enter(tools=(), packages="iproute2"):
    """The first call starts the test again in a world of its own; the second, there, returns. @packages: Debian's, of the tools."""
    if is_own_world():
        return
    if os.environ.get("MF_OWN_WORLD"):
        sys.exit("MF_OWN_WORLD is set, and this is no world of its own: unset it")
    if os.geteuid() != 0:
        skip("virtual nodes need root")
    for tool in (*tools, "ip", "nsenter", "unshare"):
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            skip(f"{tool} is not installed (Debian: {packages})")
    if subprocess.run([*OWN_WORLD, "ip", "link", "add", "try", "type", "bridge"], capture_output=True).returncode != 0:
        skip("the system gives no namespaces or no bridge")
    os.environ["MF_OWN_WORLD"] = "1"
    os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="w-")  # Open MPI names its folders by host and process: those of two worlds are alike
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    os.execvp("unshare", [*OWN_WORLD, sys.executable, *sys.argv])


def do(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def until(what, seconds, condition, pause=0.05):
    """@pause [s]: between two looks; those at Slurm or at all processes take a core's time."""
    end = time.time() + seconds
    while not condition():
        if time.time() > end:
            raise RuntimeError(f"not within {seconds} s: {what}")
        time.sleep(pause)


def is_file(path):
    return lambda: os.path.exists(path)


class Hosts:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="hosts-")
        self.started, self.holder = [], {}
        os.chmod(self.folder, 0o755)
        self.write("hosts", f"127.0.0.1 localhost\n{NET}.1 ctl\n" + "".join(f"{self.address(n)} {n}\n" for n in NAMES))
        socket.sethostname("ctl")
        do("mount", "--bind", f"{self.folder}/hosts", "/etc/hosts")
        do("ip", "link", "set", "lo", "up")
        do("ip", "link", "add", "bed", "type", "bridge")
        do("ip", "addr", "add", f"{NET}.1/24", "dev", "bed")
        do("ip", "link", "set", "bed", "up")
        for name in NAMES:
            self.start_host(name)

    @staticmethod
    def address(name):
        return f"{NET}.{11 + NAMES.index(name)}"

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(text)
        return f"{self.folder}/{name}"

    def background(self, *words):
        with open(f"{self.folder}/said", "a") as said:
            self.started.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said))
        return self.started[-1]

    def inside(self, name):
        return ["nsenter", "-t", str(self.holder[name]), "--net", "--uts", "--mount", f"--wd={os.getcwd()}", "--"]

    def start_host(self, name):
        up = f"{self.folder}/{name}.up"
        self.background("unshare", "--net", "--uts", "--mount", "--propagation", "private", "sh", "-c",
                        'hostname "$1"; mount -t tmpfs -o mode=1777 tmpfs /dev/shm; echo $$ >"$2"; exec sleep infinity', "sh", name, up)
        until(f"{name} is there", 10, lambda: os.path.exists(up) and open(up).read())
        self.holder[name] = int(open(up).read())
        do("ip", "link", "add", f"{name}-h", "type", "veth", "peer", "name", "eth0", "netns", self.holder[name])
        self.link(name, "up")
        do("ip", "link", "set", f"{name}-h", "master", "bed")
        do(*self.inside(name), "ip", "link", "set", "lo", "up")
        do(*self.inside(name), "ip", "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
        do(*self.inside(name), "ip", "link", "set", "eth0", "up")
        do(*self.inside(name), "sh", "-c", "echo reno >/proc/sys/net/ipv4/tcp_congestion_control")  # BBR would keep the link at a third of its speed
        do(*self.inside(name), "sh", "-c", "echo 6 >/proc/sys/net/ipv4/tcp_retries2")  # what is on its way ends in seconds, not minutes

    def link(self, name, state):
        """The cable of a host: up or down."""
        do("ip", "link", "set", f"{name}-h", state)

    def reaches(self, one, other):
        """Waits until they hear each other: that a cable was cut is remembered for a while after it is put in again."""
        for a, b in ((one, other), (other, one)):
            knock = [*self.inside(a), "bash", "-c", f"ip neigh flush dev eth0; echo >/dev/tcp/{self.address(b)}/9"]
            until(f"{a} reaches {b}", 20, lambda: "refused" in subprocess.run(knock, capture_output=True, text=True, timeout=60).stderr)

    def processes(self, name):
        """Those that run on this host, but the one that holds it."""
        own = os.readlink(f"/proc/{self.holder[name]}/ns/uts")
        found = []
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                if os.readlink(f"/proc/{pid}/ns/uts") == own and pid != self.holder[name]:
                    found.append(pid)
            except OSError:
                pass
        return found

    def lose(self, name):
        """The host is gone: its cable first, so that nobody can say a last word."""
        self.link(name, "down")
        for pid in self.processes(name):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def close(self):
        if not is_own_world():
            raise RuntimeError("outside of a world of its own nothing is killed")
        os.kill(-1, signal.SIGKILL)  # all others of this world
        for one in self.started:
            one.wait()
        shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
