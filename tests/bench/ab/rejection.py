# SPDX-License-Identifier: BSD-3-Clause
"""Whether a trial counts, by limits that were fixed beforehand (Limits in configs/ab.proto) and never by its result."""

LAG_PERCENT_MAX = 1  # DESIGN 7, rule 2: no setting


def reasons(row, limits):
    """Why the trial is thrown away: texts, none if it counts. The row keeps them."""
    out = []
    system = row["system"]
    if system["steal_percent"] > limits.steal_percent:
        out.append(f"steal {system['steal_percent']:.2f} % > {limits.steal_percent:g} %")
    for process, switches in system["switches"].items():
        if switches > limits.involuntary_switches:
            out.append(f"{process}: {switches:.0f} involuntary switches/s > {limits.involuntary_switches:g}")
    return out


def invalid(row):
    """Why the trial says nothing of the node: the generator could not keep the pace. It is shown, not repeated."""
    lag = row["client"].get("lag_percent")
    if lag is not None and lag > LAG_PERCENT_MAX:
        return f"the generator lagged by {lag:.2f} % > {LAG_PERCENT_MAX} %"
    return ""
