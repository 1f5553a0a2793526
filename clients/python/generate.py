"""Makes the synchronous client, src/colonnade/_sync, of the asynchronous one. With --check it changes nothing, and fails if they differ."""

import subprocess
import sys
import tempfile
from pathlib import Path

import unasync

HERE = Path(__file__).parent
SOURCE = HERE / "src/colonnade/_async"
BY_HAND = {"__init__.py", "io.py"}
NAMES = {
    "AsyncClient": "Client",
    "AsyncScan": "Scan",
    "AsyncTable": "Table",
    "AsyncTransport": "Transport",
    "_async": "_sync",
    "aclose": "close",
    "aclosing": "closing",
    "aiter_bytes": "iter_bytes",
    "aread": "read",
    "connect_async": "connect",
}


def generate(target: Path) -> list[Path]:
    files = [path for path in sorted(SOURCE.glob("*.py")) if path.name not in BY_HAND]
    rule = unasync.Rule(f"{SOURCE}/", f"{target}/", additional_replacements=NAMES)
    unasync.unasync_files([str(path) for path in files], [rule])
    made = [target / path.name for path in files]
    for path in made:
        head = f"# Made of _async/{path.name} by generate.py: change it there.\n"
        path.write_text(head + path.read_text(encoding="utf-8"), encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "check", "--quiet", "--fix", "--select", "I", "--config", HERE / "pyproject.toml", *made], check=True)
    subprocess.run([*ruff, "format", "--quiet", "--config", HERE / "pyproject.toml", *made], check=True)
    return made


def main() -> int:
    checked_in = SOURCE.parent / "_sync"
    if sys.argv[1:] != ["--check"]:
        generate(checked_in)
        return 0
    with tempfile.TemporaryDirectory() as directory:
        stale = [path.name for path in generate(Path(directory)) if path.read_bytes() != (checked_in / path.name).read_bytes()]
    for name in stale:
        print(f"src/colonnade/_sync/{name} is not what generate.py makes: run it, and check the file in")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
