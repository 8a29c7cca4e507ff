"""A bar that shows how far a training is."""

from __future__ import annotations

from collections.abc import Callable


class Progress:
    """A progress bar, or nothing."""

    def __init__(self, epochs: int, *, is_shown: bool) -> None:
        self.epochs, self.is_shown = epochs, is_shown

    def __enter__(self) -> Callable[[int, float], None] | None:
        if not self.is_shown:
            return None
        from rich import progress

        self.bar = progress.Progress(
            progress.TextColumn("fitting"),
            progress.BarColumn(),
            progress.TextColumn("{task.fields[loss]}"),
            progress.TimeRemainingColumn(),
        )
        self.bar.start()
        task = self.bar.add_task("fitting", total=self.epochs, loss="")
        return lambda epoch, loss: self.bar.update(task, completed=epoch, loss=f"loss {loss:.4f}")

    def __exit__(self, *_: object) -> None:
        if self.is_shown:
            self.bar.stop()
