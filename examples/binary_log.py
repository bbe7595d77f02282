"""A packed binary log of a device, read in place.

The file has a header and records of 8 bytes, without gaps and with a big-endian time. C sees a record as a
struct. The log is a memmap: read-only, unaligned, in the other byte order. Each result is compared with
NumPy's.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import cwrapjit

RECORD = np.dtype([("sensor", "u1"), ("time", ">u4"), ("raw", "<i2"), ("flags", "u1")])
HEADER = b"LOG\x01\x00"

STRUCT = """
#pragma pack(push, 1)
typedef struct { unsigned char sensor; unsigned time; short raw; unsigned char flags; } record;
#pragma pack(pop)
"""

volts = cwrapjit.vectorize(
    STRUCT
    + """
    // NaN if a flag says that the record is invalid.
    double volts(record r) { return r.flags & 1 ? NAN : 0.01 * r.raw; }"""
)

longest_silence = cwrapjit.vectorize(
    STRUCT
    + """
    // The longest time, in ms, in which a sensor wrote nothing.
    long longest_silence(const record log[n], int n, long sensor)
    {
        long longest = 0, last = -1;
        for(int i = 0; i < n; i++)
            if(log[i].sensor == sensor) {
                if(last >= 0 && log[i].time - last > longest)
                    longest = log[i].time - last;
                last = log[i].time;
            }
        return longest;
    }"""
)


def write_log(path: Path, records: int) -> None:
    rng = np.random.default_rng(0)
    log = np.zeros(records, RECORD)
    log["sensor"] = rng.integers(0, 4, records)
    log["time"] = np.cumsum(rng.integers(1, 50, records))
    log["raw"] = rng.integers(-2000, 2000, records)
    log["flags"] = rng.integers(0, 8, records)
    path.write_bytes(HEADER + log.tobytes())


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "device.log")
        write_log(path, 2000)
        log = np.memmap(path, dtype=RECORD, mode="r", offset=len(HEADER))

        start = time.perf_counter()
        voltage = volts(log)
        took = 1000 * (time.perf_counter() - start)
        wanted = np.where(log["flags"] & 1, np.nan, 0.01 * log["raw"])
        assert np.array_equal(voltage, wanted, equal_nan=True)
        print(f"{len(log)} records in {took:.2f} ms, {np.isnan(voltage).sum()} of them invalid")

        silence = longest_silence(log, range(4))
        for sensor, longest in enumerate(silence):
            times = log["time"][log["sensor"] == sensor].astype(np.int64)
            assert longest == np.diff(times).max()
        assert longest_silence(log[log["flags"] == 0][::2], 3) >= 0  # parts of a log are logs
        print(f"sensors were silent for up to {', '.join(map(str, silence))} ms")
        del log  # closes the file
    return 0


if __name__ == "__main__":
    sys.exit(main())
