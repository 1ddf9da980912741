#!/usr/bin/env python3
"""Schedules the problems of the MLSys 2026 contest with remat-plan, and compares with what others have published.

    mlsys2026.py BIN FOLDER [--seconds=S] [--peer=PROGRAM] [OPTION...]

FOLDER has the contest's files mlsys-2026-N.json (github.com/yarongmu-google/MLSys, folder benchmarks). Each is searched
for S seconds, by default 10, and the schedule that was written is checked again. Further options are those of
remat-plan, such as --tiles=any-depth. PROGRAM is the binary of an entry to the contest, called with a problem and the
schedule to write. What it writes is checked and measured by remat-plan under the same rules. Exit status 1 if a
schedule does not pass, or is slower than that of PROGRAM.
"""
import argparse, json, os, re, subprocess, sys, tempfile, time


def check(command, problem, schedule, options):
    """The latency of a schedule that remat-plan finds valid, whatever latencies it says itself; else why not."""
    with open(schedule) as file:
        said = json.load(file)
    for _ in said["subgraphs"]:
        done = subprocess.run([*command, problem, f"--check-schedule={schedule}", *options], capture_output=True,
                              text=True)
        if done.returncode == 0:
            return float(re.match(r"latency ([0-9.]+)", done.stdout).group(1)), None
        # Entries that have other costs say other latencies: these are set to what they are here.
        other = re.search(r"group (\d+): 'subgraph_latencies' says .* it takes ([0-9.]+)", done.stderr)
        if not other:
            return None, done.stderr.strip().split("': ", 1)[-1]
        said["subgraph_latencies"][int(other.group(1))] = float(other.group(2))
        with open(schedule, "w") as file:
            json.dump(said, file)
    done = subprocess.run([*command, problem, f"--check-schedule={schedule}", *options], capture_output=True, text=True)
    return float(re.match(r"latency ([0-9.]+)", done.stdout).group(1)), None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", help="the folder of remat-plan")
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=10, metavar="S")
    parser.add_argument("--peer", metavar="PROGRAM")
    options, further = parser.parse_known_args()
    names = [name for name in os.listdir(options.folder) if re.fullmatch(r"mlsys-2026-\d+\.json", name)]
    names.sort(key=lambda name: int(name[11:-5]))
    if not names:
        parser.error(f"no file mlsys-2026-N.json in {options.folder}")
    command, bad = [os.path.join(options.bin, "remat-plan")], 0
    print(f"{'problem':16} {'latency':>16} {'bound':>16} {'gap %':>6} {'groups':>6} {'best s':>7} {'s':>7}"
          + (f" {'peer':>16} {'peer s':>7} {'ratio':>6}" if options.peer else ""))
    with tempfile.TemporaryDirectory() as scratch:
        schedule, report, theirs = (os.path.join(scratch, name) for name in ("ours.json", "report.json", "theirs.json"))
        for name in names:
            problem = os.path.join(options.folder, name)
            subprocess.run([*command, problem, f"--time-limit={options.seconds}", "-o", schedule, f"--json={report}",
                            *further], check=True, stdout=subprocess.DEVNULL)
            latency, fault = check(command, problem, schedule, further)
            with open(report) as file:
                found = json.load(file)
            if fault or abs(latency - found["latency"]) > 0.01:
                print(f"{name}: {fault or latency}")
                bad += 1
                continue
            line = (f"{name[:-5]:16} {latency:16.2f} {found['lower_bound']:16.2f} {100 * found['gap']:6.2f} "
                    f"{found['groups']:6} {found['time_to_best']:7.2f} {found['seconds']:7.2f}")
            if options.peer:
                begin = time.perf_counter()
                subprocess.run([options.peer, problem, theirs], check=True, stdout=subprocess.DEVNULL)
                seconds = time.perf_counter() - begin
                peer, fault = check(command, problem, theirs, further)
                line += f" {fault}" if fault else f" {peer:16.2f} {seconds:7.2f} {latency / peer:6.3f}"
                bad += not fault and latency > peer * (1 + 1e-9)
            print(line, flush=True)
    print(f"{len(names) - bad} of {len(names)} hold")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
