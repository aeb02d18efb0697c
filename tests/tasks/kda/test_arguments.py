"""What `kda_forward` refuses, in which words, and what it answers without a kernel."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from headway.tasks.kda import choose_kernels, kda_forward  # noqa: E402


def inputs(tokens=8, heads=2, dim=128, dtype=torch.bfloat16):
    q, k, v, g = (torch.zeros(1, tokens, heads, dim, dtype=dtype) for _ in range(4))
    return {"q": q, "k": k, "v": v, "g": g, "beta": torch.zeros(1, tokens, heads, dtype=dtype)}


def test_importing_the_package_imports_neither_torch_nor_triton():
    code = "import sys, headway.tasks.kda; sys.exit(bool({'torch', 'triton'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q": torch.zeros(1, 8, 2, 64)}, r"q must be a tensor of shape \[batch, tokens, heads, 128\]"),
        ({"k": torch.zeros(1, 9, 2, 128, dtype=torch.bfloat16)}, r"k must have shape \[1, 8, 2, 128\], not \[1, 9"),
        ({"v": torch.zeros(1, 8, 2, 128)}, "v must be bfloat16, not float32"),
        ({"g": torch.zeros(1, 8, 2, 128, dtype=torch.float16)}, "g must be bfloat16 or float32, not float16"),
        ({"beta": torch.zeros(1, 8)}, r"beta must have shape \[1, 8, 2\]"),
        ({"k": torch.zeros(1, 8, 2, 128, dtype=torch.bfloat16, device="meta")}, "k is on meta, but q is on cpu"),
        ({"v": torch.zeros(1, 8, 2, 128, dtype=torch.bfloat16, requires_grad=True)}, "v requires a gradient"),
        ({"initial_state": torch.zeros(1, 2, 128, 128, dtype=torch.bfloat16)}, "initial_state must be float32"),
        ({"cu_seqlens": [0, 4]}, "cu_seqlens must start at 0 and end at the number of tokens, 8"),
        ({"cu_seqlens": [0, 6, 4, 8]}, "cu_seqlens must not decrease"),
        ({"cu_seqlens": torch.tensor([0.0, 8.0])}, "cu_seqlens must be a vector of integers"),
        ({"cu_seqlens": [0, 8], "initial_state": torch.zeros(2, 2, 128, 128)}, r"must have shape \[1, 2, 128, 128\]"),
        ({"lower_bound": 0.0}, "lower_bound must be below 0 or None"),
        ({"a_log": torch.zeros(2)}, "a_log and dt_bias belong to raw_gates=True"),
        ({"raw_gates": True, "dt_bias": torch.zeros(2, 128)}, r"dt_bias must have shape \[256\]"),
        ({"kernels": "gluon"}, "the Gluon kernels cannot serve this call: cpu: Gluon has no interpreter"),
        ({"kernels": "cutlass"}, "kernels must be 'auto', 'gluon' or 'triton'"),
    ],
)
def test_refuses_in_one_sentence(change, words):
    with pytest.raises(ValueError, match=words):
        kda_forward(**(inputs() | change))


def test_packed_sequences_need_a_batch_of_one():
    doubled = [torch.cat([x, x]) for x in inputs().values()]
    with pytest.raises(ValueError, match="packed into one batch entry, but the batch is 2"):
        kda_forward(*doubled, cu_seqlens=[0, 8])


def test_what_is_no_tensor_is_a_type_error():
    with pytest.raises(TypeError, match="beta must be a tensor, not float"):
        kda_forward(*[*inputs().values()][:4], 0.5)


def test_no_tokens_leave_the_state_as_it_was():
    state = torch.randn(1, 2, 128, 128)
    o, final = kda_forward(*inputs(tokens=0).values(), initial_state=state)
    assert o.shape == (1, 0, 2, 128)
    assert torch.equal(final, state)


def test_the_choice_of_kernels_says_why():
    kernels, why = choose_kernels(torch.device("cpu"), [torch.bfloat16], -5.0)
    assert (kernels, why) == ("triton", "cpu: Gluon has no interpreter")
