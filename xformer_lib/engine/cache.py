from torch import Tensor

__all__ = ["KeyValueCache"]


def append(room: Tensor | None, new: Tensor, start: int, *, spare: bool) -> Tensor:
    """Write ``new`` (b h n d) at place ``start`` of ``room``, or of a larger room.

    With ``spare`` the larger room has twice the places needed, 16 at least.
    """
    end = start + new.shape[2]
    if room is None or room.shape[2] < end:
        places = max(16, 2 * end) if spare else end
        larger = new.new_empty(*new.shape[:2], places, new.shape[3])
        if room is not None:
            larger[:, :, :start] = room[:, :, :start]
        room = larger
    room[:, :, start:end] = new
    return room


class KeyValueCache:
    """Projected keys (b h j d) and values (b h j e) of one layer, kept between steps.

    ``grows=True`` (self-attention): each step's keys and values are appended.
    ``grows=False`` (cross-attention): those of the first step serve every later one.
    ``length``: keys kept so far, the place of the next one.
    """

    def __init__(self, *, grows: bool):
        self.grows, self.length, self.k, self.v = grows, 0, None, None
        self.rooms = (None, None)

    @property
    def ready(self) -> bool:
        """Nothing needs to be projected any more."""
        return self.k is not None and not self.grows

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self.rooms = [append(room, x, self.length, spare=self.grows)
                      for room, x in zip(self.rooms, (k, v))]
        self.length += k.shape[2]
        self.k, self.v = (room[:, :, :self.length] for room in self.rooms)
        return self.k, self.v

    def keep(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order (finished sentences leave)."""
        if self.k is not None:
            self.rooms = [room.index_select(0, rows) for room in self.rooms]
            self.k, self.v = (room[:, :, :self.length] for room in self.rooms)
