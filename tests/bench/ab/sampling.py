# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel tells of processes and CPUs at a moment. Differences of two samples are figures of a trial."""
import os


def read_text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def steal_ticks(cpus, text=None):
    """Ticks that the hypervisor took from these CPUs, and all ticks of them."""
    steal = total = 0
    for line in (text if text is not None else read_text("/proc/stat")).splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0][3:].isdigit() and int(words[0][3:]) in cpus:
            ticks = [int(word) for word in words[1:9]]  # user nice system idle iowait irq softirq steal
            steal += ticks[7]
            total += sum(ticks)
    return steal, total


class Task:
    """A thread: its name, run time in nanoseconds, and involuntary context switches."""

    def __init__(self, name, run_ns, involuntary):
        self.name = name
        self.run_ns = run_ns
        self.involuntary = involuntary


def read_tasks(pid, root="/proc"):
    tasks = {}
    folder = f"{root}/{pid}/task"
    try:
        numbers = os.listdir(folder)
    except OSError:
        return tasks
    for number in numbers:
        name = read_text(f"{folder}/{number}/comm").strip()
        run = read_text(f"{folder}/{number}/schedstat").split()
        status = read_text(f"{folder}/{number}/status")
        switches = [line.split()[1] for line in status.splitlines() if line.startswith("nonvoluntary_ctxt_switches:")]
        if name and switches:
            tasks[int(number)] = Task(name, int(run[0]) if run else None, int(switches[0]))
    return tasks


class Sample:
    """The CPUs and processes of a trial, now. `processes`: name -> pid."""

    def __init__(self, cpus, processes):
        self.steal, self.ticks = steal_ticks(cpus)
        self.tasks = {name: read_tasks(pid) for name, pid in processes.items()}


def is_poller(name):
    """DPDK's name of a worker lcore's thread."""
    return name.startswith(("rte-worker", "lcore-worker", "dpdk-worker"))


def between(before, after, seconds, pids):
    """Figures of the time between two samples. A thread that ended meanwhile is not in it."""
    ticks = after.ticks - before.ticks
    out = {"steal_percent": 100 * (after.steal - before.steal) / ticks if ticks > 0 else 0.0, "switches": {},
           "seconds": seconds}
    for process, tasks in after.tasks.items():
        old = before.tasks[process]
        pollers = [task.involuntary - old[n].involuntary for n, task in tasks.items()
                   if n in old and is_poller(task.name)]
        out["switches"][process] = max(pollers, default=0) / seconds
        rest = [(task.run_ns, old[n].run_ns if n in old else 0) for n, task in tasks.items()
                if not is_poller(task.name) and n != pids[process]]
        known = all(run is not None and begin is not None for run, begin in rest)
        out.setdefault("other_threads_ns", {})[process] = sum(a - b for a, b in rest) if known else None
    return out
