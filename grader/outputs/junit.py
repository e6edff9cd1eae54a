"""Reports as JUnit XML, in the form that pytest writes (xunit2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from grader.outputs.phrases import explained_message, isolation_in_force
from grader.outputs.sanitise import clean
from grader.records import CheckResult, Report, Verdict

ILLEGAL_CHARACTERS = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0
MAX_ATTRIBUTE_CHARS = 500  # of a message; the element holds it whole


def render_junit(reports: Sequence[Report]) -> str:
    """Return XML with a ``testsuite`` for each report and a ``testcase`` for each check.

    Points are properties, since JUnit has no score. A submission that could not be tried counts as
    an error in every check.
    """
    root = ET.Element("testsuites", name="attention-drills")
    for report in reports:
        root.append(_suite(report))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(report: Report) -> ET.Element:
    counts = [_kind(check) for check in report.checks]
    suite = ET.Element(
        "testsuite",
        name=report.exercise,
        errors=str(counts.count("error")),
        failures=str(counts.count("failure")),
        skipped=str(counts.count("skipped")),
        tests=str(len(counts)),
        time=f"{report.seconds:.3f}",
        timestamp=report.started,
    )
    facts = {
        "submission": _text(report.submission),
        "score": str(report.earned),
        "possible": str(report.possible),
        "seed": str(report.seed),
        "isolation": isolation_in_force(report).removeprefix("isolation "),
        "device": report.device,
    }
    suite.append(_properties(facts))
    suite.extend(_case(report, check) for check in report.checks)
    if report.output:
        ET.SubElement(suite, "system-out").text = _text(report.output)
    return suite


def _case(report: Report, check: CheckResult) -> ET.Element:
    case = ET.Element(
        "testcase", classname=report.exercise, name=check.name, time=f"{check.seconds:.3f}"
    )
    case.append(_properties({"points": str(check.earned), "possible": str(check.possible)}))
    kind = _kind(check)
    if kind:
        whole = _text(report.problem or explained_message(report, check))
        attributes = {"type": "pytest.skip"} if kind == "skipped" else {}
        element = ET.SubElement(
            case, kind, attributes, message=whole.partition("\n")[0][:MAX_ATTRIBUTE_CHARS]
        )
        element.text = whole
    if check.output:
        ET.SubElement(case, "system-out").text = _text(check.output)
    return case


def _kind(check: CheckResult) -> str:
    """Return the name of the element for a check's verdict; empty where the check passed."""
    match check.verdict:
        case Verdict.PASS:
            return ""
        case Verdict.SKIP:
            return "skipped"
        case Verdict.FAIL | Verdict.TODO:
            return "failure"
    return "error"


def _properties(values: dict[str, str]) -> ET.Element:
    properties = ET.Element("properties")
    for name, value in values.items():
        ET.SubElement(properties, "property", name=name, value=value)
    return properties


def _text(text: str) -> str:
    return ILLEGAL_CHARACTERS.sub("�", clean(text))
