"""How all tests run: checked types, strict numerics, one thread per worker."""
# ruff: noqa: E402

import os
import signal
import tempfile
from pathlib import Path

# Two workers share two cores, so each keeps to one; set before numpy is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import hypothesis
import jax
import jax.random as jr
import pytest
from jaxtyping import install_import_hook

# Every shape and type annotation of the package is checked at run time; an int is
# accepted where a float is asked for, as in PEP 484.
install_import_hook(
    "icpe", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
)

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Most of the time goes into compiling, so compiled programs are kept for the next run.
jax.config.update(
    "jax_compilation_cache_dir",
    os.path.join(tempfile.gettempdir(), "icpe-test-compilations"),
)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

# The same examples in every run; the first of them may compile, so no deadline.
hypothesis.settings.register_profile(
    "icpe", deadline=None, derandomize=True, database=None
)
hypothesis.settings.load_profile("icpe")

# Of these tests only the named cases are fast; the others show the same on another
# family or setting, which costs another compilation, and are slow.
FAST_CASES = {
    "test_a_bandit_conforms": {"family0"},
    "test_a_broken_explorer_is_refused_with_a_sentence": {
        "RefusesAll---",
        "BranchesOnAPrice---",
        "GrowingState---",
        "FloatQuery---",
        "ManyAnswers---",
        "ShortBelief---",
        "IgnoresTheMask---",
        "KnowsOfTheBatch---",
    },
    "test_a_damaged_file_is_refused_in_one_sentence": {
        "a changed weight",
        "a missing field",
    },
    "test_a_feedback_graph_of_the_paper_conforms": {"ring"},
    "test_a_played_episode_is_the_one_that_rollout_runs": {"stops"},
    "test_a_row_is_what_the_explorer_does": {"price and cap"},
    "test_a_sound_explorer_passes_on_masks_and_on_termination": {"masks"},
    "test_a_trained_explorer_asks_the_same_in_a_session_as_in_a_rollout": {"price"},
    "test_both_passes_are_the_function_of_the_definition": {"one head of keys"},
    "test_every_episode_equals_the_plain_loop": {"masks", "termination"},
    "test_experience_is_what_the_transcript_tells": {"terminated"},
    "test_every_part_of_the_law_enters": {"masked", "noise"},
    "test_every_family_has_a_recipe_for_every_machine": {
        "binary-search",
        "feedback-graph",
        "gaussian-bandit",
    },
    "test_gains_agree_with_sums_over_everything_that_may_be_revealed": {"0.5"},
    "test_gaussian_time_agrees_with_convex_programming": {"6"},
    "test_one_pass_gives_what_the_explorer_sees_step_by_step": {"with summary"},
    "test_random_walks_equal_those_of_a_plain_loop": {"6"},
    "test_targets_are_watkins_returns_less_stopping_and_shortfall": {"can stop-masks"},
    "test_the_law_of_a_family_that_explorers_were_trained_on_has_not_changed": {
        "gaussian-bandit-730980fe89b2d26c"
    },
    "test_the_magic_action_conforms": {"False"},
    "test_the_magic_chain_conforms": {"options0"},
    "test_the_toy_families_pass": {"Corridor", "Lockers"},
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks the slow cases of parametrized tests, before slow tests are left out."""
    for item in items:
        name, _, case = item.name.rstrip("]").partition("[")
        if case and case not in FAST_CASES.get(name, {case}):
            item.add_marker("slow")


def pytest_configure(config):
    """Sets the compiler's flags, which are read when the first program is compiled.

    Fast tests spend their time compiling, so they do without optimization and with the
    older emitter of fused loops (a third of the time to compile, twice the time to
    run); slow tests do not. Two workers may meet
    while one writes a compiled program, or the folder may be removed; then a program is
    simply compiled.
    """
    for work in ("reading", "writing"):
        config.addinivalue_line(
            "filterwarnings", f"ignore:Error {work} persistent compilation cache"
        )
    flags = "--xla_cpu_multi_thread_eigen=false"
    if config.option.markexpr.startswith("not slow"):
        flags += " --xla_backend_optimization_level=0"
        flags += " --xla_cpu_use_fusion_emitters=false"
    os.environ.setdefault("XLA_FLAGS", flags)
    # A shell's background job ignores Ctrl-C, and nohup a hangup; tests send both.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def brief_surveys():
    """Families are surveyed briefly before a training; most tests need no more.

    Yields the settings of a whole survey, by module and name.
    """
    from support.brief_surveys import brief_settings

    brief = brief_settings()
    whole = {(module, name): getattr(module, name) for module, name in brief}
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in brief.items():
            patch.setattr(module, name, value)
        yield whole


@pytest.fixture
def whole_surveys(brief_surveys, monkeypatch):
    """Families are surveyed as outside of tests."""
    from icpe.learn import survey

    for (module, name), value in brief_surveys.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(survey, "_RECENT", {})


_MOST_MAPS = 20_000
"""Of the 65,530 that Linux allows a process; compiled programs take several each."""


@pytest.fixture(scope="module", autouse=True)
def forget_compiled_programs():
    """Programs of earlier modules go before there are too many for one process."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > _MOST_MAPS:
        jax.clear_caches()


@pytest.fixture
def key():
    """A fixed key for tests that need only one."""
    return jr.key(0)


@pytest.fixture
def hardly_trained(monkeypatch):
    """Trains hardly at all, and takes for granted that it was enough."""
    from support.hardly_trained import hardly_train, promoting

    hardly_train(monkeypatch)
    with promoting():
        yield


@pytest.fixture(scope="session")
def mnist():
    """MNIST's files lie on this machine."""
    from icpe.families.patches.mnist import data_folders

    if not any((folder / "mnist").is_dir() for folder in data_folders()):
        pytest.skip("MNIST is neither in ICPE_DATA nor in the cache")


@pytest.fixture(scope="session")
def postgres():
    """A database server of its own."""
    from support.postgres import find_binaries, running_server

    if find_binaries() is None:
        pytest.skip("there is no PostgreSQL server on this machine")
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    """A browser without a window."""
    from support.browser import find_chromium, running_browser

    pytest.importorskip("playwright.sync_api")
    if find_chromium() is None:
        pytest.skip("there is no Chromium on this machine")
    with running_browser() as started:
        yield started
