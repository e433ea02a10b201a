#!/usr/bin/env python3
"""Writes the archives of this folder with Python's own zipfile, tarfile and gzip.

Each archive contains the files of CONTENT, whose names the tests use. Run this script in its own folder.
"""

import gzip
import io
import tarfile
import zipfile

LONG = "run/" + "/".join(["a-folder-with-a-long-name"] * 8) + "/long.json"
CONTENT = {
    "run/small.json": b'{"traceEvents":[]}',
    "run/empty.json": b"",
    "run/large.json": b"".join(b'{"ts":%d,"dur":%d},' % (i * 17, i % 101) for i in range(1500)),
    LONG: b"a long name",
    "../../outside.json": b"a hostile name",
}
PACKED = "run/packed.json.gz"
DATE = (2026, 1, 5, 10, 0, 0)


def packed():
    return gzip.compress(b"packed inside", mtime=0)


class Unseekable(io.RawIOBase):
    """A pipe, which makes zipfile write the sizes after the content."""

    def __init__(self, file):
        self.file = file

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def write_zip(name, method, *, pipe=False, wide=False):
    with open(name, "wb") as file:
        target = Unseekable(file) if pipe else file
        with zipfile.ZipFile(target, "w") as archive:
            folder = zipfile.ZipInfo("run/", DATE)
            folder.external_attr = 0o40755 << 16
            archive.writestr(folder, b"")
            for path, data in list(CONTENT.items()) + [(PACKED, packed())]:
                info = zipfile.ZipInfo(path, DATE)
                info.compress_type = method
                with archive.open(info, "w", force_zip64=wide) as entry:
                    entry.write(data)


def write_tar(name, format):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as archive:
        folder = tarfile.TarInfo("run")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        link = tarfile.TarInfo("run/link.json")
        link.type = tarfile.SYMTYPE
        link.linkname = "small.json"
        archive.addfile(link)
        for path, data in list(CONTENT.items()) + [(PACKED, packed())]:
            info = tarfile.TarInfo(path)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    with open(name, "wb") as file:
        file.write(gzip.compress(buffer.getvalue(), mtime=0))


write_zip("stored.zip", zipfile.ZIP_STORED)
write_zip("deflated.zip", zipfile.ZIP_DEFLATED)
write_zip("piped.zip", zipfile.ZIP_DEFLATED, pipe=True)
write_zip("piped-zip64.zip", zipfile.ZIP_DEFLATED, pipe=True, wide=True)
write_zip("zip64.zip", zipfile.ZIP_DEFLATED, wide=True)
write_zip("bzip2.zip", zipfile.ZIP_BZIP2)
write_tar("gnu.tar.gz", tarfile.GNU_FORMAT)
write_tar("pax.tar.gz", tarfile.PAX_FORMAT)
write_tar("ustar.tar.gz", tarfile.USTAR_FORMAT)
