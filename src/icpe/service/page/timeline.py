"""A session from its first moment to now, as the drawings need it."""

import collections

import numpy as np

from icpe.deploy.events import Kind, effective
from icpe.deploy.session_rules import SessionRules
from icpe.deploy.session_state import State, Steps
from icpe.service.drawings.scene import Moment, Scene, Weighed
from icpe.service.sessions import Entry, Sessions

_MOST_KEPT = 256


class Timelines:
    """The moments of sessions, followed once and then extended.

    They are only kept for speed: whoever does not have them follows the events again.
    """

    def __init__(self, sessions: Sessions):
        self._sessions = sessions
        self._kept: collections.OrderedDict[
            str, tuple[tuple[int, ...], tuple[Moment, ...]]
        ] = collections.OrderedDict()

    async def moments(self, entry: Entry) -> tuple[Moment, ...]:
        """Before the first answer, and after each."""
        told = tuple(
            it.number for it in effective(entry.events) if it.kind is Kind.TOLD
        )
        known, moments = self._kept.get(entry.id, (None, ()))
        now = moment_of(entry.rules, entry.state)
        if moments and known == told:
            moments = (*moments[:-1], now)
        elif moments and told and known == told[:-1]:
            moments = (*moments, now)
        else:
            steps = follow_moments(entry)
            moments = await self._sessions.complete(entry.rules, steps)
        self._kept[entry.id] = told, moments
        self._kept.move_to_end(entry.id)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return moments


def follow_moments(entry: Entry) -> Steps[tuple[Moment, ...]]:
    """Follows the events of a session and keeps every moment."""
    rules = entry.rules
    state = (yield from rules.begin()).state
    moments = [moment_of(rules, state)]
    for event in effective(entry.events)[1:]:
        state = yield from rules.follow(state, [event])
        if event.kind is Kind.TOLD:
            moments.append(moment_of(rules, state))
    return tuple(moments)


def moment_of(rules: SessionRules, state: State) -> Moment:
    """The session after its last answer."""
    last = state.history[-1] if state.history else None
    first = np.asarray(rules.setup.first_outcome)
    statistic = state.turn.statistic
    weighed = None
    if statistic is not None and np.isfinite(statistic.ask):
        weighed = Weighed(
            float(statistic.stop),
            float(statistic.ask),
            float(statistic.margin),
            statistic.kind,
        )
    return Moment(
        query=None if last is None else last.query,
        outcome=first if last is None else np.asarray(last.outcome),
        asked=True if last is None else last.asked,
        posterior=None if state.posterior is None else np.asarray(state.posterior),
        recommendation=state.recommendation,
        weighed=weighed,
        told=None if last is None else last.told,
    )


def scene_of(
    entry: Entry, moments: tuple[Moment, ...], shown: int | None = None
) -> Scene:
    """The session after `shown` answers, now if None."""
    state, setup = entry.state, entry.rules.setup
    last = len(moments) - 1
    point = setup.player.operating_point
    waiting = () if state.stopped else (state.query,)
    return Scene(
        family=setup.family,
        spec=setup.words,
        moments=moments,
        shown=last if shown is None else min(max(shown, 0), last),
        request=setup.request,
        price=float(point.price),
        max_queries=int(point.max_queries),
        open_queries=state.open_queries or waiting,
        allowed=np.asarray(state.turn.allowed),
        stop_reason=state.stop_reason,
        closed=state.closed,
        certificate=setup.player.certificate,
        certificate_lost=entry.rules.certificate_lost(state),
        alarm=state.alarm,
        guarded=setup.guard is not None,
        undecided=entry.rules.undecided(state),
        table=entry.model.artifact.table,
        known="" if setup.reading is None else setup.reading.known,
        unit="" if setup.reading is None else setup.reading.units.unit,
    )
