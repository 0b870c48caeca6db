# SPDX-License-Identifier: BSD-3-Clause
"""Open loop below and at the saturating rate and at 2 and 5 times of it: goodput must not collapse."""
import rows
import scenes
from rows import Trials, progress

FACTORS = (0.8, 1, 2, 5)
WINDOW = 4096  # transactions in flight: four times what the rings between the two hold


def open_loop(options, rate):
    with scenes.scene(options) as place:
        node = scenes.node(place, scenes.config(place))
        run = scenes.run(place, "rmw2", options.seconds, rate=int(rate), window=WINDOW)
        run.expect_exit()
        node.stop()
        run.facts = scenes.facts(place, run)
        return run


def saturating_rate(options):
    with scenes.scene(options) as place:
        node = scenes.node(place, scenes.config(place))
        run = scenes.run(place, "rmw2", options.seconds, window=WINDOW)  # as the open loop has
        run.expect_good()
        node.stop()
        progress(f"overload: closed loop reaches {run.goodput:,.0f}/s")
        return run.goodput


def main(options):
    scenes.warn_about_cpus()
    peak = saturating_rate(options)
    goodput = {factor: Trials() for factor in FACTORS}
    sent = {factor: Trials() for factor in FACTORS}
    for number in range(max(3, options.trials)):
        for factor in FACTORS if number % 2 == 0 else reversed(FACTORS):
            run = open_loop(options, peak * factor)
            goodput[factor].add(run.goodput)
            sent[factor].add(run.sent_rate)
            progress(f"overload trial {number + 1} at {factor}x: goodput {run.goodput:,.0f}/s of "
                     f"{run.sent_rate:,.0f}/s sent")
    best = max(peak, *(trials.median for trials in goodput.values()))
    worst = min((2, 5), key=lambda factor: goodput[factor].median)
    rows.row("overload", goodput[worst], "transactions/s", "peak goodput", best, factor=worst, target=0.8,
             **run.facts)
    for factor in FACTORS:
        rows.row(f"overload_{factor:g}x", goodput[factor], "transactions/s", "peak goodput", best,
                 offered=peak * factor, arrived=sent[factor].median, **run.facts)
