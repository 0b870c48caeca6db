# SPDX-License-Identifier: BSD-3-Clause
"""The guest's kernel and initramfs. Debian's kernel, its modules and busybox come from mmdebstrap, once; the programs
and their libraries are this machine's, packed anew for each run."""
import glob
import os
import re
import shutil
import stat
import subprocess

MODULES = ["tun", "sch_ingress", "sch_multiq", "cls_flower", "cls_bpf", "act_gact", "act_skbedit", "act_mirred",
           "act_bpf"]
DRIVERS = ["librte_bus_vdev", "librte_mempool_ring", "librte_net_tap"]
PACKAGES = "linux-image-amd64,busybox-static"


def base(folder):
    """Kernel, modules in load order and busybox below `folder`; made if it is not there yet."""
    ready = os.path.join(folder, "base")
    if os.path.exists(os.path.join(ready, "load")):
        return ready
    fresh, root = os.path.join(folder, "base.new"), os.path.join(folder, "root")
    for path in (ready, fresh, root):
        shutil.rmtree(path, ignore_errors=True)
    os.makedirs(fresh)
    subprocess.run(["mmdebstrap", "--variant=extract", f"--include={PACKAGES}", "bookworm", root], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=240)
    shutil.copy(glob.glob(f"{root}/boot/vmlinuz-*")[0], os.path.join(fresh, "vmlinuz"))
    shutil.copy(glob.glob(f"{root}/**/bin/busybox", recursive=True)[0], os.path.join(fresh, "busybox"))
    known = {os.path.basename(path)[:-3].replace("-", "_"): path
             for path in glob.glob(f"{root}/lib/modules/**/*.ko", recursive=True)}
    order = []

    def load(name):
        if name in order or name not in known:
            return
        with open(known[name], "rb") as file:
            depends = re.search(rb"\0depends=([^\0]*)\0", file.read())
        for other in (depends.group(1).decode().split(",") if depends and depends.group(1) else []):
            load(other.replace("-", "_"))
        order.append(name)
        shutil.copy(known[name], os.path.join(fresh, name + ".ko"))
    for module in MODULES:
        load(module)
    shutil.rmtree(root, ignore_errors=True)
    with open(os.path.join(fresh, "load"), "w", encoding="ascii") as file:
        file.write("\n".join(order) + "\n")
    os.rename(fresh, ready)
    return ready


def libraries(paths):
    """What the dynamic loader finds for these programs: path in the guest -> file here."""
    found = {}
    for path in paths:
        text = subprocess.run(["ldd", path], capture_output=True, text=True, check=True, timeout=60).stdout
        for name in re.findall(r"(?:=> )?(/\S+) \(0x", text):
            found[name] = os.path.realpath(name)
    return found


def drivers():
    folders = sorted(glob.glob("/usr/lib/x86_64-linux-gnu/dpdk/pmds-*"))
    return [os.path.join(folders[-1], name + ".so") for name in DRIVERS] if folders else []


class Cpio:
    """The kernel's "newc" archive."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.folders = set()
        self.number = 0

    def _entry(self, name, mode, data):
        self.number += 1
        encoded = name.encode() + b"\0"
        fields = [self.number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
        self.file.write(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))

    def folder(self, name):
        name = name.strip("/")
        if name and name not in self.folders:
            self.folder(os.path.dirname(name))
            self.folders.add(name)
            self._entry(name, stat.S_IFDIR | 0o755, b"")

    def add(self, name, data):
        self.folder(os.path.dirname(name))
        self._entry(name.strip("/"), stat.S_IFREG | 0o755, data)

    def add_file(self, name, path):
        with open(path, "rb") as file:
            self.add(name, file.read())

    def close(self):
        self._entry("TRAILER!!!", 0, b"")
        self.file.close()


def initramfs(path, parts, programs, texts):
    """`programs`: name in /bin -> file; `texts`: path -> text. Debug information stays out."""
    archive = Cpio(path)
    for folder in ("proc", "sys", "dev", "run", "tmp", "var/run"):
        archive.folder(folder)
    archive.add_file("bin/busybox", os.path.join(parts, "busybox"))
    with open(os.path.join(parts, "load"), encoding="ascii") as file:
        modules = file.read().split()
    for module in modules:
        archive.add_file(f"modules/{module}.ko", os.path.join(parts, module + ".ko"))
    archive.add_file("modules/load", os.path.join(parts, "load"))
    for name, program in programs.items():
        bare = f"{path}.{name}"
        subprocess.run(["strip", "-o", bare, program], check=True, timeout=60)
        archive.add_file(f"bin/{name}", bare)
        os.unlink(bare)
    found = libraries([*programs.values(), *drivers()])
    for name, here in found.items():
        archive.add_file(name, here)
    # A driver that something is linked with is there already; a second copy of it would be loaded beside the first.
    linked = set(found.values())
    for driver in drivers():
        if os.path.realpath(driver) not in linked:
            archive.add_file(f"drivers/{os.path.basename(driver)}", driver)
    for name, text in texts.items():
        archive.add(name, text.encode())
    archive.close()
