"""The face of the library: `Explainer` compiles a model once and answers many questions about it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack

from suffice.adapters import from_model
from suffice.answers import (
    Contrast,
    Counterfactual,
    Curve,
    Explanation,
    Explanations,
    Inflated,
    LargestRadius,
    Relevance,
    Sufficiency,
)
from suffice.batch.one_row import is_known, quick_explanation
from suffice.decisions.desk import Desk
from suffice.decisions.predictions import Predictions
from suffice.errors import OptionError, PreferenceError, RadiusError
from suffice.model.additive import AdditiveModel
from suffice.model.compile_cache import CompileCache
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain
from suffice.numbers.exact import Number, brief
from suffice.question.question import HALF, Options, Question
from suffice.question.region import Radius, read_radius
from suffice.search.contrast import contrast
from suffice.search.counterfactual import counterfactual
from suffice.search.curve import curve
from suffice.search.explain import explain
from suffice.search.explanations import explanations
from suffice.search.inflate import inflate
from suffice.search.radius import radius as largest_radius
from suffice.search.relevance import relevance
from suffice.search.sufficiency import sufficiency

if TYPE_CHECKING:
    from suffice.batch.result import BatchResult


class Explainer(Predictions, Desk):
    """Answers questions about a model, exactly.

    Every question takes a row, a radius and the same options (`Options`); `explain` describes them, and the errors that
    all questions raise. Instead of a radius and options a `Question` can be given, which is read once and can be asked
    of many rows.

    Parameters
    ----------
    model : AdditiveModel, an estimator with `to_additive()`, or anything that `from_model` takes
        Compiled to exact pieces once, here. For an estimator with `to_additive()`, every explanation also says what its
        own float arithmetic predicts, if that differs.
    reference : rows, or a pair (rows, predictions), optional
        Handed to `from_model`: rows to compare with the original, which also give the standard deviations that radii
        are counted in and, from 100 rows on, what features can be. Needed only where the original does not say
        everything about itself, or with the unit "std".
    domains : mapping of name to Domain, "reference" or "model", optional
        Handed to `from_model`: what features can be.
    max_pieces : int
        Budget of affine pieces of one network, after each of its layers. One with more is tabulated over the regions
        asked about. Networks are compiled when a question first needs them; `compile` does it at once.
    cache : path, optional
        A folder to keep compiled models in, so that the next process need not compile the same model again. Whoever may
        write to it decides what is said of the models; see SECURITY.md.

    Raises
    ------
    AdapterError
        If the model cannot be taken over exactly, or is no model at all.
    OptionError
        If the cache is no folder, or one that every user of the machine may write to.

    Examples
    --------
    >>> from suffice import AdditiveModel, Feature, PiecewiseLinear, Steps
    >>> model = AdditiveModel(
    ...     shapes=[Steps([18], [-1, 2]), PiecewiseLinear([0], [0], left_slope=1, right_slope=1)],
    ...     intercept=0, task="binary", features=[Feature("age", deviation=10), Feature("income", deviation=4)])
    >>> why = Explainer(model).explain({"age": 30, "income": 0.5})
    >>> why.features, why.size, why.prediction, why.status
    ((), 0, 1, Status.PROVEN)
    >>> why = Explainer(model).explain({"age": 30, "income": 0.5}, radius={"age": 5, "income": 20}, unit="raw")
    >>> why.features, why.margin, why.drops
    (('income',), Fraction(5, 2), {'age': Fraction(0, 1), 'income': Fraction(20, 1)})
    """

    def __init__(
        self,
        model: Any,
        reference: Any = None,
        *,
        domains: Mapping[str, Domain] | Literal["reference", "model"] | None = None,
        max_pieces: int = 10_000,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        kept = None if cache is None else CompileCache(cache)
        is_exact = isinstance(model, AdditiveModel) or (hasattr(model, "to_additive") and not isinstance(model, type))
        is_ready = is_exact and reference is None and domains is None
        additive = model if is_ready else from_model(model, reference, domains=domains)
        self.compiled = Compiled.of(additive, max_pieces=max_pieces, predicts=model, cache=kept)

    def __repr__(self) -> str:
        return f"<Explainer of {repr(self.model)[1:-1]}>"

    def question(self, radius: Radius | Question = HALF, **options: Unpack[Options]) -> Question:
        """Return a question, read and checked, to be asked of any number of rows in place of a radius.

        Parameters
        ----------
        radius, **options
            As `explain` takes them.

        Returns
        -------
        Question

        Raises
        ------
        SufficeError
            Its subclass and message say which value is wrong, and why.

        Examples
        --------
        >>> from suffice import AdditiveModel, Steps
        >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2])], features=["age"]))
        >>> question = explainer.question(5, unit="raw")
        >>> [explainer.explain([age], question).features for age in (20, 30)]
        [('age',), ()]
        """
        if isinstance(radius, Question) and not options and is_known(self.compiled, radius):
            return radius
        return Question.read(self.model, radius, **options)

    def compile(self, processes: int | None = None) -> None:
        """Compile the features that are not compiled yet; otherwise each is when a question first needs it.

        Parameters
        ----------
        processes : int, optional
            How many may work at once, this one included, where it takes seconds: by default as many as cores are idle.
            What is compiled does not depend on it.

        Examples
        --------
        >>> from suffice import AdditiveModel, ReluNetwork
        >>> explainer = Explainer(AdditiveModel([ReluNetwork([[[1.0]], [[2.0]]], [[0.0], [1.0]])]))
        >>> explainer.compile()
        """
        if processes is not None and (type(processes) is not int or processes < 1):
            raise OptionError(f"processes must be a whole number, 1 or more, got {brief(processes)}")
        self.compiled.compile(processes=processes)

    # --- questions ----------------------------------------------------------------------------------------------------

    def explain(self, x: Any, radius: Radius | Question = HALF, **options: Unpack[Options]) -> Explanation:
        """Return a smallest set of features that keeps a claim true whatever the others do in the region.

        Parameters
        ----------
        x : sequence, mapping, NumPy row or pandas Series
            The row, in the user's own units.
        radius : number, mapping by feature name, sequence, or Question
            How far a free feature may move; infinity for its whole domain. Default: half a standard deviation.
        unit : {"std", "raw", "model"}
            What the radius is counted in: standard deviations, the features' own units, or the model's scaled units.
        categories : {"free", "step"}
            Whether a category without an order may become any other at any radius above 0, or at a radius of 1 or more.
        immutable : names of features
            Features that never change and are not counted.
        claim : Claim
            What must stay true: `Same()` (the predicted class), `Beats(other)`, `Within(delta)`, `AtLeast(value)`,
            `AtMost(value)`, `ProbabilityAtLeast(p)`.
        fix, free : names of features
            Features that are always fixed, or always free.
        cost : mapping of names to numbers above 0
            What fixing a feature (or a group) costs, 1 unless named. A set of least total cost is then found.
        groups : mapping of names to lists of features, or lists of features
            Features tied together: all of a group are fixed, or none. A group costs as much as one feature.
        max_changed : int, optional
            How many free features may differ from the row at once; by default all of them.
        norm : {math.inf, 1, 2}
            The region is a ball in this norm, with changes counted in radii. For 1 and 2 the answer is that of the box
            around the ball: the set suffices, but may not be smallest; its status says what is known.
        arithmetic : {"exact", "float32", "float64"}
            With a float type, a bound on the rounding error of a forward pass in that type is subtracted from the
            margin, so what is proven also holds for the deployed model; `charged` says how much.
        max_nodes, max_seconds : int, float
            Budgets of the search, for claims with several parts and for costs. When they run out, the status is
            `BOUNDED`.

        Returns
        -------
        Explanation

        Raises
        ------
        RowError, FeatureNameError, RadiusError, ClaimError, PreferenceError, OptionError, BudgetError
            If a value is wrong; the message says which, and why.
        """
        question = self.question(radius, **options)
        return quick_explanation(self.compiled, question, x) or explain(self.compiled, question, x)

    def explain_batch(
        self, table: Any, radius: Radius | Question = HALF, *, threads: int | None = None, **options: Unpack[Options]
    ) -> BatchResult:
        """Return explanations of all rows of a table, in columns; each is the one that `explain` gives for the row.

        A question is compiled once; asked again, of this table or another, it is ready.

        Parameters
        ----------
        table : NumPy array, pandas or Polars DataFrame, Arrow table
            The rows, in the user's own units; an array by position, all others by feature name.
        threads : int, optional
            How many to use, and how many processes for rows that take long; as many as cores by default, 1 starts
            none. The result does not depend on it.
        radius, **options
            As `explain` takes them. A row that cannot be explained gets the status "failed" and a message.

        Raises
        ------
        DataError
            If the table lacks a feature's column, or is not a table.
        """
        from suffice.batch.run import batch_question

        return batch_question(self.compiled, self.question(radius, **options), threads).answer(table, threads=threads)

    def sufficiency(
        self, x: Any, features: Iterable[str], radius: Radius | Question = HALF, **options: Unpack[Options]
    ) -> Sufficiency:
        """Return whether fixing these features keeps the claim true, with a counterexample if it does not.

        Where rounding, the difference between a ball and its box, or a tie of smooth shapes leaves it open, the answer
        says so, and its `bool()` raises `UnsettledError`.

        Parameters
        ----------
        features : names of features
            The set to test.
        x, radius, **options
            As `explain` takes them, without preferences and budgets.
        """
        return sufficiency(self.compiled, self.question(radius, **options), x, self._indices(features))

    def is_sufficient(
        self, x: Any, features: Iterable[str], radius: Radius | Question = HALF, **options: Unpack[Options]
    ) -> bool:
        """Whether fixing these features keeps the claim true, whatever the others do in the region.

        Parameters
        ----------
        x, features, radius, **options
            As `sufficiency` takes them.

        Raises
        ------
        UnsettledError
            If it is neither proven nor refuted.
        """
        return bool(self.sufficiency(x, features, radius, **options))

    def contrast(self, x: Any, radius: Radius | Question = HALF, **options: Unpack[Options]) -> Contrast:
        """Return a smallest set of features whose change alone can break the claim, with an input that does.

        Parameters
        ----------
        x, radius, **options
            As `explain` takes them. Here `fix` names features that do not change, `free` those that change at no cost;
            `cost` says what changing a feature costs, and a group of features that change together costs as one.
        """
        return contrast(self.compiled, self.question(radius, **options), x)

    def counterfactual(self, x: Any, radius: Radius | Question = HALF, **options: Unpack[Options]) -> Counterfactual:
        """Return the nearest input that breaks the claim with as few changes as possible.

        Of all inputs that break the claim at the cost of a cheapest contrast, it is one whose largest change, counted
        in radii, is smallest. Name features that the person concerned cannot change in `immutable`.

        Parameters
        ----------
        x, radius, **options
            As `contrast` takes them. Every radius must be finite.
        """
        return counterfactual(self.compiled, self.question(radius, **options), x)

    def relevance(self, x: Any, radius: Radius | Question = HALF, **options: Unpack[Options]) -> Relevance:
        """Return which features are in every subset-minimal explanation, in some, or in none.

        Whether a feature is in some explanation is a subset-sum question. If `max_nodes` steps for one feature (2,000
        by default) or `max_seconds` for all are not enough, the feature is reported as undecided.

        Parameters
        ----------
        x, radius, **options
            As `explain` takes them. Features that are always fixed or always free have no role.
        """
        return relevance(self.compiled, self.question(radius, **options), x)

    def explanations(
        self,
        x: Any,
        radius: Radius | Question = HALF,
        *,
        minimal: Literal["size", "subset"] = "size",
        **options: Unpack[Options],
    ) -> Explanations:
        """Return all minimal explanations, to iterate over; each is yielded as soon as it is found.

        Parameters
        ----------
        minimal : {"size", "subset"}
            "size": all sets of the smallest size (of the least cost). "subset": all sufficient sets of which no
            proper subset suffices, whatever their size.
        x, radius, **options
            As `explain` takes them; budgets are those of the search for the smallest size.

        Raises
        ------
        BudgetError
            If the smallest size is not found within the budget.
        """
        if not isinstance(minimal, str) or minimal not in ("size", "subset"):
            raise OptionError(f"minimal must be 'size' or 'subset', got {brief(minimal)}")
        return explanations(self.compiled, self.question(radius, **options), x, minimal)

    def radius(
        self, x: Any, features: Iterable[str], question: Question | None = None, **options: Unpack[Options]
    ) -> LargestRadius:
        """Return the largest radius, the same for all features in the given unit, for which these features suffice.

        The answer is exact: a drop is a piecewise-linear function of the radius, with jumps.

        Parameters
        ----------
        features : names of features
            The set that is fixed.
        question : Question, optional
            Its options are used; its radius is ignored.
        x, **options
            As `sufficiency` takes them.
        """
        asked = self.question(1 if question is None else question, **options)
        return largest_radius(self.compiled, asked, x, self._indices(features))

    def curve(
        self,
        x: Any,
        question: Question | None = None,
        *,
        until: Number = math.inf,
        **options: Unpack[Options],
    ) -> Curve:
        """Return how the size of the smallest explanation grows with the radius, up to `until`.

        The radius is the same for all features in the given unit. The radii where the size grows are exact.

        Parameters
        ----------
        question : Question, optional
            Its options are used; its radius is ignored.
        until : number
            The largest radius to look at.
        x, **options
            As `explain` takes them.

        Raises
        ------
        BudgetError
            If a smallest size is not found within the budget.
        """
        end = read_radius("until", until)
        if end is not None and not end:
            raise RadiusError("`until` must be above 0, where the curve begins")
        return curve(self.compiled, self.question(1 if question is None else question, **options), x, end)

    def inflate(
        self,
        x: Any,
        radius: Radius | Question = HALF,
        *,
        features: Iterable[str] | None = None,
        **options: Unpack[Options],
    ) -> Inflated:
        """Return for each fixed feature the widest range over which the claim still holds.

        The ranges are found one after another: each is the widest interval around the row's value (or set of
        categories) that the earlier ranges, and the free features in their region, leave room for.

        Parameters
        ----------
        features : names of features, in the order in which they are widened
            They must suffice. Default: those of `explain`, in its order.
        x, radius, **options
            As `explain` takes them; preferences and budgets are for finding the features.

        Raises
        ------
        ClaimError
            If the features named do not suffice.
        """
        fixed = None if features is None else self.model.indices(features)
        if fixed is not None and len(set(fixed)) < len(fixed):
            twice = next(i for i in fixed if fixed.count(i) > 1)
            raise PreferenceError(f"{self.model.names[twice]!r} is named twice; each feature has one range")
        return inflate(self.compiled, self.question(radius, **options), x, fixed)

    def _indices(self, features: Iterable[str]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.model.indices(features)))
