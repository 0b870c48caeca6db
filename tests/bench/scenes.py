# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmarks share: servers on one core, the generator on another, both polling, with pinned settings."""
from lib.harness import Scene, cpus, memif, read_json
from lib.results import Run
from rows import progress

# The same on both sides of every comparison.
BURST = 64
DESCRIPTORS = 1024
MBUFS = 32767
WINDOW = 512
RECORDS = 1_000_000
NODE_MEMORY_MIB = 1024
GENERATOR_MEMORY_MIB = 512
SERVER_CPU = 0
GENERATOR_CPU = 1

CONFIG = """name: "bench"
shards: {shards}
table {{ id: 1 name: "micro" capacity: {records} }}
table {{ id: 2 name: "savings" capacity: 100000 value_bytes: 8 }}
table {{ id: 3 name: "checking" capacity: 100000 value_bytes: 8 }}
log {{ segment_mib: {segment} checkpoint_log_mib: {checkpoint} }}
network {{ burst: 64 rx_descriptors: 1024 tx_descriptors: 1024 }}
"""


def warn_about_cpus():
    if len(cpus()) < 2:
        progress("one CPU only: server and generator share it, and the figures say little")


def scene(options):
    return Scene(options.build, huge=options.huge, place=options.build)


def config(place, shards=4, records=RECORDS, checkpoint=0, segment=256):
    return place.write(f"node-{shards}-{records}-{checkpoint}-{segment}.textproto",
                       CONFIG.format(shards=shards, records=records, checkpoint=checkpoint, segment=segment))


def idle():
    """Polling where each side has a CPU of its own."""
    return "poll" if len(cpus()) >= 2 else "yield"


def node(place, config_file, durability="none", log=None):
    return place.node(config_file, first_cpu=SERVER_CPU, memory_mib=NODE_MEMORY_MIB, idle=idle(),
                      durability=durability, log=log, arguments=["--json", place.path("node.json")]).wait_ready(120)


def facts(place, run):
    """What names the experiment, for the row: after node.stop()."""
    statistics = read_json(place.path("node.json"))
    return {"config_hash": f"{statistics.get('config_hash')}-{run.result.get('config_hash')}",
            "seed": run.number("seed")}


def run(place, workload, seconds, **settings):
    settings.setdefault("records", RECORDS)
    settings.setdefault("window", WINDOW)
    return Run(place, workload, first_cpu=GENERATOR_CPU, memory_mib=GENERATOR_MEMORY_MIB, idle=idle(),
               duration=seconds, **settings)


def testpmd(place):
    """Stock testpmd, mode macswap: swaps the addresses of each packet and sends it back."""
    process = place.start("testpmd", [
        "dpdk-testpmd", *place.eal(1, SERVER_CPU, NODE_MEMORY_MIB, [memif("server", place.socket())]), "--",
        "--forward-mode=macswap", f"--burst={BURST}", f"--rxd={DESCRIPTORS}", f"--txd={DESCRIPTORS}",
        f"--total-num-mbufs={MBUFS}", "--no-flush-rx", "--stats-period=1"])
    process.wait_line(r"Port statistics|Press enter|NIC statistics", 60)
    return process
