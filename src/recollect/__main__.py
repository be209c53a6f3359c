"""`python -m recollect` is `recollect`."""

from recollect.surfaces.cli import main

main()
