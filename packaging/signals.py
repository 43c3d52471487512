"""What the bundle runs before PyInstaller's own preparations, which would answer a Ctrl-C with a traceback."""

from kubectl_koord.cli import entry  # noqa: F401 - importing it takes care of signals
