"""Certificates of radii and nearest counterexamples of models with terms over two features."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.certificate.document import Certificate, PathLike
from suffice.certificate.joint import certify_contrast, enough, in_time, sides, unchanged, written
from suffice.certificate.messages import Written
from suffice.certificate.witnesses import place_document
from suffice.core.case import Case
from suffice.core.joint_path import JointPath
from suffice.core.radius_path import Extent
from suffice.errors import BudgetEnded, CertificateError, Undecided
from suffice.numbers.exact import Rational
from suffice.numbers.values import Value
from suffice.question.documents import Json


def certify_counterfactual(
    case: Case,
    changed: Sequence[int],
    point: Sequence[Value] | None,
    lower_bound: int,
    least: Rational | None,
    is_attained: bool,
    model_file: PathLike | None,
) -> Certificate:
    """Return the proof of a contrast, and that at its cost no smaller change breaks the claim, if there is such."""
    if point is None or least is None or (is_attained and not least):  # a change of labels has no size
        return certify_contrast(case, changed, point, lower_bound, model_file)
    choices, path = case.question.choices, _path(case)
    spent = choices.cost(i for i in changed if i not in choices.features(choices.free))
    try:
        fewer = unchanged(sides(case).inner, choices, lower_bound - 1)
        nearer = unchanged(path.below(least) if is_attained else path.at(least), choices, spent)
    except BudgetEnded:
        raise in_time(case) from None
    how = Written(case.model, [*fewer, *nearer], is_short=False)
    result = {
        "kind": "counterfactual",
        "changed": list(changed),
        "lower_bound": str(choices.unit * lower_bound),
        "least": f"{least}-e" if is_attained else str(least),
    }
    evidence = {
        "input": [place_document(x) for x in point],
        "bins": how.bins,
        "fewer": [how.steps(one) for one in fewer],
        "nearer": [how.steps(one) for one in nearer],
    }
    return written(case, result, evidence, model_file)


def _path(case: Case) -> JointPath:
    path = case.path()
    if not isinstance(path, JointPath):
        raise CertificateError("where all pair terms leave the claim alone, radii have no certificates yet")
    return path


def certify_radius(case: Case, reach: Extent, fixed: Sequence[int], model_file: PathLike | None) -> Certificate:
    """Return the proof that a set suffices up to a radius, and no further."""
    path, radius = _path(case), reach.radius
    if radius is None and not reach.is_attained:
        raise CertificateError("that features suffice at all finite radii has no certificate yet with pair terms")
    free = [i for i in case.features if i not in set(fixed)]
    try:
        holds = enough(path.at(radius) if radius is None or reach.is_attained else path.below(radius), free)
        fails_at, places = (None, None) if radius is None else _failure(path, reach, radius, free)
    except (BudgetEnded, Undecided):
        raise in_time(case) from None
    how = Written(case.model, holds, is_short=False)
    holds_at = "inf" if radius is None else f"{radius}{'' if reach.is_attained else '-e'}"
    result = {"kind": "radius", "fixed": list(fixed), "holds_at": holds_at, "fails_at": fails_at}
    evidence = {"input": places, "bins": how.bins, "messages": [how.steps(one) for one in holds]}
    return written(case, result, evidence, model_file)


def _failure(path: JointPath, reach: Extent, radius: Rational, free: Sequence[int]) -> tuple[str, list[Json]]:
    """Return at which radius free features break the claim, and an input of its region that does."""
    if reach.is_attained and not reach.more:  # just above it: limits of inputs at all larger radii
        for constraint in path.above(radius):
            scenario = None if constraint.admits(free) else constraint.scenario(free)
            if scenario is not None:
                spots = {i: constraint.ground.spot(i, scenario.labels[i]).infimum for i in free if scenario.labels[i]}
                places = [
                    place_document(spots[i].at, spots[i].side) if i in spots else place_document(x)
                    for i, x in enumerate(path.row)
                ]
                return f"{radius}+e", places
        raise AssertionError("nothing breaks the claim beyond its largest radius")
    beyond = radius + 2 * reach.more if reach.more else radius
    for part, constraint in enumerate(path.at(beyond)):
        moved = None if constraint.admits(free) else constraint.broken_by((), free)
        if moved is not None:
            return str(beyond), [place_document(x) for x in path.breaking_input(part, beyond, moved)]
    raise AssertionError("nothing breaks the claim beyond its largest radius")
