"""Threads that share a session: nothing that was taken in is lost."""

import copy
import threading

from icpe.core.errors import SessionError
from icpe.deploy import Session
from icpe.explorers import make_explorer
from icpe.families import GaussianBandit

NUM_THREADS, TELLS = 8, 12
FAMILY = GaussianBandit(num_arms=3, horizon=64)


def test_every_success_is_in_the_history():
    session = Session(make_explorer("uniform", FAMILY), FAMILY, budget=64)
    start = threading.Barrier(NUM_THREADS)
    successes, problems = [], []

    def work(number):
        start.wait()
        for turn in range(TELLS):
            value = 0.01 * (number * TELLS + turn)
            try:
                session.tell(number % 3, value)
                successes.append(value)
            except SessionError:
                return
            except Exception as error:
                problems.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(NUM_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert session.stopped and len(successes) == len(session.history) == 64
    told = sorted(round(float(it.outcome[0]), 2) for it in session.history)
    assert told == sorted(round(value, 2) for value in successes)


def test_a_copy_goes_on_by_itself():
    session = Session(make_explorer("uniform", FAMILY), FAMILY, budget=4)
    session.tell(0, 1.0)
    other = copy.copy(session)
    other.tell(1, 1.0)
    assert (len(session.history), len(other.history)) == (1, 2)
