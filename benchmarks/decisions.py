"""Questions about whole models and tables: how long they take, and what they say of three public tables.

    python benchmarks/decisions.py [--data FOLDER] [--sets german_credit heloc adult] [--train 5000] [--dice 20]

An EBM without interactions (one bag, 300 rounds, seed 0) is trained on a part of each table (seven tenths, or `--train`
rows) and asked of all of its rows: monotonicity of each feature with numbers, with the perverse rows; for which share
protected features never matter, by predicted class; the share of stable rows over radii; the sizes of reasons; the
cheapest recourse of rows with the worse prediction; cards of 20 to 120 lines, made of the training rows and counted on
the others; rules of four and five conditions, of the model and of one of its five most important features.

With `--dice N`, DiCE (the package dice-ml, method "random", four counterfactuals) is asked for N of these rows under
the same actions; the cheapest of its answers that keep to them, by the same cost, is compared with the optimum. Times
are of the processor.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
import warnings
from collections import Counter
from fractions import Fraction

from interpret.glassbox import ExplainableBoostingClassifier

from suffice import AtLeast, Explainer, from_model
from suffice.datasets import load_adult, load_german_credit, load_heloc
from suffice.decisions.actions import read_actions

SETS = {
    "german_credit": (load_german_credit, [["age"], ["personal_status"], ["foreign_worker"]]),
    "heloc": (load_heloc, [["ExternalRiskEstimate"]]),
    "adult": (load_adult, [["sex"], ["race"], ["sex", "race", "native-country"]]),
}
IMMUTABLE = {
    "german_credit": ["age", "personal_status", "foreign_worker"],
    "heloc": ["ExternalRiskEstimate", "MSinceOldestTradeOpen"],
    "adult": ["age", "sex", "race", "native-country"],
}
RADII = [0.05, 0.1, 0.25, 0.5, 1]
BETTER = {"german_credit": "good", "heloc": "Good", "adult": ">50K"}
COST = {"fixed": 20, "percentile": 10}
UP = {"direction": "up", "step": 1, "cost": COST}
DOWN = {"direction": "down", "step": 1, "low": 0, "cost": COST}
ACTIONS = {  # numbers by steps of 1, up to the largest of the table
    "german_credit": {
        "duration": {"direction": "any", "step": 1, "low": 4, "cost": COST},
        "credit_amount": {"direction": "down", "step": 1, "low": 250, "cost": COST},
        "installment_commitment": {"direction": "any", "step": 1, "low": 1, "cost": COST},
        "checking_status": {"to": {"<0": ["0<=X<200", ">=200"], "0<=X<200": [">=200"]}, "cost": 170},
        "savings_status": {"to": {"<100": ["100<=X<500", "500<=X<1000"], "100<=X<500": ["500<=X<1000"]}, "cost": 170},
        "other_parties": {"to": {"none": ["guarantor", "co applicant"]}, "cost": 170},
        "own_telephone": {"to": {"none": ["yes"]}, "cost": 170},
    },
    "heloc": {
        **dict.fromkeys(
            [
                "MSinceMostRecentDelq",
                "MSinceMostRecentTradeOpen",
                "AverageMInFile",
                "NumSatisfactoryTrades",
                "NumTotalTrades",
                "MSinceMostRecentInqexcl7days",
            ],
            UP,
        ),
        **dict.fromkeys(
            [
                "NumTradesOpeninLast12M",
                "NumInqLast6M",
                "NumInqLast6Mexcl7days",
                "NetFractionRevolvingBurden",
                "NetFractionInstallBurden",
                "NumRevolvingTradesWBalance",
                "NumBank2NatlTradesWHighUtilization",
                "PercentTradesWBalance",
            ],
            DOWN,
        ),
    },
    "adult": {
        "hours-per-week": {"direction": "any", "step": 1, "low": 1, "cost": COST},
        "education-num": UP,
        "capital-gain": {"direction": "up", "step": 100, "cost": COST},
        "workclass": {"to": ["Private", "Self-emp-inc", "Federal-gov"], "cost": 170},
        "occupation": {"to": ["Exec-managerial", "Prof-specialty", "Tech-support", "Sales"], "cost": 170},
    },
}
RELATIONS = {
    "heloc": [("NumSatisfactoryTrades", "<=", "NumTotalTrades"), ("NumInqLast6Mexcl7days", "<=", "NumInqLast6M")]
}


def timed(what, ask):
    begin = time.process_time()
    found = ask()
    print(f"  [{time.process_time() - begin:.3f} s] {what}", flush=True)
    return found


def main():
    """Print what is found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with the tables, as suffice.datasets names them")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--train", type=int, default=5000, help="how many rows to train on")
    parser.add_argument("--recourse", type=int, default=5000, help="rows to find recourse for, at most")
    parser.add_argument("--dice", type=int, default=0, help="rows to ask DiCE for")
    given = parser.parse_args()
    print(platform.platform(), platform.processor())
    for name in given.sets:
        measure(name, given)


