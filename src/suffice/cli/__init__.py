"""The command line."""


def main() -> None:
    """Run the command line."""
    from suffice.cli.app import main as run  # here, so that `python -m suffice.cli.demo` stands beside it

    run()


__all__ = ["main"]
