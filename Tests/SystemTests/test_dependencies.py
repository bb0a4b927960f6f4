"""docs/dependencies.md and its source: what is linked, installed, pinned and fixed."""

import gzip
import importlib.metadata
import json
import pathlib
import re
import shutil
import subprocess
import sysconfig

import pytest

from harness.processes import ROOT, built_binary

LIBRARIES = json.loads((ROOT / "deploy" / "release" / "dependencies.json").read_text())["libraries"]
# Those that come from a package; the others are part of the programs, or go with them.
PACKAGED = [library for library in LIBRARIES if library["run"]]
# The image's file system, which scripts/check-image makes.
IMAGE = ROOT / ".build" / "image-service"
# Part of every Debian image.
IN_EVERY_IMAGE = {"libc6", "libgcc-s1"}
# A development build links Swift's own libraries, too.
SWIFT = re.compile(r"lib(swift|_?Foundation|dispatch|BlocksRuntime)")
needs_debian = pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="no Debian")
DEFECTS = [
    (library, defect)
    for library in LIBRARIES
    for defect in library["defects"]
    if defect["good_here"]
]


needs_image = pytest.mark.skipif(
    not IMAGE.is_dir() or shutil.which("dpkg-query") is None,
    reason="no image: scripts/check-image makes one",
)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def is_at_least(version, least):
    return subprocess.run(["dpkg", "--compare-versions", version, "ge", least]).returncode == 0


def test_the_page_is_up_to_date():
    subprocess.run([ROOT / "scripts" / "make-dependencies", "--check"], check=True)


@pytest.mark.parametrize("program", ["heliograph", "heliograph-lab"])
def test_programs_are_linked_to_these_libraries(program):
    told = output("readelf", "--dynamic", "--wide", built_binary(program))
    linked = set(re.findall(r"\(NEEDED\).*\[(.+)\]", told))
    linked = {name for name in linked if not SWIFT.match(name) and not name.startswith("ld-linux")}
    listed = {name for library in LIBRARIES for name in library["libraries"]}
    assert linked and linked <= listed, linked - listed
    if program == "heliograph":
        assert listed <= linked, f"listed, but not linked: {listed - linked}"


@needs_debian
def test_libraries_come_from_their_packages():
    told = output("ldd", built_binary("heliograph"))
    places = dict(re.findall(r"(\S+) => (/\S+)", told))
    for library in PACKAGED:
        for name in library["libraries"]:
            # Debian's merged /usr has a second path to each library.
            ways = {places[name], str(pathlib.Path(places[name]).resolve())}
            ways |= {way.removeprefix("/usr") for way in ways}
            ended = subprocess.run(["dpkg", "-S", *ways], capture_output=True, text=True)
            owners = {line.split(":")[0] for line in ended.stdout.splitlines()}
            assert owners == {library["run"]}, f"{name}: {owners}"


@needs_debian
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library["name"])
def test_the_installed_version_is_at_least_the_listed_one(library):
    # Without the number of a rebuild.
    format = "-f=${source:Version} ${source:Package}"
    package = library["run"] or library["package"]
    version, source = output("dpkg-query", "-W", format, package).split()
    assert source == library["source"]
    assert is_at_least(version, library["version"]), f"{version} is older: apt-get upgrade"
    # An SBOM names the version of what is not in a package of the image.
    assert library["run"] or version == library["version"]


@needs_image
@pytest.mark.parametrize("library", PACKAGED, ids=lambda library: library["name"])
def test_the_image_has_at_least_the_listed_version(library):
    database = IMAGE / "var/lib/dpkg"
    package = library["image"]["run"]
    version = output("dpkg-query", f"--admindir={database}", "-W", "-f=${Version}", package)
    assert is_at_least(version, library["image"]["version"])


@needs_debian
@pytest.mark.parametrize("library", PACKAGED, ids=lambda library: library["name"])
def test_the_listed_versions_have_the_fixes(library):
    for defect in library["defects"]:
        assert defect["good_here"] or defect.get("avoided"), f"{defect['id']} is open"
        for version, good in (
            (library["version"], defect["good_here"]),
            (library["image"]["version"], defect["good_image"]),
        ):
            assert not good or is_at_least(version, good)


@needs_debian
@pytest.mark.parametrize(("library", "defect"), DEFECTS, ids=lambda value: value.get("id", ""))
def test_the_debian_changelog_confirms_each_fix(library, defect):
    """It names the defect in the entry of the version that is listed as fixed."""
    confirm(pathlib.Path("/"), library["run"], library, defect["id"], defect["good_here"])


@needs_image
@pytest.mark.parametrize(("library", "defect"), DEFECTS, ids=lambda value: value.get("id", ""))
def test_the_changelog_of_the_image_confirms_each_fix(library, defect):
    """Or the version is upstream's with the fix."""
    fixed = defect["good_image"]
    if fixed == f"{defect['good']}-1":
        return
    confirm(IMAGE, library["image"]["run"], library, defect["id"], fixed)


def confirm(root, package, library, identifier, version):
    path = root / "usr/share/doc" / package / "changelog.Debian.gz"
    if not path.exists():
        pytest.skip(f"{path} is not installed, so {identifier} is NOT checked")
    text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    entries = re.split(r"(?m)^(?=\S+ \(.+\) .+; urgency)", text)
    [entry] = [e for e in entries if e.startswith(f"{library['source']} ({version})")]
    assert identifier in entry


def test_the_dockerfile_and_setup_install_them():
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    build, run = (set(names.split()) for names in re.findall(r"install --yes \S+([^&]*)", text))
    development = {library["build"] for library in LIBRARIES if library["build"].endswith("-dev")}
    # The toolchain's image includes the C library's.
    assert build - {"pkg-config"} == development - {"libc6-dev"}
    needed = {library["image"]["run"] for library in PACKAGED}
    assert run - {"ca-certificates"} == needed - IN_EVERY_IMAGE
    setup = (ROOT / "scripts" / "setup").read_text()
    [packages] = re.findall(r"(?s)build_packages=\((.*?)\)", setup)
    assert {library["build"] for library in LIBRARIES} - {"libc6-dev"} <= set(packages.split())


def test_the_tools_of_the_tests_are_pinned():
    """Including indirect dependencies."""
    text = (ROOT / "Tests" / "SystemTests" / "requirements.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    pinned = {plain(name): version for name, version in (line.split("==") for line in lines)}
    # The packages of a new virtual environment.
    own = {"pip", "setuptools", "wheel"}
    for found in importlib.metadata.distributions(path=[sysconfig.get_path("purelib")]):
        name = plain(found.metadata["Name"])
        assert name in own or pinned.get(name) == found.version, f"{name}=={found.version}"


def plain(name):
    """A package name, normalized as PyPI does."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_manifest_names_them():
    text = (ROOT / "Package.swift").read_text()
    assert set(re.findall(r'pkgConfig: "(.+?)"', text)) == {
        library["pkg_config"] for library in LIBRARIES if "pkg_config" in library
    }
    linked = set(re.findall(r'linkedLibrary\("(.+?)"\)', text)) - {"m"}
    assert linked == {"simdjson", ":libre2.a"}
    assert set(re.findall(r'apt\(\["(.+?)"\]\)', text)) <= {library["build"] for library in LIBRARIES}
