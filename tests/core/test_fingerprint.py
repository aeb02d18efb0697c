"""Fingerprints from listings that ptxas 12.9 and cuobjdump really printed for sm_90a (shortened)."""

from headway.core.fingerprint import Fingerprint, differences, families, of_listings, of_result

WORDS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 22 registers, used 1 barriers, 544 bytes smem
ptxas info    : Compile time = 71.107 ms
"""
SASS = """
\tcode for sm_90a
\t\tFunction : k
\t.headerflags\t@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                         /* 0x00000a00ff017b82 */
                                                                                  /* 0x000e220000000800 */
        /*0010*/                   S2R R11, SR_CTAID.X ;                          /* 0x00000000000b7919 */
        /*00b0*/              @!P6 LDG.E R9, desc[UR4][R4.64] ;                   /* 0x000000040409e981 */
        /*00c0*/             @!UP0 UIADD3 UR4, UR4, 0x1, URZ ;                    /* 0x000000040409e981 */
        /*00d0*/                   HGMMA.64x128x16.F32 R24, gdesc[UR4], R24 ;     /* 0x000000040409e981 */
        /*00e0*/                   LDL R4, [R1] ;                                 /* 0x000000040409e981 */
        /*00f0*/                   NOP ;                                          /* 0x000000040409e981 */
        /*0100*/                   EXIT ;                                         /* 0x000000040409e981 */
"""


def test_the_listings_of_a_kernel_become_one_fingerprint() -> None:
    (found,) = of_listings(WORDS, SASS)
    assert (found.name, found.registers, found.shared, found.stack) == ("k", 22, 544, 8)
    assert (found.spill_stores, found.spill_loads, found.spills) == (4, 12, True)
    assert found.instructions == {
        "tensor core": 1,
        "global memory": 1,
        "local memory": 1,
        "control": 1,
        "integer and moves": 3,
    }
    assert found.tensor_core == 1


def test_a_listing_without_resources_still_counts_instructions() -> None:
    (found,) = of_listings("", SASS)
    assert found.registers == 0
    assert found.tensor_core == 1


def test_a_workers_facts_become_fingerprints_by_case() -> None:
    kernel = {"name": "k", "registers": 34, "shared": 32, "stack": 0, "spill_stores": 0, "spill_loads": 0,
              "instructions": {"MUFU.EX2": 16, "NOP": 9}}  # fmt: skip
    found = of_result({"cases": [{"case": "rows", "kernels": {"59ef": kernel}}]})
    assert found == {"rows": (Fingerprint("k", 34, 32, 0, 0, 0, {"special function": 16}),)}
    assert of_result({}) == {}


def test_what_changed_is_said_worst_first() -> None:
    before = Fingerprint("k", 32, 0, 0, 0, 0, families({"HGMMA.64x64": 4, "LDS": 2}))
    after = Fingerprint("k", 40, 0, 0, 16, 0, families({"HGMMA.64x64": 2, "LDS": 2}))
    assert differences(before, after) == (
        "spill stores 0 -> 16",
        "registers 32 -> 40",
        "tensor core instructions 4 -> 2",
    )
    assert differences(before, before) == ()
