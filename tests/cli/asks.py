"""What the tests of servers share: a server of a model, requests, and what the server says of itself."""
import contextlib
import http.client
import json
import signal
import socket
import subprocess
import threading
import time

from runs import check, finish

LOOKS = {}  # at /metrics of a server, by its port


@contextlib.contextmanager
def server(program, model, *words, mpiexec=None, ranks=0, status=0, ends=signal.SIGTERM):
    """A server of a model, and its port. It leaves with this status."""
    launch = [mpiexec, "-n", str(ranks)] if ranks else []
    process = subprocess.Popen([*launch, program, "serve", model, "--port", "0", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    line = process.stdout.readline().decode()
    if "http://127.0.0.1:" not in line:
        check(False, f"serve {words}: {line} {process.communicate()[1].decode()}")
        finish("a server")
    try:
        port = int(line.split(":")[2].split()[0])
        LOOKS[port] = 0
        yield port, process
    finally:
        process.send_signal(ends)
        try:
            said = process.communicate(timeout=60)[1].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            said = "it does not leave"
        check(process.returncode == status, f"serve {words}: status {process.returncode}: {said}")


def ask(port, path, body=None, method=None, raw=None, **headers):
    """Status, headers and bytes."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    data = raw if raw is not None else json.dumps(body).encode() if body is not None else None
    connection.request(method or ("GET" if data is None else "POST"), path, data, {k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def metrics(port):
    """Numbers of /metrics by name. "ended" are the requests of which the server has let go, but for those of /metrics."""
    LOOKS[port] += 1
    found = {"ended": 1 - LOOKS[port]}
    for line in ask(port, "/metrics")[2].decode().splitlines():
        if line.startswith("mesoforge_requests_total"):
            found["ended"] += float(line.split()[1])
        elif line.startswith("mesoforge_"):
            found[line.split()[0][10:]] = float(line.split()[1])
    return found


def number(port, name):
    return metrics(port)[name]


def wait_for(what, seconds=20):
    """The state may be over at a second look, so there is none."""
    until = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < until:
        time.sleep(0.01)
    return found


def nothing_left(port, ended):
    """So many requests have come and ended, and the server has nothing of them."""
    now = metrics(port)
    return now["ended"] >= ended and not any(now.get(name) for name in ("requests_active", "queue_length", "cache_pages_used"))


def at_once(work, arguments):
    results = [None] * len(arguments)

    def one(k):
        results[k] = work(arguments[k])

    threads = [threading.Thread(target=one, args=(k,)) for k in range(len(arguments))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def slow_request(port, path="/generate", **body):
    """A request whose answer nobody reads."""
    s = socket.create_connection(("127.0.0.1", port))
    data = json.dumps(body or {"inputs": "the", "parameters": {"max_new_tokens": 900}}).encode()
    s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(data)) + data)
    return s
