# SPDX-License-Identifier: BSD-3-Clause
"""From rows to verdicts. A cell is one workload at one load: each arm has trials in it, in pairs with others."""
import statistics

from . import equivalence
from .equivalence import Paired
from .experiment import workload_name
from .figures import ALL, FIGURES


def counts(row):
    """The trial is neither failed, nor rejected, nor invalid."""
    return not (row.get("failed") or row.get("rejected") or row.get("invalid"))


class Cell:
    """Trials of one workload at one load that count: `rows[arm]` is pair -> row."""

    def __init__(self, workload, point, offered):
        self.workload = workload
        self.point = point
        self.offered = offered
        self.rows = {}
        self.invalid = 0

    @property
    def key(self):
        return (self.workload, self.point)

    def of(self, arm):
        return [row for _, row in sorted(self.rows.get(arm, {}).items())]

    def pairs(self, arm, other):
        """(row, row) of the pairs in which both count."""
        mine, its = self.rows.get(arm, {}), self.rows.get(other, {})
        return [(mine[pair], its[pair]) for pair in sorted(mine.keys() & its.keys())]

    def values(self, figure, arm):
        values = [figure.value(row) for row in self.of(arm)]
        return [value for value in values if value is not None]

    def value(self, figure, arm):
        """Of all trials together: merged where the figure says so, else the median."""
        if figure.whole:
            return figure.whole(self.of(arm)) if self.of(arm) else None
        values = self.values(figure, arm)
        return statistics.median(values) if values else None

    def compared(self, figure, arm, other):
        pairs = self.pairs(arm, other)
        if figure.whole:
            return Paired.jackknife(pairs, figure.whole)
        return Paired([(figure.value(a), figure.value(b)) for a, b in pairs])


def cells_of(experiment, rows):
    names = [workload_name(workload) for workload in experiment.settings.workload]
    cells = {}
    for row in rows:
        key = (row["workload"], row["point"])
        cell = cells.setdefault(key, Cell(row["workload"], row["point"], row["offered"]))
        if counts(row):
            cell.rows.setdefault(row["arm"], {})[row["pair"]] = row
        elif row.get("invalid"):
            cell.invalid += 1
    return sorted(cells.values(), key=lambda cell: (names.index(cell.workload), cell.point))


class Comparison:
    """One arm beside another in all cells. `verdicts`: (cell key, figure) -> Verdict; `unequal`: cells whose committed
    rates differ by more than the limit, with the difference."""

    def __init__(self, arm, other):
        self.arm = arm
        self.other = other
        self.verdicts = {}
        self.unequal = {}
        self.holds = False


def rate_difference(cell, arm, other):
    """Of the committed rates, as a share; None if there is nothing to compare."""
    rates = [cell.value(FIGURES["committed"], key) for key in (arm, other)]
    return None if None in rates or not rates[0] else rates[1] / rates[0] - 1


def compare_equal(experiment, cells, arm, other):
    """A/A: equivalence of the figures that the experiment names, corrected for all of them in all cells. One that was
    not measured somewhere is not shown to be equivalent."""
    limits = experiment.limits
    out = Comparison(arm, other)
    family = {(cell.key, name): cell.compared(FIGURES[name], arm, other) for cell in cells
              for name in experiment.figures}
    out.verdicts = equivalence.equivalence(family, limits.equivalence_percent / 100, limits.half_width_percent / 100,
                                           limits.alpha)
    out.holds = bool(out.verdicts) and all(verdict.holds for verdict in out.verdicts.values())
    return out


def compare_different(experiment, cells, arm, others):
    """A/B: which figures differ, corrected for all of them, in all cells, for all B together. other -> Comparison."""
    out = {other: Comparison(arm, other) for other in others}
    family = {}
    for other, comparison in out.items():
        for cell in cells:
            difference = rate_difference(cell, arm, other)
            if difference is not None and abs(difference) > experiment.limits.rate_difference_percent / 100:
                comparison.unequal[cell.key] = difference
            for figure in ALL:
                if figure.needs_equal_rate and cell.key in comparison.unequal:
                    continue
                paired = cell.compared(figure, arm, other)
                if paired.count:
                    family[other, cell.key, figure.name] = paired
    for (other, cell, name), verdict in equivalence.difference(family, experiment.limits.alpha).items():
        out[other].verdicts[cell, name] = verdict
    return out


def same_settings(arm, other):
    """Two arms that cannot differ but by chance."""
    def settings(which):
        return which.node_data, which.side.idle, which.side.workers, which.side.profile
    return settings(arm) == settings(other)


class Result:
    """Everything that the table and the report show."""

    def __init__(self, experiment, rows, machine, peak=None, stopped=""):
        self.experiment = experiment
        self.rows = rows
        self.machine = machine
        self.peak = peak        # workload -> committed/s of A's closed loop, if it was measured
        self.stopped = stopped  # why there is not more
        self.cells = cells_of(experiment, rows)
        a = experiment.arm_a
        equal = [arm for arm in experiment.arms[1:] if same_settings(a, arm)]
        self.aa = compare_equal(experiment, self.cells, a.key, equal[0].key) if equal else None
        others = [arm.key for arm in experiment.arms_b if not same_settings(a, arm)]
        self.ab = compare_different(experiment, self.cells, a.key, others)

    def arm(self, key):
        return next(arm for arm in self.experiment.arms if arm.key == key)

    def cell_name(self, key):
        cell = next(cell for cell in self.cells if cell.key == key)
        return f"{cell.workload} at {cell.offered:,.0f}/s"
