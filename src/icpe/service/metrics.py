"""Counters of the service for Prometheus, added up over all workers."""

import os

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
    multiprocess,
)

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder through which workers add up; read when the library is imported."""
_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 10, 30)
_NUMBERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """What is counted."""

    def __init__(self):
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "icpe_requests",
            "Requests answered",
            ["method", "route", "status"],
            registry=registry,
        )
        self.seconds = Histogram(
            "icpe_request_seconds",
            "Time to answer a request",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.events = Counter(
            "icpe_events", "Events of sessions added", ["kind"], registry=registry
        )
        self.model_calls = Histogram(
            "icpe_model_calls_together",
            "Model calls that were run together",
            buckets=_NUMBERS,
            registry=registry,
        )
        self.commits = Histogram(
            "icpe_appends_together",
            "Sessions added to in one transaction",
            buckets=_NUMBERS,
            registry=registry,
        )

    def page(self) -> tuple[bytes, str]:
        """All counters of all workers, and the type of the text."""
        registry = self._registry
        if os.environ.get(FOLDER_VARIABLE):
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)
        return generate_latest(registry), CONTENT_TYPE_LATEST
