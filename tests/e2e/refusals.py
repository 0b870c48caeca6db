#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What txnode refuses: command lines, configurations, machines, directories. Each refusal names its cause."""
import os
import re

from lib.harness import Failure, Scene, check, find_program, main, memif

CONFIGURATIONS = [  # text, what standard output must name
    ("shards: 4\ntable { id: 1 capacity: 1 }\nshard: 1\n", r":3:\d+: .*no field named"),
    ("shards: 0\ntable { id: 1 capacity: 1 }\n", r":1:1: shards: 0 is out of range"),
    ("table { id: 1 capacity: 1 }\nlog { durability: SYNC }\n", r":2:1: directory: missing"),
    ("", r":1:1: table: none is declared"),
    ("table { id: 1 capacity: 1 }\nsessions { window: 3 }\n", r":2:12: window: 3 is not a power of two"),
]

COMMAND_LINES = [  # what stands behind `--`, what the output must name
    ([], r"--config"),
    (["--config"], r"--config"),
    (["--config", "/nonexistent/x.textproto"], r"/nonexistent/x\.textproto.*cannot be opened"),
    (["--config", "{config}", "--mode", "fast"], r"--mode fast"),
    (["--config", "{config}", "--idle", "never"], r"--idle never"),
    (["--config", "{config}", "--durability", "always"], r"--durability always"),
    (["--config", "{config}", "--durability", "sync"], r"directory: missing"),
    (["--config", "{config}", "--stats-period", "soon"], r"--stats-period soon"),
    (["--config", "{config}", "--no-such-option"], r"--no-such-option.*unknown option"),
    (["--config", "{config}", "word"], r"word"),
]


def start(scene, arguments, devices=(), memory_mib=128):
    command = [find_program(scene.build, "txnode"), *scene.eal(1, memory_mib=memory_mib, devices=devices), "--",
               *arguments]
    return scene.start("node", command)


def expect(process, codes, pattern):
    code = process.wait(30)
    if code not in codes:
        raise Failure(f"exit code {code}, expected one of {codes}\n{process.tail()}")
    if not re.search(pattern, process.text()):
        raise Failure(f"nothing said '{pattern}'\n{process.tail()}")


def configurations():
    with Scene() as scene:
        for number, (text, pattern) in enumerate(CONFIGURATIONS):
            path = scene.write(f"bad{number}.textproto", text)
            expect(start(scene, ["--config", path, "--dry-run"]), (2,), re.escape(path) + pattern)
            expect(start(scene, ["--config", path]), (2,), re.escape(path) + pattern)


def command_lines():
    with Scene() as scene:
        config = scene.config()
        for arguments, pattern in COMMAND_LINES:
            expect(start(scene, [part.format(config=config) for part in arguments]), (2,), pattern)


def no_port():
    with Scene() as scene:
        expect(start(scene, ["--config", scene.config()]), (3,), r"(?i)port")


def too_little_memory():
    with Scene() as scene:
        config = scene.config(capacity=10_000_000_000)
        node = start(scene, ["--config", config], [memif("server", scene.socket())], memory_mib=256)
        expect(node, (3,), r"(?i)need \d+ MiB, have \d+")


def dry_run():
    with Scene() as scene:
        before = sorted(os.listdir(scene.folder))
        config = scene.config()
        node = start(scene, ["--config", config, "--dry-run"])
        node.expect_exit(0)
        for part in (r"shards: 4", r"capacity: 100000", r"base_port: 7700", r"idle_expiry_seconds: 300"):
            check(re.search(part, node.text()), f"--dry-run does not show '{part}'\n{node.tail()}")
        log = scene.log()
        start(scene, ["--config", config, "--dry-run", "--durability", "sync", "--log-directory", log]).expect_exit(0)
        check(not os.path.exists(log), "--dry-run made the log directory")
        check(before == [], "the folder was not empty")


def second_node_on_a_log():
    with Scene() as scene:
        log = scene.log()
        config = scene.config()
        first = scene.node(config, durability="sync", log=log, name="first").wait_ready()
        second = scene.node(config, durability="sync", log=log, devices=[memif("server", scene.socket("b.sock"))],
                            name="second")
        expect(second, (4,), r"(?i)(in use|another node|locked)")
        check(first.running(), "the first node did not survive the second one")
        first.stop()
        # A clean stop gives the directory back, and so does kill -9.
        third = scene.node(config, durability="sync", log=log, name="third").wait_ready()
        third.kill()
        scene.node(config, durability="sync", log=log, name="fourth").wait_ready().stop()


def other_shard_count():
    with Scene() as scene:
        log = scene.log()
        scene.node(scene.config("a.textproto", shards=4), durability="sync", log=log).wait_ready().stop()
        other = scene.node(scene.config("b.textproto", shards=8), durability="sync", log=log)
        expect(other, (2, 4), r"(?i)shard")


def check_log_of_nothing():
    with Scene() as scene:
        expect(start(scene, ["--check-log", scene.path("none")]), (1, 4), r"none")


if __name__ == "__main__":
    main(configurations, command_lines, no_port, too_little_memory, dry_run, second_node_on_a_log, other_shard_count,
         check_log_of_nothing)
