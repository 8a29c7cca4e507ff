"""What a fitted `GAMClassifier` or `GAMRegressor` says of a row, by loops over its knots and values."""

from fractions import Fraction


def scores_of(gam, row):
    """Return the exact scores, one for each output, of a row given by the names of columns."""
    used = [column for column, is_used in zip(gam.table_columns_, gam.is_used_, strict=True) if is_used]
    terms, scores = gam.terms_, []
    for output in range(len(gam.intercept_)):
        total = Fraction(float(gam.intercept_[output]))
        for column, hats, values in zip(used, terms.hats, terms.values, strict=True):
            for place, share in _shares(column, hats, row[column.name]):
                total += share * Fraction(float(values[place][output]))
        for grid, values in zip(terms.grids, terms.surfaces, strict=True):
            first, second = (
                _shares(used[k], axis, row[used[k].name]) for k, axis in zip(grid.columns, grid.axes, strict=True)
            )
            across = len(grid.axes[1].knots) + grid.axes[1].slots
            for i, share in first:
                for j, other in second:
                    total += share * other * Fraction(float(values[i * across + j][output]))
        center = gam.center_ if isinstance(gam.center_, float) else gam.center_[output]
        scores.append(total * Fraction(float(gam.scale_)) + Fraction(float(center)))
    return scores


def _shares(column, hats, cell):
    """Return which values of a line count for a cell, and how much."""
    knots = [Fraction(float(knot)) for knot in hats.knots]
    is_missing = cell is None or cell != cell
    if hasattr(column, "categories"):
        names = list(column.categories)
        return [(len(knots) + (len(names) if is_missing else names.index(cell)), Fraction(1))]
    if is_missing:
        return [(len(knots) + len(column.codes), Fraction(1))]
    if cell in column.codes:
        return [(len(knots) + column.codes.index(cell), Fraction(1))]
    if column.is_flat:
        return [(len(knots) + len(column.codes) + int(column.has_missing), Fraction(1))]
    number = (Fraction(float(cell)) - Fraction(column.center)) / Fraction(column.scale)
    if number <= knots[0]:
        return [(0, Fraction(1))]
    if number >= knots[-1]:
        return [(len(knots) - 1, Fraction(1))]
    k = 0
    while knots[k + 1] < number:
        k += 1
    share = (number - knots[k]) / (knots[k + 1] - knots[k])
    return [(k, 1 - share), (k + 1, share)]
