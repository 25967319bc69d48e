"""What a host has on its disk."""


def own_part(graph, host, folder):
    """A partition folder as a host has it that keeps its own part only: links into `graph`."""
    mine = folder / f"part-of-host{host}"
    if mine.exists():  # made for another trainer of the host
        return mine
    mine.mkdir()
    name = f"part-{host:04d}"
    (mine / name).symlink_to(graph / name)
    return mine
