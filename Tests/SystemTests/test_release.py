"""The parts of a release: version, pins, SBOMs, chart, workflows. No registry is asked."""

import base64
import functools
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile

import pytest
import yaml

from harness.processes import ROOT, built_binary

SCRIPTS = ROOT / "scripts"
TOOLS = pathlib.Path(sys.executable).parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# From semver.org, without build metadata, because the version is also an image tag.
SEMVER = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
AUTHOR = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Test"), ("EMAIL", "test@example.com"))
}


def run(*command, code=0, **options):
    ended = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=120, **options
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def module(name):
    """Loads a script of the project as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(SCRIPTS / name))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(made)
    return made


class Repository:
    """A copy of some files in a separate repository."""

    def __init__(self, folder, *names):
        self.folder = folder
        for name in names:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, target)
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        return run("git", *words, cwd=self.folder, env={**os.environ, **AUTHOR})

    def commit(self):
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", "One")

    def script(self, name, *words, **options):
        return run(self.folder / "scripts" / name, *words, cwd=self.folder, **options)


# The version


def test_versions_come_from_tags(tmp_path):
    repository = Repository(tmp_path, "scripts/version")
    repository.commit()

    def version():
        told = repository.script("version").strip()
        assert re.fullmatch(SEMVER, told), told
        return told

    commit = repository.git("rev-parse", "--short=8", "HEAD").strip()
    assert version() == f"0.1.0-dev.2.g{commit}"
    repository.git("tag", "v1.2.3")
    # Tags of another form are not releases.
    repository.git("tag", "nightly")
    assert version() == "1.2.3"
    (tmp_path / "scripts" / "version").write_text((SCRIPTS / "version").read_text() + "# Changed.\n")
    assert version() == f"1.2.4-dev.0.g{commit}.dirty"
    repository.commit()
    assert re.fullmatch(r"1\.2\.4-dev\.1\.g[0-9a-f]{8}", version())
    repository.git("tag", "v2.0.0-rc.1")
    assert version() == "2.0.0-rc.1"
    repository.commit()
    assert re.fullmatch(r"2\.0\.0-dev\.1\.g[0-9a-f]{8}", version())


@pytest.mark.parametrize(("said", "version"), [({"HELIOGRAPH_VERSION": "9.8.7-rc.1"}, "9.8.7-rc.1"), ({}, None)])
def test_the_manifest_passes_the_version_to_the_compiler(said, version):
    environment = {k: v for k, v in os.environ.items() if k != "HELIOGRAPH_VERSION"}
    told = subprocess.run(
        ["swift", "package", "dump-package"], cwd=ROOT, env={**environment, **said},
        capture_output=True, text=True, check=True,
    )
    [target] = [t for t in json.loads(told.stdout)["targets"] if t["name"] == "CFiles"]
    defines = [setting["kind"]["define"]["_0"] for setting in target["settings"]]
    assert defines == ([f'HELIOGRAPH_VERSION="{version}"'] if version else [])


def test_the_programs_print_their_version():
    for program in ("heliograph", "heliograph-lab"):
        assert re.search(SEMVER, run(built_binary(program), "--version"))


# Base images


def test_base_images_are_named_once_and_pinned_in_one_form():
    text = (ROOT / "Dockerfile").read_text()
    arguments = dict(re.findall(r"(?m)^ARG (\w+_IMAGE)=(\S+)$", text))
    bases = re.findall(r"(?m)^FROM (\S+) AS (\S+)$", text)
    stages = {stage for _, stage in bases}
    assert {base for base, _ in bases} - stages == {f"${{{name}}}" for name in arguments}
    for image in arguments.values():
        assert re.fullmatch(r"[a-z/]+:[\w.-]+(@sha256:[0-9a-f]{64})?", image), image


def test_pins_are_written(tmp_path):
    """With a fake docker that answers as the registry would."""
    repository = Repository(tmp_path, "scripts/pin-images", "Dockerfile")
    tools = tmp_path / "tools"
    tools.mkdir()
    docker = tools / "docker"
    docker.write_text('#!/bin/sh\necho "sha256:$(printf %s "$6" | sha256sum | cut -c -64)"\n')
    docker.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    before = (tmp_path / "Dockerfile").read_text()
    repository.script("pin-images", env=environment)
    after = (tmp_path / "Dockerfile").read_text()
    images = re.findall(r"(?m)^ARG \w+_IMAGE=(\S+)@(sha256:\S+)$", after)
    assert [tag for tag, _ in images] == ["swift:6.3.1-bookworm", "debian:trixie-slim"]
    assert len({digest for _, digest in images}) == 2, "both have one digest"
    assert re.sub(r"@sha256:\w+", "", after) == re.sub(r"@sha256:\w+", "", before)
    repository.script("pin-images", "--check")
    # A different registry's answer, and no answer.
    docker.write_text("#!/bin/sh\necho '<no value>'\n")
    repository.script("pin-images", env=environment, code=1)
    assert (tmp_path / "Dockerfile").read_text() == after
    (tmp_path / "Dockerfile").write_text(after.replace(f"@{images[0][1]}", ""))
    told = repository.script("pin-images", "--check", code=1)
    assert told == "pin-images: swift:6.3.1-bookworm has no digest\n"


def test_the_image_check_reads_pinned_bases():
    dockerfile = module("check-image").Dockerfile(ROOT / "Dockerfile")
    assert dockerfile.base("lab") == dockerfile.base("service")
    assert dockerfile.base("service").startswith("debian:trixie-slim")
    assert dockerfile.base("build-lab").startswith("swift:")


# The image check works for every processor


def test_the_loader_is_read_from_the_program():
    program = shutil.which("ls")
    headers = run("readelf", "--program-headers", "--wide", program)
    [expected] = re.findall(r"interpreter: (\S+)\]", headers)
    assert module("check-image").interpreter(program) == expected


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_loader_of_any_processor_is_found(order, tmp_path):
    """A minimal program for ARM, in either byte order."""
    name = b"/lib/ld-linux-aarch64.so.1\0"
    identity = b"\x7fELF\x02" + (b"\x01" if order == "<" else b"\x02") + b"\x01" + bytes(9)
    header = struct.pack(order + "HHIQQQIHHHHHH", 3, 183, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    note = struct.pack(order + "IIQQQQQQ", 4, 4, 0, 0, 0, 0, 0, 8)
    loader = struct.pack(order + "IIQQQQQQ", 3, 4, 176, 176, 176, len(name), len(name), 1)
    program = tmp_path / "program"
    program.write_bytes(identity + header + note + loader + name)
    assert module("check-image").interpreter(program) == name[:-1].decode()


def test_no_script_names_a_processor():
    """Except where a tool is downloaded that is built for one."""
    named = {
        path.name
        for path in SCRIPTS.iterdir()
        if path.is_file() and re.search(r"x86|amd64|ld-linux", path.read_text())
    }
    assert named == {"fetch-helm"}


# SBOMs

STATUS = """\
Package: libc6
Status: install ok installed
Architecture: arm64
Source: glibc
Version: 2.41-12+deb13u5
Provides: libc-whatever (= 1)

