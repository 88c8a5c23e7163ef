"""Work spread over the machines of a Ray cluster (extra `cluster`).

Tasks whose worker or machine dies are run again by Ray. Results are handed out where
they are collected, once each, whatever was run twice.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from icpe.core.engine import AbstractEngine, Item, Result
from icpe.core.errors import InvalidParameterError, missing_extra

_RETRIES = 100
_AHEAD = 4
"""Tasks in flight for each CPU, so that none waits and few are lost."""


class RayEngine(AbstractEngine):
    """Runs work as tasks of a Ray cluster.

    Args:
        address: of a running cluster, or "auto" for the one of this machine; a cluster
            of this machine alone is started if None.
        cpus: CPUs that one piece of work holds.
        gpus: GPUs that one piece of work holds; may be a fraction.

    Raises:
        MissingExtraError: Ray is not installed.
        InvalidParameterError: no cluster answers at the address.
    """

    def __init__(
        self, address: str | None = None, *, cpus: float = 1.0, gpus: float = 0.0
    ):
        try:
            import ray
        except ImportError as error:
            raise missing_extra('The engine "ray" needs Ray', "cluster") from error
        if not ray.is_initialized():
            try:
                ray.init(
                    address=address,
                    include_dashboard=None if address else False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
            except ConnectionError as error:
                raise InvalidParameterError(
                    f"No cluster answers at --address {address}: {error}; start one "
                    "with ray start --head, or leave --address out."
                ) from error
        self._ray, self._cpus, self._gpus = ray, cpus, gpus
        total = ray.cluster_resources()
        for name, wanted in (("CPU", cpus), ("GPU", gpus)):
            if wanted > total.get(name, 0.0):
                raise InvalidParameterError(
                    f"A piece of work wants {wanted:g} {name}, but the cluster has "
                    f"{total.get(name, 0.0):g}; ask for less, or add machines."
                )

    def run(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        ray = self._ray
        task = ray.remote(_called).options(
            num_cpus=self._cpus, num_gpus=self._gpus, max_retries=_RETRIES
        )
        shared = ray.put(work)
        waiting = iter(enumerate(items))
        in_flight: dict[Any, int] = {}
        try:
            while True:
                room = self._room() - len(in_flight)
                for number, item in _up_to(room, waiting):
                    in_flight[task.remote(shared, item)] = number
                if not in_flight:
                    return
                (ended, *_), _ = ray.wait(list(in_flight), num_returns=1)
                number = in_flight.pop(ended)
                yield number, _result(ray, ended)
        finally:
            for reference in in_flight:
                ray.cancel(reference, force=True)

    def _room(self) -> int:
        """How many tasks the cluster keeps busy, as large as it is now."""
        cpus = self._ray.cluster_resources().get("CPU", 1.0)
        return max(1, int(_AHEAD * cpus / max(self._cpus, 0.25)))


def _called(work: Callable[[Item], Result], item: Item) -> Result:
    return work(item)


def _up_to(number: int, waiting: Iterator) -> Iterator:
    for _, item in zip(range(number), waiting, strict=False):
        yield item


def _result(ray: Any, reference: Any) -> Any:
    """The result, or the error that the work itself raised."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
