"""The list of common configurations: each is taken over and withstands an attack, or is refused with its reason."""

import pytest
from attack import attack
from configurations import ALL, Configuration
from peers import note_attack

import suffice

MODULES = {"interpret-core": "interpret", "scikit-learn": "sklearn", "xgboost-cpu": "xgboost"}
ALSO_NEEDED = {"interpret's APLRClassifier": "aplr"}


def test_the_list_is_as_long_as_it_says_and_has_nothing_twice():
    assert len(ALL) >= 150
    assert len({(one.package, one.name) for one in ALL}) == len(ALL)


@pytest.mark.parametrize("one", ALL, ids=lambda one: f"{one.package}: {one.name}")
@pytest.mark.filterwarnings("ignore")
def test_a_common_configuration(one: Configuration):
    pytest.importorskip(MODULES.get(one.package, one.package), reason=f"{one.package} is not installed")
    also = ALSO_NEEDED.get(one.name)
    if also:
        pytest.importorskip(also, reason=f"{also} is not installed")
    original = one.fit()
    if one.refused:
        with pytest.raises(suffice.AdapterError, match=one.refused) as error:
            attack(original, **one.options)
        note_attack(one.package, one.name, refused=str(error.value), because=one.because)
        return
    found = attack(original, precision=one.precision, **one.options)
    assert found.explanations
    assert found.labels or found.model.task == "regression"
    note_attack(one.package, one.name, found=found)