Package: libssl3t64
Status: install ok installed
Architecture: arm64
Source: openssl (3.5.9)
Version: 1:3.5.9-1~deb13u1
Depends: libc6 (>= 2.34), debconf (>= 0.5) | libc-whatever
Description: TLS
 with a line: that looks like a field

Package: removed
Status: deinstall ok config-files
Architecture: arm64
Version: 1
"""


@pytest.fixture
def image(tmp_path):
    """The parts of an unpacked image that an SBOM reads."""
    root = tmp_path / "root"
    for name, text in (
        ("var/lib/dpkg/status", STATUS),
        ("etc/os-release", 'ID=debian\nVERSION_ID="13"\n'),
        ("usr/local/bin/heliograph", "program"),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_sboms_list_the_content_of_the_image(image, tmp_path):
    for folder in ("one", "two"):
        run(SCRIPTS / "make-sbom", image, "1.2.3", tmp_path / folder)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / f).iterdir()} for f in ("one", "two"))
    assert one == two, "two SBOMs of one image differ"
    assert set(one) == {"heliograph-arm64.cdx.json", "heliograph-arm64.spdx.json"}
    cyclonedx, spdx = (json.loads(one[name]) for name in sorted(one))
    purl = "pkg:deb/debian/libssl3t64@1%3A3.5.9-1~deb13u1?arch=arm64&distro=debian-13&upstream=openssl"
    libc = "pkg:deb/debian/libc6@2.41-12%2Bdeb13u5?arch=arm64&distro=debian-13&upstream=glibc"
    parts = {c["name"]: c for c in cyclonedx["components"]}
    assert set(parts) == {
        "debian", "swift", "simdjson", "re2", "heliograph", "libc6", "libssl3t64"
    }
    assert parts["libssl3t64"]["purl"] == purl
    needs = {d["ref"]: d["dependsOn"] for d in cyclonedx["dependencies"]}
    assert needs[purl] == [libc]
    assert purl in needs["heliograph"] and "pkg:generic/swift@6.3.1" in needs["heliograph"]
    assert parts["re2"]["purl"] in needs["heliograph"]
    digest = parts["heliograph"]["hashes"][0]["content"]
    assert run("sha256sum", image / "usr/local/bin/heliograph").split()[0] == digest
    packages = {p["name"]: p for p in spdx["packages"]}
    assert set(packages) == {
        "swift", "simdjson", "re2", "heliograph", "libc6", "libssl3t64"
    }
    assert packages["libssl3t64"]["externalRefs"][0]["referenceLocator"] == purl
    relations = {(r["spdxElementId"], r["relationshipType"], r["relatedSpdxElement"])
                 for r in spdx["relationships"]}
    assert ("SPDXRef-deb-libssl3t64", "DEPENDS_ON", "SPDXRef-deb-libc6") in relations
    assert ("SPDXRef-heliograph", "DEPENDS_ON", "SPDXRef-deb-libssl3t64") in relations
    assert ("SPDXRef-heliograph", "DEPENDS_ON", "SPDXRef-simdjson") in relations


def test_sboms_are_valid(image, tmp_path):
    """According to the libraries of CycloneDX and SPDX."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

    run(SCRIPTS / "make-sbom", image, "1.2.3", tmp_path)
    text = (tmp_path / "heliograph-arm64.cdx.json").read_text()
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(text) is None
    assert validator.validate_str(text.replace('"library"', '"shelf"')) is not None
    path = tmp_path / "heliograph-arm64.spdx.json"
    assert validate_full_spdx_document(parse_file(str(path))) == []
    path.write_text(path.read_text().replace("urn:uuid:", "no namespace #"))
    assert validate_full_spdx_document(parse_file(str(path))) != []


