"""Processes, on one machine or on many, that do one piece of work together.

All run the same program on the same input. Each computes its part, hears what the
others found, and so comes to the same decisions. They find each other through
`jax.distributed`, which must be set up before jax is used for anything: `join`. Where
nobody has joined, everything here is as cheap as not being there.
"""

import atexit
import contextlib
import ctypes
import dataclasses
import os
import pickle
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from icpe.core import signals
from icpe.core.engine import AbstractEngine, Item, Result, spread_over
from icpe.core.errors import IcpeError, InvalidParameterError

_BLOCK = 2**24
"""Bytes that are handed on at a time."""
_SMALLEST = 2**10
_HEARTBEAT = 60
"""Seconds without a sign of life after which jax gives a process up."""
_PATIENCE = 30
"""Seconds more than ours that jax waits, so that ours is the sentence that is said."""
_LOSS = re.compile(
    r"gloo|nccl|\bmpi\b|peer|coordination|heartbeat|unavailable|deadline|socket|aborted",
    re.IGNORECASE,
)


class LostProcessError(IcpeError, RuntimeError):
    """Another process of the same work has ended."""


@dataclasses.dataclass(frozen=True)
class Processes:
    """Which of how many processes this one is, and where they meet.

    Attributes:
        coordinator: HOST:PORT of process 0, as the others reach it.
        num_processes: how many there are.
        process_id: which this is, from 0.
        timeout: seconds to wait for the others at the start.

    Raises:
        InvalidParameterError: one of them cannot be.
    """

    coordinator: str
    num_processes: int
    process_id: int
    timeout: float = 120.0

    def __post_init__(self):
        host, _, port = self.coordinator.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
            raise InvalidParameterError(
                "coordinator must be HOST:PORT, such as node0:1234, with a port below "
                f"65536; got {self.coordinator!r}."
            )
        if self.num_processes < 1:
            raise InvalidParameterError(
                f"num_processes must be at least 1; got {self.num_processes}."
            )
        if not 0 <= self.process_id < self.num_processes:
            raise InvalidParameterError(
                f"process_id must be between 0 and {self.num_processes - 1}, since "
                f"there are {self.num_processes} processes; got {self.process_id}."
            )
        if not self.timeout > 0:
            raise InvalidParameterError(
                f"timeout must be greater than 0 seconds; got {self.timeout}."
            )

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.coordinator.rpartition(":")
        return host.strip("[]"), int(port)


