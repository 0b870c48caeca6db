# SPDX-License-Identifier: BSD-3-Clause
"""Several nodes as on several machines: each in a network namespace of its own, joined by veth pairs to a bridge in
another one. A further namespace is the clients': a kernel's sockets, or txgen over af_packet.

    with Scene() as scene:
        cluster = Cluster(scene, nodes=3)
        for node in cluster.start():
            node.wait_ready()
        cluster.cut(1)       # node 1 (from 0) is alone; cluster.mend(1) ends that
        cluster.nodes[1].kill()
        cluster.start_node(1).wait_ready()

Needs root. Everything goes with the scene, however it ends: all links are inside its namespaces. What dies with the
process that is killed -9 is told by `ip netns list`: names begin with the scene's folder."""
from .harness import Failure, command_works, need_root, run

NETWORK = "10.99.0."
CLIENT_HOST = 100
BASE_PORT = 7700

CONFIG = """name: "n0"
table {{ id: 1 name: "micro" capacity: {capacity} }}
table {{ id: 2 name: "savings" capacity: {capacity} value_bytes: 8 }}
table {{ id: 3 name: "checking" capacity: {capacity} value_bytes: 8 }}
log {{ segment_mib: 16 group_kib: 1024 checkpoint_log_mib: 64 }}
sessions {{ count: 128 window: 1024 {sessions} }}
network {{ checksum: {checksum} }}
cluster {{
  epoch: {epoch}
  shards: {shards}
{members}}}
"""


class Cluster:
    """`workers` and `shards` are of each node. Shard s of the cluster belongs to node s // shards."""

    def __init__(self, scene, nodes=3, workers=1, shards=2, durability=None, capacity=20000, sessions="", epoch=1,
                 checksum="AUTO", more=""):
        need_root("network namespaces and packet sockets")
        self.scene = scene
        self.count = nodes
        self.workers = workers
        self.shards = shards
        self.durability = durability
        self.nodes = [None] * nodes
        self.starts = [0] * nodes
        members = "".join(
            f'  node {{ name: "n{i}" address: "{self.address(i)}" base_port: {BASE_PORT} workers: {workers} '
            f'shards: "{i * shards}-{(i + 1) * shards - 1}" }}\n' for i in range(nodes))
        self.config = scene.write("cluster.textproto", CONFIG.format(
            capacity=capacity, sessions=sessions, epoch=epoch, shards=nodes * shards, members=members,
            checksum=checksum) + more)
        self.switch = self._namespace("switch")
        run(["ip", "-n", self.switch, "link", "add", "bridge0", "type", "bridge", "forward_delay", "0"])
        run(["ip", "-n", self.switch, "link", "set", "bridge0", "up"])
        self.namespaces = [self._plug(f"n{i}", f"port{i}") for i in range(nodes)]
        self.client = self._plug("client", "portc")
        run(["ip", "-n", self.client, "address", "add", f"{NETWORK}{CLIENT_HOST}/24", "dev", "eth0"])

    @staticmethod
    def address(index):
        return f"{NETWORK}{index + 1}"

    def _namespace(self, suffix):
        name = self.scene.namespace(suffix)
        # The kernels' own IPv6 chatter would be counted.
        run(["ip", "netns", "exec", name, "sh", "-c",
             "for f in all default; do echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done"])
        return name

    def _plug(self, suffix, port):
        """A namespace with an interface eth0 on the bridge."""
        name = self._namespace(suffix)
        run(["ip", "-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name])
        run(["ip", "-n", self.switch, "link", "set", port, "master", "bridge0", "up"])
        run(["ip", "-n", name, "link", "set", "eth0", "up"])
        return name

    # ---- nodes
    def start(self, **options):
        """All nodes; not waited for."""
        return [self.start_node(i, **options) for i in range(self.count)]

    def start_node(self, index, arguments=(), **options):
        """Node `index`, again if it has ended; it keeps its log directory."""
        if self.nodes[index] is not None and self.nodes[index].running():
            raise Failure(f"node {index} runs already")
        self.starts[index] += 1
        log = self.scene.log(f"log{index}") if self.durability not in (None, "none") else None
        self.nodes[index] = self.scene.node(
            self.config, workers=self.workers, first_cpu=index, devices=["--vdev=net_af_packet0,iface=eth0"],
            durability=self.durability, log=log, namespace=self.namespaces[index],
            name=f"n{index}.{self.starts[index]}",
            arguments=["--name", f"n{index}", "--json", self.json(index), *arguments], **options)
        return self.nodes[index]

    def json(self, index):
        """Where node `index` writes its final statistics."""
        return self.scene.path(f"n{index}.{self.starts[index]}.json")

    # ---- partitions: a link is taken down at the bridge, so that the node's own port stays up
    def cut(self, index):
        run(["ip", "-n", self.switch, "link", "set", f"port{index}", "down"])

    def mend(self, index):
        run(["ip", "-n", self.switch, "link", "set", f"port{index}", "up"])

    def reaches(self, index):
        """The clients' kernel gets an answer to a ping."""
        return command_works(["ip", "netns", "exec", self.client, "ping", "-c", "1", "-W", "1", self.address(index)])
