"""The long-lived merge process answers as a process each would, in any order, and outlives a merge that kills it."""

from pathlib import Path

from headway.adapters.git_trial import GitTrialMerges, Quarantine, read_merge_tree
from headway.adapters.processes import Ran
from headway.core.names import Sha
from headway.core.ports.git import Clean, Conflicted, Empty, Trial, Unknown
from tests.sync.repos import Pair, lines, new_pair

TEN = lines(*range(10))


def changes_of_every_answer(folder: Path) -> tuple[Pair, dict[str, Sha]]:
    pair = new_pair(folder, {"a.txt": TEN, "b.txt": TEN, "c.txt": TEN})
    up, fork = pair.upstream, pair.fork
    changes = {
        "clean": up.commit("clean", {"b.txt": TEN.replace("2", "two")}),
        "conflict": up.commit("conflict", {"a.txt": TEN.replace("5", "five")}),
        "empty": up.commit("empty", {"new.txt": "same\n"}),
        "lost": up.commit("lost", {"c.txt": TEN.replace("8", "eight")}),
    }
    fork.commit("ours", {"a.txt": TEN.replace("5", "cinq"), "new.txt": "same\n", "c.txt": TEN.replace("1", "one")})
    fork.git("fetch", "--quiet", "origin")
    blob = fork.git("rev-parse", f"{changes['lost']}:c.txt")
    (fork.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    return pair, changes


def on_its_own(quarantine: Quarantine, ran: Ran) -> Trial:
    """The same question to a process of its own."""
    ours, theirs = ran.argv[-2:]
    tree = quarantine.reader.tree_of(ours)
    return read_merge_tree(quarantine.git.run("merge-tree", "--write-tree", "-z", ours, theirs, ok=None), tree)


def test_every_answer_is_that_of_a_process_of_its_own(tmp_path: Path) -> None:
    pair, changes = changes_of_every_answer(tmp_path)
    kinds = {"clean": Clean, "conflict": Conflicted, "empty": Empty, "lost": Unknown}
    order = ["clean", "conflict", "conflict", "lost", "empty", "lost", "lost", "clean", "conflict", "empty"]
    with Quarantine(pair.fork.path) as quarantine:
        asked: list[Ran] = []
        plain = quarantine.merges.merge

        def noted(ours: str, theirs: str) -> Ran:
            asked.append(plain(ours, theirs))
            return asked[-1]

        quarantine.merges.merge = noted  # type: ignore[method-assign]
        merges = GitTrialMerges(quarantine)
        for name in order:
            answer = merges.pick(changes[name], pair.fork.head())
            assert isinstance(answer, kinds[name]), (name, answer)
            alone = on_its_own(quarantine, asked[-1])
            assert answer == alone if name != "lost" else isinstance(alone, Unknown)


def test_an_unreadable_merge_says_what_git_said(tmp_path: Path) -> None:
    pair, changes = changes_of_every_answer(tmp_path)
    with Quarantine(pair.fork.path) as quarantine:
        answer = GitTrialMerges(quarantine).pick(changes["lost"], pair.fork.head())
        assert isinstance(answer, Unknown) and "128" in answer.message and "unable to read" in answer.message


def test_a_pick_foreseen_rightly_wrongly_or_fatally_gets_the_same_answer(tmp_path: Path) -> None:
    pair, changes = changes_of_every_answer(tmp_path)
    kinds = {"clean": Clean, "conflict": Conflicted, "empty": Empty, "lost": Unknown}
    onto = pair.fork.head()
    with Quarantine(pair.fork.path) as quarantine:
        merges = GitTrialMerges(quarantine)
        expected = {name: merges.pick(change, onto) for name, change in changes.items()}
        assert all(isinstance(expected[name], kind) for name, kind in kinds.items())
        for foreseen in [*kinds, *kinds]:
            for asked in kinds:
                merges.foresee(changes[foreseen], onto)
                answer = merges.pick(changes[asked], onto)
                assert answer == expected[asked], (foreseen, asked)
        for foreseen in kinds:  # nobody comes back for any of them
            merges.foresee(changes[foreseen], onto)
        assert merges.pick(changes["clean"], onto) == expected["clean"]
        merges.foresee(Sha("0" * 40), onto)
        assert merges.pick(changes["empty"], onto) == expected["empty"]
