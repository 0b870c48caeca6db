# SPDX-License-Identifier: BSD-3-Clause
"""txgen's latency histogram (pktgen/report/histogram.h): merged over trials; percentiles are never averaged."""
import math

STEP_BITS = 7
STEPS = 1 << STEP_BITS
SAMPLES_MIN = {50: 1, 99: 1_000, 99.9: 100_000, 99.99: 1_000_000}  # what a percentile needs, to be told at all


def upper_end(cell):
    """The largest value that a cell holds, in nanoseconds."""
    if cell < 2 * STEPS:
        return cell
    shift = cell // STEPS - 1
    return ((cell - shift * STEPS + 1) << shift) - 1


class Histogram:
    def __init__(self, cells=None):
        self.cells = dict(cells or {})

    @classmethod
    def from_json(cls, entry):
        """txgen's `latency_cells`: {"cell": […], "count": […]}."""
        entry = entry or {}
        return cls(zip((int(c) for c in entry.get("cell", [])), (int(n) for n in entry.get("count", []))))

    def to_json(self):
        cells = sorted(self.cells)
        return {"cell": cells, "count": [self.cells[cell] for cell in cells]}

    def merge(self, other):
        for cell, count in other.cells.items():
            self.cells[cell] = self.cells.get(cell, 0) + count
        return self

    @property
    def count(self):
        return sum(self.cells.values())

    def percentile(self, percent):
        """Nanoseconds that `percent` of the values do not exceed, as txgen tells them: a cell's upper end. None with
        fewer values than the percentile needs."""
        found = self._find(percent)
        return None if found is None else upper_end(found[0])

    def quantile(self, percent):
        """The same, within its cell by share, so that two can be compared closer than a cell is wide."""
        found = self._find(percent)
        if found is None:
            return None
        cell, rank, before = found
        low = upper_end(cell - 1) if cell else 0
        return low + (upper_end(cell) - low) * (rank - before) / self.cells[cell]

    def _find(self, percent):
        """(cell, rank, values in the cells below) of a percentile."""
        total = self.count
        if total < SAMPLES_MIN.get(percent, 1):
            return None
        rank = max(1, math.ceil(round(percent * total * 1000) / 100_000))
        seen = 0
        for cell in sorted(self.cells):
            if seen + self.cells[cell] >= rank:
                return cell, rank, seen
            seen += self.cells[cell]
        return None
