"""A certificate in words: what was shown, what was not, and what to do then."""

_NUM_WORST = 5
_MANY_TIMES = 20
"""As many held-out cases as there are, and more, that nobody will collect."""


def print_certificate(console, certificate) -> None:
    """All of it: what was found, the tests, and the episodes by difficulty."""
    for sentence in sentences(certificate):
        console.print(sentence, soft_wrap=True)
    if certificate.ladder:
        console.print(_ladder(certificate))
    console.print(
        f"\nThe {certificate.episodes} {certificate.counted} "
        "behind the lower bound, split (for description only):",
        soft_wrap=True,
    )
    console.print(groups_table(certificate))


def sentences(certificate):
    """What was found, in words."""
    from icpe.artifact.certificate import LEAST_CONFIDENCE
    from icpe.cli.terminal import floored

    confidence = f"{100 * certificate.confidence:g} %"
    if certificate.certified:
        yield (
            f"[bold]Certified[/]: {_where(certificate)} the error probability"
            f"{_of_what(certificate)} is at most {certificate.error_prob:g} on average "
            f"over {_over(certificate)}, with confidence {confidence}."
        )
        if certificate.confidence < LEAST_CONFIDENCE:
            yield (
                "It is kept, but requests are served with confidence "
                f"{100 * LEAST_CONFIDENCE:g} % unless less is asked for, as by "
                f"Session(..., confidence={certificate.confidence:g})."
            )
    elif certificate.certified is False:
        yield (
            f"[bold]Not certified[/]: an error probability{_of_what(certificate)} of "
            f"{certificate.error_prob:g} was not shown. The closest point is "
            f"{_where(certificate).removeprefix('at ')}, with an accuracy of "
            f"{_accuracy(certificate):.4f}."
        )
        if certificate.promise:
            yield from _not_shown(certificate)
        else:
            yield what_would_do(certificate)
    at = "" if certificate.budget is None else f" with {certificate.budget} queries"
    worst = certificate.promise == "every-hypothesis"
    episodes = f"In {certificate.episodes} separate episodes{at}"
    if certificate.test == "held-out":
        episodes = (
            f"On {certificate.episodes} held-out {certificate.counted}{at}, which "
            "nothing saw before and each of which counts once,"
        )
    yield (
        f"{episodes} the accuracy"
        f"{_of_what(certificate)} was {_accuracy(certificate):.4f}, by these alone at "
        f"least {floored(certificate.lower_bound)} with confidence {confidence}"
        + (" whichever hypothesis is true" if worst else "")
        + f", and they took {certificate.mean_queries:.3f} queries on average."
    )
    if certificate.undecided is not None:
        yield (
            f"Undecided were {100 * certificate.undecided:.2f} % of these episodes: "
            "they came to an end before the belief was reached."
        )
    if certificate.attempt > 1:
        yield (
            f"This is attempt number {certificate.attempt}; all of them are kept in "
            "the file"
            + (
                "."
                if certificate.level is None
                else f", and each price is tested at level {certificate.level:.3g}."
            )
        )
    if not certificate.seed_is_default:
        yield (
            f"The seed {certificate.seed} was chosen by hand, which the file records."
        )


def _where(certificate) -> str:
    if certificate.promise == "belief":
        return f"stopping at a doubt of {certificate.price:.4g}"
    return f"at price {certificate.price:.4g}"


def _of_what(certificate) -> str:
    if certificate.promise == "belief":
        return " of the sessions that stopped so"
    if certificate.promise == "every-hypothesis" and certificate.certified:
        return ", whichever hypothesis is true,"
    return ""


def _over(certificate) -> str:
    if certificate.test == "held-out":
        of = " of the table" if certificate.counted == "rows" else ""
        return f"cases like the {certificate.counted}{of}"
    return "the tasks of the family"


def _accuracy(certificate) -> float:
    """In the episodes behind the bound; by belief, of the decided ones."""
    if certificate.promise == "belief" and certificate.bound_counts:
        right, number = certificate.bound_counts[0]
        return right / max(number, 1)
    return certificate.bound_successes / certificate.episodes


