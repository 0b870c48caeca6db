# SPDX-License-Identifier: BSD-3-Clause
"""Rows of results: one JSON object a line on standard output, progress on standard error, medians with their spread."""
import json
import os
import platform
import statistics
import subprocess
import sys
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BEGIN = time.monotonic()


def progress(text):
    print(f"[{time.monotonic() - BEGIN:6.1f} s] {text}", file=sys.stderr, flush=True)


def commit():
    result = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True,
                            text=True, check=False)
    return result.stdout.strip() or "unknown"


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def machine():
    return {"processor": processor(), "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release()}


class Trials:
    """Values of one figure over several trials."""

    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append(value)

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def spread(self):
        """Half of the distance between the lowest and highest trial, as a share of the median."""
        return (max(self.values) - min(self.values)) / 2 / self.median if self.median else 0.0


def plain(value):
    return round(value, 4) if isinstance(value, float) else value


def row(name, value, unit, peer=None, peer_value=None, **more):
    """Prints one row. `value` and `peer_value` are numbers or Trials; ratio = value / peer_value."""
    out = {"name": name}
    for key, entry in (("value", value), ("peer_value", peer_value)):
        prefix = "peer_" if key.startswith("peer") else ""
        if isinstance(entry, Trials):
            out[key] = plain(float(entry.median))
            out[prefix + "spread"] = plain(entry.spread)
            out[prefix + "trials"] = [plain(trial) for trial in entry.values]
        elif entry is not None:
            out[key] = plain(entry)
    out["unit"] = unit
    if peer is not None:
        out["peer"] = peer
        out["ratio"] = plain(out["value"] / out["peer_value"]) if out.get("peer_value") else None
    out.update({key: plain(entry) for key, entry in more.items()})
    out.update({"commit": commit(), "machine": machine()})
    print(json.dumps(out), flush=True)
    ratio = f", {out['ratio']} of {peer} ({out.get('peer_value'):,})" if out.get("ratio") is not None else ""
    progress(f"{name}: {out['value']:,} {unit}{ratio}")
    return out
