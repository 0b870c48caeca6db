# SPDX-License-Identifier: BSD-3-Clause
"""What a row tells of machine and source, so that nobody compares what cannot be compared."""
import os
import platform

from rows import commit, processor

from .sampling import read_text


def governor():
    return read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or "not told"


def is_virtual():
    return " hypervisor " in f" {read_text('/proc/cpuinfo')} ".replace("\n", " ")


def memory_mib():
    for line in read_text("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) >> 10
    return 0


def machine(huge):
    return {"processor": processor(), "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "virtual": is_virtual(), "governor": governor(), "memory_mib": memory_mib(),
            "memory": "hugepages" if huge else "ordinary pages"}


def source():
    return commit()
