"""A census as an act: run or recall the suite, hold it against the accepted inventory, say what is missing."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from pathlib import Path

from headway.core.config import AllowedSkip, L1Config
from headway.core.errors import CouldNotRun
from headway.core.events import Event
from headway.core.events_validate import CensusTaken
from headway.core.names import BlobId, Sha
from headway.validate.census import Inventory, compare
from headway.validate.environment import suite_key
from headway.validate.known import KnownResults
from headway.validate.suite_run import Ports
from headway.validate.suite_runs import SuiteRuns

CENSUS_SCHEMA = "headway.census/1"


def take_census(
    l1: L1Config,
    owner: Path,
    revision: Sha,
    ports: Ports,
    known: KnownResults,
    expected: BlobId | None,
    allowances: Iterable[AllowedSkip],
    today: date,
) -> tuple[Event, ...]:
    """The events of one census, `CensusTaken` last. Raises CouldNotRun when the suite said nothing usable."""
    runs = SuiteRuns(l1, owner, (), ports, known, suite_key(l1, ports.environ))
    result = runs.result_of(revision)
    if result.trouble and not result.tests:
        raise CouldNotRun(f"No census of {revision[:12]}: {result.detail}", "Mend the suite, then take it again.")
    inventory = Inventory.of(result)
    wanted = Inventory.from_json(ports.blobs.get(expected)) if expected is not None else Inventory({})
    findings = compare(wanted, result, allowances, today)
    evidence = runs.keep(
        {
            "schema": CENSUS_SCHEMA,
            "revision": revision,
            "harness": result.harness,
            "counts": dict(result.counts),
            "expected": sum(wanted.floors().values()),
            "inventory": ports.blobs.put(inventory.to_json()),
            "floors": inventory.floors(),
            "findings": [asdict(found) for found in findings],
        }
    )
    taken = CensusTaken(revision, result.harness, len(result.ran()), len(findings), evidence)
    return (*runs.events, taken)


def inventory_of(evidence: bytes) -> BlobId:
    """The inventory blob that a census's evidence names."""
    return BlobId(json.loads(evidence)["inventory"])