def join(processes: Processes) -> None:
    """Meets the other processes; to be called before jax is used.

    From then on a process that is lost ends this one too, with a sentence.

    Raises:
        InvalidParameterError: nobody answers at the coordinator's address, or its port
            is taken.
        RuntimeError: jax has been used already.
    """
    import jax

    until = time.monotonic() + processes.timeout
    if processes.process_id == 0:
        _check_free(processes)
    else:
        _wait_for_coordinator(processes, until)
    if not os.environ.get("JAX_CPU_COLLECTIVES_IMPLEMENTATION"):
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM
    _others.watch()
    _others.sentence = lambda: (
        f"Not all of the {processes.num_processes} processes came to "
        f"{processes.coordinator} within {processes.timeout:g} seconds; start the "
        "others, each with its own process id."
    )
    late = threading.Timer(max(1.0, until - time.monotonic()), _others.end)
    late.daemon = True
    late.start()
    try:
        jax.distributed.initialize(
            processes.coordinator,
            processes.num_processes,
            processes.process_id,
            cluster_detection_method="deactivate",
            initialization_timeout=int(processes.timeout) + _PATIENCE,
            heartbeat_timeout_seconds=_HEARTBEAT,
        )
        with _silent():  # Gloo says on standard output whom it has reached
            exchange(None)  # now, since later nobody waits for long to be connected
    finally:
        late.cancel()
        _others.sentence = _lost
    if jax.process_count() != processes.num_processes:
        raise InvalidParameterError(
            f"num_processes must be the same for all; process {processes.process_id} "
            f"was told {processes.num_processes}, and the others "
            f"{jax.process_count()}."
        )
    if len(jax.devices()) != len(jax.local_devices()) * processes.num_processes:
        raise InvalidParameterError(
            "Every process must have as many devices as every other; process "
            f"{processes.process_id} has {len(jax.local_devices())} of "
            f"{len(jax.devices())}."
        )


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """While it lasts, what libraries write to standard output goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # it is closed
        yield
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextlib.contextmanager
def joined(processes: Processes | None) -> Iterator[None]:
    """Joins, and spreads over the processes what plays many episodes.

    A program that fails in it ends without waiting for the others, who notice.
    """
    if processes is None:
        yield
        return
    _others.leads = processes.process_id == 0
    try:
        join(processes)
        with spread_over(ProcessEngine()), noticing_losses():
            yield
    except BaseException:
        signals.end_at_once()
        atexit.register(signals.leave, 1)  # where no program sees to that
        raise
    finally:
        _others.leads = True


def leads() -> bool:
    """Whether this process prints and writes files; as `is_first`, without jax."""
    return _others.leads


def count() -> int:
    """How many processes work together; 1 where nobody has joined."""
    import jax

    return jax.process_count()


def is_first() -> bool:
    """Whether this is the process that writes and speaks for all."""
    import jax

    return jax.process_index() == 0


def exchange(value: Any) -> list[Any]:
    """What each process has given, in their order; all must call it."""
    if count() == 1:
        return [value]
    import numpy as np
    from jax.experimental.multihost_utils import process_allgather

    payload = np.frombuffer(pickle.dumps(value), np.uint8)
    sizes = process_allgather(np.asarray([len(payload)], np.int32))
    size = max(_SMALLEST, 1 << (int(sizes.max()) - 1).bit_length())
    padded = np.zeros(size, np.uint8)
    padded[: len(payload)] = payload
    return [pickle.loads(row.tobytes()) for row in process_allgather(padded)]


def share(value: Any) -> Any:
    """What the first process has given, on all; the others' values are not used."""
    if count() == 1:
        return value
    import numpy as np
    from jax.experimental.multihost_utils import broadcast_one_to_all

    payload = np.frombuffer(pickle.dumps(value) if is_first() else b"", np.uint8)
    block = min(_BLOCK, max(_SMALLEST, 1 << (len(payload) - 1).bit_length()))
    shape = np.asarray([-(-len(payload) // block), block], np.int32)
    number, block = map(int, broadcast_one_to_all(shape))
    blocks = []
    for first in range(0, number * block, block):
        part = payload[first : first + block]
        whole = np.pad(part, (0, block - len(part)))
        blocks.append(np.asarray(broadcast_one_to_all(whole)))
    return pickle.loads(np.concatenate(blocks).tobytes())


def check_same(**found: Any) -> None:
    """Raises one sentence unless all processes have found the same.

    Raises:
        InvalidParameterError: one has found something else.
    """
    first, *others = exchange(found)
    for process, theirs in enumerate(others, start=1):
        for name in {**first, **theirs}:
            one, other = first.get(name), theirs.get(name)
            if one != other:
                raise InvalidParameterError(
                    f"{name} differs: {_shown(one)} in process 0, {_shown(other)} in "
                    f"process {process}; start all with the same command but for the "
                    "process id, and with the same files and versions."
                )


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)


class ProcessEngine(AbstractEngine):
    """Every process does its share of the items and hears of the others'.

    All must ask for the same work, and for as much of it.
    """

    def run(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        import jax

        number, own = jax.process_count(), jax.process_index()
        for first in range(0, len(items), number):
            mine, result = first + own, None
            if mine < len(items):
                with spread_over(None):
                    result = work(items[mine])
            found = exchange(result)[: len(items) - first]
            yield from enumerate(found, start=first)


@contextlib.contextmanager
def noticing_losses() -> Iterator[None]:
    """Raises `LostProcessError` where another process has ended.

    Raises:
        LostProcessError: a process was lost while they worked together.
    """
    try:
        yield
    except IcpeError:
        raise
    except Exception as error:
        if count() == 1 or not _LOSS.search(str(error)):
            raise
        raise LostProcessError(_lost()) from error


@contextlib.contextmanager
def saying_if_lost(more: Callable[[], str]) -> Iterator[None]:
    """While it lasts, whoever says that a process was lost also says this."""
    before, _others.more = _others.more, more
    try:
        yield
    finally:
        _others.more = before


def _lost() -> str:
    return (
        "Another process of this work has ended, so this one ends as well; "
        f"{_others.more()}"
    )


class _Others:
    """What this process knows of the others, and says when jax ends it.

    That jax does by aborting it.
    """

    def __init__(self):
        self.sentence: Callable[[], str] = _lost
        self.more: Callable[[], str] = lambda: "start all of them again."
        self.leads = True
        self._handler: Any = None

    def watch(self) -> None:
        """Has the last word when the process aborts, in whatever thread that is."""
        if self._handler is None and sys.platform != "win32":
            self._handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda _: self.end())
            libc = ctypes.CDLL(None)
            libc.signal(int(signal.SIGABRT), self._handler)

    def end(self) -> None:
        """Says so, and ends the process."""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"icpe: {self.sentence()}\n")
        signals.leave(2)


_others = _Others()


def _check_free(processes: Processes) -> None:
    """Raises one sentence where the coordinator's port is taken."""
    _, port = processes.address
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("", port))
        except OSError as error:
            raise InvalidParameterError(
                f"Process 0 cannot listen on port {port} of coordinator "
                f"{processes.coordinator}: {error.strerror}; choose another port for "
                "all processes."
            ) from error


def _wait_for_coordinator(processes: Processes, until: float) -> None:
    """Raises one sentence unless somebody listens there in time."""
    problem = "nobody listens there"
    while True:
        try:
            with socket.create_connection(processes.address, timeout=5.0):
                return
        except OSError as error:
            problem = error.strerror or str(error)
        if time.monotonic() >= until:
            raise InvalidParameterError(
                f"No coordinator answered at {processes.coordinator} within "
                f"{processes.timeout:g} seconds ({problem}); start process 0 there, "
                "and check host and port."
            )
        time.sleep(0.2)
