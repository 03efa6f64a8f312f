import dataclasses
import gzip
import multiprocessing
import os
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from infonce.data import transfer
from infonce.data.commands import fetch_datasets, list_datasets, verify_datasets
from infonce.data.download import fetch, missing_members, require_complete, verify
from infonce.data.registry import DATASETS
from infonce.errors import DataError
from tests.data.archives import fake
from tests.data.server import (
    FaultyServer,
    corrupted,
    cut_at,
    endless,
    good,
    hang_up,
    labelled_as_packed,
    odd_length,
    page,
    sent_to,
    status,
    unannounced_page,
    wrong_place,
)

ARCHIVE = "cifar-10-binary.tar.gz"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(transfer, "_LONGEST_PAUSE", 0.01)


@pytest.fixture
def server():
    made = FaultyServer()
    thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def serve(server, monkeypatch):
    """Put a small data set on the server, and its manifest into the registry."""

    def put(name="cifar10"):
        made = fake(name, server.base)
        server.files |= made.archives
        monkeypatch.setitem(DATASETS, name, made.info)
        return made

    return put


@pytest.fixture
def raw(tmp_path):
    return tmp_path / "raw"


def left_behind(folder):
    """Everything in a raw folder, but for what belongs there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def assert_complete(made, folder):
    assert missing_members(made.info, folder) == []
    expected = [member.path for file in made.info.files for member in file.members]
    assert left_behind(folder) == sorted([*expected, "files.json"])
    verify(made.info.name, folder.parent)


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "stl10", "fashion_mnist"])
def test_a_data_set_is_fetched_unpacked_and_verified(serve, server, raw, name):
    made = serve(name)
    assert fetch(name, raw, progress=False) == raw / name
    assert_complete(made, raw / name)
    assert len(server.requests) == len(made.archives)


def test_a_complete_folder_is_used_as_it_is(serve, server, raw):
    serve()
    fetch("cifar10", raw, progress=False)
    server.requests.clear()
    before = {path: path.stat().st_mtime_ns for path in [raw, *raw.rglob("*")]}
    fetch("cifar10", raw, mirror="/nowhere", progress=False)
    require_complete("cifar10", raw)
    assert server.requests == []
    assert {path: path.stat().st_mtime_ns for path in [raw, *raw.rglob("*")]} == before


@pytest.mark.parametrize(
    "faults",
    [
        [status(503), status(503)],
        [status(500), status(429), status(502)],
        [hang_up, hang_up],
        [cut_at(0.5)],
        [cut_at(0.0), cut_at(0.3), cut_at(0.9)],
        [corrupted],
        [cut_at(0.5), corrupted],
        [cut_at(0.5), wrong_place],
        [cut_at(0.5), status(416)],
        [unannounced_page],
    ],
)
@pytest.mark.parametrize("ranges", [True, False])
def test_passing_faults_are_survived(serve, server, raw, faults, ranges):
    made = serve()
    server.ranges = ranges
    server.faults[ARCHIVE] = list(faults)
    fetch("cifar10", raw, progress=False, retries=5)
    assert_complete(made, raw / "cifar10")


@pytest.mark.parametrize(
    ("fault", "cause", "attempts"),
    [
        (status(503), "answered 503.*attempt 4 of 4", 4),
        (status(404), "answered 404", 1),
        (status(403), "answered 403", 1),
        (page, r"offers 27 bytes \(text/html\), expected \d+: it is another file", 1),
        (endless, r"sends more than the expected \d+ bytes", 1),
        (unannounced_page, r"the connection ended after \d+ of \d+ bytes.*attempt 4 of 4", 4),
        (corrupted, r"its content is wrong: sha256 is \w+, expected \w+", 4),
        (hang_up, "no connection, or a broken one.*attempt 4 of 4", 4),
    ],
)
def test_lasting_faults_are_told_and_leave_no_file(serve, server, raw, fault, cause, attempts):
    made = serve()
    server.faults[ARCHIVE] = [fault] * 50
    with pytest.raises(DataError, match=cause) as refusal:
        fetch("cifar10", raw, progress=False)
    assert f"{server.base}/{ARCHIVE}" in str(refusal.value)
    assert f"put into {raw / 'cifar10'} by hand" in str(refusal.value)
    assert made.info.files[0].digest in str(refusal.value)
    assert len(server.requests) == attempts
    assert not any(path.startswith("cifar") for path in left_behind(raw / "cifar10"))
    server.faults.clear()
    fetch("cifar10", raw, progress=False)
    assert_complete(made, raw / "cifar10")


def test_a_broken_download_is_continued_where_it_broke(serve, server, raw, monkeypatch):
    made = serve()
    monkeypatch.setattr(transfer, "_BLOCK", 1000)
    half = len(made.archives[ARCHIVE]) // 2
    server.faults[ARCHIVE] = [cut_at(0.5)]
    with pytest.raises(DataError, match="the connection"):
        fetch("cifar10", raw, retries=1, progress=False)
    assert left_behind(raw / "cifar10") == [f".download/{ARCHIVE}"]
    fetch("cifar10", raw, progress=False)
    assert_complete(made, raw / "cifar10")
    (_, first), (_, second) = server.requests
    assert first is None
    assert half - 1000 <= int(second.removeprefix("bytes=").removesuffix("-")) <= half


def test_no_server_at_all_is_told(serve, server, raw):
    serve()
    server.shutdown()
    server.server_close()
    with pytest.raises(DataError, match=r"127\.0\.0\.1:\d+/cifar-10-binary.tar.gz: no connection.*refused"):
        fetch("cifar10", raw, retries=2, progress=False)


def test_a_bad_certificate_fails_closed(serve, server, raw, tmp_path, monkeypatch):
    made = serve()
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        (
            "openssl req -x509 -newkey rsa:2048 -nodes -batch -subj /CN=127.0.0.1 -days 1 "
            f"-keyout {key} -out {certificate}"
        ).split(),
        check=True,
        capture_output=True,
    )
    secure = FaultyServer()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    secure.files |= made.archives
    threading.Thread(target=secure.serve_forever, args=(0.01,), daemon=True).start()
    file = made.info.files[0]
    address = secure.base.replace("http:", "https:") + f"/{ARCHIVE}"
    info = dataclasses.replace(made.info, files=(dataclasses.replace(file, addresses=(address,)),))
    monkeypatch.setitem(DATASETS, "cifar10", info)
    with pytest.raises(DataError, match=r"https://127.*its certificate is refused: .*certificate"):
        fetch("cifar10", raw, progress=False)
    assert left_behind(raw / "cifar10") == []
    secure.shutdown()
    secure.server_close()


def test_the_next_address_is_tried(serve, server, raw, monkeypatch):
    made = serve()
    file = made.info.files[0]
    addresses = (f"{server.base}/elsewhere/{ARCHIVE}", *file.addresses)
    info = dataclasses.replace(made.info, files=(dataclasses.replace(file, addresses=addresses),))
    monkeypatch.setitem(DATASETS, "cifar10", info)
    fetch("cifar10", raw, progress=False)
    assert [name for name, _ in server.requests] == [f"elsewhere/{ARCHIVE}", ARCHIVE]


def test_a_mirror_is_tried_first_and_the_official_address_after_it(serve, server, raw):
    made = serve()
    server.files[f"mirror/{ARCHIVE}"] = made.archives[ARCHIVE]
    fetch("cifar10", raw, mirror=f"{server.base}/mirror/", progress=False)
    assert [name for name, _ in server.requests] == [f"mirror/{ARCHIVE}"]
    shutil.rmtree(raw)
    server.files[f"mirror/{ARCHIVE}"] = b"an outdated copy"
    fetch("cifar10", raw, mirror=f"{server.base}/mirror", progress=False)
    assert_complete(made, raw / "cifar10")


def test_a_local_folder_serves_as_mirror(serve, server, raw, tmp_path):
    made = serve("fashion_mnist")
    made.put(tmp_path / "local")
    fetch("fashion_mnist", raw, mirror=str(tmp_path / "local"), progress=False)
    assert_complete(made, raw / "fashion_mnist")
    assert server.requests == []
    assert len(list((tmp_path / "local").iterdir())) == 4


def test_an_archive_put_there_by_hand_is_used_and_kept(serve, server, raw):
    made = serve()
    made.put(raw / "cifar10")
    fetch("cifar10", raw, progress=False)
    assert server.requests == []
    assert (raw / "cifar10" / ARCHIVE).read_bytes() == made.archives[ARCHIVE]
    assert missing_members(made.info, raw / "cifar10") == []


def test_another_archive_put_there_by_hand_is_refused_and_kept(serve, server, raw):
    made = serve()
    made.put(raw / "cifar10")
    path = raw / "cifar10" / ARCHIVE
    for content, message in [
        (made.archives[ARCHIVE][:-5], r"has \d+ bytes, expected \d+"),
        (bytes([0]) + made.archives[ARCHIVE][1:], r"sha256 is \w+, expected \w+"),
    ]:
        path.write_bytes(content)
        with pytest.raises(DataError, match=message) as refusal:
            fetch("cifar10", raw, progress=False)
        assert str(path) in str(refusal.value)
        assert path.read_bytes() == content
    assert server.requests == []


def test_a_file_that_was_packed_anew_is_known_by_its_content(serve, server, raw):
    made = serve("fashion_mnist")
    made.put(raw / "fashion_mnist")
    name = "t10k-labels-idx1-ubyte.gz"
    content = gzip.decompress(made.archives[name])
    (raw / "fashion_mnist" / name).write_bytes(gzip.compress(content, compresslevel=1, mtime=77))
    fetch("fashion_mnist", raw, progress=False)
    assert missing_members(made.info, raw / "fashion_mnist") == []
    (raw / "fashion_mnist" / name.removesuffix(".gz")).unlink()
    (raw / "fashion_mnist" / name).write_bytes(gzip.compress(content[:-1] + bytes([content[-1] ^ 1])))
    with pytest.raises(DataError, match=r"t10k-labels-idx1-ubyte has sha256 \w+, expected"):
        fetch("fashion_mnist", raw, progress=False)
    assert server.requests == []


def test_half_unpacked_folders_are_completed(serve, server, raw):
    made = serve("stl10")
    fetch("stl10", raw, progress=False)
    folder = raw / "stl10" / "stl10_binary"
    (folder / "test_y.bin").unlink()
    os.truncate(folder / "unlabeled_X.bin", 1000)
    with pytest.raises(DataError) as refusal:
        require_complete("stl10", raw)
    assert "stl10_binary/test_y.bin: missing, expected 30 bytes" in str(refusal.value)
    assert "stl10_binary/unlabeled_X.bin: 1000 bytes, expected 1658880 bytes" in str(refusal.value)
    fetch("stl10", raw, progress=False)
    assert_complete(made, raw / "stl10")


def test_verify_finds_a_changed_byte_and_says_what_to_do(serve, raw):
    serve()
    fetch("cifar10", raw, progress=False)
    path = raw / "cifar10" / "cifar-10-batches-bin" / "test_batch.bin"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"test_batch.bin: sha256 is .*\n.*infonce data fetch cifar10"):
        verify("cifar10", raw)


def test_a_folder_that_cannot_be_written_says_what_is_missing(serve, tmp_path):
    serve()
    (tmp_path / "raw").write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"(?s)cannot be written.*test_batch.bin: missing") as refusal:
        fetch("cifar10", tmp_path / "raw", progress=False)
    assert "infonce data fetch cifar10" in str(refusal.value)


def fetch_in_process(raw, made, results, lease_seconds=30.0):
    DATASETS[made.info.name] = made.info
    try:
        fetch(made.info.name, raw, progress=False, lease_seconds=lease_seconds)
        results.put("complete" if not missing_members(made.info, raw / made.info.name) else "incomplete")
    except Exception as error:
        results.put(repr(error))


def test_many_jobs_with_a_cold_folder_make_one_download(serve, server, raw):
    made = serve()
    server.faults[ARCHIVE] = [cut_at(0.2), status(503)]
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    jobs = [context.Process(target=fetch_in_process, args=(raw, made, results)) for _ in range(6)]
    for job in jobs:
        job.start()
    assert [results.get(timeout=60) for _ in jobs] == ["complete"] * 6
    for job in jobs:
        job.join()
    assert len(server.requests) == 3
    assert_complete(made, raw / "cifar10")


def hold_the_lock(raw, made):
    DATASETS[made.info.name] = made.info
    fetch(made.info.name, raw, progress=False, lease_seconds=1.0)


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGSTOP])
def test_the_lock_of_a_dead_or_stuck_job_is_taken_over(serve, server, raw, signal_number):
    made = serve()
    reached = threading.Event()

    def stall(handler, content):
        reached.set()
        time.sleep(20)

    server.faults[ARCHIVE] = [stall]
    holder = multiprocessing.get_context("fork").Process(target=hold_the_lock, args=(raw, made))
    holder.start()
    assert reached.wait(20)
    os.kill(holder.pid, signal_number)
    fetch("cifar10", raw, progress=False, lease_seconds=1.0)
    assert missing_members(made.info, raw / "cifar10") == []
    holder.kill()
    holder.join()


def test_a_stuck_job_that_wakes_up_disturbs_nobody(serve, server, raw):
    """Stopped within its download, taken over, and continued while the other job downloads."""
    made = serve()
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    first_asks, other_asks, first_ended = threading.Event(), threading.Event(), threading.Event()

    def stop_the_first(handler, content):
        first_asks.set()
        assert other_asks.wait(20)
        good(handler, content)

    def wait_for_the_first(handler, content):
        other_asks.set()
        first_ended.wait(3)  # enough for it to find its lock lost; it then waits for this job
        good(handler, content)

    server.faults[ARCHIVE] = [stop_the_first, wait_for_the_first]
    jobs = [context.Process(target=fetch_in_process, args=(raw, made, results, 1.0)) for _ in range(2)]
    jobs[0].start()
    assert first_asks.wait(20)
    os.kill(jobs[0].pid, signal.SIGSTOP)
    jobs[1].start()
    assert other_asks.wait(20)
    os.kill(jobs[0].pid, signal.SIGCONT)
    assert [results.get(timeout=60) for _ in jobs] == ["complete"] * 2
    first_ended.set()
    for job in jobs:
        job.join()
    assert_complete(made, raw / "cifar10")


@pytest.mark.parametrize(
    "fault",
    [
        odd_length("abc"),
        odd_length(""),
        sent_to("http://a..b/x"),
        sent_to("http://[::1/x"),
        sent_to("file:///etc/passwd"),
    ],
    ids=["length abc", "no length", "no host", "half an address", "no web address"],
)
def test_odd_answers_are_one_cause_among_others(serve, server, raw, fault):
    """The next address is asked, or the file is taken where it is right all the same; never a traceback."""
    made = serve()
    server.faults[ARCHIVE] = [fault]
    fetch("cifar10", raw, mirror=server.base, retries=1, progress=False)
    assert_complete(made, raw / "cifar10")


def test_a_packed_file_told_as_an_encoding_is_taken_as_it_came(serve, server, raw):
    made = serve()
    server.faults[ARCHIVE] = [labelled_as_packed]
    fetch("cifar10", raw, retries=1, progress=False)
    assert_complete(made, raw / "cifar10")
    assert len(server.requests) == 1


def test_certificates_that_cannot_be_read_are_a_cause_of_the_address(serve, raw, monkeypatch):
    made = serve()
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/no/such/file.pem")
    fetch("cifar10", raw, mirror="https://127.0.0.1:9", retries=1, progress=False)
    assert_complete(made, raw / "cifar10")


@pytest.mark.parametrize("content", ["[1]", "5", "null", '{"a": null}', "{"])
def test_a_broken_record_of_digests_is_no_digest(serve, raw, content):
    made = serve()
    fetch("cifar10", raw, progress=False)
    (raw / "cifar10" / "files.json").write_text(content)
    assert all("no digest is known" in line for line in verify("cifar10", raw))
    first = made.info.files[0].members[0].path
    (raw / "cifar10" / first).unlink()
    fetch("cifar10", raw, progress=False)
    assert_complete(made, raw / "cifar10")


def test_killed_while_files_get_their_names_the_digests_are_known_and_nothing_stays(serve, raw, monkeypatch):
    made = serve()
    names, replace = [], Path.replace

    def kill(path, target):
        names.append(target)
        if len(names) == 3:
            os._exit(9)
        replace(path, target)

    def job():
        DATASETS["cifar10"] = made.info
        monkeypatch.setattr(Path, "replace", kill)
        fetch("cifar10", raw, progress=False, lease_seconds=1.0)

    killed = multiprocessing.get_context("fork").Process(target=job)
    killed.start()
    killed.join(30)
    assert killed.exitcode == 9
    fetch("cifar10", raw, progress=False, lease_seconds=1.0)
    assert_complete(made, raw / "cifar10")
    assert not any(path.name.startswith(".unpack") or path.name == ".download" for path in (raw / "cifar10").iterdir())
    assert all("when unpacked" in line for line in verify("cifar10", raw))


def test_a_password_in_a_mirrors_address_stays_out_of_messages(serve, server, raw):
    serve()
    server.files.clear()
    with pytest.raises(DataError) as refusal:
        fetch("cifar10", raw, mirror=server.base.replace("//", "//user:secret@"), retries=1, progress=False)
    assert f"{server.base}/{ARCHIVE}: answered 404" in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_the_command_in_the_advice_fetches_into_the_same_folder(serve, tmp_path):
    serve()
    folder = tmp_path / "shared, and ours"
    with pytest.raises(DataError, match="is incomplete") as refusal:
        require_complete("cifar10", folder)
    assert f"infonce data fetch cifar10 --raw '{folder}'" in str(refusal.value)


@pytest.mark.parametrize("content", ["", "nonsense", "1\n"])
def test_a_lock_file_left_half_written_is_taken_over(serve, raw, content):
    made = serve()
    (raw / "cifar10").mkdir(parents=True)
    (raw / "cifar10" / ".download.lock").write_text(content)
    fetch("cifar10", raw, progress=False, lease_seconds=1.0)
    assert missing_members(made.info, raw / "cifar10") == []


def test_the_commands_list_fetch_and_verify(serve, raw):
    serve()
    assert any(line.startswith("cifar10 ") and " missing " in line for line in list_datasets(raw))
    assert fetch_datasets(["cifar10", "digits"], raw, progress=False) == [
        f"cifar10: complete in {raw / 'cifar10'}",
        "digits: nothing to fetch, it is built in",
    ]
    assert any(line.startswith("cifar10 ") and " present " in line for line in list_datasets(raw))
    assert verify_datasets(["cifar10", "sphere"], raw)[0].endswith("sha256 as when unpacked")


def test_importing_the_download_needs_no_torch():
    code = "import sys, infonce.data.commands; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
