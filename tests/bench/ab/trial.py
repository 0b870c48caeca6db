# SPDX-License-Identifier: BSD-3-Clause
"""One trial: a new node in an empty folder, its records loaded with the same seed, a warm-up, the measured time.
Counters are read twice inside the measured time, so that neither loading nor warm-up is in a figure."""
import json
import os
import re
import signal
import time

from lib.harness import TOP, Failure, Scene, cpus, read_json
from lib.results import Run

from .experiment import workload_name
from .sampling import Sample, between

NODE_MEMORY_MIB = 1024
GENERATOR_MEMORY_MIB = 512
NODE_CPU, GENERATOR_CPU = 0, 1
EDGE = 0.05  # of the measured time, at its end, after the second look
TIMEOUT = 120
LIVE = re.compile(r"^\[ *(\d+) s\] \S+ +([\d,]+) tx/s")


class Machine:
    """What is the same for all trials: build, memory, where logs go."""

    def __init__(self, build, huge, place):
        self.build = build
        self.huge = huge
        self.place = place


def idle_of(setting):
    if setting == "BY_CPUS":
        return "poll" if len(cpus()) >= 2 else "yield"
    return setting.lower()


def start_nodes(scene, experiment, arm, workload):
    """The processes of an arm: name -> Node, ready. With placement NIC front and back are one process and share a
    worker, which counts their times apart."""
    config = scene.write("node.textproto", experiment.node_text(arm, workload))
    node = experiment.node(arm)
    log = scene.log() if node.log is not None and node.log.durability != "NONE" else None
    arguments = ["--json", scene.path("node.json")]
    if arm.side.profile:
        arguments += ["--profile", os.path.join(TOP, "configs", "profiles", arm.side.profile + ".textproto")]
    process = scene.node(config, workers=arm.side.workers, first_cpu=NODE_CPU, memory_mib=NODE_MEMORY_MIB,
                         idle=idle_of(arm.side.idle), log=log, arguments=arguments)
    return {"node": process.wait_ready(TIMEOUT)}


def start_generator(scene, experiment, workload, rate, seconds, warmup):
    settings = {name: getattr(workload, name) for name in
                ("records", "value_size", "operations", "theta", "hot_accounts", "hot_transactions", "remote", "keys")
                if workload.has(name) or name == "records"}
    if "operations" not in settings and workload.workload.startswith("ycsb"):
        settings["operations"] = 1
    return Run(scene, workload.workload, first_cpu=GENERATOR_CPU, memory_mib=GENERATOR_MEMORY_MIB,
               idle=idle_of("BY_CPUS"), duration=seconds, warmup=warmup, window=experiment.load.window, rate=rate,
               seed=experiment.settings.seed, histogram=True, **settings)


def used_cpus(arm):
    have = cpus()
    return sorted({have[(first + i) % len(have)] for first, count in ((NODE_CPU, arm.side.workers), (GENERATOR_CPU, 1))
                   for i in range(count)})


class Look:
    """Counters of everything at one moment."""

    def __init__(self, arm, nodes, run, number):
        self.pids = {name: process.pid for name, process in nodes.items()}
        self.pids["generator"] = run.process.pid
        start = {name: len(process.lines) for name, process in nodes.items()}
        self.sample = Sample(used_cpus(arm), self.pids)
        for process in nodes.values():
            process.signal(signal.SIGUSR1)
        self.time = time.monotonic()
        for name, process in nodes.items():
            process.wait_line(rf"^txnic: snapshot {number}$", 10, max(0, start[name] - 1))


def live_lines(run):
    """[second, transactions a second] from the run's first second on, warm-up included."""
    out = []
    for line in run.process.text().splitlines():
        match = LIVE.match(line)
        if match:
            out.append([int(match[1]), int(match[2].replace(",", ""))])
    return out


def counter(snapshot, *path):
    for name in path:
        snapshot = (snapshot or {}).get(name)
    return snapshot


NODE_COUNTERS = {
    "busy_ns": ("dataplane", "busy_ns"), "idle_ns": ("dataplane", "idle_ns"),
    "emulated_ns": ("dataplane", "emulated_ns"), "busy_steps": ("dataplane", "busy_steps"),
    "idle_steps": ("dataplane", "idle_steps"), "received": ("dataplane", "received"),
    "time_ns": ("dataplane", "time_ns"), "committed": ("engine", "results", "committed"),
    "log_record_bytes": ("engine", "log", "record_bytes"), "log_written_bytes": ("engine", "log", "written_bytes"),
    "log_in_flight_ns": ("engine", "log", "in_flight_ns"),
    # Placement NIC only.
    "back_busy_ns": ("dataplane", "back_busy_ns"), "back_busy_turns": ("dataplane", "back_busy_turns"),
    "link_frames_front": ("engine", "nic", "frames", "frames_sent"),
    "link_frames_back": ("engine", "link_server", "frames", "frames_sent"),
    "link_bytes_front": ("engine", "nic", "frames", "bytes_sent"),
    "link_bytes_back": ("engine", "link_server", "frames", "bytes_sent"),
    "link_questions": ("engine", "nic", "link", "questions"),
    "cache_hits": ("engine", "nic", "cache", "hits"), "cache_misses": ("engine", "nic", "cache", "misses"),
    "log_groups": ("engine", "log", "groups"), "checkpoints": ("engine", "log", "checkpoints"),
}


