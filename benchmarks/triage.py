"""How long triage of a long serving log takes: `python benchmarks/triage.py [MEGABYTES]`."""

import resource
import sys
import tempfile
import time

from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.node.triage import triage_stream
from dsv4deploy.signatures import catalogue, compiled

LINES = b"""\
[2026-11-29 17:04:10 TP0] Decode batch, #running-req: 12, #token: 64000, token usage: 0.21, accept len: 2.31, accept rate: 0.66, cuda graph: True, gen throughput (token/s): 431.20, #queue-req: 0
[2026-11-29 17:04:11] INFO:     10.0.0.7:40112 - "POST /v1/chat/completions HTTP/1.1" 200 OK
[2026-11-29 17:04:11 TP0] Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.20, #running-req: 11, #queue-req: 0
"""
END = b"[2026-11-29 19:04:11 TP3] Scheduler hit an exception: Traceback\ntorch.OutOfMemoryError: CUDA out of memory.\n"


def main(megabytes: int) -> None:
    ready = b"[2026-11-29 17:04:09] The server is fired up and ready to roll!\n"
    shipped = Catalogue(compiled(catalogue()))
    with tempfile.TemporaryFile() as log:
        log.writelines([ready, *[LINES * 1000] * (megabytes * 1000 // len(LINES)), END])
        size = log.tell() / 1e6
        log.seek(0)
        begun = time.perf_counter()
        answer = triage_stream(log, shipped)
        taken = time.perf_counter() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{size:.0f} MB: {taken:.1f} s, {memory:.0f} MB of memory, {answer['class']} at line {answer['line']}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
