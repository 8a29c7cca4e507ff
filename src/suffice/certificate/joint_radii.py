"""Certificates of radii, curves and nearest counterexamples of models with terms over two features."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.certificate.document import Certificate, PathLike, beyond, radius_text
from suffice.certificate.joint import certify_contrast, enough, in_time, no_cheaper, sides, touched, unchanged, written
from suffice.certificate.witnesses import place_document
from suffice.certificate.written_messages import Written
from suffice.core.case import Case
from suffice.core.extent import Extent
from suffice.core.joint import Joint
from suffice.core.joint_path import JointPath
from suffice.errors import BudgetEnded, Undecided
from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.values import Value
from suffice.question.documents import Json
from suffice.solvers.radii import Stretch


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
        near = path.below(least) if is_attained else path.at(least)
        fewer = unchanged(touched(case, sides(case).inner, near[0].ground.region), choices, lower_bound - 1)
        nearer = unchanged(touched(case, near, case.region), choices, spent)
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
    path = case.path(is_joint=True)
    assert isinstance(path, JointPath)
    return path


def certify_radius(case: Case, reach: Extent, fixed: Sequence[int], model_file: PathLike | None) -> Certificate:
    """Return the proof that a set suffices up to a radius, and no further."""
    path, radius = _path(case), reach.radius
    free = [i for i in case.features if i not in set(fixed)]
    try:
        holds = enough(touched(case, _within(path, reach)), free)
        is_told = not reach.is_open and not (radius is None and reach.is_attained)
        fails_at, places = _failure(path, reach, free) if is_told else (None, None)
    except (BudgetEnded, Undecided):
        raise in_time(case) from None
    how = Written(case.model, holds, is_short=False)
    holds_at = radius_text(radius, 0 if reach.is_attained else -1)
    result = {"kind": "radius", "fixed": list(fixed), "holds_at": holds_at, "fails_at": fails_at}
    evidence = {"input": places, "bins": how.bins, "messages": [how.steps(one) for one in holds]}
    return written(case, result, evidence, model_file)


def _within(path: JointPath, reach: Extent) -> tuple[Joint, ...]:
    """Return the constraints at the end of a stretch of radii, or as it is approached."""
    if reach.is_attained:
        return path.at(reach.radius)
    return path.at_finite() if reach.radius is None else path.below(reach.radius)


def _failure(path: JointPath, reach: Extent, free: Sequence[int]) -> tuple[str, list[Json]]:
    """Return at which radius free features break the claim, and an input of its region that does."""
    radius = reach.radius
    if (
        radius is not None and reach.is_attained and not reach.more
    ):  # just above it: limits of inputs at all larger radii
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
    at, _ = beyond(reach)
    for part, constraint in enumerate(one.outer for one in path.at(at)):
        moved = None if constraint.admits(free) else constraint.broken_by((), free)
        if moved is not None:
            return radius_text(at, 0), [place_document(x) for x in path.breaking_input(part, at, moved)]
    raise AssertionError("nothing breaks the claim beyond its largest radius")


def certify_curve(case: Case, stretches: Sequence[Stretch], model_file: PathLike | None) -> Certificate:
    """Return the proof of each stretch: a set suffices up to its end, and from its start on no cheaper one does."""
    path, choices = _path(case), case.question.choices
    cheapest = sum(choices.costs[k] for k in choices.fix)
    steps: list[Json] = []
    proofs: list[Json] = []
    start: tuple[Rational | None, int] = (ZERO, 0)
    for reach, cover, proof, _ in stretches:
        known = None if case.compiled.has_tangents else proof  # more tangents were taken since
        if start[0] is not None and reach.radius is not None and start[0] > reach.radius:
            start = reach.radius, 0  # the curve ends before what is surely beyond the last stretch
        radius, edge = start
        try:
            free = [i for i in case.features if i not in set(cover.fixed)]
            holds = enough(touched(case, _within(path, reach)), free)
            scenarios, tree = list[Json](), list[Json]()
            if cover.cost > cheapest:
                at = path.above(radius) if edge and radius is not None else path.at(radius)
                scenarios, tree = no_cheaper(case, [one.outer for one in at], cover.cost, known)
        except (BudgetEnded, Undecided):
            raise in_time(case) from None
        how = Written(case.model, holds, is_short=False)
        end = radius_text(reach.radius, 0 if reach.is_attained else -1)
        steps.append({"from": radius_text(*start), "holds_at": end, "fixed": list(cover.fixed)})
        messages = [how.steps(one) for one in holds]
        proofs.append({"bins": how.bins, "messages": messages, "scenarios": scenarios, "tree": tree})
        start = beyond(reach)
    return written(case, {"kind": "curve", "steps": steps}, {"proofs": proofs}, model_file)
