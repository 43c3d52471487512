"""What is said of gangs that Volcano schedules."""

from kubectl_koord.reports.jobs.volcano import VolcanoGang


def decides(gang: VolcanoGang) -> str:
    """Return that Volcano decides about a gang, and how far it is."""
    phase = f"phase {gang.phase}" if gang.phase else "no phase yet"
    return f"Volcano schedules it ({phase}, queue {gang.queue}); no decision is computed for another scheduler"