def test_a_folder_without_an_image_gets_no_sbom(tmp_path, image):
    (image / "usr/local/bin/heliograph").unlink()
    run(SCRIPTS / "make-sbom", image, "1.2.3", tmp_path, code=1)
    assert not list(tmp_path.glob("*.json"))


# The release

NEEDED = (
    "scripts", "helm", "CHANGELOG.md", "Dockerfile", "deploy/release", ".github",
)


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repository", *NEEDED)
    (made.folder / ".git/info/exclude").write_text(".build\n__pycache__\n")
    tools = made.folder / ".build/tools"
    tools.mkdir(parents=True)
    tools.joinpath("helm").symlink_to(ROOT / ".build/tools/helm")
    return made


def make_it_a_release(repository, version="1.2.3"):
    folder = repository.folder
    changelog = (folder / "CHANGELOG.md").read_text()
    changelog = changelog.replace("## Unreleased\n", f"## Unreleased\n\n## {version}\n\n- Add it.\n\n## 1.2.2\n")
    (folder / "CHANGELOG.md").write_text(changelog)
    text = (folder / "Dockerfile").read_text()
    pinned = re.sub(r"(?m)^(ARG \w+_IMAGE=[^@\n]+).*$", rf"\1@sha256:{'0' * 64}", text)
    (folder / "Dockerfile").write_text(pinned)
    repository.commit()
    repository.git("tag", f"v{version}")


@pytest.mark.parametrize("version", ["1.2.3", "9.8.7-rc.1"])
def test_a_release_has_all_its_parts(repository, image, version):
    make_it_a_release(repository, version)
    name = "registry.example.com/team/heliograph"
    source = "https://example.com/team/heliograph"
    told = repository.script("release", "--image", name, "--source", f"{source}/", "--root", image)
    assert "NOT A RELEASE" not in told
    dist = repository.folder / ".build/dist"
    assert {path.name for path in dist.iterdir()} == {
        f"heliograph-{version}.tgz", "heliograph-arm64.cdx.json", "heliograph-arm64.spdx.json",
        "notes.md", "SHA256SUMS",
    }
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=dist)
    assert (dist / "notes.md").read_text() == "- Add it.\n"
    with tarfile.open(dist / f"heliograph-{version}.tgz") as archive:
        chart = yaml.safe_load(archive.extractfile("heliograph/Chart.yaml"))
        values = yaml.safe_load(archive.extractfile("heliograph/values.yaml"))
    assert (chart["version"], chart["appVersion"]) == (version, version)
    assert values["image"]["repository"] == name
    assert (chart["home"], chart["sources"]) == (source, [source])
    runbook = f"{source}/blob/v{version}/docs/operations.md"
    assert values["prometheusRule"]["runbookUrl"] == runbook
    rendered = run(
        ROOT / ".build/tools/helm", "template", "x", dist / f"heliograph-{version}.tgz",
        "--values", ROOT / "helm/heliograph/ci/default-values.yaml", "--set", "prometheusRule.enabled=true",
    )
    assert f"runbook_url: {runbook}#heliographabsent" in rendered


