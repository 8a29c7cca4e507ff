"""`suffice info` describes a model file."""

import re
from fractions import Fraction

from cli.commands import LINE, MODEL, answer, document, number, value, words

from suffice import (
    MISSING,
    AdditiveModel,
    PairLinear,
    PairSteps,
    PiecewiseLinear,
    Product,
    Readout,
    ReluNetwork,
    Steps,
    Term,
)
from suffice.model.reading import file_hash


def test_info_as_a_document(folder):
    shown = document("info", "model.safetensors")
    assert shown["model"] == {
        "path": "model.safetensors",
        "bytes": (folder / "model.safetensors").stat().st_size,
        "sha256": file_hash("model.safetensors"),
    }
    assert (shown["task"], shown["classes"], shown["ties"]) == ("binary", ["no", "yes"], "positive")
    assert [number(one) for one in shown["intercept"]] == [Fraction(-1, 7)]
    features = {one["name"]: one for one in shown["features"]}
    assert list(features) == list(MODEL.names)
    assert {name: one["shape"] for name, one in features.items()} == {
        "age": ["broken line"],
        "income": ["network-2"],
        "colour": ["table"],
        "months": ["table", "steps"],
    }
    assert [one["pieces"] for one in features.values()] == [
        [len(output.slopes) for output in outputs] for outputs in MODEL.compile()
    ]
    age, months = features["age"], features["months"]["domain"]
    assert [number(age[name]) for name in ("center", "scale", "deviation")] == [40, 10, 12]
    assert [(number(span["low"]), span["high"], span["is_integers"]) for span in months["spans"]] == [(0, None, True)]
    assert [value(code) for code in months["codes"]] == [-9, MISSING]
    assert [value(name) for name in features["colour"]["domain"]["categories"]] == ["red", "blue"]


def test_info_as_text(folder):
    lines = answer("info", "model.safetensors").stdout.splitlines()
    assert max(len(line) for line in lines) <= 80
    assert lines[:4] == [
        "task       binary",
        "classes    no (score below 0), yes (from 0 up)",
        "intercept  -0.1429",
        "features   4",
    ]
    assert lines[5] == f"SHA-256    {file_hash('model.safetensors')}"
    assert [words(line) for line in lines[7:11]] == [
        "feature domain shape pieces center scale",
        "age the integers from 0 to 120 broken line 1 40 10",
        "income (-∞, ∞) network-2 3 0 1",
        "colour one of red, blue table - - -",
    ]
    assert re.fullmatch(r"months the integers from 0 .* table \+ steps 2 0 1( .*)?", words(" ".join(lines[11:])))


def test_info_of_other_tasks_and_shapes(folder):
    basis = ReluNetwork([[[1.0]], [[1.0], [2.0]]], [[1.0], None])
    mean = (Readout(basis, [[1.0, 2.0]] * 3) + Readout(basis, [[0.5, 0.0]] * 3)) * "1/2"
    AdditiveModel([mean], [0, 1, 2], "multiclass", classes=["a", "b", "c"]).save("three.safetensors")
    assert document("info", "three.safetensors")["features"][0]["pieces"] == [2, 2, 2]
    text = answer("info", "three.safetensors").stdout
    assert "classes    a, b, c\nintercept  0, 1, 2\n" in text
    assert "2 x shared network" in text
    AdditiveModel([LINE], task="regression").save("value.safetensors")
    assert "classes" not in answer("info", "value.safetensors").stdout
    AdditiveModel([LINE], ties="negative").save("ties.safetensors")
    assert "0 (score up to 0), 1 (above 0)" in answer("info", "ties.safetensors").stdout


def test_info_of_pairs(folder):
    terms = [
        Term("age", Steps([18], [0, 1])),
        Term(("age", "pay"), PairSteps([18], [5], [[0, 1], [2, 3]])),
        Term(("pay", "age"), PairLinear([0, 1], [0, 9], [[0, 1], [1, 2]]) * 2),
        Term(("age", "debt"), Product(PiecewiseLinear([0], [0], 1, 1), Steps([0], [0, 1]))),
    ]
    AdditiveModel.of_terms(terms).save("pairs.safetensors")
    assert document("info", "pairs.safetensors")["pairs"] == [
        {"features": ["age", "pay"], "shape": ["table", "bilinear grid"], "cells": [[4, 4]]},
        {"features": ["age", "debt"], "shape": ["broken line times steps"], "cells": [[1, 2]]},
    ]
    lines = answer("info", "pairs.safetensors").stdout.splitlines()
    assert "pairs      2" in lines
    assert [words(line) for line in lines[-3:]] == [
        "pair shape cells",
        "age pay table + bilinear grid 16",
        "age debt broken line times steps 2",
    ]
    assert document("info", "model.safetensors")["pairs"] == []
