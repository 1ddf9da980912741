"""Uses a report in a browser as a reader does, by pointer and by keys.

usage: drive_report.py REPORT.html [--small|--loops]

With --small, it is opened and nothing more; with --loops, one looks into its loops.
"""
import sys
import xml.dom.minidom

from report_page import Browser


def center(browser, selector):
    return browser.evaluate(f"(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect();"
                            " return [box.x + box.width / 2, box.y + box.height / 2]; })()")


def check_pointer(browser):
    """A click on the rectangle of a value shows that value."""
    browser.evaluate("document.getElementById('addresses').scrollIntoView({block: 'center'})")
    place = center(browser, "#addresses rect.outline")
    wanted = browser.evaluate("rematReport.state.selected")
    browser.press("Escape")
    assert browser.evaluate("rematReport.state.selected") is None
    browser.move(*place)
    tip = browser.evaluate("document.getElementById('tip').innerText")
    browser.click(*place)
    assert browser.evaluate("rematReport.state.selected") == wanted
    shown = browser.evaluate("document.getElementById('details').innerText")
    name = tip.splitlines()[0]
    assert name in shown and "decision" in shown, (tip, shown)
    print("pointer:", " ".join(shown.split()))


def check_live(browser):
    assert browser.evaluate("""(() => {
        const {state} = rematReport, plan = state.a;
        return [0, plan.peakEntry, plan.count - 1].every((entry) => {
          rematReport.setCursor(entry);
          rematReport.redraw();
          const live = plan.liveAt(entry);
          return document.querySelectorAll('#live tbody tr').length === live.length &&
                 live.reduce((sum, buffer) => sum + plan.buffers.bytes[buffer], 0) === plan.total[entry];
        });
      })()""")
    print("live table: adds up")


def check_keys(browser):
    get = lambda name: browser.evaluate(f"rematReport.state.{name}")
    browser.evaluate("document.getElementById('search').focus()")
    for _ in range(20):
        browser.press("Tab")
        if browser.evaluate("document.activeElement.id") == "memory":
            break
    assert browser.evaluate("document.activeElement.id") == "memory", "Tab does not lead to the chart"
    browser.press("Home")
    browser.press("ArrowRight")
    assert get("cursor") == 1
    browser.press("p")
    assert get("cursor") == get("a.peakEntry")
    browser.press("Escape")
    browser.press("ArrowUp")
    first = get("selected")
    browser.press("ArrowUp")
    assert first and get("selected") != first
    browser.press("+")
    assert get("domain")
    browser.press("0")
    assert get("domain") is None
    browser.press("/")
    for letter in "softmax":
        browser.press(letter)
    browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    browser.press("ArrowDown")
    browser.press("Enter")
    assert "softmax" in browser.evaluate("document.getElementById('details').innerText")
    assert "found" in browser.evaluate("document.getElementById('match-count').textContent")
    browser.press("Escape")
    number = get("a.number")
    browser.evaluate("document.activeElement.blur()")
    browser.press("[")
    assert get("a.number") != number
    browser.press("]")
    assert get("a.number") == number
    print("keys: cursor, value, peak, search, plans")


def check_frontier(browser):
    points = browser.evaluate("[...document.querySelectorAll('#frontier .point')].map((point) => point.dataset.plan)")
    for point in points:
        browser.evaluate(f"document.querySelector('#frontier [data-plan=\"{point}\"]').focus()")
        browser.press("Enter")
        assert browser.evaluate("rematReport.state.a.number") == int(point)
        heading = browser.evaluate("document.querySelectorAll('#memory .heading')[1].textContent")
        assert heading == "After: " + browser.evaluate("rematReport.state.a.title"), heading
    browser.evaluate("rematReport.setPlan(rematReport.plans[1])")
    browser.settle()
    print(f"frontier: {len(points)} points load their plans")


def check_sizes(browser):
    """In a window of any width, nothing is cut off."""
    for width in (360, 700, 1050, 2560):
        browser.resize(width, 900)
        browser.settle()
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, f"{width}: wider than the window"
        assert browser.evaluate("document.getElementById('title').getBoundingClientRect().height") < 40, f"{width}: title"
        cut = browser.evaluate("""(() => {
            const frame = document.querySelector('#memory svg').getBoundingClientRect();
            return [...document.querySelectorAll('#memory text')].filter((text) => {
              const box = text.getBoundingClientRect();
              return box.left < frame.left || box.right > frame.right + 1 || box.top < frame.top || box.bottom > frame.bottom;
            }).map((text) => text.textContent);
          })()""")
        assert not cut, f"{width}: cut off: {cut}"
    browser.resize(1400, 1000)
    browser.settle()
    print("sizes: nothing is cut off")


def check_loops(browser):
    """Each loop can be looked into, by a list, by keys and by a double click; what is there adds up."""
    count = browser.evaluate("document.getElementById('inside').length") - 1
    names = []
    for number in range(1, count + 1):
        browser.evaluate("""((number) => {
            const list = document.getElementById('inside');
            list.value = number;
            list.dispatchEvent(new Event('change'));
          })(%d)""" % number)
        browser.settle()
        plan = "rematReport.state.a"
        assert browser.evaluate(f"{plan}.around !== null && {plan}.total[{plan}.peakEntry] === {plan}.peakBytes")
        check_live(browser)
        assert "peak of" in browser.evaluate("document.getElementById('tiles').innerText")
        names.append(browser.evaluate(f"{plan}.name"))
        browser.evaluate("document.activeElement.blur()")
        while browser.evaluate(f"{plan}.around !== null"):
            browser.press("o")
    entry = browser.evaluate("""(() => {
        const plan = rematReport.state.a;
        const entry = [...Array(plan.count).keys()].find((entry) => plan.bodiesOf(entry).length > 0);
        rematReport.setCursor(entry);
        return entry;
      })()""")
    browser.press("i")
    assert browser.evaluate("rematReport.state.a.around !== null && rematReport.state.a.entry") == entry
    browser.press("o")
    print(f"loops: {count} inside of:", ", ".join(names))


def main():
    browser = Browser()
    browser.set_look("light")
    browser.open(sys.argv[1])
    problems = browser.check()
    if "--loops" in sys.argv and not problems:
        check_loops(browser)
        problems = browser.check()
    elif "--small" not in sys.argv and not problems:
        check_pointer(browser)
        check_live(browser)
        check_keys(browser)
        check_frontier(browser)
        check_sizes(browser)
        print("comparison:", browser.evaluate("document.getElementById('difference-count').textContent"))
        colour = "getComputedStyle(document.body).backgroundColor"
        light = browser.evaluate(colour)
        browser.set_look("dark")
        browser.settle()
        assert browser.evaluate(colour) != light
        print("light and dark: other colours")
        picture = browser.evaluate("rematReport.makePicture()")
        xml.dom.minidom.parseString(picture)
        assert "href" not in picture and "var(" not in picture
        print("picture: an SVG without references")
        problems = browser.check()
    browser.close()
    if problems:
        sys.exit("\n".join(problems))
    print("no problems")


main()
