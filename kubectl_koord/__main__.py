"""`python -m kubectl_koord`: the program, where its script is not on the path."""

from kubectl_koord.cli.entry import main

main()
