"""What PyTorch's allocator on the CPU gives while a function runs."""
from torch.profiler import ProfilerActivity, profile


def allocator_peak(function):
    """The largest number of bytes that `function()` holds at a time, beyond those that were held before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        function()
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    live = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return peak
