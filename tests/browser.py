"""Chromium, where it is installed: what a page looks like in it, without a screen."""

import shutil
import subprocess
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "chromium-headless-shell")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)


def seen(page: Path, *flags: str) -> str:
    """Return the elements of a page as the browser has them, after scripts had 5 s of its own time to run."""
    usual = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=5000")
    profile = f"--user-data-dir={page.parent / 'profile'}"
    done = subprocess.run(
        [str(CHROMIUM), *usual, profile, *flags, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return done.stdout
