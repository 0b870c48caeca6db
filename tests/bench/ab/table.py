# SPDX-License-Identifier: BSD-3-Clause
"""The table on standard output: values of each arm, and what was found."""
from .figures import ALL

TITLE_COLUMNS, VERDICT_COLUMNS = 48, 28


def plain(value):
    """A number for people."""
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"


def verdict_text(verdict):
    if verdict is None or verdict.paired.ratio is None:
        return ""
    if verdict.interval is None:
        return f"{verdict.paired.ratio:.3f} (one pair: no spread)"
    return f"{verdict.paired.ratio:.3f} [{verdict.interval[0]:.3f}, {verdict.interval[1]:.3f}]"


def cell_lines(result, cell):
    arms = [arm.key for arm in result.experiment.arms]
    yield f"\n{cell.workload}, {cell.offered:,.0f}/s offered; trials that count: " + ", ".join(
        f"{arm} {len(cell.of(arm))}" for arm in arms)
    head = f"  {'figure':{TITLE_COLUMNS}}" + "".join(f"{arm:>14}" for arm in arms)
    for other in result.ab:
        head += f"  {other + '/A [interval]':{VERDICT_COLUMNS}}"
    yield head.rstrip()
    for figure in ALL:
        values = [cell.value(figure, arm) for arm in arms]
        if all(value is None for value in values):
            continue
        title = f"{figure.title} ({figure.unit})" if figure.unit else figure.title
        line = f"  {title:{TITLE_COLUMNS}}" + "".join(f"{plain(value):>14}" for value in values)
        for comparison in result.ab.values():
            verdict = comparison.verdicts.get((cell.key, figure.name))
            mark = " *" if verdict is not None and verdict.holds else ""
            line += f"  {verdict_text(verdict) + mark:{VERDICT_COLUMNS}}"
        yield line.rstrip()


def aa_lines(result):
    if result.aa is None:
        yield "A/A: not measured (trials.aa is false and the sides differ): no difference is claimed"
        return
    limits = result.experiment.limits
    yield (f"A/A: {'equivalent' if result.aa.holds else 'NOT shown to be equivalent'} within "
           f"±{limits.equivalence_percent:g} % with half-widths of at most {limits.half_width_percent:g} % "
           f"({len(result.aa.verdicts)} figures, Holm)")
    for (cell, name), verdict in result.aa.verdicts.items():
        if not verdict.holds:
            half = "unknown" if verdict.half_width is None else f"{100 * verdict.half_width:.1f} %"
            yield f"  not: {result.cell_name(cell)}, {name}: {verdict_text(verdict) or 'no pairs'}, half-width {half}"


def format_table(result):
    lines = [f"experiment {result.experiment.settings.name}, configuration {result.experiment.hash}"]
    if result.stopped:
        lines.append(f"INCOMPLETE: {result.stopped}")
    lines += [f"  {arm.key:3} {arm.name}" for arm in result.experiment.arms]
    for cell in result.cells:
        lines += cell_lines(result, cell)
    lines.append("")
    lines += aa_lines(result)
    for comparison in result.ab.values():
        for cell, difference in comparison.unequal.items():
            lines.append(f"{comparison.other}: {result.cell_name(cell)}: committed rates differ by "
                         f"{100 * difference:+.1f} %: costs a transaction are not compared there")
    if result.ab:
        lines.append("* differs from A, corrected for all figures" +
                     ("" if result.aa is not None and result.aa.holds else
                      "; but A/A was not shown to be equivalent: claim nothing from it"))
    return "\n".join(lines)
