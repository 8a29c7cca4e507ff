"""`python -m suffice.cli`."""

from suffice.cli.app import main

main()