def test_the_icon_of_the_chart_equals_that_of_the_docs():
    chart = yaml.safe_load((ROOT / "helm/heliograph/Chart.yaml").read_text())
    kind, _, data = chart["icon"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(data) == (ROOT / "docs/images/icon.svg").read_bytes().strip()
    assert chart["maintainers"]


@pytest.mark.parametrize("stage", ["build", "build-lab", "lab", "service"])
def test_each_image_is_built_with_its_version_and_labelled_with_it(stage):
    text = (ROOT / "Dockerfile").read_text()
    [own] = re.findall(rf"(?ms)^FROM \S+ AS {stage}\n(.*?)(?=^FROM |\Z)", text)
    # An ARG is valid only after its line.
    _, argument, after = own.partition("ARG HELIOGRAPH_VERSION=0.0.0-dev\n")
    assert argument
    if stage.startswith("build"):
        assert "scripts/build" in after
    else:
        assert 'org.opencontainers.image.version="${HELIOGRAPH_VERSION}"' in after


@pytest.mark.parametrize("mistake", ["tag", "change", "notes", "digest", "image"])
def test_an_invalid_release_is_refused(mistake, repository, image):
    """A rehearsal reports it, and continues."""
    make_it_a_release(repository)
    folder = repository.folder
    expected = {
        "tag": "is no release: tag the commit",
        "change": "not committed",
        "notes": "has no section '## 1.2.4'",
        "digest": "swift:6.3.1-bookworm has no digest",
        "image": "no image to make an SBOM of",
    }[mistake]
    if mistake == "tag":
        repository.commit()
    elif mistake == "change":
        (folder / "new-file").touch()
    elif mistake == "notes":
        repository.commit()
        repository.git("tag", "v1.2.4")
    elif mistake == "digest":
        text = (folder / "Dockerfile").read_text()
        (folder / "Dockerfile").write_text(text.replace(f"bookworm@sha256:{'0' * 64}", "bookworm"))
        repository.commit()
        repository.git("tag", "--force", "v1.2.3")
    roots = [] if mistake == "image" else ["--root", image]
    told = repository.script("release", *roots, code=1)
    assert expected in told and not (folder / ".build/dist").exists()
    told = repository.script("release", "--dry-run", *roots)
    assert expected in told and list((folder / ".build/dist").glob("*.tgz"))


# The workflows


@functools.cache
def workflow(path):
    return yaml.safe_load(path.read_text())


def test_workflows_have_the_format_of_github_actions():
    run(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)
    run(TOOLS / "jactionlint", *WORKFLOWS, cwd=ROOT)


def test_workflows_are_safe():
    run(TOOLS / "zizmor", "--offline", "--no-progress", "--min-severity", "medium", *WORKFLOWS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_and_limit_everything(path):
    text = path.read_text()
    for action in re.findall(r"uses: (\S+.*)", text):
        assert re.fullmatch(r"\./\S+|\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    assert workflow(path)["permissions"] == {}, "only jobs set permissions"
    for name, job in workflow(path)["jobs"].items():
        assert "permissions" in job, name
        assert "uses" in job or "timeout-minutes" in job, name
    for script in re.findall(r"(?:^|[\s(])(scripts/[\w-]+|\.ci/run)", text):
        assert os.access(ROOT / script, os.X_OK), script


def test_each_processor_has_a_native_build():
    for name, job in (("ci", "test"), ("release", "image")):
        [path] = [path for path in WORKFLOWS if path.stem == name]
        matrix = workflow(path)["jobs"][job]["strategy"]["matrix"]["include"]
        assert {(x["architecture"], x["runner"]) for x in matrix} == {
            ("amd64", "ubuntu-24.04"), ("arm64", "ubuntu-24.04-arm"),
        }
        assert "qemu" not in path.read_text()
