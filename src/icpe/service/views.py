"""What the service tells about sessions and models, as JSON-compatible values."""

import math
from typing import Any

from icpe.artifact.document import certified_error_probs
from icpe.core.family import AbstractTaskFamily
from icpe.core.spec import TaskSpec
from icpe.deploy.session_rules import SessionRules
from icpe.deploy.session_state import State
from icpe.deploy.storage import Summary
from icpe.service.models import Model
from icpe.service.sessions import Entry


def session_view(entry: Entry) -> dict[str, Any]:
    """Everything about a session but its events."""
    created, last = entry.events[0], entry.events[-1]
    body = created.body
    return {
        "id": entry.id,
        "model": body["model"],
        "artifact": body["artifact"],
        "family": body["family"],
        "created": created.time,
        "updated": last.time,
        "number": entry.number,
        "status": str(entry.state.status),
        "request": body["request"],
        "operating_point": body["operating_point"],
        **state_view(entry.rules, entry.state),
    }


def state_view(rules: SessionRules, state: State) -> dict[str, Any]:
    """Where a session stands, whoever keeps it."""
    spec = rules.setup.words
    certificate = rules.certificate(state)
    reason = state.stop_reason
    posterior = rules.setup.shown_belief(state.posterior)
    return {
        "open": [question(spec, query) for query in state.open_queries],
        "next": None if state.stopped else question(spec, state.query),
        "stopped": state.stopped,
        "stop_reason": reason.name.lower(),
        "stop_sentence": reason.sentence,
        "recommendation": state.recommendation,
        "recommendation_name": spec.hypothesis_name(state.recommendation),
        "posterior": None if posterior is None else posterior.tolist(),
        **_values(state),
        "num_queries": len(state.history),
        "units": rules.setup.units,
        "cost": state.cost(spec),
        "certified": certificate is not None,
        "confidence": None if certificate is None else certificate.confidence,
        "certificate_lost": rules.certificate_lost(state),
        "alarm": state.alarm,
        "history": [
            {
                "query": it.query,
                "name": spec.query_name(it.query),
                "outcome": it.outcome.tolist(),
                "asked": it.asked,
                "told": it.told,
            }
            for it in state.history
        ],
        "skipped": sorted(state.skipped),
    }


def question(spec: TaskSpec, query: int) -> dict[str, Any]:
    """A query with its words."""
    name = spec.query_name(query)
    return {
        "query": query,
        "name": name,
        "question": spec.question.replace("{query}", name),
    }


def summary_view(summary: Summary) -> dict[str, Any]:
    """A session in a list."""
    return {**vars(summary), "status": str(summary.status)}


def model_summary(name: str, card: dict[str, Any]) -> dict[str, Any]:
    """A model in a list, from what its file says."""
    certified = certified_error_probs(card)
    return {
        "name": name,
        "family": card["family"]["name"],
        "parameters": card["family"]["parameters"],
        "certified_error_prob": min(certified, default=None),
        "price_range": card["price_range"],
    }


def model_view(model: Model, card: dict[str, Any]) -> dict[str, Any]:
    """A model with its card, its certificates, and the words of its family."""
    return {
        **model_summary(model.name, card),
        "artifact": model.hash,
        "spec": spec_view(model.artifact.family),
        "certificates": card["certificates"],
        "operating_table": card["operating_table"],
        "provenance": card["provenance"],
        "guarded": model.artifact.guard is not None,
    }


def spec_view(family: AbstractTaskFamily) -> dict[str, Any]:
    """What a client needs to put questions and to read answers."""
    spec, answers = family.spec, family.answers()
    return {
        "num_queries": spec.num_queries,
        "num_hypotheses": spec.num_hypotheses,
        "outcome_size": spec.outcome_size,
        "horizon": spec.horizon,
        "query_names": [spec.query_name(i) for i in range(spec.num_queries)],
        "hypothesis_names": [
            spec.hypothesis_name(i) for i in range(spec.num_hypotheses)
        ],
        "outcome_names": list(spec.outcome_names),
        "outcome_labels": [
            {"word": word, "outcome": list(value)}
            for word, value in spec.outcome_labels
        ],
        "answer_parts": answers
        and [
            [it._asdict() for it in answers.parts(query)]
            for query in range(spec.num_queries)
        ],
        "question": spec.question,
        "outcome_shape": list(spec.outcome_shape),
        "query_grid": list(spec.query_grid),
        "masks_queries": spec.masks_queries,
        "ask_once": spec.ask_once,
        "costs": list(spec.costs),
    }


def _values(state: State) -> dict[str, Any]:
    """What decides about stopping, for explorers that say it: `StopStatistic`."""
    found = state.turn.statistic
    if found is None:
        return {"stop_statistic": None}
    asking = float(found.ask)
    return {
        "stop_statistic": {
            "stop": float(found.stop),
            "ask": asking if math.isfinite(asking) else None,
            "margin": float(found.margin) if math.isfinite(asking) else None,
            "kind": found.kind,
        }
    }
