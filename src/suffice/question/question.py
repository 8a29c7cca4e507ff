"""The question: everything that is asked of a row beside the row itself, read once and exact ever after.

In: radius and options as users give them, or a document as files, requests and certificates write it. Out: a
`Question`, an immutable and hashable value. Guaranteed of it: every part fits the model whose features it names, so
that only a row can still be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NotRequired, Required, TypeAlias, TypedDict, Unpack, get_type_hints

import numpy as np

from suffice.errors import OptionError, PreferenceError, RadiusError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.numbers.exact import ONE, ZERO, Number, brief
from suffice.question.budget import MAX_SECONDS, Budget, whole_number
from suffice.question.claim import Claim
from suffice.question.claims import SAME, read_claim
from suffice.question.documents import Json
from suffice.question.preferences import Choices, Groups, read_choices
from suffice.question.region import (
    CATEGORIES,
    Categories,
    Radii,
    Radius,
    Unit,
    domains_as_asked,
    in_own_units,
    read_reach,
)

Arithmetic: TypeAlias = Literal["exact", "float32", "float64"]
ARITHMETICS: tuple[Arithmetic, ...] = ("exact", "float32", "float64")
HALF = Fraction(1, 2)


class Options(TypedDict, total=False):
    """The options that every question takes besides the radius, shared by Python, the command line and HTTP.

    Each question honours some of them and refuses the others, with the reason.

    Parameters
    ----------
    unit, categories, immutable, claim, fix, free, cost, groups, max_changed, norm, arithmetic, max_nodes, max_seconds
        See `Explainer.explain`; all may be left out.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> options: Options = {"unit": "raw", "immutable": ["age"]}
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2])], features=["age"]))
    >>> explainer.explain([20], radius=5, **options).features
    ()
    """

    unit: Unit
    categories: Categories
    immutable: Iterable[str]
    claim: Claim
    fix: Iterable[str]
    free: Iterable[str]
    cost: Mapping[str, Number] | None
    groups: Groups
    max_changed: int | None
    norm: float
    arithmetic: Arithmetic
    max_nodes: int | None
    max_seconds: float


class QuestionDocument(TypedDict):
    """A question as it is written down: JSON, with exact numbers as text and features by name.

    Whatever is left out has its default. The same form stands in HTTP bodies, in files for `--question`, in the
    metadata of batch results and, without budgets, in certificates.
    """

    radius: Required[Any]
    unit: NotRequired[str]
    categories: NotRequired[str]
    immutable: NotRequired[list[str]]
    claim: NotRequired[Json]
    fix: NotRequired[list[str]]
    free: NotRequired[list[str]]
    cost: NotRequired[dict[str, Any]]
    groups: NotRequired[dict[str, list[str]]]
    max_changed: NotRequired[int | None]
    norm: NotRequired[Any]
    arithmetic: NotRequired[str]
    max_nodes: NotRequired[int | None]
    max_seconds: NotRequired[float]


OPTIONS: tuple[str, ...] = tuple(get_type_hints(Options))
BUDGETS = ("max_nodes", "max_seconds")
_FIELDS = tuple(get_type_hints(QuestionDocument))


@dataclass(frozen=True, slots=True, repr=False)
class Question:
    """What is asked, of any number of rows: made by `Explainer.question`, `Question.read` or `from_document`.

    Parameters
    ----------
    names : tuple of str
        The features of the model that it is asked of.
    reach : tuple of Rational or None
        How far each feature may move, counted in `unit`; None for its whole domain.
    radii : tuple of Rational or None
        The same in the features' own units, 0 for those that are immutable.
    unit : {"std", "raw", "model"}
        Standard deviations, the features' own units, or the model's scaled ones.
    categories : {"free", "step"}
        Whether a category without an order may become any other at a radius above 0, or only at 1 or more.
    immutable : frozenset of int
        Features that never change and are not counted.
    claim : Claim
        What must stay true.
    choices : Choices
        Features that are always fixed or always free, groups, and costs.
    max_changed : int or None
        How many features may differ from the row at once; None for all.
    norm : float
        Norm of the ball that forms the region: infinity (the box), 1 or 2, with changes counted in radii.
    arithmetic : {"exact", "float32", "float64"}
        What the deployed model computes in.
    budget : Budget
        How long a search may run.

    Examples
    --------
    >>> from suffice import AdditiveModel, Steps
    >>> model = AdditiveModel([Steps([18], [-1, 2]), Steps([0.5], [0, 1])], features=["age", "risk"])
    >>> question = Question.read(model, 2, unit="raw", immutable=["age"])
    >>> question.radii, question.document()["radius"], question == Question.from_document(model, question.document())
    ((0, 2), '2', True)
    """

    names: tuple[str, ...]
    reach: Radii
    radii: Radii
    unit: Unit
    categories: Categories
    immutable: frozenset[int]
    claim: Claim
    choices: Choices
    max_changed: int | None
    norm: float
    arithmetic: Arithmetic
    budget: Budget

    def __repr__(self) -> str:
        reach = {"inf" if one is None else str(one) for one in self.reach}
        radius = reach.pop() if len(reach) == 1 else "by feature"
        return f"<Question: radius {radius}, unit {self.unit}, claim {self.claim.kind}>"

    @classmethod
    def read(cls, model: AdditiveModel, radius: Radius | Question = HALF, **options: Unpack[Options]) -> Question:
        """Return the question that a radius and options ask.

        Parameters
        ----------
        model : AdditiveModel
        radius : number, mapping by feature name, sequence, or Question
            How far a free feature may move. A question that was read before is taken as it is.
        **options
            See `Explainer.explain`.

        Raises
        ------
        SufficeError
            Its subclass and message say which value is wrong, and why.
        """
        if isinstance(radius, Question):
            return radius._checked(model, options)
        for name in options:
            if name not in OPTIONS:
                raise OptionError(f"{name!r} is not an option of a question; choose from {', '.join(OPTIONS)}")
        unit = options.get("unit", "std")
        immutable = frozenset(model.indices(options.get("immutable", ())))
        reach = read_reach(model, radius)
        moving = tuple(ZERO if i in immutable else one for i, one in enumerate(reach))
        claim = read_claim(model, options.get("claim", SAME))
        claim.check(model)
        choices = read_choices(
            model,
            fix=options.get("fix", ()),
            free=options.get("free", ()),
            cost=options.get("cost"),
            groups=options.get("groups", ()),
        )
        return cls(
            names=model.names,
            reach=reach,
            radii=in_own_units(model, moving, unit),
            unit=unit,
            categories=_read_categories(options.get("categories", "free")),
            immutable=immutable,
            claim=claim,
            choices=choices,
            max_changed=_read_max_changed(options.get("max_changed")),
            norm=_read_norm(options.get("norm", math.inf)),
            arithmetic=_read_arithmetic(options.get("arithmetic", "exact")),
            budget=Budget(options.get("max_nodes"), options.get("max_seconds", MAX_SECONDS)),
        )

    def _checked(self, model: AdditiveModel, options: Mapping[str, Any]) -> Question:
        if options:
            raise OptionError(f"a Question already has its options; set {next(iter(options))!r} when you make it")
        if self.names != model.names:
            raise OptionError("the question was made for a model with other features; make a new one for this model")
        self.claim.check(model)
        if self.radii != self._in_own_units(model, self.reach):
            raise OptionError("the question was made for a model with other scales; make a new one for this model")
        return self

    def _in_own_units(self, model: AdditiveModel, reach: Radii) -> Radii:
        """Return radii in the features' own units, 0 for those that are immutable."""
        moving = tuple(ZERO if i in self.immutable else one for i, one in enumerate(reach))
        return in_own_units(model, moving, self.unit)

    @property
    def given(self) -> frozenset[str]:
        """The options that are not left at their defaults; `unit` and `claim`, which all searches take, left out."""
        choices, budget = self.choices, self.budget
        is_given = {
            "categories": self.categories != "free",
            "immutable": bool(self.immutable),
            "fix": bool(choices.fix),
            "free": bool(choices.free),
            "cost": not choices.is_counting or choices.unit != ONE,
            "groups": choices.has_groups,
            "max_changed": self.max_changed is not None,
            "norm": self.is_ball,
            "arithmetic": self.arithmetic != "exact",
            "max_nodes": budget.max_nodes is not None,
            "max_seconds": budget.max_seconds != MAX_SECONDS,
        }
        return frozenset(name for name, is_so in is_given.items() if is_so)

    def domains(self, model: AdditiveModel) -> tuple[Domain, ...]:
        """Return what each feature can be, with the distances of categories that the question means."""
        return domains_as_asked(model, self.categories, self.unit)

    @property
    def is_ball(self) -> bool:
        """Whether the region is smaller than the box."""
        return self.norm != math.inf

    def with_unit_radius(self, model: AdditiveModel) -> Question:
        """Return the same question with a radius of 1 for every feature, of which other radii are multiples."""
        reach = (ONE,) * len(self.names)
        return replace(self, reach=reach, radii=self._in_own_units(model, reach))

    def with_budget(self, **budget: Any) -> Question:
        """Return the same question with some other budgets."""
        return replace(self, budget=replace(self.budget, **budget))

    def document(self, *, has_budgets: bool = True) -> Json:
        """Return the question as it is written down; see `QuestionDocument`."""
        radii = ["inf" if one is None else str(one) for one in self.reach]
        shared = radii[0] if len(set(radii)) == 1 else dict(zip(self.names, radii, strict=True))
        written = {
            "radius": shared,
            "unit": self.unit,
            "categories": self.categories,
            "immutable": [self.names[i] for i in sorted(self.immutable)],
            "claim": self.claim.document(),
            **self.choices.document(self.names),
            "max_changed": self.max_changed,
            "norm": "inf" if self.norm == math.inf else str(int(self.norm)),
            "arithmetic": self.arithmetic,
        }
        budgets = {"max_nodes": self.budget.max_nodes, "max_seconds": self.budget.max_seconds}
        if has_budgets:
            return written | budgets
        # Certificates leave out what categories may do where that is anything, so that older ones read the same.
        return {name: part for name, part in written.items() if (name, part) != ("categories", "free")}

    @classmethod
    def from_document(cls, model: AdditiveModel, document: Any) -> Question:
        """Return the question that a document asks.

        Raises
        ------
        SufficeError
            If a field is not known, or its value does not fit.
        """
        if not isinstance(document, Mapping):
            raise OptionError(f"a question is an object with the fields {', '.join(_FIELDS)}; got {brief(document)}")
        for name in document:
            if name not in _FIELDS:
                raise OptionError(f"{brief(name)} is not a field of a question; choose from {', '.join(_FIELDS)}")
        given: dict[str, Any] = {name: value for name, value in document.items() if name != "radius"}
        if "claim" in given:
            given["claim"] = read_claim(model, given["claim"])
        if "norm" in given:
            given["norm"] = _norm_from_document(given["norm"])
        for name in ("cost", "groups"):
            if name in given and not isinstance(given[name], Mapping):
                raise PreferenceError(f"{name} must be an object whose keys are names, got {brief(given[name])}")
        return cls.read(model, document.get("radius", HALF), **given)