def node_figures(snapshots):
    """What lies between two snapshots of a node. A counter that it does not have is left out."""
    first, last = snapshots[0], snapshots[-1]
    out = {}
    for name, path in NODE_COUNTERS.items():
        before, after = counter(first, *path), counter(last, *path)
        if before is not None and after is not None:
            out[name] = after - before
    packets = [sum(port["rx_packets"] + port["tx_packets"] for port in snapshot["dataplane"]["ports"])
               for snapshot in (first, last)]
    out["packets"] = packets[1] - packets[0]
    stages = counter(last, "dataplane", "stage_samples")
    if stages:
        before = first["dataplane"]["stage_samples"]
        out["stages"] = {name: value - before.get(name, 0) for name, value in stages.items()}
    return out


def client_figures(run):
    result = run.result
    out = {name: int(result[name]) for name in
           ("executed", "good", "committed", "aborted", "refused", "unknown", "requests", "retransmissions",
            "busy_retries")}
    out.update({name: float(result[name]) for name in ("seconds", "throughput_per_second", "goodput_per_second")})
    out["by_result"] = {name: int(value) for name, value in result.get("by_result", {}).items()}
    out["latency_cells"] = {name: [int(value) for value in values]
                            for name, values in result.get("latency_cells", {}).items()}
    if "open_loop" in result:
        loop = result["open_loop"]
        out.update({"lag_percent": float(loop["lag_percent"]), "arrivals": int(loop["arrivals"]),
                    "delayed": int(loop["delayed"]), "late_mean_ns": float(loop["late_mean_ns"])})
    out["check"] = result.get("check", {}).get("text", "")
    return out


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def measure(machine, experiment, arm, workload, rate, seconds=None):
    """A row's measured part: {"client", "node", "system", "live", …}. Raises Failure if a process fails or a check does
    not hold. `rate` None: a closed loop."""
    seconds = seconds or experiment.load.seconds
    os.sync()  # what earlier trials have written is no load of this one
    with Scene(machine.build, huge=machine.huge, place=machine.place) as scene:
        nodes = start_nodes(scene, experiment, arm, workload)
        run = start_generator(scene, experiment, workload, rate, seconds, experiment.load.warmup_seconds)
        run.process.wait_line(r"^txgen: measuring$", TIMEOUT)
        first = Look(arm, nodes, run, 1)
        time.sleep(max(0.05, seconds * (1 - EDGE) - 0.1))
        second = Look(arm, nodes, run, 2)
        run.expect_good(TIMEOUT + seconds)
        for process in nodes.values():
            process.stop()
        snapshots = read_lines(scene.path("node.json.snapshots"))
        if len(snapshots) != 2:
            raise Failure(f"{len(snapshots)} snapshots of the node instead of 2")
        return assemble(run, nodes, snapshots, (first, second), read_json(scene.path("node.json")))


def assemble(run, nodes, snapshots, looks, final):
    first, second = looks
    system = between(first.sample, second.sample, second.time - first.time, second.pids)
    figures = node_figures(snapshots)
    figures["other_threads_ns"] = system.pop("other_threads_ns")["node"]
    commands = {name: process.command for name, process in [*nodes.items(), ("generator", run.process)]}
    return {"client": client_figures(run), "node": figures, "system": system, "live": live_lines(run),
            "tsc_hz": final["dataplane"].get("tsc_hz"), "commands": commands, "commit": final.get("commit"),
            "node_config_hash": final.get("config_hash"), "client_config_hash": run.result.get("config_hash"),
            "load_seconds": float(run.result.get("load_seconds", 0)),
            "loaded_records": int(run.result.get("loaded_records", 0)),
            "checkpoints_in_all": counter(final, "engine", "log", "checkpoints")}


def describe(experiment, arm, workload, rate):
    load = f"{rate:,.0f}/s" if rate else "closed loop"
    return f"{workload_name(workload)} {load} {arm.key} ({arm.name})"
