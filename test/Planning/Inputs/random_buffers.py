"""Buffers that fill a rectangle without a gap, which are hard to pack again, as remat-pack reads them:
random_buffers.py COUNT"""
import random, sys

random.seed(1)
tiles = [(0, 1 << 12, 1 << 16)]
while len(tiles) < int(sys.argv[1]):
    lower, upper, size = tiles.pop(max(range(len(tiles)), key=lambda t: (tiles[t][1] - tiles[t][0]) * tiles[t][2]))
    if random.random() < 0.5:
        cut = random.randrange(lower + 1, upper)
        tiles += [(lower, cut, size), (cut, upper, size)]
    else:
        cut = random.randrange(1, size)
        tiles += [(lower, upper, cut), (lower, upper, size - cut)]
print("id,lower,upper,size")
for number, tile in enumerate(tiles):
    print(f"{number},{tile[0]},{tile[1]},{tile[2]}")
