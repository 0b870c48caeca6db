# SPDX-License-Identifier: BSD-3-Clause
"""How each of the ten rules of DESIGN 7 held in this experiment, from its rows."""
from .compare import counts
from .figures import FIGURES, host_ns
from .histogram import SAMPLES_MIN
from .rejection import LAG_PERCENT_MAX

HELD, BROKEN, OUT = "held", "NOT held", "not applicable"


def good(holds):
    return HELD if holds else BROKEN


def percent(value):
    return f"{value:.2f} %"


def measured(result):
    return [row for row in result.rows if not row["failed"]]


def rule_1(result):
    limits = result.experiment.limits
    if result.aa is None:
        return BROKEN, "There was no A/A run in this experiment, so no difference is reported as one."
    widest = max((v.half_width for v in result.aa.verdicts.values() if v.half_width is not None), default=None)
    text = (f"{result.aa.arm} and {result.aa.other} have the same settings. Equivalence within "
            f"±{limits.equivalence_percent:g} % was {'shown' if result.aa.holds else 'not shown'} for "
            f"{sum(v.holds for v in result.aa.verdicts.values())} of {len(result.aa.verdicts)} figures "
            f"(two one-sided tests, Holm, together {limits.alpha:g}); widest half-width "
            f"{'unknown' if widest is None else percent(100 * widest)}, allowed {limits.half_width_percent:g} %.")
    return good(result.aa.holds), text


def rule_2(result):
    rows = measured(result)
    late = [row for row in rows if row["invalid"]]
    worst = max((row["client"].get("lag_percent", 0) for row in rows), default=0)
    arms = [arm.key for arm in result.experiment.arms]
    empty = [result.cell_name(cell.key) for cell in result.cells
             if cell.invalid and not all(cell.of(arm) for arm in arms)]
    text = (f"Poisson arrivals, latency from the intended send. Largest lag {percent(worst)}; {len(late)} of "
            f"{len(rows)} trials lagged by more than {LAG_PERCENT_MAX} % and are invalid: they are listed "
            "and in no figure.")
    if empty:
        text += f" So nothing can be said of {', '.join(empty)}."
    return good(rows and not empty), text


def rule_3(result):
    unequal = sum(len(comparison.unequal) for comparison in result.ab.values())
    cells = len(result.cells) * len(result.ab)
    return HELD, (f"Costs a transaction are compared only where committed rates differ by at most "
                  f"{result.experiment.limits.rate_difference_percent:g} %: {cells - unequal} of {cells} comparisons; "
                  f"the others are left out. Packets a busy poll are a figure of their own.")


def offloaded(result):
    """Arms whose front stands before a host link."""
    nodes = [(arm, result.experiment.node(arm)) for arm in result.experiment.arms]
    return [arm for arm, node in nodes if node.offload is not None and node.offload.placement == "NIC"]


def rule_4(result):
    arms = offloaded(result)
    if arms:
        return HELD, (f"{', '.join(arm.key for arm in arms)}: front and back take turns on one core, and their times "
                      "are counted apart: 'host time' is the back's, 'SmartNIC core's time' the front's, 'time of all "
                      "cores' both. The other sides have host cores alone.")
    text = "; ".join(f"{arm.key}: {arm.side.workers} host core{'s' if arm.side.workers > 1 else ''}, no other"
                     for arm in result.experiment.arms)
    return OUT, f"All sides run on host cores alone, so per host core and per all cores are the same ({text})."


def rule_5(result):
    if offloaded(result):
        return OUT, ("A side with placement HOST is the plain single-process engine itself, the same program "
                     "without a link: nothing was measured for this.")
    return OUT, "No side is offloaded: all sides are the plain single-process engine."


def rule_6(result):
    limits = result.experiment.limits
    rows = measured(result)
    rejected = [row for row in rows if row["rejected"]]
    steal = max((row["system"]["steal_percent"] for row in rows), default=0)
    switches = max((value for row in rows for value in row["system"]["switches"].values()), default=0)
    return HELD, (f"Limits of the configuration: steal {limits.steal_percent:g} %, "
                  f"{limits.involuntary_switches:g} involuntary switches a second of a polling thread. "
                  f"{len(rejected)} of {len(rows)} trials were rejected and made again (at most "
                  f"{result.experiment.trials.attempts} times in all). Highest seen: steal {percent(steal)}, "
                  f"{switches:.0f} switches/s.")


def rule_7(result):
    checkpoints = sum(row["node"].get("checkpoints") or 0 for row in measured(result))
    load = result.experiment.load
    return HELD, (f"Each trial had a new node and generator, an empty log folder, file systems synced before, and the "
                  f"same records loaded with the same seed. Order: blocks of each arm twice, drawn and then reversed, "
                  f"seed {result.experiment.settings.seed}. {load.warmup_seconds:g} s of warm-up are shown below; "
                  f"{checkpoints} checkpoints ended within measured times.")


def rule_8(result):
    most = max((sum(row["client"]["latency_cells"].get("count", [])) for row in measured(result)), default=0)
    return HELD, (f"Percentiles are of histograms merged over the trials of an arm; intervals leave out one pair at a "
                  f"time (jackknife). p99.99 is told from {SAMPLES_MIN[99.99]:,} samples on; the largest trial has "
                  f"{most:,}.")


def rule_9(result):
    swept = [arm for arm in result.experiment.arms_b if arm.side.has("sweep")]
    if len(swept) < 2 and any(arm.side.profile not in (None, "", "none") for arm in offloaded(result)):
        return BROKEN, "A profile slows the SmartNIC's core down by one factor, an assumption that was not swept."
    if len(swept) < 2:
        return OUT, "Nothing is slowed down, so there is no slowdown to sweep."
    return HELD, f"Swept over {', '.join(f'{arm.side.sweep:g}' for arm in swept)}; the break-even point is below."


def rule_10(_result):
    return HELD, ("Client latency is of the generator's clock alone; the node's counters are divided by the node's own "
                  "count of commits between the same two snapshots. No clock is subtracted from another.")


RULES = [
    ("A/A first: equivalence within ±3 %, half-width at most 3 %, corrected; differences only beside it", rule_1),
    ("Open loop, Poisson arrivals, timed from the intended send; a lag of more than 1 % is invalid and shown", rule_2),
    ("Busy cost depends on batch size: compare at equal committed rate, print packets per busy poll", rule_3),
    ("Report per host core and per all cores", rule_4),
    ("“Off” within 5 % of the plain engine", rule_5),
    ("Steal and involuntary switches recorded; trials rejected by limits fixed beforehand", rule_6),
    ("Same state at each trial's start; order ABBA, randomised; warm-up and checkpoints shown", rule_7),
    ("Histograms merged, percentiles never averaged; p99.99 needs a million samples", rule_8),
    ("A uniform slowdown is an assumption: sweep it and report the break-even point", rule_9),
    ("Clocks of two machines are never subtracted", rule_10),
]


def all_rules(result):
    """(number, rule, status, text) of each."""
    return [(number, title, *rule(result)) for number, (title, rule) in enumerate(RULES, 1)]


def busy_is_known(result):
    return any(counts(row) and host_ns(row) is not None and FIGURES["host_busy_ns"].value(row) for row in result.rows)
