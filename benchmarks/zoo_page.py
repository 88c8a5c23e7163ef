"""The documentation pages of the zoo, made from what the files say."""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from icpe.artifact.operating_table import OperatingTable
from icpe.cli.catalog import in_words
from icpe.cli.held_out import held_out
from icpe.cli.served import Served, served_requests
from icpe.cli.terminal import floored
from icpe.families.registry import notable_parameters, parameter_fields
from icpe.learn.config import TrainConfig
from icpe.zoo import Card

_INDEX = """\
# The zoo

<!-- Written by make zoo-cards; a test keeps it up to date. -->

Trained explorers that come with icpe. Each has a certificate. Use its name in any
command and in Python, with any error probability, budget or price in its range:

<!-- test: slow -->
```sh
icpe zoo
icpe evaluate {example} uniform --error-prob 0.1
```

```python
from icpe import Session, zoo

session = Session(zoo.load("{example}"), error_prob=0.1)
```

| name | explores | certified | down to | budgets | size | trained in |
|---|---|---|---|---|---|---|
{rows}

*Certified* is the error probability of the [certificate](../certificates.md);
`icpe certify NAME --verify` checks it again. *Down to* is the smallest
error probability that the operating table serves, without a certificate. To fine-tune
an explorer, or to certify it for something else, make a copy with
`icpe zoo NAME --out FILE`.
"""

_PAGE = """\
# `{name}`

<!-- Written by make zoo-cards; a test keeps it up to date. -->

| | |
|---|---|
| family | [`{family}`](../tasks/{family}.md) |
| problems | {problems} |
| parameters | {parameters} |{arms}
| error probability | {smallest:g} and larger; certified from {certified:g} on |
| budget | 1 to {horizon} queries |
| price | {low:.4g} to {high:.4g} |
| size | {size:.2f} MB |
| guard | {guard} |
| {made} on {device}, with {software} |
{images}
{certificate}

![One episode of {name}]({name}.svg)

The first episode that is at least as long as the average, at error probability
{certified:g}: the queries with their outcomes, and the belief after each. The bar of
the right answer is green.

## What it does

{priced}

{budgets}

Each row was measured on {episodes} episodes. In a certified row, accuracy and queries
come from the episodes of the certificate instead. A certificate also covers every
larger error probability.

## How it was {how}

<!-- test: {tested} -->
```sh
{command}
```

{afterwards}
Weights `{weights}`.
"""

_ROUNDED = (
    "The weights were then rounded to bfloat16, and table and certificate made after "
    "that."
)
_NOTHING_LEARNED = (
    "Nothing was learned: the family gives the exact posterior, and "
    "[the rule](../rules.md) stands in the place of weights."
)


_TRAINING = re.compile(r" --train\.([\w-]+) (\S+)")


def as_typed_now(command: str) -> tuple[str, str]:
    """A training command without settings that are gone, and a sentence on these."""
    known = {field.name.replace("_", "-") for field in dataclasses.fields(TrainConfig)}
    gone = [match for match in _TRAINING.finditer(command) if match[1] not in known]
    for match in gone:
        command = command.replace(match[0], "")
    if not gone:
        return command, ""
    words = " and ".join(f"`{match[1]} {match[2]}`" for match in gone)
    return command, (
        f"An earlier icpe trained it, with {words} besides, which training no longer "
        "has.\n"
    )


def _tested(command: str) -> str:
    """What becomes of a training command in the tests of all pages."""
    if "--preset gpu" in command:
        return "gpu"
    return "tiny" if command.startswith("icpe train ") else "slow"


def zoo_index(cards: Sequence[Card]) -> str:
    """The page that lists the zoo, in Markdown."""
    rows = [
        f"| [`{card.name}`]({card.name}.md) | {_family(card.family)} | "
        f"{card.certified_error_prob:g} | {card.smallest_error_prob:g} | "
        f"1 to {card.largest_budget} | {card.size_bytes / 1e6:.1f} MB | "
        f"{_trained(card)} |"
        for card in cards
    ]
    return _INDEX.format(example=cards[0].name, rows="\n".join(rows))


