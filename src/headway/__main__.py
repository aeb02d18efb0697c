"""`python -m headway` is the same program as `headway`."""

from headway.cli.main import main

if __name__ == "__main__":
    main()
