"""Certificates of answers that look for radii: how far a set suffices, how sizes grow, how near a break is."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.certificate import joint_radii
from suffice.certificate.cells import Seen
from suffice.certificate.certify import certify_contrast, change_trees, contrast_parts, cover_changes
from suffice.certificate.document import Certificate, PathLike, beyond, closely, radius_text, write
from suffice.certificate.trees import CoverTree
from suffice.certificate.witnesses import (
    NotShownError,
    Shown,
    breaking_places,
    loose_limits,
    shown_beyond,
    shown_smooth,
    shown_within,
)
from suffice.core.case import Case
from suffice.core.enclosed_path import EnclosedPath
from suffice.core.extent import Extent
from suffice.core.radius_path import RadiusPath
from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.values import Value
from suffice.question.documents import Json
from suffice.solvers.radii import Stretch


@closely
def certify_radius(case: Case, reach: Extent, fixed: Sequence[int], model_file: PathLike | None) -> Certificate:
    """Return the proof that a set suffices up to a radius, and no further."""
    if case.model.pairs:
        return joint_radii.certify_radius(case, reach, fixed, model_file)
    path, charges = case.path(), None
    free = [i for i in case.features if i not in set(fixed)]
    holds_at = radius_text(reach.radius, 0 if reach.is_attained else -1)
    result: Json = {"kind": "radius", "fixed": list(fixed), "holds_at": holds_at, "fails_at": None}
    evidence: Json = {"input": None}
    _cover(case, path, reach.radius, fixed)
    if case.question.arithmetic != "exact":  # how much further is not known
        charges = case.charges_over(path.region(path.reach(free).radius))
    elif not reach.is_open and (reach.radius is not None or not reach.is_attained):
        limits = loose_limits(case.constraints, [ZERO] * len(case.constraints))
        radius, edge = beyond(reach)
        shown = _shown(case, path, radius, edge)
        places = breaking_places(shown, limits, case.row, free, case.question.max_changed)
        if places is None:
            raise NotShownError("nothing is shown to break the claim beyond its largest radius")
        result["fails_at"], evidence["input"] = radius_text(radius, edge), places
    region = path.region(reach.radius if reach.radius is None else reach.radius + 2 * reach.more)
    return write(case, result=result, evidence=evidence, model_file=model_file, charges=charges, region=region)


def _shown(case: Case, path: RadiusPath, radius: Rational | None, edge: int) -> Shown:
    """Return what is in reach at a radius, or just beyond it."""
    if isinstance(path, EnclosedPath):
        return shown_smooth(case, path, radius)
    return shown_beyond(path, radius) if edge and radius is not None else shown_within(path, radius, case.bits)


def _cover(case: Case, path: RadiusPath, radius: Rational | None, fixed: Sequence[int]) -> None:
    """Find cells over which the checker sees that a set suffices at a radius, where shapes are smooth."""
    if isinstance(path, EnclosedPath):
        inner, free = path.on("inner").at(radius), [i for i in case.features if i not in set(fixed)]
        spare, most = [one.margin - one.fall(free).value for one in inner], case.question.max_changed
        Seen.of(case).cover(path.region(radius), free, [one.drops for one in inner], spare, most)


@closely
def certify_curve(case: Case, stretches: Sequence[Stretch], model_file: PathLike | None) -> Certificate:
    """Return the proof of each stretch: a set suffices up to its end, and from its start on no cheaper one does."""
    if case.model.pairs:
        return joint_radii.certify_curve(case, stretches, model_file)
    path, choices = case.path(), case.question.choices
    limits = loose_limits(case.constraints, [ZERO] * len(case.constraints))
    least = sum(choices.costs[k] for k in choices.fix)
    steps: list[Json] = []
    proofs: list[Json] = []
    start: tuple[Rational | None, int] = (ZERO, 0)
    for stretch in stretches:
        reach, cover = stretch.reach, stretch.cover
        if start[0] is not None and reach.radius is not None and start[0] > reach.radius:
            start = reach.radius, 0  # the curve ends before what is surely beyond the last stretch
        end = radius_text(reach.radius, 0 if reach.is_attained else -1)
        steps.append({"from": radius_text(*start), "holds_at": end, "fixed": list(cover.fixed)})
        _cover(case, path, reach.radius, cover.fixed)
        proof: Json = {"witnesses": [], "tree": []}
        if cover.cost > least:
            radius, edge = start
            shown = _shown(case, path, radius, edge)
            tree = CoverTree(shown, limits, choices, case.question.max_changed).cheapest(cover.cost, stretch.proof)
            proof = {"witnesses": [list(row) for row in shown.places], "tree": tree}
        proofs.append(proof)
        start = beyond(reach)
    last = stretches[-1].reach.radius
    return write(
        case,
        result={"kind": "curve", "steps": steps},
        evidence={"proofs": proofs},
        model_file=model_file,
        region=path.region(last),
    )


@closely
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
    if case.model.pairs:
        return joint_radii.certify_counterfactual(case, changed, point, lower_bound, least, is_attained, model_file)
    if point is None or least is None or (is_attained and not least):  # a change of labels has no size
        return certify_contrast(case, changed, point, lower_bound, model_file)
    result, evidence = contrast_parts(case, changed, point, lower_bound)
    choices, path = case.question.choices, case.path()
    spent = choices.cost(i for i in changed if i not in choices.features(choices.free))
    near = path.below(least) if is_attained else path.at(least)
    cover_changes(case, path.region(least), near)
    return write(
        case,
        result={"kind": "counterfactual", **result, "least": radius_text(least, -1 if is_attained else 0)},
        evidence={**evidence, "nearer": change_trees(case, path.region(least), near, spent)},
        model_file=model_file,
    )