def zoo_page(card: Card, document: Mapping[str, Any]) -> str:
    """The page of one explorer, in Markdown.

    Args:
        card: at a glance.
        document: what its file says.
    """
    table = OperatingTable.from_dict(document["operating_table"])
    low, high = card.price_range
    parameters = notable_parameters(card.family["name"], card.family["parameters"])
    is_rule = document.get("kind") == "rule"
    trained = f"trained | {card.training_seconds:.0f} s"
    command, gone = as_typed_now(card.training_command)
    return _PAGE.format(
        name=card.name,
        family=card.family["name"],
        parameters=", ".join(f"`{name}={value}`" for name, value in parameters.items()),
        smallest=card.smallest_error_prob,
        certified=card.certified_error_prob,
        horizon=card.largest_budget,
        low=low,
        high=high,
        size=card.size_bytes / 1e6,
        guard=_guard(document.get("guard")),
        made="measured |" if is_rule else trained,
        how="made" if is_rule else "trained",
        afterwards=_NOTHING_LEARNED if is_rule else gone + _ROUNDED,
        device=card.training_device,
        software=_software(document["provenance"]),
        images=_images(document),
        arms=_arms(card.family["name"], parameters),
        certificate=_certificate(document, card),
        priced=_priced(document),
        budgets=_budgets(table),
        episodes=" or ".join(sorted({str(row.episodes) for row in table.rows})),
        problems=in_words(card.family["name"], card.family["parameters"])
        or "see the family",
        command=command,
        tested=_tested(command),
        weights=document["weights"],
    )


def _arms(family: str, parameters: Mapping[str, Any]) -> str:
    """How to play one number of arms, and who plays beside it; empty if it is fixed."""
    if not parameters.get("vary_arms"):
        return ""
    return (
        "\n| one number of arms | `--family.fewest-arms 6 --family.most-arms 6`, "
        f"without `--family`; [which rules play beside it](../tasks/{family}.md) |"
    )


def _guard(guard: Mapping[str, Any] | None) -> str:
    """How rarely it is wrong, and where it is said what it notices."""
    where = "[what it notices](../certificates.md#when-it-does-not-apply)"
    if guard is None:
        return f"none; {where.replace('it notices', 'guards notice')}"
    share = math.ceil(1e4 * guard["record"]["upper_bound"]) / 100
    return f"at most {share:.2f} % of its own sessions raise an alarm; {where}"


def _software(made: Mapping[str, Any]) -> str:
    """What it was made with; icpe has a version once it is installed."""
    version = f"icpe {made['icpe']} and " if made["icpe"][0].isdigit() else ""
    return f"{version}jax {made['jax']}"


def _trained(card: Card) -> str:
    if not card.training_seconds:
        return "no training"
    return f"{card.training_seconds:.0f} s, {card.training_device}"


def _family(family: Mapping[str, Any]) -> str:
    """The family and its first parameter, which is its size, and rare ones if set."""
    fields = parameter_fields(family["name"])
    found = notable_parameters(family["name"], family["parameters"])
    first = next(iter(found))
    shown = [k for k in found if k == first or fields[k].metadata.get("rare")]
    words = [f"`{name}={found[name]}`" for name in shown]
    return f"[`{family['name']}`](../tasks/{family['name']}.md), {', '.join(words)}"


def _images(document: Mapping[str, Any]) -> str:
    """A row about the images, empty where there is nothing to say."""
    sentence = held_out(document)
    return "" if sentence is None else f"| images | {sentence} |\n"


def _certificate(document: Mapping[str, Any], card: Card) -> str:
    (certificate,) = (
        it
        for it in document["certificates"]
        if it["certified"] and it["error_prob"] == card.certified_error_prob
    )
    right = certificate["bound_successes"] / certificate["episodes"]
    if "test" in certificate:
        most = max(test["episodes"] for test in certificate["ladder"])
        shown = f"up to {most} episodes at each price"
    else:
        shown = f"{certificate['episodes']} episodes for each test"
    return (
        f"**Certificate.** At price {certificate['price']:.4g} it errs with "
        f"probability at most {certificate['error_prob']:g}, on average over the "
        f"family, shown with confidence {certificate['confidence']:g} by "
        f"{shown}. In {certificate['episodes']} separate episodes its accuracy "
        f"was {right:.4f} (lower bound from these alone: "
        f"{floored(certificate['lower_bound'])}), with "
        f"{certificate['mean_queries']:.3f} queries on average."
    )


def _priced(document: Mapping[str, Any]) -> str:
    rows = [
        f"| {served.request} | {served.price:.4g} | {_measured(served)} |"
        for served in served_requests(document)
    ]
    return "\n".join(
        [
            "| error probability | price | accuracy | queries | median | 90 % | most |",
            "|---|---|---|---|---|---|---|",
            *rows,
        ]
    )


def _measured(served: Served) -> str:
    spread = ["", "", ""]
    if served.row is not None:
        spread = map(str, (*served.row.quantiles[:2], served.row.longest))
    return f"{served.accuracy:.4f} | {served.mean_queries:.3f} | " + " | ".join(spread)


def _budgets(table: OperatingTable) -> str:
    rows = [f"| {it.max_queries} | {it.accuracy:.4f} |" for it in table.budgets()]
    return "\n".join(["| budget | accuracy |", "|---|---|", *rows])
