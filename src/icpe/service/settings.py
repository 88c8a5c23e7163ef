"""What a service is told when it starts, for all of its workers."""

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a service runs.

    Attributes:
        storage: URL of the storage of sessions.
        models: folder of artifacts; the zoo if None.
        open: whether everybody may do everything, without tokens.
        max_body: most bytes of a request.
        max_history: most answers in a history that `/v1/next` takes.
        rate: requests per second that one token, or one host without tokens, may make
            of each worker; 0 for any number.
        request_seconds: a request that takes longer is given up.
        body_seconds: a client that takes longer to send its request is given up.
        cache_bytes: memory of each worker for the states of sessions.
        gather_seconds: how long a call of a model waits for others to join it.
        log: whether every request is logged.
        warm: whether models are compiled before the service says that it is ready.
    """

    storage: str
    models: str | None = None
    open: bool = False
    max_body: int = 1_000_000
    max_history: int = 10_000
    rate: float = 100.0
    request_seconds: float = 30.0
    body_seconds: float = 10.0
    cache_bytes: int = 128 * 2**20
    gather_seconds: float = 0.001
    log: bool = True
    warm: bool = True

    @property
    def models_folder(self) -> Path:
        """The folder of artifacts."""
        from icpe import zoo

        return zoo.folder() if self.models is None else Path(self.models)
