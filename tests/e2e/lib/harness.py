# SPDX-License-Identifier: BSD-3-Clause
"""A scene: a temporary folder in which txnode, txgen and stock DPDK programs meet over memif or in a network namespace.

    with Scene() as scene:
        node = scene.node()
        node.wait_ready()
        scene.generator(workload="get").expect_exit(0)

Everything that a scene starts is ended and removed when it is left, on SIGTERM, SIGINT and SIGHUP too; children die
even when this process is killed. Nothing has a fixed name: two scenes at once do not meet."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from .process import Failure, Process

SKIP = 77
TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
NODE_MEMORY_MIB = 384
WORKER_MEMORY_MIB = 96  # each further worker: packets, and answers that wait for the disk
GENERATOR_MEMORY_MIB = 256

CONFIG = """name: "e2e"
shards: {shards}
table {{ id: 1 name: "micro" capacity: {capacity} }}
table {{ id: 2 name: "savings" capacity: {capacity} value_bytes: 8 }}
table {{ id: 3 name: "checking" capacity: {capacity} value_bytes: 8 }}
log {{ segment_mib: 16 group_kib: 1024 checkpoint_log_mib: 64 }}
sessions {{ count: 128 window: 1024 {sessions} }}
network {{ address: "10.99.0.1" }}
"""


class Skip(Exception):
    """This machine or user cannot run the test; the text says why."""


def need_root(why):
    if os.geteuid() != 0:
        raise Skip(f"needs root: {why}")


def find_program(build, name):
    for place in ("host/apps", "pktgen/apps", "pktgen", "tests/sim/check"):
        path = os.path.join(build, place, name)
        if os.access(path, os.X_OK):
            return path
    raise Failure(f"no program {name} under {build}; build it first (./txnic build)")


def cpus():
    return sorted(os.sched_getaffinity(0))


def lcores(workers, first=0):
    """The value of --lcores: main lcore 0 and `workers` more, laid over whatever CPUs exist, beginning at `first`."""
    have = cpus()
    parts = [f"0@{have[first % len(have)]}"]
    parts += [f"{worker + 1}@{have[(first + worker) % len(have)]}" for worker in range(workers)]
    return ",".join(parts)


def memif(role, path, number=0, extra=""):
    return f"--vdev=net_memif{number},role={role},socket={path},socket-abstract=no{extra}"


class Node(Process):
    READY = r"^txnic: ready: (\d+) workers?, (\d+) shards?, .*incarnation (\w+)"

    def wait_ready(self, timeout=60):
        match = self.wait_line(self.READY, timeout)
        self.workers, self.shards, self.incarnation = int(match[1]), int(match[2]), match[3]
        return self

    def stop(self, timeout=30):
        code = self.interrupt(timeout)
        if code != 0:
            raise Failure(f"{self.name} ended with {code} on SIGINT\n{self.tail()}")
        return self


class Scene:
    def __init__(self, build=None, huge=False, verbose=None, place=None):
        """`place`: where the folder for logs is made: on a real disk. Sockets stay in the other one: short paths."""
        self.build = build or os.environ.get("TXNIC_BUILD") or os.path.join(TOP, "build", "release")
        self.huge = huge
        self.verbose = bool(os.environ.get("TXNIC_VERBOSE")) if verbose is None else verbose
        self.place = place if place and os.access(place, os.W_OK) else None
        self.processes = []
        self.undo = []
        self.folder = self.disk = None
        self.count = 0
        self.signals = {}

    # ---- begin and end
    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self.signals[number] = signal.signal(number, self._on_signal)
        self.folder = tempfile.mkdtemp(prefix="txnic-")
        os.chmod(self.folder, 0o755)
        self.disk = tempfile.mkdtemp(prefix="log-", dir=self.place) if self.place else self.folder
        return self

    @staticmethod
    def _on_signal(number, _frame):
        raise SystemExit(128 + number)

    def __exit__(self, kind, value, trace):
        for number in self.signals:
            signal.signal(number, signal.SIG_IGN)
        try:
            for process in reversed(self.processes):
                process.end()
            for action in reversed(self.undo):
                try:
                    action()
                except (OSError, subprocess.SubprocessError) as error:
                    print(f"clean-up: {error}", file=sys.stderr)
            for folder in (self.folder, self.disk):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            for number, handler in self.signals.items():
                signal.signal(number, handler)
        return False

    def path(self, name):
        return os.path.join(self.folder, name)

    def log(self, name="log"):
        """Where a log directory may go."""
        return os.path.join(self.disk, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def config(self, name="node.textproto", shards=4, capacity=100000, sessions="", more=""):
        return self.write(name, CONFIG.format(shards=shards, capacity=capacity, sessions=sessions) + more)

    # ---- processes
    def start(self, name, command, kind=Process, namespace=None, echo=None, stdin=subprocess.DEVNULL):
        if namespace:
            command = ["ip", "netns", "exec", namespace, *command]
        if echo is None and self.verbose:
            def echo(line):
                print(f"  {name}| {line}", file=sys.stderr, flush=True)
        # DPDK keeps its run-time files here, so that they go with the folder.
        environment = dict(os.environ, RUNTIME_DIRECTORY=self.folder)
        process = kind(name, command, environment, stdin, echo)
        self.processes.append(process)
        return process

    def eal(self, workers=1, first_cpu=0, memory_mib=NODE_MEMORY_MIB, devices=(), huge=None):
        self.count += 1
        # A prefix of its own also inside one folder: a killed process leaves its files.
        arguments = ["--lcores", lcores(workers, first_cpu), "--no-pci", "--no-telemetry",
                     "--file-prefix", f"{os.path.basename(self.folder)}-{self.count}"]
        if self.huge if huge is None else huge:
            arguments += ["-m", str(memory_mib), "--huge-unlink=always"]
        else:
            arguments += ["--no-huge", "-m", str(memory_mib)]
        return arguments + list(devices)

    def socket(self, name="link.sock"):
        return self.path(name)

    def node(self, config=None, workers=1, first_cpu=0, devices=None, memory_mib=None, idle="yield",
             durability=None, log=None, arguments=(), namespace=None, name="node", echo=None):
        """txnode; by default a memif server on the scene's socket. Not waited for."""
        memory_mib = memory_mib or NODE_MEMORY_MIB + (workers - 1) * WORKER_MEMORY_MIB
        if devices is None:
            devices = [memif("server", self.socket())]
        command = [find_program(self.build, "txnode"), *self.eal(workers, first_cpu, memory_mib, devices), "--",
                   "--config", config or self.config(), "--idle", idle]
        if durability:
            command += ["--durability", durability]
        if log:
            command += ["--log-directory", log]
        return self.start(name, [*command, *arguments], Node, namespace, echo)

    def generator(self, workload=None, first_cpu=1, devices=None, memory_mib=GENERATOR_MEMORY_MIB, idle="yield",
                  arguments=(), namespace=None, name="generator", echo=None, **settings):
        """txgen; by default a memif client on the scene's socket. Settings are its options: duration=2 is --duration 2,
        raw=True is --raw."""
        if devices is None:
            devices = [memif("client", self.socket())]
        command = [find_program(self.build, "txgen"), *self.eal(1, first_cpu, memory_mib, devices), "--",
                   "--idle", idle]
        if workload:
            command += ["--workload", workload]
        for key, value in settings.items():
            if value is not None and value is not False:
                command += ["--" + key.replace("_", "-")] + ([] if value is True else [str(value)])
        return self.start(name, [*command, *arguments], Process, namespace, echo)

    # ---- network namespaces (root)
    def namespace(self, suffix="a"):
        need_root("network namespaces")
        if not shutil.which("ip"):
            raise Skip("no `ip` command here (Debian: iproute2)")
        name = f"{os.path.basename(self.folder)}-{suffix}"
        try:
            run(["ip", "netns", "add", name])
        except Failure as error:
            raise Skip(f"network namespaces are refused here: {error}") from None
        self.undo.append(lambda: run(["ip", "netns", "delete", name]))
        run(["ip", "-n", name, "link", "set", "lo", "up"])
        return name

    def tap(self, namespace, interface="txnic0", address="10.99.0.2/24", timeout=20):
        """Waits for the tap that a node in the namespace makes, and gives the kernel's end an address."""
        if not os.path.exists("/dev/net/tun"):
            raise Skip("no /dev/net/tun here")
        wait_until(lambda: command_works(["ip", "-n", namespace, "link", "show", interface]), timeout,
                   f"interface {interface} in {namespace}")
        run(["ip", "-n", namespace, "address", "add", address, "dev", interface])
        run(["ip", "-n", namespace, "link", "set", interface, "up"])


def run(command, timeout=30):
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if result.returncode != 0:
        raise Failure(f"{' '.join(command)}: {result.stderr.strip() or result.stdout.strip()}")
    return result.stdout


def command_works(command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def wait_until(condition, timeout, what):
    """For states that nothing announces; polls, bounded."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not there within {timeout} s")
        time.sleep(0.02)


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise Failure(f"{path}: {error}") from None


def check(condition, text):
    if not condition:
        raise Failure(text)


def main(*tests):
    """Runs test functions one after another; the exit code is what meson expects (0, 1, or 77 for a skip)."""
    wanted = sys.argv[1:]
    done = 0
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        begin = time.monotonic()
        try:
            test()
        except Skip as skip:
            print(f"skipped: {test.__name__}: {skip}", flush=True)
            continue
        except Failure as failure:
            print(f"FAILED: {test.__name__}: {failure}", flush=True)
            sys.exit(1)
        done += 1
        print(f"ok: {test.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
    sys.exit(0 if done else SKIP)
