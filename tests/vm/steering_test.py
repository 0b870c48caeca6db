#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""rte_flow for real: a QEMU guest (tcg) with Debian's kernel runs txnode on a net_tap whose rules the kernel executes
(flower classifier); packets for two workers arrive on the right queues. Then the same with steering in software."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import image  # noqa: E402
from lib.harness import Failure, Skip, check, main  # noqa: E402

EMULATOR = "qemu-system-x86_64"
GUEST_SECONDS = 240
CLIENTS, KEYS = 8, 25
WORKERS = 2
RUNS = ("auto", "software")

CONFIG = """name: "guest"
shards: 4
table { id: 1 name: "a" capacity: 1000 }
sessions { count: 32 window: 64 }
network { address: "10.99.0.1" }
"""

INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
echo 3 > /proc/sys/kernel/printk
while read -r module; do insmod /modules/$module.ko; done < /modules/load
mkdir -p /dev/net; [ -c /dev/net/tun ] || mknod /dev/net/tun c 10 200
ip link set lo up
chmod 755 /  # DPDK loads no driver below a folder that anybody may write to
for f in all default; do echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done
for steering in {" ".join(RUNS)}; do
  echo; echo "guest: run $steering"
  touch /tmp/$steering.log
  txnode -d /drivers --no-huge -m 480 --no-pci --no-telemetry --no-shconf --lcores 0@0,1@0,2@1 \\
    --vdev=net_tap0,iface=dtap0 -- --config /node.textproto --idle sleep --steering $steering \\
    --json /tmp/$steering.json >> /tmp/$steering.log 2>&1 &
  node=$!
  tries=0
  until grep -q 'txnic: ready' /tmp/$steering.log || [ $tries -ge 600 ] || ! kill -0 $node; do
    usleep 100000; tries=$((tries + 1))
  done
  ip addr add 10.99.0.2/24 dev dtap0; ip link set dtap0 up
  vm-guest-client 10.99.0.1:7700 {CLIENTS} {KEYS}; echo "guest: client ended with $?"
  kill -INT $node; wait $node; echo "guest: node ended with $?"
  cat /tmp/$steering.log
  echo "guest: json $(cat /tmp/$steering.json)"
done
echo "guest: done"
sync; poweroff -f
"""


def run_guest(build):
    folder = os.path.join(os.path.dirname(build), "vm")
    os.makedirs(folder, exist_ok=True)
    try:
        parts = image.base(folder)
    except (OSError, subprocess.SubprocessError, IndexError) as error:
        raise Skip(f"the guest's kernel could not be fetched: {error}") from None
    with tempfile.TemporaryDirectory(prefix="txnic-vm-") as place:
        archive = os.path.join(place, "initramfs")
        programs = {"txnode": os.path.join(build, "host/apps/txnode"),
                    "vm-guest-client": os.path.join(build, "tests/vm/vm-guest-client")}
        image.initramfs(archive, parts, programs, {"init": INIT, "node.textproto": CONFIG})
        command = [EMULATOR, "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1536", "-nographic",
                   "-no-reboot", "-nic", "none", "-kernel", os.path.join(parts, "vmlinuz"), "-initrd", archive,
                   "-append", "console=ttyS0 quiet panic=-1"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=GUEST_SECONDS, check=False)
            text = done.stdout
        except subprocess.TimeoutExpired as late:
            text = (late.stdout or b"") + b"\n(the guest was ended: out of time)"
    text = text.decode(errors="replace").replace("\r", "")
    with open(os.path.join(folder, "guest.log"), "w", encoding="utf-8") as log:
        log.write(text)
    return text


def rules_and_counts(text):
    """For the log: what the guest's node said of rules and queues."""
    wanted = r"^(guest: run|txnic: port|  Steering rules|  ID|  (\d|-)\t|  Port \d+ queue|committed).*"
    return "\n".join(match.group(0) for match in re.finditer(wanted, text, re.M))


def check_run(part, steering):
    check("client ended with 0" in part and f"committed {2 * CLIENTS * KEYS}" in part, f"{steering}: the client failed")
    check("node ended with 0" in part, f"{steering}: the node failed")
    plane = json.loads(re.search(r"^guest: json (\{.*\})$", part, re.M).group(1))["dataplane"]
    rules, queues = plane["steering"], plane["queues"]
    check(len(rules) == WORKERS and len(queues) == WORKERS, f"{steering}: {rules} {queues}")
    by = "port" if steering == "auto" else "software"
    check(all(rule["by"] == by for rule in rules), f"{steering}: not executed by {by}: {rules}")
    misdirected = sum(queue["misdirected"] for queue in queues)
    if by == "port":
        check(misdirected == 0, f"{misdirected} packets on the wrong queue in spite of the rules")
        check(all(queue["packets"] >= CLIENTS * KEYS // 2 for queue in queues), f"a queue without packets: {queues}")
    else:
        # Without rules the kernel spreads connections as it likes: some go wrong, and software brings them on.
        check(misdirected > 0 and plane["forwarded"] == misdirected, f"nothing to steer in software? {queues}")
    check(plane["ended"]["other"] == 0 and plane["received"] == plane["ended_total"], f"{steering}: sums")


def kernel_executes_rules():
    if shutil.which(EMULATOR) is None or shutil.which("mmdebstrap") is None:
        raise Skip(f"no {EMULATOR} or mmdebstrap here (Debian: qemu-system-x86, mmdebstrap)")
    text = run_guest(os.environ["TXNIC_BUILD"])
    parts = re.split(r"^guest: run ", text, flags=re.M)
    print(rules_and_counts(text))
    if len(parts) != 1 + len(RUNS) or "guest: done" not in text:
        raise Failure(f"the guest did not come to its end:\n{text[-6000:]}")
    try:
        for part, steering in zip(parts[1:], RUNS):
            check_run(part, steering)
    except (Failure, AttributeError, KeyError) as error:
        raise Failure(f"{error}\n{text[-12000:]}") from None


if __name__ == "__main__":
    main(kernel_executes_rules)
