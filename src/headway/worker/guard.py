"""Tripwires inside the runner's interpreter. They explain an offence early; the wall is the sandbox around the process.

An audit hook cannot be removed from Python code. It is armed only while candidate code runs, and what it saw is
reported to the judge, which refuses. The candidate gets its own `builtins` without the ways to files and to code.
"""

import builtins
import sys
from typing import Any

DENIED_EVENTS = frozenset(
    {
        "open", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.kill", "os.killpg",
        "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir", "os.chmod", "os.chown", "os.link",
        "os.symlink", "os.putenv", "os.unsetenv", "os.truncate", "subprocess.Popen", "pty.spawn", "shutil.copyfile",
        "sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys.setprofile", "sys.settrace",
        "sys.addaudithook", "sys.set_asyncgen_hooks_firstiter", "gc.get_objects", "gc.get_referrers",
        "gc.get_referents", "mmap.__new__", "marshal.loads", "marshal.load", "pickle.find_class", "code.__new__",
        "function.__new__", "signal.pthread_kill", "resource.setrlimit", "resource.prlimit",
        "_thread.start_new_thread", "_thread.start_joinable_thread", "object.__setattr__", "object.__delattr__",
        "cpython.run_command", "webbrowser.open", "fcntl.fcntl", "fcntl.ioctl", "glob.glob",
    }
)  # fmt: skip
FOR_FRAMEWORKS = frozenset(
    {"os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.kill", "os.killpg",
     "subprocess.Popen", "sys.setprofile", "sys.settrace", "gc.get_objects", "gc.get_referrers", "os.listdir"}
)  # fmt: skip
PROGRAMS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec", "os.listdir", "os.kill", "os.killpg"})
"""On a GPU the first calls compile; the system call filter ends that before anything is measured."""
"""Where torch and triton run, they read files, load libraries and look at frames themselves."""
DENIED_PREFIXES = ("socket.", "ctypes.", "winreg.", "ftplib.", "http.", "urllib.", "smtplib.", "tempfile.", "sqlite3.")
NO_BUILTINS = ("open", "exec", "eval", "compile", "input", "breakpoint", "exit", "quit", "help", "globals", "locals")


class Offence(PermissionError):
    """Raised into the candidate; catching it does not help, the judge knows already."""


class Guard:
    """Arms and disarms the hook around candidate code and collects what it saw."""

    def __init__(
        self, allowed_imports: frozenset[str], absent: frozenset[str], framework: bool = False, programs: bool = False
    ) -> None:
        self.offences: list[str] = []
        self._allowed = allowed_imports
        self._absent = absent
        self._events = FOR_FRAMEWORKS - PROGRAMS if programs else FOR_FRAMEWORKS if framework else DENIED_EVENTS
        self._prefixes = ("socket.",) if framework else DENIED_PREFIXES
        self._armed = False
        self._import = builtins.__import__
        sys.addaudithook(self._hook)

    def arm(self) -> None:
        self._armed = True

    def disarm(self) -> None:
        self._armed = False

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._armed or not (event in self._events or event.startswith(self._prefixes)):
            return
        if event in ("object.__setattr__", "object.__delattr__") and arguments[1] != "__code__":
            return  # dataclasses sets __doc__ and the like
        if event == "sys._getframe" and self._asked_by_library():
            return
        self._note(f"{event} {str(arguments[:1])[:80]}")

    def _note(self, what: str) -> None:
        if len(self.offences) < 20:
            self.offences.append(what)
        raise Offence(f"{what.split()[0]} is not for candidates")

    def _asked_by_library(self) -> bool:
        """`namedtuple` and `typing` look one frame up for a module name; only such code of the library may."""
        self._armed = False  # this look is itself an event
        caller = sys._getframe(2).f_code.co_filename  # 0 here, 1 the hook, 2 who asked
        self._armed = True
        return not caller.startswith("<candidate")

    def builtins_for_candidate(self) -> dict[str, Any]:
        """A copy of `builtins` whose `__import__` knows the task's allow-list."""
        mine = {name: value for name, value in vars(builtins).items() if name not in NO_BUILTINS}
        mine["__import__"] = self._guarded_import
        return mine

    def _guarded_import(self, name: str, *rest: Any, **named: Any) -> Any:
        top = name.partition(".")[0]
        if top in self._allowed:
            return self._import(name, *rest, **named)
        if top in self._absent:
            raise ModuleNotFoundError(f"No module named {top!r}", name=top)
        return self._note(f"import ({name!r},)")
