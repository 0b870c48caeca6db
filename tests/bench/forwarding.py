# SPDX-License-Identifier: BSD-3-Clause
"""get and rmw2 against stock testpmd macswap: the same generator, packets, bursts and rings; trials alternate.

The peer does the least that a server can do with a packet: swap its addresses and send it back. The generator sends it
the same requests (--raw: what comes back is counted and not understood)."""
import rows
import scenes
from rows import Trials, progress

PEER = "dpdk-testpmd macswap"


def peer_trial(options, workload):
    with scenes.scene(options) as place:
        scenes.testpmd(place)
        run = scenes.run(place, workload, options.seconds, raw=True)
        run.expect_exit()
        return run


def node_trial(options, workload):
    with scenes.scene(options) as place:
        node = scenes.node(place, scenes.config(place))
        run = scenes.run(place, workload, options.seconds)
        run.expect_good()
        node.stop()
        run.facts = scenes.facts(place, run)
        return run


def compare(options, workload):
    """(ours, peer, latencies, facts) over alternating trials, the order swapped each time."""
    scenes.warn_about_cpus()
    ours, peer, p99, facts = Trials(), Trials(), Trials(), {}
    for trial in range(options.trials):
        for side in ("peer", "node") if trial % 2 == 0 else ("node", "peer"):
            run = (peer_trial if side == "peer" else node_trial)(options, workload)
            (peer if side == "peer" else ours).add(run.throughput)
            if side == "node":
                p99.add(run.p99_us)
                facts = run.facts
            progress(f"{workload} trial {trial + 1}/{options.trials} {side}: {run.throughput:,.0f}/s")
    return ours, peer, p99, facts


def get(options):
    ours, peer, p99, facts = compare(options, "get")
    rows.row("get", ours, "transactions/s", PEER, peer, p99_us=p99.median, target=0.30, **facts)


def rmw2(options):
    ours, peer, p99, facts = compare(options, "rmw2")
    rows.row("rmw2", ours, "transactions/s", PEER, peer, p99_us=p99.median, target=0.20, **facts)


def forwarding(options):
    """The ceiling: what the generator and stock testpmd reach together, with the echo workload's small packets."""
    peer = Trials()
    for trial in range(options.trials):
        run = peer_trial(options, "echo")
        peer.add(run.throughput)
        progress(f"forwarding trial {trial + 1}/{options.trials}: {run.throughput:,.0f}/s")
    rows.row("forwarding", peer, "packets/s")
