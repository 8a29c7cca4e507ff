"""scikit-learn's naive Bayes over counts, bits, categories and normal columns: a log-likelihood, added up by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from flint import fmpq_poly
from numpy.typing import NDArray

from suffice.adapters.assemble import step_pieces
from suffice.adapters.draft import part
from suffice.adapters.parts import Part
from suffice.adapters.sklearn_bare import Bare
from suffice.errors import AdapterError
from suffice.model.domain import Domain
from suffice.numbers.exact import ZERO, Rational, rational
from suffice.shapes import Pieces, PiecewisePolynomial, Table

Likelihood = TypeVar("Likelihood", Rational, fmpq_poly)


def bayes(obj: Any, source: str, names: Sequence[str]) -> Bare:
    """Return the parts of a naive Bayes classifier; of two classes the score is the difference of their likelihoods."""
    kinds = {kind.__name__ for kind in type(obj).__mro__}
    if "GaussianNB" in kinds:
        return _gaussian(obj, source)
    logs = part(obj, "feature_log_prob_", source)
    prior = _exact(np.asarray(obj.class_log_prior_))
    if "CategoricalNB" in kinds:
        return Bare([_table(one) for one in logs], _scores(prior), score=_score)
    logs = np.asarray(logs)
    if "BernoulliNB" in kinds:
        negative = np.log(1 - np.exp(logs))
        offsets = _exact(negative.sum(axis=1))
        bits = [_bit(column, obj.binarize) for column in (logs - negative).T]
        return Bare(bits, _scores([a + b for a, b in zip(prior, offsets, strict=True)]), score=_score)
    if "ComplementNB" in kinds:
        prior = [ZERO] * len(prior)
    counts = [Part(tuple(Pieces.affine(w, ZERO) for w in _scores(_exact(column)))) for column in logs.T]
    return Bare(counts, _scores(prior), score=_score)


def _gaussian(obj: Any, source: str) -> Bare:
    """Return the parts `-(x - mean)² / (2 · variance)`; constants are those that the package computes."""
    means, variances = np.asarray(part(obj, "theta_", source)), np.asarray(part(obj, "var_", source))
    if not np.all(variances > 0):
        raise AdapterError(f"{source} has a column with a variance of 0; leave it out, or raise var_smoothing")
    constants = np.log(obj.class_prior_), -0.5 * np.sum(np.log(2.0 * np.pi * variances), axis=1)
    offsets = [a + b for a, b in zip(*map(_exact, constants), strict=True)]
    columns = []
    for mean, variance in zip(means.T, variances.T, strict=True):
        curves = [_bell(*one) for one in zip(_exact(mean), _exact(variance), strict=True)]
        columns.append(Part(PiecewisePolynomial([], [[one.coeffs() for one in _scores(curves)]]).compile()))
    return Bare(columns, _scores(offsets), score=_score)


def _bell(mean: Rational, variance: Rational) -> fmpq_poly:
    return fmpq_poly([-mean, 1]) ** 2 / (-2 * variance)


def _exact(values: NDArray[Any]) -> list[Rational]:
    return [rational(float(value)) for value in values]


def _scores(likelihoods: Sequence[Likelihood]) -> list[Likelihood]:
    """Return the scores: a likelihood for each class, or how far the second of two is ahead."""
    return [likelihoods[1] - likelihoods[0]] if len(likelihoods) == 2 else list(likelihoods)


def _bit(weights: NDArray[Any], threshold: float | None) -> Part:
    exact = _scores(_exact(weights))
    if threshold is None:  # the column is taken to be 0 or 1, and multiplied as it is
        return Part(tuple(Pieces.affine(weight, ZERO) for weight in exact))
    return Part(tuple(step_pieces([rational(float(threshold))], [ZERO, weight], "right") for weight in exact))


def _table(logs: NDArray[Any]) -> Part:
    entries = {float(code): _scores(_exact(column)) for code, column in enumerate(np.asarray(logs).T)}
    return Part(Table(entries).compile(), Domain.categories(*entries))  # type: ignore[arg-type]


def _score(obj: Any, table: Any) -> NDArray[Any]:
    found = np.asarray(obj.predict_joint_log_proba(table))
    return found[:, 1] - found[:, 0] if found.shape[1] == 2 else found
