"""Explainers that are slow, watched or broken: they are asked in other processes, so they tell by files."""

import json
import time

from suffice.search.registry import SEARCHES


class Told:
    """An explainer that notes what it is asked in a folder."""

    def __init__(self, explainer, folder):
        self.explainer, self.folder = explainer, folder
        self.model, self.pieces, self.compiled = explainer.model, explainer.pieces, explainer.compiled

    def note(self, name, seconds):
        with (self.folder / "asked").open("a") as file:
            file.write(json.dumps([name, seconds]) + "\n")

    @property
    def asked(self):
        """What it was asked: the name of the search and the seconds it was given."""
        path = self.folder / "asked"
        return [tuple(json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


class Watched(Told):
    """An explainer that answers everything."""

    def __getattr__(self, name):
        if name not in SEARCHES:
            raise AttributeError(name)

        def answer(row, **arguments):
            place = "radius" if SEARCHES[name].takes_radius else "question"
            self.note(name, arguments[place].budget.max_seconds)
            return getattr(self.explainer, name)(row, **arguments)

        return answer


class Slow(Told):
    """An explainer whose `explain` and `counterfactual` wait until they are told to go on, heeding no clock."""

    def go(self):
        (self.folder / "go").touch()

    def explain(self, row, radius):
        self._wait("explain", radius)
        return self.explainer.explain(row, radius)

    def counterfactual(self, row, radius):
        self._wait("counterfactual", radius)
        return self.explainer.counterfactual(row, radius)

    def sufficiency(self, row, radius, features):
        return self.explainer.sufficiency(row, features, radius)

    def _wait(self, name, question):
        self.note(name, question.budget.max_seconds)
        end = time.monotonic() + 600
        while not (self.folder / "go").exists() and time.monotonic() < end:
            pass  # seconds of the processor are what counts


class Broken(Told):
    """An explainer that fails."""

    def explain(self, row, radius):
        raise RuntimeError("a secret")


class Dying(Told):
    """An explainer whose process ends."""

    def explain(self, row, radius):
        import os

        os._exit(9)


class Hungry(Told):
    """An explainer that takes half a gigabyte for an explanation, in one piece or in a list that grows."""

    def explain(self, row, radius):
        if radius.max_changed == 1:
            return bytearray(500_000_000)
        pieces = []
        while len(pieces) < 500:
            pieces.append(bytearray(1_000_000))
        return pieces

    def sufficiency(self, row, radius, features):
        return self.explainer.sufficiency(row, features, radius)
