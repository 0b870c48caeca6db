#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Three nodes in network namespaces: they find each other, and again after a death and after a cut link."""
from lib.cluster import Cluster
from lib.harness import Scene, check, main, read_json, wait_until


def check_counters(cluster, index):
    """Every packet ended in exactly one counter; what the node sent by itself is no answer."""
    statistics = read_json(cluster.json(index))
    plane = statistics["dataplane"]
    total = sum(int(count) for count in plane["ended"].values())
    check(total == int(plane["received"]) == int(plane["ended_total"]),
          f"node {index}: received {plane['received']}, but the counters say {total}")
    check(int(plane["ended"]["other"]) == 0, f"node {index}: other {plane['ended']['other']}")
    outbox = plane["outbox"]
    check(outbox["next_hops"] == cluster.count - 1 and outbox["next_hops_known"] == cluster.count - 1,
          f"node {index}: next hops {outbox}")
    return plane


def wait_found(node, address, start=0):
    node.wait_line(f"next hop {address.replace('.', '[.]')} is ", start=start)


def find_each_other():
    with Scene() as scene:
        cluster = Cluster(scene, nodes=3)
        for node in cluster.start(idle="sleep"):
            node.wait_ready()
        for i, node in enumerate(cluster.nodes):
            for other in range(3):
                if other != i:
                    wait_found(node, cluster.address(other))
        for i in range(3):
            wait_until(lambda i=i: cluster.reaches(i), 30, f"an answer of node {i} to a ping")
        # A node that comes back is found by its own questions, and finds the others.
        cluster.nodes[1].kill()
        wait_found(cluster.start_node(1, idle="sleep").wait_ready(), cluster.address(2))
        wait_found(cluster.nodes[1], cluster.address(0))
        asked = 0
        for i, node in enumerate(cluster.nodes):
            node.stop()
            asked += int(check_counters(cluster, i)["outbox"]["arp_requests"])
        # Of two nodes one may have heard the other's question before it asked itself.
        check(asked >= 3, f"the nodes asked only {asked} times")


def start_behind_a_cut_link():
    """Who cannot be reached is told, and found when the link is there."""
    with Scene() as scene:
        cluster = Cluster(scene, nodes=2, workers=2)
        cluster.cut(1)
        for node in cluster.start(idle="sleep"):
            node.wait_ready()
        cluster.nodes[0].wait_line(r"next hop 10[.]99[.]0[.]2 does not answer ARP")
        check(not cluster.reaches(1), "node 1 answers through a cut link")
        cluster.mend(1)
        # Nobody needs the other one (no transaction runs), so nobody asks again; the client's question is heard.
        wait_until(lambda: cluster.reaches(1), 30, "an answer of node 1 to a ping")
        cluster.nodes[1].kill()
        cluster.start_node(1, idle="sleep").wait_ready()
        for i in range(2):
            wait_found(cluster.nodes[i], cluster.address(1 - i))
        for i in range(2):
            cluster.nodes[i].stop()
            check_counters(cluster, i)


if __name__ == "__main__":
    main(find_each_other, start_behind_a_cut_link)
