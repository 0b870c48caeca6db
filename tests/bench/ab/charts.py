# SPDX-License-Identifier: BSD-3-Clause
"""The report's figures: each a chart with a sentence that says what it shows, what was found, and what is emulated."""
from . import svg
from .compare import counts
from .figures import FIGURES, stage_shares
from .svg import Series
from .table import plain, verdict_text

STAGES = ("parse", "process", "poll", "transmit", "receive", "idle")  # dataplane/counters.h
CAUSES_SHOWN = ("COMMITTED", "CONFLICT", "LOCKED", "CHECK_FAILED", "BELOW_FLOOR", "NOT_FOUND", "EXISTS", "BUSY")


class Chart:
    def __init__(self, title, picture, sentence):
        self.title = title
        self.picture = picture
        self.sentence = sentence


def emulated(result):
    """The half sentence about emulation that each figure ends with."""
    profiles = [f"{arm.key} ({arm.side.profile})" for arm in result.experiment.arms
                if arm.side.profile not in ("", "none")]
    if profiles:
        return f"Emulated by a hardware profile: {', '.join(profiles)}; the rest is this machine."
    return "Nothing in it is emulated; ports are shared memory between two processes of one machine."


def workloads(result):
    seen = []
    for cell in result.cells:
        if cell.workload not in seen:
            seen.append(cell.workload)
    return seen


def cells(result, workload):
    return [cell for cell in result.cells if cell.workload == workload]


def curve(result, workload, figure, x_of):
    """[(arm index, points)]: the value of all trials, and whiskers from the lowest trial to the highest."""
    out = []
    for index, arm in enumerate(result.experiment.arms):
        points = []
        for cell in cells(result, workload):
            value, trials, x = cell.value(figure, arm.key), cell.values(figure, arm.key), x_of(cell, arm.key)
            if value is not None and x is not None:
                points.append((x, value, min([value, *trials]), max([value, *trials])))
        out.append((index, points))
    return out


def offered(cell, _arm):
    return cell.offered


def committed(cell, arm):
    return cell.value(FIGURES["committed"], arm)


def name_of(result, index):
    arm = result.experiment.arms[index]
    return f"{arm.key}: {arm.name}"


def found(result, workload, figure):
    """What the comparison says of a figure at the highest load that has it."""
    parts = []
    for comparison in result.ab.values():
        for cell in reversed(cells(result, workload)):
            verdict = comparison.verdicts.get((cell.key, figure.name))
            if verdict is None:
                continue
            what = "differs" if verdict.holds else "no difference shown"
            if verdict.holds and (result.aa is None or not result.aa.holds):
                what = "looks different, but A/A was not shown to be equivalent: no claim"
            parts.append(f"at {cell.offered:,.0f}/s {comparison.other}/A = {verdict_text(verdict)}, {what}")
            break
    return f" {'; '.join(parts)[:1].upper()}{'; '.join(parts)[1:]}." if parts else ""


def latency(result, workload):
    series = []
    for dash, name in enumerate(("p50", "p99", "p99.9")):
        for index, points in curve(result, workload, FIGURES[name], offered):
            series.append(Series(name_of(result, index), points, index, dash, legend=dash == 0))
    sentence = (f"Latency of {workload} from the intended send to the answer, over the offered load: p50 (full lines), "
                f"p99 (dashed), p99.9 (dotted) of the merged histograms; whiskers from the lowest trial to the highest."
                f"{found(result, workload, FIGURES['p99'])}")
    return Chart(f"{workload}: latency against offered load",
                 svg.lines(f"{workload}: latency", "offered transactions a second", "microseconds", series, log_y=True),
                 sentence)


def throughput(result, workload):
    series = [Series(name_of(result, index), points, index)
              for index, points in curve(result, workload, FIGURES["committed"], offered)]
    return Chart(f"{workload}: committed against offered load",
                 svg.lines(f"{workload}: committed", "offered transactions a second", "committed a second", series,
                           diagonal=True),
                 "Committed transactions a second; what is missing to the dotted line (all that was offered) aborted "
                 f"or waited.{found(result, workload, FIGURES['committed'])}")


def over_committed(name):
    figure = FIGURES[name]

    def chart(result, workload):
        series = [Series(name_of(result, index), points, index)
                  for index, points in curve(result, workload, figure, committed)]
        if not any(entry.points for entry in series):
            return None
        title = f"{figure.title}, over committed transactions a second"
        return Chart(f"{workload}: {title}",
                     svg.lines(title, "committed transactions a second", figure.unit, series),
                     f"{figure.title[:1].upper()}{figure.title[1:]}: {figure.says}.{found(result, workload, figure)}")
    return chart


def highest(result, workload):
    """The cell of the highest load in which each arm has a trial that counts; None if there is none."""
    full = [cell for cell in cells(result, workload) if all(cell.of(arm.key) for arm in result.experiment.arms)]
    return full[-1] if full else None


