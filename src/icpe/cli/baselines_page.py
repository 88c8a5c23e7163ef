"""The documentation page of all baselines, made from what the registry knows."""

_PAGE = """\
# Baselines

<!-- Written by icpe baselines --markdown; a test keeps it up to date. -->

Every method below is an explorer like any other: it can be evaluated, plotted, played
and used in a session. {number} of them are called by name, with parameters as in
`track-and-stop:tracking=C,threshold=valid`; the last {wrappers} are built on another
explorer, such as the file of a trained one: `i-dpt:FILE`. In Python parameters are
keywords: `icpe.make_explorer("track-and-stop", family, threshold="valid")`.

**Thresholds.** Rules that know no prior stop when the likelihood ratio of the leader
against every rival passes a threshold. `threshold=heuristic` is
ln((1 + ln t) / delta), which the paper uses and no theorem supports; `threshold=valid`
errs with probability at most delta on every task, and asks for two to four times the
evidence. LUCB is valid unless `threshold=heuristic` is asked for. `scale=0.3`
multiplies the threshold, so that every method has a curve down to low accuracies and
can be compared at equal accuracy (`icpe compare`); below 1 there is no theorem. Rules
with an exact posterior stop at 1 - delta and keep delta on average over the prior,
which takes far fewer queries. So compare them
at equal accuracy, and say which promise you need.

![Queries of Track-and-Stop over T* ln(1/delta)](figures/track_and_stop.svg)

Mean number of queries of Track-and-Stop over T* ln(1/delta), the least that any method
which is right on every task can need as delta falls (`benchmarks/track_and_stop.py`).

**Regret.** `icpe regret` pulls arms for a given horizon and adds up what was lost
against the best arm; `explore-then-commit:FILE` puts a trained explorer beside `ucb`,
`thompson` and `gaussian-ids`.

{methods}"""


def baselines_page(explorers: list[dict]) -> str:
    """The page of all baselines, in Markdown."""
    number = sum(not explorer["is_wrapper"] for explorer in explorers)
    return _PAGE.format(
        number=number,
        wrappers=len(explorers) - number,
        methods="\n".join(map(_section, explorers)),
    )


def _section(explorer: dict) -> str:
    title = explorer["name"] + (":EXPLORER" if explorer["is_wrapper"] else "")
    lines = [
        f"## `{title}`",
        "",
        f"{explorer['summary'][0].upper()}{explorer['summary'][1:]}.",
        "",
        "| | |",
        "|---|---|",
        f"| families | {', '.join(f'`{name}`' for name in explorer['families'])} |",
        f"| serves | {explorer['serves']} |",
    ]
    for row in ("reference", "guarantee"):
        if explorer[row]:
            lines.append(f"| {row} | {explorer[row]} |")
    for parameter in explorer["parameters"]:
        default = "none" if parameter["default"] is None else parameter["default"]
        lines.append(
            f"| `{parameter['name']}` | {parameter['help']} (default {default}) |"
        )
    return "\n".join([*lines, ""])
