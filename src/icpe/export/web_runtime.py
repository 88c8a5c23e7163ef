"""The runtime of pages: onnxruntime-web (MIT), as it lies in the npm registry.

It is fetched once by npm, compared with a hash, and kept in the cache of the user.
"""

import base64
import dataclasses
import gzip
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from icpe.core.errors import DataError, MissingExtraError
from icpe.core.files import replacing

VERSION = "1.30.0"
_HASH = (
    "q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAf"
    "KYQ=="
)
"""The sha512 of the package, as the registry states it."""
_CODE = "package/dist/ort.wasm.bundle.min.mjs"
_WASM = "package/dist/ort-wasm-simd-threaded.wasm"
_MANUAL = f"npm pack onnxruntime-web@{VERSION}"


@dataclasses.dataclass(frozen=True)
class WebRuntime:
    """The two files of the runtime, compressed by gzip."""

    code: bytes
    wasm: bytes


def web_runtime() -> WebRuntime:
    """The runtime, fetched if it is not here yet.

    Raises:
        MissingExtraError: npm is not installed.
        DataError: the package cannot be fetched, or is another one.
    """
    package = _folder() / f"onnxruntime-web-{VERSION}.tgz"
    if not package.is_file() or not _is_right(package.read_bytes()):
        _fetch(package)
    with tarfile.open(package) as archive:
        files = [archive.extractfile(name) for name in (_CODE, _WASM)]
        code, wasm = (file.read() if file else b"" for file in files)
    return WebRuntime(compressed(code), compressed(wasm))


def compressed(content: bytes) -> bytes:
    """The content by gzip; the same bytes every time."""
    return gzip.compress(content, 9, mtime=0)


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "icpe" / "web"


def _fetch(package: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise MissingExtraError(
            "Pages need onnxruntime-web, which npm fetches; install npm, or put what "
            f"{_MANUAL} fetches elsewhere into {package.parent}."
        )
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [npm, "pack", f"onnxruntime-web@{VERSION}", "--silent"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        found = list(Path(folder).glob("*.tgz"))
        if done.returncode or not found:
            said = (done.stderr or done.stdout).strip().splitlines()
            reason = said[-1] if said else f"status {done.returncode}"
            raise DataError(
                f"onnxruntime-web could not be fetched by npm ({reason}); put what "
                f"{_MANUAL} fetches elsewhere into {package.parent}."
            )
        content = found[0].read_bytes()
    if not _is_right(content):
        raise DataError(
            f"What npm fetched is not onnxruntime-web {VERSION}, since its hash is "
            f"another; put what {_MANUAL} fetches elsewhere into {package.parent}."
        )
    package.parent.mkdir(parents=True, exist_ok=True)
    with replacing(package) as temporary:
        temporary.write_bytes(content)


def _is_right(content: bytes) -> bool:
    digest = hashlib.sha512(content).digest()
    return base64.b64encode(digest).decode() == _HASH