def causes(result, workload):
    cell = highest(result, workload)
    if cell is None:
        return None
    groups, names = [], list(CAUSES_SHOWN)
    sums = {}
    for arm in result.experiment.arms:
        total = {}
        for row in cell.of(arm.key):
            for cause, count in row["client"]["by_result"].items():
                total[cause] = total.get(cause, 0) + count
        sums[arm.key] = total
        names += [cause for cause in total if cause not in names]
    names = [name for name in names if any(total.get(name) for total in sums.values())]
    for arm in result.experiment.arms:
        total = sums[arm.key]
        groups.append((arm.key, [100 * total.get(name, 0) / max(1, sum(total.values())) for name in names]))
    shares = "; ".join(f"{key} " + ", ".join(f"{name} {plain(value)} %" for name, value in zip(names, values) if value)
                       for key, values in groups)
    return Chart(f"{workload}: how transactions ended", svg.bars("how transactions ended", "percent", groups, names),
                 f"Results that clients were told at {cell.offered:,.0f}/s offered, all trials together: {shares}.")


def stages(result, workload):
    cell = highest(result, workload)
    if cell is None:
        return None
    shares = {arm.key: stage_shares(cell.of(arm.key)) for arm in result.experiment.arms}
    names = [name for name in STAGES if any(arm.get(name, (0, 0))[0] > 0 for arm in shares.values())]
    if not names:
        return Chart(f"{workload}: where time goes, by stage", svg.nothing("where time goes"),
                     "The node of this build tells no stages, so nothing is shown and nothing is guessed.")
    groups = [(key, [100 * arm.get(name, (0, 0))[0] for name in names]) for key, arm in shares.items()]
    texts = "; ".join(f"{key} " + ", ".join(f"{name} {100 * arm[name][0]:.1f} ± {100 * arm[name][1]:.1f} %"
                                            for name in names if name in arm) for key, arm in shares.items())
    return Chart(f"{workload}: where time goes, by stage",
                 svg.bars("where time goes", "percent of the workers' time", groups, names),
                 f"Share of the workers' time at {cell.offered:,.0f}/s offered, by stage of their loop, sampled 100 "
                 f"times a second, with standard errors: {texts}. Validation, locks, execution and appending to the "
                 "log are “process”; completed log writes and held answers are “poll”; polls that find nothing pass "
                 "through receive, poll and transmit, too.")


def warm_up(result, workload):
    cell = highest(result, workload)
    if cell is None:
        return None
    series = []
    for index, arm in enumerate(result.experiment.arms):
        for number, row in enumerate(cell.of(arm.key)):
            if row["live"]:
                begin = row["live"][0][0] - 1
                points = [(second - begin, rate) for second, rate in row["live"]]
                series.append(Series(name_of(result, index), points, index, legend=number == 0))
    return Chart(f"{workload}: each trial from its first second",
                 svg.lines("each trial", "seconds since the first transaction", "transactions a second", series,
                           marks=False),
                 f"Executed transactions a second at {cell.offered:,.0f}/s offered, a line a trial, with the "
                 f"{result.experiment.load.warmup_seconds:g} s of warm-up, which are in no other figure.")


def break_even(points):
    """Where the ratio crosses 1, by straight lines between swept points; None if it does not."""
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if (y0 - 1) * (y1 - 1) <= 0 and y0 != y1:
            return x0 + (x1 - x0) * (1 - y0) / (y1 - y0)
    return None


def sweep(result, workload):
    swept = [arm for arm in result.experiment.arms_b if arm.side.has("sweep") and arm.key in result.ab]
    cell = highest(result, workload)
    if len(swept) < 2 or cell is None:
        return None
    series, texts = [], []
    for index, name in enumerate(("host_busy_ns", "p99", "committed")):
        points = []
        for arm in sorted(swept, key=lambda arm: arm.side.sweep):
            verdict = result.ab[arm.key].verdicts.get((cell.key, name))
            if verdict is not None and verdict.paired.ratio is not None:
                points.append((arm.side.sweep, verdict.paired.ratio, *(verdict.interval or (None, None))))
        series.append(Series(f"{FIGURES[name].title}, B/A", points, index))
        even = break_even([point[:2] for point in points])
        where = f"even at {even:.3g}" if even is not None else "not even within the sweep"
        texts.append(f"{FIGURES[name].title}: {where}")
    return Chart(f"{workload}: the swept setting, and where it is even",
                 svg.lines("the swept setting", "swept setting", "B / A", series),
                 f"Ratios to A at {cell.offered:,.0f}/s offered with their intervals. {'; '.join(texts)}.")


MAKERS = [latency, throughput, over_committed("host_busy_ns"), over_committed("packets_busy_poll"),
          over_committed("idle_share"), over_committed("log_kernel_ns"), over_committed("log_bytes"), causes, stages,
          sweep, warm_up]


def all_charts(result):
    """Charts of each workload that has trials which count."""
    out = []
    for workload in workloads(result):
        if not any(counts(row) and row["workload"] == workload for row in result.rows):
            out.append(Chart(f"{workload}: no trial counts", svg.nothing(workload),
                             "All trials failed, were rejected or are invalid: see the list of trials."))
            continue
        for maker in MAKERS:
            chart = maker(result, workload)
            if chart is not None:
                chart.sentence += " " + emulated(result)
                out.append(chart)
    return out
