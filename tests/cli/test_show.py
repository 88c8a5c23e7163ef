"""`icpe show` and `icpe calibrate`: the card of a file, and its table made anew."""

import dataclasses

import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.artifact.document import read_card
from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.cli.held_out import held_out
from icpe.cli.served import served_requests
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families import BinarySearch
from icpe.nets.transformer import TransformerConfig
from support.certificates import unearned_certificate
from support.random_weights import random_weights

FAMILY = BinarySearch(size=3)
HORIZON = FAMILY.spec.horizon


def row(price, lower_bound, cost, cap=HORIZON):
    return OperatingRow(
        price=price,
        max_queries=cap,
        episodes=16,
        accuracy=lower_bound,
        lower_bound=lower_bound,
        mean_queries=cost,
        quantiles=(1, 2, 3),
        longest=4,
        mean_cost=cost,
    )


TABLE = OperatingTable(
    HORIZON,
    seed=7,
    rows=(
        *(row(float(c), 1 - 2 * c, 0.1 / c) for c in np.geomspace(0.002, 0.2, 64)),
        row(0.01, 0.85, 2.5, cap=2),
        row(None, 0.5, 1.0, cap=1),
        row(None, 0.75, 2.0, cap=2),
    ),
)


@pytest.fixture(scope="module")
def artifact():
    config = NetConfig(TransformerConfig(width=4, num_layers=1, num_heads=1))
    nets = random_weights(
        lambda key: ExplorerNets(FAMILY.spec, config, PriceRange(0.01, 0.2), key=key)
    )
    made = {"icpe": "0.1", "jax": "0.10", "device": "cpu", "iterations": 5}
    return Artifact(
        nets=nets,
        family=FAMILY,
        training={"width": 4},
        provenance={**made, "seconds": 12.3},
        table=TABLE,
    )


@pytest.fixture
def file(artifact, tmp_path):
    path = tmp_path / "file.safetensors"
    artifact.save(path)
    return path


def test_the_card_has_costs_where_queries_have_some(icpe, artifact, tmp_path):
    rows = [dataclasses.replace(it, mean_cost=7.5 * it.mean_cost) for it in TABLE.rows]
    costly = dataclasses.replace(TABLE, rows=tuple(rows))
    path = tmp_path / "costly.safetensors"
    dataclasses.replace(artifact, table=costly).save(path)
    lines = [line.split() for line in icpe(f"show {path}").out.splitlines()]
    [at] = [i for i, it in enumerate(lines) if it == ["budget", "accuracy", "cost"]]
    assert lines[at + 1 : at + 3] == [["1", "0.5000", "7.5"], ["2", "0.7500", "15"]]
    [at] = [i for i, it in enumerate(lines) if it[-2:] == ["most", "cost"]][:1]
    queries, cost = (float(lines[at + 1][i]) for i in (3, -1))
    assert cost == pytest.approx(7.5 * queries, rel=1e-3)


def test_the_card_has_no_costs_where_all_are_1(icpe, file):
    assert "cost" not in icpe(f"show {file}").out.split()


def test_the_card_names_family_table_certificates_and_provenance(icpe, file):
    called = icpe(f"show {file}")
    assert called.status == 0
    text = " ".join(called.out.split())
    assert "explores binary-search(size=3)" in text
    assert "5 iterations in 12 s on cpu with icpe 0.1 and jax 0.10" in text
    assert "1 layers of width 4" in text
    assert "An error probability, at least 0.004:" in text
    assert "An error probability within 2 queries, at least 0.15:" in text
    assert "A budget of queries, at most 4: budget accuracy 1 0.5000 2 0.7500" in text
    assert "each row measured on 16 episodes, seed 7" in text
    assert "No certificates." in text


def test_the_table_is_thinned_to_round_error_probabilities(icpe, file):
    found = served_requests(read_card(file))
    asked = [served.error_prob for served in found]
    assert asked == [0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005]
    for served in found:
        assert served.row == TABLE.row_for(served.error_prob)
    lines = [line.split() for line in icpe(f"show {file}").out.splitlines()]
    [first, *_] = [i for i, line in enumerate(lines) if line[:1] == ["error_prob"]]
    shown = [float(line[0]) for line in lines[first + 1 : first + 8]]
    assert shown == asked
    assert lines[first + 8] == []


def test_one_row_that_serves_all_is_shown_once(artifact):
    single = OperatingTable(HORIZON, seed=0, rows=(row(0.1, 0.9995, 2.0),))
    document = dataclasses.replace(artifact, table=single).document()
    assert [served.error_prob for served in served_requests(document)] == [0.0005]


def test_what_a_certificate_serves_is_shown_as_it_serves(icpe, artifact, tmp_path):
    certificate = unearned_certificate(
        error_prob=0.08,
        price=0.0321,
        lower_bound=0.92999,
        mean_queries=2.5,
        weights=artifact.weights_hash,
    )
    certified = artifact.with_certificate(certificate)
    # One price may serve some requests with a certificate and others without.
    both = dataclasses.replace(
        certified, table=OperatingTable(HORIZON, 0, (row(0.0321, 0.95, 2.5),))
    )
    found = [(it.error_prob, it.certified) for it in served_requests(both.document())]
    assert found == [(0.08, True), (0.05, False)]
    for served in served_requests(certified.document()):
        service = certified.serve(error_prob=served.error_prob)
        assert service.operating_point.price == pytest.approx(served.price)
        assert service.certified == served.certified
    path = tmp_path / "certified.safetensors"
    certified.save(path)
    shown = icpe(f"show {path}").out
    assert "queries are from the certificate's own episodes.\n" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["0.08,", "certified", "0.0321", "0.9450", "2.500"] in lines
    [first, *_] = [i for i, line in enumerate(lines) if line[:1] == ["error_prob"]]
    assert lines[first + 2][0] == "0.05"
    # A lower bound is never rounded up.
    assert ["0.08", "yes", "0.95", "0.9299", "0.0321", "1", "7", "hash"] in lines
    # With a cap on the queries nothing is certified.
    capped = served_requests(certified.document(), max_queries=2)
    assert capped and not any(served.certified for served in capped)


