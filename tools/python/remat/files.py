"""Files that are written whole or not at all.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import errno
import os
import stat
import tempfile


def write_files(contents):
    """Writes files that belong together: `contents` has for each its path, and its bytes, its text, or a function that
    writes to a binary file. They take their names when all of them are whole; after an error, an OSError that names the
    file, what was there before is as it was. Devices and pipes are written as they are."""
    made = []
    try:
        for path, content in contents:
            try:
                made.append((path, *_write_temporary(path, content)))
            except OSError as error:
                error.filename = os.fspath(path)
                raise
        while made:
            path, temporary, target = made[-1]
            if temporary is not None:
                os.replace(temporary, target)
            made.pop()
    finally:
        for _, temporary, _ in made:
            if temporary is not None:
                os.unlink(temporary)


def write_file(path, content):
    """One of them."""
    write_files([(path, content)])


def _write_temporary(path, content):
    """The file that takes the name of `path` later, and what it is a name of; no file if `path` is a stream."""
    target = os.path.realpath(path)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            _write(file, content)
        return None, target
    # A name in the folder could be given to another file.
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    number, temporary = tempfile.mkstemp(".tmp", ".remat-", os.path.dirname(target))
    try:
        with os.fdopen(number, "wb") as file:
            _write(file, content)
        os.chmod(temporary, stat.S_IMODE(mode) if mode is not None else 0o666 & ~_get_umask())
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary, target


def _get_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write(file, content):
    if callable(content):
        content(file)
    else:
        file.write(content.encode() if isinstance(content, str) else content)
