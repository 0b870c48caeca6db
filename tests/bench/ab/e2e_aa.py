#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A whole A/A experiment with tiny trials over real processes: the machinery is checked, not the numbers. And one that
is ended by Ctrl-C in the middle."""
import json
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "../../e2e")]

from lib.harness import Scene, check, main  # noqa: E402

CONFIG = """name: "tiny"
question: "Does the machinery work?"
node {{ name: "tiny" shards: 2 {log} }}
a {{ idle: YIELD }}
b {{ idle: YIELD }}
workload {{ workload: "smallbank" records: 2000 }}
load {{ rate: 2000 window: 512 warmup_seconds: 0.2 seconds: 0.6 }}
trials {{ blocks: {blocks} attempts: 1 aa: false }}
limits {{ steal_percent: 100 involuntary_switches: 1000000 }}
"""


def start(scene, blocks, log=""):
    config = scene.write("tiny.textproto", CONFIG.format(blocks=blocks, log=log))
    out = scene.path("out")
    command = ["/usr/bin/python3", "-B", os.path.join(HERE, "run.py"), "--build", scene.build, "--no-huge", "--out",
               out, config]
    return scene.start("ab", command), out


def rows_of(out):
    with open(os.path.join(out, "rows.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def whole_experiment():
    with Scene() as scene:
        process, out = start(scene, blocks=1)
        code = process.wait(240)
        check(code == 0, f"ended with {code}\n{process.tail()}")
        rows = rows_of(out)
        check(sorted(row["arm"] for row in rows) == ["A", "A", "B", "B"], f"arms {[row['arm'] for row in rows]}")
        for row in rows:
            node, client = row["node"], row["client"]
            check(node["committed"] > 0 and node["busy_ns"] > 0 and node["busy_steps"] > 0, f"node's counters {node}")
            check(client["committed"] > 0 and sum(client["latency_cells"]["count"]) > 0, f"client's {client}")
            check(row["machine"]["tsc_hz"] > 0 and row["config_hash"] and row["node_config_hash"], "facts of the row")
            check("conservation holds" in client["check"], f"the workload's check: {client['check']}")
        check(len({row["node_config_hash"] for row in rows}) == 1, "A and A have one configuration")
        # On a machine that does other things the generator may lag in all of them: then there is no figure to show.
        usable = any(not row["invalid"] for row in rows)
        text = process.text()
        check("A/A: " in text and (not usable or "host time a committed transaction" in text),
              f"no table\n{process.tail()}")
        with open(os.path.join(out, "report.html"), encoding="utf-8") as file:
            report = file.read()
        check(report.count("<svg ") >= (6 if usable else 0) and report.rstrip().endswith("</html>"),
              "the report is incomplete")


def with_a_log():
    with Scene() as scene:
        process, out = start(scene, 1, "log { durability: SYNC segment_mib: 16 group_kib: 1024 }")
        code = process.wait(240)
        check(code == 0, f"ended with {code}\n{process.tail()}")
        for row in rows_of(out):
            node = row["node"]
            check(0 < node["log_record_bytes"] <= node["log_written_bytes"], f"log: {node}")
            check(node["other_threads_ns"] is not None, "run time of the log's threads")


def interrupted():
    with Scene() as scene:
        process, out = start(scene, blocks=100)
        process.wait_line(r"trial 1/400 ", 120)
        process.signal(signal.SIGINT)
        code = process.wait(60)
        check(code == 1, f"ended with {code}\n{process.tail()}")
        check(1 <= len(rows_of(out)) < 20, f"{len(rows_of(out))} rows")
        check("INCOMPLETE: stopped by the user" in process.text(), f"it does not say so\n{process.tail()}")
        with open(os.path.join(out, "report.html"), encoding="utf-8") as file:
            check("Incomplete: stopped by the user" in file.read(), "the report does not say so")


def offload_on_and_off():
    """The front on an emulated SmartNIC beside the plain node: every figure of the link is there."""
    with Scene() as scene:
        text = """name: "tiny offload"
question: "does it run?"
node { name: "ab" shards: 4 }
a { name: "off" }
b { name: "on" node { offload { placement: NIC } } profile: "bluefield3" }
workload { workload: "smallbank" records: 2000 }
load { rate: 2000 warmup_seconds: 0.3 seconds: 1 window: 256 }
trials { blocks: 1 aa: false }
limits { steal_percent: 100 involuntary_switches: 1000000 }
"""
        out = scene.path("out")
        process = scene.start("ab", ["/usr/bin/python3", "-B", os.path.join(HERE, "run.py"), "--build", scene.build,
                                     "--out", out, scene.write("offload.textproto", text)])
        code = process.wait(120)
        check(code in (0, 1), f"ended with {code}\n{process.tail()}")
        on = [row["node"] for row in rows_of(out) if row["arm"].startswith("B")]
        check(on and all(node["link_frames_front"] > 0 and node["back_busy_ns"] > 0 for node in on), f"rows: {on}")


if __name__ == "__main__":
    main(whole_experiment, with_a_log, interrupted, offload_on_and_off)
