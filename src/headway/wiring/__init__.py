"""The only place that chooses real implementations. One module per room builds what the room needs."""

from headway.wiring.state import State, open_state

__all__ = ["State", "open_state"]
