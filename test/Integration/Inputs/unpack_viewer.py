"""Writes the snapshot that a page of torch.cuda._memory_viz contains.

usage: unpack_viewer.py PAGE.html FILE.pickle
"""

import base64
import json
import re
import sys

with open(sys.argv[1]) as page:
    (file,) = json.loads(re.search(r"local_files = (\[.*\])", page.read()).group(1))
with open(sys.argv[2], "wb") as snapshot:
    snapshot.write(base64.b64decode(file["base64"]))
