"""encode.py ENCODING FROM TO: copies text in UTF-8 into another encoding."""

import sys

encoding, source, target = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    text = file.read()
with open(target, "w", encoding=encoding) as file:
    file.write(text)