def _not_shown(certificate):
    """Which groups may be listed as shown, and that the others are not."""
    if certificate.shown is None:
        return
    first = next(
        it for it in certificate.ladder if it.price == certificate.price
    )  # fmt: skip
    others = len(first.counts or ()) - len(certificate.shown)
    listed = ", ".join(certificate.shown) or "none"
    yield (
        f"Shown at a level that is divided among all of them: {listed}. Not shown: "
        f"{others} others, because of errors or of too few episodes (--episodes)."
    )


def what_would_do(certificate) -> str:
    """What to do after a certificate that was not reached."""
    needed = certificate.episodes_needed
    if certificate.test == "held-out":
        shown = 1.0 - certificate.lower_bound
        what = certificate.counted
        also = f"These {what} show an error probability of {shown:.3f}"
        if needed is None:
            return f"{also}; with more {what} to learn from it may get better."
        if needed > _MANY_TIMES * certificate.episodes:
            return (
                f"{also}; it errs about as often as was asked for at most, so choose a "
                f"larger error probability, or make it from more {what}."
            )
        return (
            f"{also}; about {needed} held-out {what} would probably show what was "
            "asked."
        )
    if needed is None:
        return (
            "No number of episodes would show it for an explorer of that accuracy; "
            "train longer, or ask for a larger error probability."
        )
    return (
        f"If that is its accuracy, about {needed} episodes would show it (--episodes); "
        "continuing loses no confidence."
    )


def _ladder(certificate):
    from rich.table import Table

    table = Table(box=None)
    for heading in ("price", "right", "of", "test"):
        table.add_column(heading, justify="right")
    for test in certificate.ladder:
        episodes = certificate.episodes if test.episodes is None else test.episodes
        failed = "not passed" if episodes else "not tested"
        table.add_row(
            f"{test.price:.4g}",
            str(test.successes),
            str(episodes),
            "passed" if test.passed else failed,
        )
    return table


def groups_table(certificate):
    """Accuracy by difficulty, and the hypotheses with the lowest accuracy."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None)
    table.add_column("", no_wrap=True)
    for heading in ("episodes", "accuracy", "queries"):
        table.add_column(heading, justify="right")
    wrong = [it for it in certificate.by_hypothesis if it.successes < it.episodes]
    worst = sorted(wrong, key=lambda group: group.accuracy)[:_NUM_WORST]
    given = [it for it in certificate.by_answer or () if it.successes < it.episodes]
    doubtful = sorted(given, key=lambda group: group.accuracy)[:_NUM_WORST]
    for title, groups in (
        (certificate.difficulty, certificate.by_difficulty),
        ("truth, where it errs most", worst),
        ("answer, where it is wrong most often", doubtful),
    ):
        if not groups:
            continue
        table.add_row(f"[dim]{title}[/]")
        for group in groups:
            table.add_row(
                f"  {escape(group.name)}",
                str(group.episodes),
                f"{group.accuracy:.4f}",
                f"{group.mean_queries:.2f}",
            )
    return table


def print_verification(console, result) -> None:
    """What `icpe certify --verify` found."""
    certificate = result.certificate
    stated = (
        f"budget {certificate.budget}"
        if certificate.error_prob is None
        else f"error probability {certificate.error_prob:g}"
    )
    if result.verified:
        console.print(
            f"[bold]Verified[/]: the certificate for {stated} is unchanged, and "
            + ("fresh" if result.fresh else "the same")
            + f" episodes agree with it: {result.successes} right answers of "
            f"{certificate.episodes}, an accuracy of "
            f"{result.successes / certificate.episodes:.4f}.",
            soft_wrap=True,
        )
        return
    console.print(f"[bold]Not verified[/]: the certificate for {stated}.")
    for problem in result.problems:
        console.print(f"- {problem}", soft_wrap=True)
