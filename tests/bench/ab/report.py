# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that needs nothing else, with figures, tables, the ten rules, commands and the raw rows."""
import json
import shlex
from html import escape

from . import charts, rules
from .compare import counts
from .figures import ALL
from .runner import outcome
from .table import aa_lines, plain, verdict_text

STYLE = """body{font:15px/1.5 sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222;background:#fff}
h1{font-size:1.6em}h2{margin-top:2em;border-bottom:1px solid #ccc}figure{margin:1.5em 0}svg{width:100%;max-width:820px}
figcaption{max-width:820px}table{border-collapse:collapse;margin:1em 0;font-size:13px;display:block;overflow-x:auto}
td,th{border:1px solid #ccc;padding:3px 8px;text-align:right}td:first-child,th:first-child{text-align:left}
td.text{text-align:left}.bad{color:#a30000;font-weight:bold}.good{color:#186018}.nothing{font-style:italic}
.box{border:1px solid #999;padding:.5em 1em;background:#f6f6f6}
pre{overflow-x:auto;font-size:12px;background:#f6f6f6;padding:8px}
code{font-size:12px}"""


def table(head, rows, text_columns=()):
    out = ["<table><thead><tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr></thead><tbody>"]
    for row in rows:
        out.append("<tr>" + "".join(
            f'<td{" class=text" if i in text_columns else ""}>{cell if cell.startswith("<") else escape(cell)}</td>'
            for i, cell in enumerate(row)) + "</tr>")
    return "\n".join([*out, "</tbody></table>"])


def head(result):
    experiment = result.experiment
    used = sum(counts(row) for row in result.rows)
    machine = result.machine
    out = [f"<h1>A/B experiment: {escape(experiment.settings.name)}</h1>",
           f"<p>{escape(experiment.settings.question)}</p>"]
    if result.stopped:
        out.append(f'<p class="bad">Incomplete: {escape(result.stopped)}.</p>')
    arms = "; ".join(f"<b>{escape(arm.key)}</b> {escape(arm.name)}" for arm in experiment.arms)
    commits = sorted({row["commit"] for row in result.rows}) or ["unknown"]
    clock = next((row["machine"].get("tsc_hz") for row in result.rows if row["machine"].get("tsc_hz")), None)
    out.append(f'<div class="box"><p>{arms}</p><p>{used} of {len(result.rows)} trials count. '
               f"{escape(charts.emulated(result))}</p>"
               f"<p>Configuration <code>{experiment.hash}</code>, commit <code>{escape(', '.join(commits))}</code>, "
               f"seed {experiment.settings.seed}. Machine: {escape(machine['processor'])}, {machine['cpus']} "
               f"{'virtual ' if machine['virtual'] else ''}CPUs, {machine['memory_mib']:,} MiB, kernel "
               f"{escape(machine['kernel'])}, governor {escape(machine['governor'])}, {escape(machine['memory'])}"
               f"{f', TSC at {clock / 1e9:.3f} GHz' if clock else ''}.</p>{peak(result)}</div>")
    return "\n".join(out)


def peak(result):
    if not result.peak:
        return ""
    text = "; ".join(f"{name} {value:,.0f}/s" for name, value in result.peak.items())
    return f"<p>Offered loads are shares of what side A commits in a closed loop, measured before: {escape(text)}.</p>"


def verdicts(result):
    out = ["<h2>What was found</h2>"]
    lines = list(aa_lines(result))
    good = result.aa is not None and result.aa.holds
    out.append(f'<p class="{"good" if good else "bad"}">{escape(lines[0])}.</p>')
    if result.aa is not None:
        rows = []
        for (cell, name), verdict in result.aa.verdicts.items():
            half = "-" if verdict.half_width is None else f"{100 * verdict.half_width:.2f} %"
            rows.append([result.cell_name(cell), name, verdict_text(verdict) or "no pairs", half,
                         f"{verdict.adjusted_p:.2g}", "equivalent" if verdict.holds else "not shown"])
        out.append(table(["A/A", "figure", f"{result.aa.other}/{result.aa.arm} [interval]", "half-width", "p (Holm)",
                          "verdict"], rows, (1, 5)))
    for comparison in result.ab.values():
        for cell, difference in comparison.unequal.items():
            out.append(f"<p>{escape(comparison.other)}, {escape(result.cell_name(cell))}: committed rates differ by "
                       f"{100 * difference:+.1f} %, so costs a transaction are not compared there.</p>")
    if result.ab and not good:
        out.append('<p class="bad">Ratios below are beside an A/A run that was not shown to be equivalent: no '
                   "difference is claimed from them.</p>")
    return "\n".join(out)