def test_what_a_certificate_does_not_know_comes_from_the_row_of_its_price(
    icpe, artifact, tmp_path
):
    price = TABLE.rows[40].price
    certificate = unearned_certificate(
        error_prob=0.3, price=price, mean_queries=2.5, weights=artifact.weights_hash
    )
    certified = artifact.with_certificate(certificate)
    [served, *_] = served_requests(certified.document())
    assert (served.accuracy, served.mean_queries) == (0.945, 2.5)
    assert served.row == TABLE.rows[40]
    path = tmp_path / "certified.safetensors"
    certified.save(path)
    lines = [line.split() for line in icpe(f"show {path}").out.splitlines()]
    spread = ["1", "2", "3", "4"]
    whole = ["0.3,", "certified", f"{price:.4g}", "0.9450", "2.500", *spread]
    assert whole in lines
    said = "queries are from the certificate's own episodes, the rest from the row of"
    assert said in icpe(f"show {path}").out


def test_a_certificate_has_its_own_row_and_its_higher_price_is_explained(
    icpe, artifact, tmp_path
):
    dear = TABLE.rows[0]
    assert dear.mean_queries > TABLE.row_for(0.2).mean_queries
    certificate = unearned_certificate(
        error_prob=0.25, price=dear.price, weights=artifact.weights_hash
    )
    certified = artifact.with_certificate(certificate)
    found = [(it.request, it.certified) for it in served_requests(certified.document())]
    assert found[:2] == [("0.25, certified", True), ("0.2", False)]
    assert ("0.3", False) not in found
    path = tmp_path / "dear.safetensors"
    certified.save(path)
    shown = icpe(f"show {path}").out
    [note] = [it for it in shown.splitlines() if "every larger one" in it]
    assert note.startswith("A certified error probability also serves")
    assert "may take more queries than a smaller error probability" in note


def test_everything_is_there_as_json(icpe, file, artifact):
    called = icpe(f"show {file} --json")
    assert called.json == read_card(file)
    assert called.json["operating_table"]["rows"][0]["price"] == TABLE.rows[0].price
    assert called.json["training"] == {"width": 4}


def test_attempts_that_failed_are_shown(icpe, artifact, tmp_path):
    path = tmp_path / "failed.safetensors"
    budget = {"error_prob": None, "certified": None, "confidence": 0.95}
    failed = {"error_prob": 0.01, "certified": False, "lower_bound": 0.9712345}
    failed |= {"attempt": 2, "seed": 5, "seed_is_default": False}
    raw = dataclasses.replace(artifact, table=None, certificates=(budget, failed))
    raw.save(path)
    lines = [line.split() for line in icpe(f"show {path}").out.splitlines()]
    assert ["-", "-", "0.95", *["-"] * 5] in lines
    assert ["0.01", "no", "-", "0.9712", "-", "2", "5", "user"] in lines
    heading = "error prob certified confidence lower bound price attempt seed"
    assert f"{heading} set by".split() in lines


def test_without_a_table_the_way_to_make_one_is_named(icpe, artifact, tmp_path):
    path = tmp_path / "raw.safetensors"
    dataclasses.replace(artifact, table=None).save(path)
    called = icpe(f"show {path}")
    assert called.status == 0
    assert f"icpe calibrate {path}" in called.out


@pytest.mark.parametrize("command", ["show", "calibrate"])
def test_a_file_that_is_none_is_refused(icpe, tmp_path, command):
    called = icpe(f"{command} {tmp_path / 'nothing'}")
    assert called.status == 2
    assert "cannot be read: No such file" in called.err
    (tmp_path / "text").write_text("text")
    called = icpe(f"{command} {tmp_path / 'text'}")
    assert called.status == 2
    assert "was not written by icpe" in called.err
    assert called.err.count("\n") == 1


def test_the_card_says_that_it_was_measured_on_images_it_has_not_seen(icpe):
    text = " ".join(icpe("show digits").out.split())
    assert "trained on the 60,000 training images" in text
    assert "certificate are of the 10,000 test images" in text
    assert "images" not in icpe("show gaussian-bandit-4").out


def test_a_file_that_was_not_shipped_says_nothing_about_images():
    family = {"name": "patches", "parameters": {"images": "mnist", "split": "test"}}
    assert held_out({"family": family, "provenance": {}}) is None
    shipped = {"command": "icpe train patches --out FILE"}
    assert held_out({"family": family, "provenance": shipped}) is not None


@pytest.mark.parametrize(
    ("images", "told"),
    [
        ("mnist", ("from 55,000 training", "5,000 others", "10,000 test images, each")),
        ("mine.npz", ("from training", "of the others", "of the test images, each")),
    ],
)
def test_a_file_says_which_images_were_learned_from_and_which_were_counted(
    images, told
):
    family = {"name": "patches", "parameters": {"images": images, "split": "train"}}
    sentence = held_out({"family": family, "provenance": {}})
    assert sentence is not None
    assert all(words in sentence for words in told)
