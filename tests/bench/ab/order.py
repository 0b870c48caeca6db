# SPDX-License-Identifier: BSD-3-Clause
"""In which order trials run. A block has each arm twice: a drawn order, then the same reversed (with two arms: ABBA or
BAAB), so that a machine that gets slower or faster in a straight line favours nobody. Half a block is a pair: one trial
of each arm, next to each other in time."""
import random


class Slot:
    """One trial to be made."""

    def __init__(self, number, workload, point, pair, arm):
        self.number = number      # from 0, in the order of time
        self.workload = workload  # index
        self.point = point        # index of the load
        self.pair = pair          # from 0, within this workload and load
        self.arm = arm            # index


def slots(arms, workloads, points, blocks, seed):
    """All trials of an experiment. Blocks of all workloads and loads are mixed: none of them has an hour of its own."""
    draw = random.Random(seed)
    out = []
    for block in range(blocks):
        cells = [(workload, point) for workload in range(workloads) for point in range(points)]
        draw.shuffle(cells)
        for workload, point in cells:
            order = list(range(arms))
            draw.shuffle(order)
            for half, sequence in enumerate((order, order[::-1])):
                for arm in sequence:
                    out.append(Slot(len(out), workload, point, 2 * block + half, arm))
    return out