def cell_table(result, cell):
    arms = [arm.key for arm in result.experiment.arms]
    rows = []
    for figure in ALL:
        values = [cell.value(figure, arm) for arm in arms]
        if all(value is None for value in values):
            continue
        row = [f"{figure.title} ({figure.unit})" if figure.unit else figure.title]
        for arm, value in zip(arms, values):
            trials = cell.values(figure, arm)
            spread = f" ({plain(min(trials))}–{plain(max(trials))})" if len(trials) > 1 else ""
            row.append(plain(value) + spread)
        for comparison in result.ab.values():
            verdict = comparison.verdicts.get((cell.key, figure.name))
            row.append(verdict_text(verdict) + (" *" if verdict is not None and verdict.holds else ""))
        rows.append(row)
    count = ", ".join(f"{arm} {len(cell.of(arm))}" for arm in arms)
    invalid = f"; {cell.invalid} invalid: the generator lagged" if cell.invalid else ""
    return (f"<h3>{escape(cell.workload)}, {cell.offered:,.0f}/s offered</h3>"
            f"<p>Trials that count: {count}{invalid}.</p>" +
            table(["figure", *(f"{arm} (lowest–highest trial)" for arm in arms),
                   *(f"{other}/A [interval]" for other in result.ab)], rows))


def cell_tables(result):
    return "\n".join(["<h2>All figures</h2><p>Medians of trials; percentiles of merged histograms. * differs from A, "
                      f"corrected for all figures together (Holm, {result.experiment.limits.alpha:g}).</p>",
                      *(cell_table(result, cell) for cell in result.cells)])


def figures(result):
    out = ["<h2>Figures</h2>"]
    for number, chart in enumerate(charts.all_charts(result), 1):
        out.append(f'<figure id="figure-{number}">{chart.picture}<figcaption><b>Figure {number}. {escape(chart.title)}.'
                   f"</b> {escape(chart.sentence)}</figcaption></figure>")
    return "\n".join(out)


def ten_rules(result):
    rows = []
    for number, title, status, text in rules.all_rules(result):
        kind = {rules.HELD: "good", rules.BROKEN: "bad"}.get(status, "")
        rows.append([str(number), title, f'<span class="{kind}">{status}</span>', text])
    return "<h2>The rules that keep it honest</h2>" + table(["", "rule", "", "here"], rows, (1, 2, 3))


def trials(result):
    rows = []
    for row in result.rows:
        system = row.get("system", {"steal_percent": 0, "switches": {}})
        rows.append([str(row["number"] + 1), row["time"], row["workload"], f"{row['offered']:,.0f}/s", row["arm"],
                     f"{row.get('client', {}).get('lag_percent', 0):.2f} %", f"{system['steal_percent']:.2f} %",
                     f"{max(system['switches'].values(), default=0):.0f}/s",
                     str(row.get("node", {}).get("checkpoints") or 0),
                     row["failed"].splitlines()[0] if row["failed"] else outcome(row)])
    return ("<h2>Trials, in the order in which they were made</h2>" +
            table(["trial", "time", "workload", "offered", "arm", "lag", "steal", "switches", "checkpoints", "outcome"],
                  rows, (9,)))


def commands(result):
    out = ["<h2>Commands</h2><p>The whole experiment, and the programs of the first trial of each arm. Folders are "
           f"made for each trial.</p><pre>./txnic ab {escape(shlex.quote(result.experiment.path))}\n"]
    seen = set()
    for row in result.rows:
        if row["arm"] not in seen and row.get("commands"):
            seen.add(row["arm"])
            out += [f"\n# {escape(row['arm'])}, {escape(name)}\n{escape(shlex.join(command))}\n"
                    for name, command in row["commands"].items()]
    out.append("</pre><h3>The experiment's file</h3><pre>" + escape(result.experiment.text) + "</pre>")
    for arm in result.experiment.arms:
        text = result.experiment.node_text(arm, result.experiment.settings.workload[0])
        out.append(f"<h3>txnode's configuration of {escape(arm.key)}</h3><pre>{escape(text)}</pre>")
    return "".join(out)


def raw_rows(result):
    """As JSON, for scripts; a browser shows nothing of it."""
    text = json.dumps(result.rows, separators=(",", ":")).replace("</", "<\\/")
    return ('<h2>Raw rows</h2><p>All of them, rejected ones too, are in this file as JSON (element <code>rows</code>), '
            f'one object a trial.</p><script type="application/json" id="rows">{text}</script>')


def html(result):
    parts = [head(result), verdicts(result), figures(result), cell_tables(result), ten_rules(result), trials(result),
             commands(result), raw_rows(result)]
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width"><title>A/B: {escape(result.experiment.settings.name)}</title>\n<style>'
            f"{STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n")


def write_report(result, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write(html(result))