def _read_max_changed(max_changed: Any) -> int | None:
    count = whole_number(max_changed)
    if max_changed is not None and (count is None or count < 1):
        raise PreferenceError(f"max_changed must be a whole number of features, 1 or more, got {brief(max_changed)}")
    return count


def _read_norm(norm: Any) -> float:
    if isinstance(norm, bool) or not isinstance(norm, (int, float, np.number)) or norm not in (1, 2, math.inf):
        raise RadiusError(f"norm must be 1, 2 or infinity, got {brief(norm)}")
    return float(norm)


def _norm_from_document(norm: Any) -> Any:
    return {"inf": math.inf, "1": 1, "2": 2}.get(norm, norm) if isinstance(norm, str) else norm


def _read_categories(categories: Any) -> Categories:
    if not isinstance(categories, str) or categories not in CATEGORIES:
        raise OptionError(f"categories must be one of {', '.join(map(repr, CATEGORIES))}, got {brief(categories)}")
    return categories


def _read_arithmetic(arithmetic: Any) -> Arithmetic:
    if not isinstance(arithmetic, str) or arithmetic not in ARITHMETICS:
        raise OptionError(f"arithmetic must be one of {', '.join(map(repr, ARITHMETICS))}, got {brief(arithmetic)}")
    return arithmetic