def measure(name, given):
    """Print what is found of one table."""
    load, groups = SETS[name]
    data = load(given.data)
    frame = data.frame
    part = frame.sample(min(given.train, len(frame) * 7 // 10), random_state=0)
    model = ExplainableBoostingClassifier(interactions=0, outer_bags=1, max_rounds=300, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of missing cells, which its pictures do not show
        model.fit(part, data.target[part.index])
    explainer = Explainer(from_model(model, part))
    additive = explainer.model
    print(f"\n{name}: {len(frame)} rows, {len(additive.features)} features, classes {additive.classes}")
    explainer.unaffected(frame.head(10), [additive.names[0]])  # compiles the kernel
    models_and_shares(explainer, frame, data.target, groups)
    reasons(explainer, frame, IMMUTABLE[name])
    recourse(name, explainer, model, frame, part.assign(target=data.target[part.index]), given)
    rest = frame.drop(part.index)
    cards(explainer, model, part, rest)
    rules(explainer, model, part, rest, additive.names)
    few = [name for _, name in sorted(zip(model.term_importances(), model.term_names_, strict=True))[-5:]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(part[few], data.target[part.index])
    rules(Explainer(from_model(model, part[few])), model, part[few], rest[few], few)


def models_and_shares(explainer, frame, target, groups):
    """Assertions, monotonicity, shares."""
    additive = explainer.model
    held = [feature.name for feature in additive.features if not feature.domain.spans]
    numeric = [feature.name for feature in additive.features if feature.domain.spans]
    proven, perverse, begin = 0, 0, time.process_time()
    for feature in numeric:
        for direction in ("up", "down"):
            found = explainer.monotone(feature, direction, table=frame)
            proven += bool(found)
            perverse += len(found.perverse)
    each = (time.process_time() - begin) / max(1, 2 * len(numeric))
    print(f"  [{each:.3f} s each] monotone, up and down, {len(numeric)} features: {proven} proven, {perverse} perverse")
    worst = timed("check: the score is at least -100 everywhere", lambda: explainer.check({}, claim=AtLeast(-100)))
    print(f"      {'proven' if worst else 'refuted'}")
    for group in groups:
        found = timed(f"unaffected by {', '.join(group)}", lambda g=group: explainer.unaffected(frame, g))
        each = ", ".join(f"{one}: {share}" for one, share in found.by_class.items())
        print(f"      {found.share}; {each}; largest effect {float(found.effect):.3f}")
    found = timed("stability", lambda: explainer.stability(frame, RADII, labels=target, immutable=held))
    for radius, share, right in zip(found.radii, found.shares, found.right, strict=True):
        print(f"      {radius}: stable {share}, and right {right}")
    again = timed(
        "stability, compiled before", lambda: explainer.stability(frame, RADII, labels=target, immutable=held)
    )
    assert again.shares == found.shares


def reasons(explainer, frame, immutable):
    """How many factors are enough, for all rows of each class."""
    for outcome in explainer.model.classes:
        some = timed(
            f"reasons of all {outcome}", lambda o=outcome: explainer.reasons_batch(frame, o, immutable=immutable)
        )
        sizes = sorted(Counter(some.sizes.tolist()).items())
        print(f"      {len(some.rows)} rows, {some.exact} exactly; sizes {dict(sizes)}")
    few = some.rows[:50].tolist()
    timed("reasons of 50 rows one by one", lambda: [explainer.reasons(frame.iloc[k], some.reference.row) for k in few])


def recourse(name, explainer, model, frame, train, given):
    """The cheapest changes of rows with the worse prediction; what they cost beside DiCE's."""
    better, relations = BETTER[name], RELATIONS.get(name, [])
    actions = {}
    for feature, action in ACTIONS[name].items():
        is_open = "to" not in action and "high" not in action
        actions[feature] = action | ({"high": int(frame[feature].max())} if is_open else {})
    explainer.recourse_batch(frame.head(50), actions, better)  # reads the columns
    worse = frame[explainer.portfolio(frame).predicts(1 - explainer.model.classes.index(better))]
    some = worse.sample(min(len(worse), given.recourse), random_state=0)
    for asked in ([], relations) if relations else ([],):
        found = timed(
            f"recourse of {len(some)} rows{' with relations' if asked else ''}",
            lambda asked=asked: explainer.recourse_batch(some, actions, better, relations=asked),
        )
        costs = [float(cost) for cost in found.costs if cost is not None]
        print(
            f"      proven: {len(costs)} have one, {len(found.costs) - len(costs)} none, {len(found.unsettled)} open; "
            f"median cost {statistics.median(costs) if costs else '-'}"
        )
    row = some.iloc[0]
    timed(
        "one of them alone, with 3 alternatives",
        lambda: explainer.recourse(row, actions, better, relations=relations, alternatives=3, table=frame),
    )
    if given.dice:
        beside_dice(explainer, model, some.head(given.dice), frame, train, actions, better)


def beside_dice(explainer, model, rows, frame, train, actions, better):
    """Print what DiCE's cheapest answers cost, as parts of the optimum."""
    import dice_ml

    names = list(frame.columns)
    numeric = [feature.name for feature in explainer.model.features if feature.domain.spans]
    data = dice_ml.Data(dataframe=train.dropna(), continuous_features=numeric, outcome_name="target")
    labels = {str(name): k for k, name in enumerate(model.classes_)}
    asked = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method="random")
    ratios, ours, theirs, none, broken = [], 0.0, 0.0, 0, 0
    portfolio = explainer.portfolio(frame)
    able_to = read_actions(explainer.model, actions, portfolio)
    for k in range(len(rows)):
        row = rows.iloc[[k]]
        begin = time.process_time()
        best = explainer.recourse(row.iloc[0], actions, better, table=portfolio)
        ours += time.process_time() - begin
        if not best.is_possible:
            continue
        able = {}
        for name in actions:
            i = explainer.model.index(name)
            if "to" in actions[name]:
                able[name] = {str(one.value) for one in able_to[i].options(best.row[i])}
        ranges = {}
        for name in actions:
            here, action = row.iloc[0][name], actions[name]
            if "to" in action:
                ranges[name] = [here, *(one for one in able[name])]
            else:
                low, high = action.get("low", here), action["high"]
                ends = (here if action["direction"] == "up" else low, here if action["direction"] == "down" else high)
                ranges[name] = [float(min(ends)), float(max(ends))]
        begin = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = asked.generate_counterfactuals(
                    row, total_CFs=4, desired_class=labels[better], features_to_vary=list(actions),
                    permitted_range=ranges, random_seed=0, verbose=False,
                )  # fmt: skip
            found = answer.cf_examples_list[0].final_cfs_df
        except Exception as error:  # it raises where it finds none
            found, _ = None, error
        theirs += time.process_time() - begin
        costs = []
        for _, other in found[names].iterrows() if found is not None else ():
            cost = Fraction(0)
            for name in names:
                i = explainer.model.index(name)
                old, new = best.row[i], explainer.model.domains[i].parse(other[name])
                if old != new:
                    if name not in actions or ("to" in actions[name] and str(new) not in able[name]):
                        cost = None
                        break
                    cost += Fraction(str(able_to[i]._cost(old, new)))
            predicted = model.predict(other.to_frame().T.astype(frame.dtypes.to_dict()))[0]
            if cost is None or str(predicted) != better:
                broken += 1
            else:
                costs.append(cost)
        none += not costs
        ratios += [float(min(costs) / best.cost)] if costs else []
    ratios.sort()
    print(
        f"      DiCE of {len(rows)} rows: {len(ratios)} answered, {none} not, {broken} answers that break the actions "
        f"or fail; its cheapest costs {statistics.median(ratios):.2f} times the optimum (median), "
        f"{ratios[(9 * len(ratios) - 1) // 10]:.2f} (nine tenths), {ratios[-1]:.2f} at most, {ratios[0]:.2f} at least; "
        f"{theirs / len(rows):.3f} s a row, ours {ours / len(rows):.4f} s"
    ) if ratios else print("      DiCE answered none")


def readable_rows(frame, portfolio):
    """Up to 500 rows whose values all lie in the model's domains."""
    inside = frame[portfolio.readable()]
    return inside.sample(min(len(inside), 500), random_state=0)


def cards(explainer, model, train, rest):
    """The share that cards decide of rows that they were not made of, and how many of these wrongly."""
    made, other = explainer.portfolio(train), explainer.portfolio(rest)
    some = readable_rows(rest, other)
    predicted = [str(one) for one in model.predict(some)]
    for lines in (20, 40, 60, 80, 120):
        card = timed(f"card of {lines} lines", lambda n=lines: explainer.card(made, n))
        told = [card.decides(some.iloc[k]) for k in range(len(some))]
        wrong = sum(one is not None and str(one) != label for one, label in zip(told, predicted, strict=True))
        print(
            f"      decides {card.share} of its own rows, {card.on(other).share} of others; "
            f"wrong {wrong} of {len(some)}"
        )


def rules(explainer, model, train, rest, names):
    """What rules cover, of a model of all features and of one of the five that matter most; and how many wrongly."""
    made, other = explainer.portfolio(train), explainer.portfolio(rest)
    for conditions, most in ((4, 10), (5, 20)) if len(names) <= 5 else ((4, 10),):
        what = f"rules of {conditions} conditions of {len(names)} features"
        found = timed(what, lambda c=conditions, m=most: explainer.rules(made, conditions=c, most=m, max_seconds=60))
        some = readable_rows(rest, other)
        told = [found.decides(some.iloc[k]) for k in range(len(some))]
        predicted = [str(one) for one in model.predict(some)]
        wrong = sum(one is not None and str(one) != label for one, label in zip(told, predicted, strict=True))
        unseen = found.on(other)
        any_could = sum(one.count for one in found.coverable.values())
        print(
            f"      any could cover {any_could} of {len(train)}; {len(found.rules)} rules cover {found.share}, "
            f"the first three {', '.join(str(one.share.count) for one in found.rules[:3])}; of others {unseen.share}; "
            f"wrong {wrong} of {len(some)}; best proven {sum(one.status.name == 'PROVEN' for one in found.rules)}",
            flush=True,
        )
    row = some.iloc[0]
    one = timed("the rule of a row", lambda: explainer.rule(row, made, conditions=4, max_seconds=30))
    print(f"      covers {one.share}, {one.status.name}; {one.sentence}")


if __name__ == "__main__":
    main()
