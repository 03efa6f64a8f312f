"""One file over HTTP: resumed where the server allows it, tried again a bounded number of times, and digested."""

import hashlib
import time
from pathlib import Path

import requests
import urllib3
from tqdm import tqdm

from infonce.data.folders import file_digest
from infonce.data.sources import SourceFile

_BLOCK = 1 << 16
_TIMEOUT = (20, 60)
_LONGEST_PAUSE = 30.0
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class TransferError(Exception):
    """An address did not give the file; the message tells why."""


class _PassingError(TransferError):
    """A failure that may be gone at the next attempt."""


def download(source: SourceFile, address: str, part: Path, retries: int, progress: bool, pause: float = 1.0) -> None:
    """Fetch `source` from `address` into `part`, which is complete and has the right digest afterwards.

    What an earlier, broken attempt left in `part` is continued if the server answers ranges. Passing
    failures (no connection, a server error, a cut answer) are tried again up to `retries` attempts in all,
    after pauses that double from `pause` seconds; others (not found, a bad certificate, a file of another
    size) fail at once. Raises TransferError with the last cause.
    """
    for attempt in range(retries):
        try:
            _continue(source, address, part, progress)
            _check_digest(source, part)
            return
        except _PassingError as error:
            if attempt == retries - 1:
                raise TransferError(f"{error} (attempt {retries} of {retries})") from error
            time.sleep(min(pause * 2**attempt, _LONGEST_PAUSE))


def _continue(source: SourceFile, address: str, part: Path, progress: bool) -> None:
    done = part.stat().st_size if part.exists() else 0
    if done == source.size:
        return
    if done > source.size:
        part.unlink()
        done = 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={done}-"} if done else {})
    try:
        with _asked(address, headers) as response:
            _receive(source, response, part, done, progress)
    except requests.exceptions.SSLError as error:
        raise TransferError(f"its certificate is refused: {_cause(error)}") from error
    except (requests.exceptions.ConnectionError, requests.exceptions.Timeout) as error:
        raise _PassingError(f"no connection, or a broken one: {_cause(error)}") from error
    except (requests.exceptions.RequestException, ValueError) as error:  # ValueError: an address that is none
        raise TransferError(_cause(error)) from error
    except urllib3.exceptions.HTTPError as error:
        raise _PassingError(f"the connection broke: {_cause(error)}") from error


def _asked(address: str, headers: dict[str, str]) -> requests.Response:
    """The answer, not yet read; what fails on this machine, as certificates that cannot be read, is a cause too."""
    try:
        return requests.get(address, headers=headers, stream=True, timeout=_TIMEOUT)
    except requests.exceptions.RequestException:
        raise
    except OSError as error:
        raise TransferError(f"cannot be asked: {error}") from error


def _receive(source: SourceFile, response: requests.Response, part: Path, done: int, progress: bool) -> None:
    """Append to `part` where the server continues at byte `done`, else start it anew."""
    status = response.status_code
    if status == 416:
        part.unlink(missing_ok=True)
        raise _PassingError("the server does not continue the file")
    if status in _PASSING:
        raise _PassingError(f"answered {status} {response.reason}")
    if status not in (200, 206):
        raise TransferError(f"answered {status} {response.reason}")
    continued = status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {done}-")
    if status == 206 and not continued:
        part.unlink(missing_ok=True)
        raise _PassingError("the server continues the file at another place")
    start = done if continued else 0
    announced = response.headers.get("Content-Length", "")
    if announced.isdecimal() and int(announced) != source.size - start:
        kind = response.headers.get("Content-Type", "of unknown type")
        raise TransferError(
            f"offers {int(announced) + start} bytes ({kind}), expected {source.size}: it is another file"
        )
    size = start
    with (
        part.open("ab" if continued else "wb") as file,
        tqdm(
            total=source.size,
            initial=start,
            desc=source.name,
            unit="B",
            unit_scale=True,
            disable=None if progress else True,
        ) as bar,
    ):
        # As they came: some servers label a packed file as an encoding, which would be taken off on the way.
        for block in response.raw.stream(_BLOCK, decode_content=False):
            size += len(block)
            if size > source.size:
                break
            file.write(block)
            bar.update(len(block))
    if size > source.size:
        part.unlink()
        raise TransferError(f"sends more than the expected {source.size} bytes: it is another file")
    if size < source.size:
        raise _PassingError(f"the connection ended after {size} of {source.size} bytes")


def _check_digest(source: SourceFile, part: Path) -> None:
    if found := wrong_digest(source, part):
        part.unlink()
        raise _PassingError(f"its content is wrong: {found}")


def wrong_digest(source: SourceFile, path: Path) -> str | None:
    """What is wrong with the bytes of a complete file, or None."""
    algorithm, _, expected = source.digest.partition(":")
    assert algorithm in hashlib.algorithms_guaranteed
    found = file_digest(path, algorithm)
    return None if found == expected else f"{algorithm} is {found}, expected {expected}"


def _cause(error: BaseException) -> str:
    """The innermost reason, which is what a reader can act on."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    return str(error) or type(error).__name__
