"""A module under another name is still that module: what a Triton candidate may not reach by renaming it."""

import pytest

from headway.worker.admission import check_source
from headway.worker.refusals import Refused

RULES = {"imports": ["torch", "triton"], "torch": ["empty", "cuda.get_device_properties", "float32"]}
HEAD = "import torch\nimport triton\n\n\nclass Fake:\n    pass\n\n\n"


@pytest.mark.parametrize(
    "line",
    [
        "c = torch.cuda\nc.Event = Fake",
        "c = torch\nc.cuda.Event = Fake",
        "def swap(self):\n    self.Event = Fake\n\n\nswap(torch.cuda)",
        "class C:\n    def swap(self):\n        self.Event = Fake\n\n\nC.swap(torch.cuda)",
        "d = triton.runtime.driver.active\nd.get_current_stream = Fake",
        "for c in [torch.cuda]:\n    del c.Event",
        "(lambda c: c)(triton)",
        "from torch import cuda\n\n\nclass C:\n    def swap(self):\n        self.Event = Fake\n\n\nC.swap(cuda)",
        "c = getattr(torch, 'cuda')",
        "def entry(x):\n    x.data.shape = Fake",
    ],
)
def test_no_module_by_another_name_and_nothing_of_others_is_set(line: str) -> None:
    with pytest.raises(Refused):
        check_source(HEAD + line + "\n", RULES, 1 << 16)


def test_what_is_the_candidates_own_may_be_set() -> None:
    source = (
        "import torch\n\n\nclass Plan:\n    def __init__(self, n):\n        self.n = n\n\n\ndef entry(x):\n"
        "    entry.plan = Plan(torch.cuda.get_device_properties(x.device).multi_processor_count)\n"
        "    return torch.empty(entry.plan.n, dtype=torch.float32)\n"
    )
    check_source(source, RULES, 1 << 16)


def test_a_guarded_import_may_be_asked_for() -> None:
    guarded = "try:\n    import fast\nexcept ImportError:\n    fast = None\n"
    source = f"{guarded}\n\ndef entry(x):\n    return x if fast is None else x\n"
    check_source(source, RULES, 1 << 16)
