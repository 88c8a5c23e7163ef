"""`python -m icpe` is the command `icpe`."""

import sys

from icpe.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
