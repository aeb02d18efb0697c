"""`headway sync run --watch 30m`: one turn after another, until somebody asks for a clean stop."""

from collections.abc import Callable
from pathlib import Path

from headway.adapters.locks import LockHeld, WriterLock
from headway.adapters.state_place import state_of_fork
from headway.adapters.stop_signal import StopSignal
from headway.core.errors import HeadwayError
from headway.sync.commit_journey import WorldSilent
from headway.sync.watching import Pace
from headway.wiring.sync import open_session, run, status
from headway.wiring.world import real_world


def watch(path: Path, state: Path | None, interval: float, tell: Callable[[str], None]) -> int:
    """Run every `interval` seconds; returns the exit code: 0 for SIGTERM, 130 for ^C.

    A turn that fails is said and tried again: sooner where the world did not answer, else after the interval. The
    writer lock is held within a turn only, so that people's verbs act at once in between and leave word while one goes
    on; a lock of the watch's own keeps a second watch out. Raises LockHeld.
    """
    world, stop = real_world(), StopSignal()
    with open_session(path, state, world, write=False) as session:
        root = state_of_fork(session.fork.top, state, world.env)
    with WriterLock(root / "watch.lock", world.clock).held(), stop.listening():
        pace = Pace(interval)
        while not stop.asked():
            pace = pace.after(answered=_turn(path, state, tell, stop))
            if stop.asked():
                break
            tell(f"next look in {pace.seconds:g} s")
            stop.wait(pace.seconds)
        tell("stopped")
    return 130 if stop.interrupted else 0


def _turn(path: Path, state: Path | None, tell: Callable[[str], None], stop: StopSignal) -> bool:
    """One run; False where the world did not answer, so that it is asked again soon."""
    answered = True
    try:
        run(path, state, 0, tell=tell, stop=stop.asked)
    except WorldSilent as silent:
        tell(str(silent))
        answered = False
    except LockHeld as held:
        tell(f"{held.message} This turn is left out.")
    except HeadwayError as trouble:
        tell(str(trouble))
    try:
        alarm = status(path, state).alarm
        if alarm is not None:
            tell(alarm.line())
    except HeadwayError as trouble:
        tell(str(trouble))
    return answered
