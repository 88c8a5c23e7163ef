"""The report of a session as one page that needs nothing else."""

import datetime
import html
from collections.abc import Sequence
from typing import Any

from icpe.core.request import Request
from icpe.core.units import Units

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
       padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid #8884; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { background: #4a7ebb; display: inline-block; height: .7em; }
"""
_MOST_SHOWN = 5
_NOTHING_KNOWN = "No answer was known: this is a guess, by how common each answer is. "


def report_page(report: dict[str, Any]) -> str:
    """The page, in HTML."""
    result = report["result"]
    name = _text(result["recommendation_name"])
    running = result["status"] == "open"
    headline = f"Named now: {name}" if running else f"Answer: {name}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Session {_text(report["session"])}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{headline}</h1>
<p>{_capital(result["stop_sentence"])}, after {result["num_queries"]} answers.
{_NOTHING_KNOWN if report.get("nothing_known") else ""}{_assurance(report)}</p>
<table>
{_row("Session", report["session"])}
{_row("Model", report["model"] or "not named")}
{_row("Hash of the artifact", report["artifact"])}
{_row("Family", report["family"])}
{_row("Request", _given(report["request"]))}
{_units(report)}{_row("Served at", _given(report["operating_point"]))}
{_row("Begun", _moment(report["begun"]))}
{_row("Last event", _moment(report["ended"]))}
{_row("Versions", _given(report["versions"] or {}))}
{_row("Alarm", result["alarm"] or "none")}
</table>
<h2>Questions and answers</h2>
<table>
<thead><tr><th>#</th><th>asked</th><th>query</th><th>answer</th><th>told</th>
<th>belief after it</th></tr></thead>
<tbody>
{_steps(report)}
</tbody>
</table>
<h2>Everything that happened</h2>
<table>
<thead><tr><th>#</th><th>time</th><th>event</th></tr></thead>
<tbody>
{_events(report)}
</tbody>
</table>
<p>Digest {_text(report["digest"])}; <code>icpe replay</code> checks the same report as
JSON, bit for bit.</p>
</body>
</html>
"""


def _assurance(report: dict[str, Any]) -> str:
    result, certificate = report["result"], report["certificate"]
    if result["certified"] and result["status"] != "open":
        promised = Request(**report["request"]).promised or ""
        return (
            f"Certified with confidence {certificate['confidence']:g}: "
            f"{_text(promised)}."
        )
    if result["certified"]:
        return "The certificate holds so far."
    if result["certificate_lost"]:
        return f"Not certified, because {_text(result['certificate_lost'])}."
    return "Not certified: no certificate covers the request."


def _units(report: dict[str, Any]) -> str:
    """What the user's numbers mean, where these are not the family's."""
    given = report.get("units")
    return "" if given is None else _row("Answers", Units(**given).sentence) + "\n"


def _steps(report: dict[str, Any]) -> str:
    names = report.get("hypotheses") or ()
    unit = (report.get("units") or {}).get("unit", "")
    rows = []
    for i, step in enumerate(report["steps"]):
        answer = "" if i == 0 else _text(_outcome(step, unit))
        rows.append(
            f'<tr><td class="number">{i}</td><td>{_moment(step.get("asked_at"))}</td>'
            f"<td>{_text(step.get('name', 'before any'))}</td><td>{answer}</td>"
            f"<td>{_moment(step.get('told_at'))}</td>"
            f"<td>{_belief(step, names)}</td></tr>"
        )
    return "\n".join(rows)


def _outcome(step: dict[str, Any], unit: str) -> str:
    if step["told"] is not None:
        return f"{step['told']:.10g} {unit}".strip()
    if step.get("words"):
        return step["words"]
    shown = [f"{x:g}" for x in step["outcome"][:8]]
    more = len(step["outcome"]) - 8
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _belief(step: dict[str, Any], names: Sequence[str]) -> str:
    def name(i: int) -> str:
        return _text(names[i] if i < len(names) else i)

    posterior = step["posterior"]
    if posterior is None:
        return name(step["recommendation"])
    best = sorted(range(len(posterior)), key=lambda i: -posterior[i])[:_MOST_SHOWN]
    return "<br>".join(
        f'{name(i)}: {posterior[i]:.4f} <span class="bar" '
        f'style="width:{round(100 * posterior[i])}px"></span>'
        for i in best
    )


def _events(report: dict[str, Any]) -> str:
    rows = []
    for event in report["events"]:
        body = event["body"] if event["number"] else {}
        words = {name: it for name, it in body.items() if name != "outcome"}
        rows.append(
            f'<tr><td class="number">{event["number"]}</td>'
            f"<td>{_moment(event['time'])}</td><td>{_text(event['kind'])} "
            f"{_text(_given(words))}</td></tr>"
        )
    return "\n".join(rows)


def _row(name: str, value: Any) -> str:
    return f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>"


def _given(values: dict[str, Any]) -> str:
    return ", ".join(f"{k}={v}" for k, v in values.items() if v is not None)


def _moment(seconds: float | None) -> str:
    if seconds is None:
        return ""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _capital(sentence: str) -> str:
    return _text(sentence[:1].upper() + sentence[1:])


def _text(value: Any) -> str:
    return html.escape(str(value))
