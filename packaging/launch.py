"""Where the bundle begins: one program under two names, the link kubectl_complete-koord answers kubectl."""

import os
import sys

# The bundle's libraries are for us, not for kubectl and credential plugins that we start.
_LIBRARIES = "LD_LIBRARY_PATH"
_before = os.environ.pop(f"{_LIBRARIES}_ORIG", None)
if _before is not None:
    os.environ[_LIBRARIES] = _before
else:
    os.environ.pop(_LIBRARIES, None)

from kubectl_koord.cli import entry  # noqa: E402 - what it starts inherits the environment

if os.path.basename(sys.argv[0]).startswith("kubectl_complete-"):  # noqa: PTH119 - pathlib takes 5 ms
    entry.complete()
else:
    entry.main()
