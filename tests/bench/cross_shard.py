# SPDX-License-Identifier: BSD-3-Clause
"""Transactions of two keys over two nodes, beside those of one shard in the same arrangement: two nodes of one shard
each, both on one core (they give it to each other whenever they have nothing to do), the generator on the other one.
Three memif links: from the generator to each node, and between the nodes. Mode none; both sides alternate on nodes that
stay up."""
import rows
import scenes
from lib.harness import cpus, memif, read_json
from rows import Trials

RECORDS = 200_000
WINDOW = scenes.WINDOW
WORKLOAD = {"records": RECORDS}  # rmw2: two keys, 40-byte values, each validated against its known version
CONFIG = """shards: 1
table {{ id: 1 name: "micro" capacity: {records} }}
table {{ id: 2 name: "savings" capacity: {records} value_bytes: 8 }}
table {{ id: 3 name: "checking" capacity: {records} value_bytes: 8 }}
{tables}
network {{ burst: 64 rx_descriptors: 1024 tx_descriptors: 1024 checksum: OFF }}
cluster {{
  epoch: 1
  shards: 2
  node {{ name: "a" address: "10.99.0.1" shards: "0" }}
  node {{ name: "b" address: "10.99.0.11" shards: "1" }}
}}
"""
SUBSCRIBERS = 100_000
TATP = """table {{ id: 11 name: "subscriber" capacity: {n} }}
table {{ id: 12 name: "sec_subscriber" capacity: {n} value_bytes: 8 }}
table {{ id: 13 name: "access_info" capacity: {n3} value_bytes: 16 }}
table {{ id: 14 name: "special_facility" capacity: {n3} value_bytes: 8 }}
table {{ id: 15 name: "call_forwarding" capacity: {n6} value_bytes: 16 }}
""".format(n=SUBSCRIBERS, n3=3 * SUBSCRIBERS, n6=6 * SUBSCRIBERS)
NODES = ("a", "b")
ADDRESSES = ("10.99.0.1", "10.99.0.11")


class Pair:
    """The two nodes, up, and runs against them."""

    def __init__(self, place, durability="none", tables=""):
        self.place = place
        config = place.write("cluster.textproto", CONFIG.format(records=RECORDS * 2, tables=tables))
        between = place.socket("between.sock")
        self.nodes = []
        for name, role in zip(NODES, ("server", "client")):
            self.nodes.append(place.node(
                config, first_cpu=scenes.SERVER_CPU, memory_mib=scenes.NODE_MEMORY_MIB, idle="yield", name=name,
                devices=[memif("server", place.socket(f"{name}.sock")), memif(role, between, 1)], durability=durability,
                log=place.log(name) if durability != "none" else None,
                arguments=["--name", name, "--json", place.path(f"{name}.json")]))
        for node in self.nodes:
            node.wait_ready(120)

    def run(self, workload, seconds, **settings):
        settings.setdefault("window", WINDOW)
        run = scenes.Run(self.place, workload, first_cpu=scenes.GENERATOR_CPU,
                         memory_mib=scenes.GENERATOR_MEMORY_MIB, idle="poll" if len(cpus()) >= 2 else "yield",
                         duration=seconds, devices=[memif("client", self.place.socket("a.sock")),
                                                    memif("client", self.place.socket("b.sock"), 1)],
                         arguments=["--node", ADDRESSES[0], "--node", ADDRESSES[1]], **settings)
        run.expect_good()
        return run

    def stop(self):
        """The nodes' statistics."""
        for node in self.nodes:
            node.stop()
        return [read_json(self.place.path(f"{name}.json")) for name in NODES]


def packets(statistics):
    """Received and sent by all ports of all nodes."""
    return sum(int(port[key]) for node in statistics for port in node["dataplane"]["ports"]
               for key in ("rx_packets", "tx_packets"))


def packets_per_transaction(options):
    """Of a run of its own, so that nothing else is counted but the loading."""
    with scenes.scene(options) as place:
        pair = Pair(place)
        run = pair.run("rmw2", options.seconds, remote=100, **WORKLOAD)
        statistics = pair.stop()
        # Warm-up and draining too, as in the ports' figures: "sent N = committed …".
        done = int(run.process.find(r"sums +sent ([\d,]+) =")[1].replace(",", ""))
        return (packets(statistics) - 2 * RECORDS) / done, statistics


def main(options):
    scenes.warn_about_cpus()
    far, near, p99 = Trials(), Trials(), Trials()
    with scenes.scene(options) as place:
        pair = Pair(place)
        for trial in range(options.trials):
            for side in ("near", "far") if trial % 2 == 0 else ("far", "near"):
                run = pair.run("rmw2", options.seconds, remote=100 if side == "far" else 0, **WORKLOAD)
                (far if side == "far" else near).add(run.goodput)
                if side == "far":
                    p99.add(run.p99_us)
                rows.progress(f"cross-shard trial {trial + 1}/{options.trials} {side}: {run.describe()}")
        commit = pair.run("rmw2", options.seconds, remote=100, window=1, **WORKLOAD)
        echo = pair.run("echo", options.seconds, window=1)
        pair.stop()
        facts = {"seed": commit.number("seed"), "config_hash": commit.result.get("config_hash")}
    each, _ = packets_per_transaction(options)
    rows.row("cross-shard", far, "committed/s", "one shard, the same nodes", near, target=0.2, p99_us=p99.median,
             packets_per_transaction=each, packets_target=6, **facts)
    rows.row("cross-shard-latency", commit.p50_us, "us, p50 of a commit, one at a time", "echo", echo.p50_us, **facts)


class Single:
    """One node of one shard, and runs against it: what two nodes are compared with."""

    def __init__(self, place, tables=""):
        self.place = place
        self.nodes = [scenes.node(place, place.write("single.textproto", 'name: "single"\nshards: 1\n' + tables))]

    def run(self, workload, seconds, **settings):
        run = scenes.run(self.place, workload, seconds, **settings)
        run.expect_good()
        return run

    def stop(self):
        self.nodes[0].stop()


def over_two_nodes(options, name, workload, nodes=Pair, tables="", **settings):
    """A workload on the same arrangement, with its aborts by cause."""
    scenes.warn_about_cpus()
    good, p99, causes = Trials(), Trials(), {}
    for trial in range(options.trials):
        # Each trial on its own nodes: what one leaves (TATP's CALL_FORWARDING) is not what the next expects.
        with scenes.scene(options) as place:
            pair = nodes(place, tables=tables)
            run = pair.run(workload, options.seconds, **settings)
            pair.stop()
        good.add(run.goodput)
        p99.add(run.p99_us)
        for cause, count in run.result.get("by_result", {}).items():
            causes[cause] = causes.get(cause, 0) + int(count)
        rows.progress(f"{name} trial {trial + 1}/{options.trials}: {run.describe()}")
    executed = sum(causes.values())
    rows.row(name, good, "committed/s", p99_us=p99.median, **settings, seed=run.number("seed"),
             config_hash=run.result.get("config_hash"),
             shares={cause: round(count / executed, 5) for cause, count in causes.items() if count})


def smallbank(options):
    over_two_nodes(options, "smallbank", "smallbank", records=RECORDS, remote=50)


def retwis(options):
    over_two_nodes(options, "retwis", "retwis", records=RECORDS, remote=50)


def tatp(options):
    """Most transactions that name several rows name them at both nodes: rows lie where their keys hash to."""
    over_two_nodes(options, "tatp", "tatp", tables=TATP, records=SUBSCRIBERS)
    over_two_nodes(options, "tatp-one-node", "tatp", nodes=Single, tables=TATP, records=SUBSCRIBERS)
