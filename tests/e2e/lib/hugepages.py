# SPDX-License-Identifier: BSD-3-Clause
"""Reserves hugepages for a while, and gives back exactly what it took. Root only; others go without (--no-huge)."""
import os
import subprocess
import tempfile

COUNT = "/proc/sys/vm/nr_hugepages"


def read_number(path):
    with open(path, encoding="ascii") as file:
        return int(file.read())


def memory_info(field):
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    return 0


def mounted():
    with open("/proc/mounts", encoding="utf-8") as file:
        return any(line.split()[2] == "hugetlbfs" for line in file)


class Hugepages:
    """with Hugepages(1024) as pages: pages.available, pages.why (when they are not)."""

    def __init__(self, mib):
        self.mib = mib
        self.available = False
        self.why = ""
        self.added = 0
        self.mount_point = None

    def __enter__(self):
        self.why = self._reserve()
        self.available = not self.why
        if not self.available:
            self._give_back()
        return self

    def __exit__(self, *_):
        self._give_back()
        return False

    def _reserve(self):
        if os.geteuid() != 0:
            return "hugepages need root"
        page_kib = memory_info("Hugepagesize")
        if page_kib == 0:
            return "this kernel has no hugepages"
        need = -(-self.mib * 1024 // page_kib)
        missing = max(0, need - memory_info("HugePages_Free"))
        try:
            if missing:
                before = read_number(COUNT)
                self._write(before + missing)
                self.added = read_number(COUNT) - before
            if memory_info("HugePages_Free") < need:
                return f"only {memory_info('HugePages_Free')} of {need} hugepages could be reserved"
            if not mounted():
                self.mount_point = tempfile.mkdtemp(prefix="txnic-huge-")
                result = subprocess.run(["mount", "-t", "hugetlbfs", "nodev", self.mount_point], capture_output=True,
                                        text=True, check=False)
                if result.returncode != 0:
                    return f"hugetlbfs cannot be mounted: {result.stderr.strip()}"
        except OSError as error:
            return f"hugepages cannot be reserved: {error}"
        return ""

    @staticmethod
    def _write(count):
        with open(COUNT, "w", encoding="ascii") as file:
            file.write(str(count))

    def _give_back(self):
        if self.mount_point:
            subprocess.run(["umount", self.mount_point], capture_output=True, check=False)
            os.rmdir(self.mount_point)
            self.mount_point = None
        if self.added > 0:
            try:
                self._write(max(0, read_number(COUNT) - self.added))
            except OSError:
                pass
            self.added = 0
