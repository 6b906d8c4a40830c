"""What other parts of the library ask of a model, whoever wrote it: a Transformer, a GRU translator, one of your own.

Written by hand: no chapter teaches it, every signature of training and decoding names it. A class satisfies a protocol
by what it has; it inherits nothing. At run time the methods alone are looked for: from Python 3.12 on ``isinstance``
does not find what an `nn.Module` has registered, such as its embedding.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from torch import Tensor, nn

from xformer_lib.nn.transformer import TransformerConfig

__all__ = ["Cache", "CachingModel", "Configured", "Module", "SharedEmbedding", "SomeModule", "TrainableModel", "TranslationModel"]

Same = TypeVar("Same")  # typing.Self, which the run with checked shapes does not know here


@runtime_checkable
class Module(Protocol):
    """What every `nn.Module` has, as far as it is used here."""

    if TYPE_CHECKING:
        training: bool

    def __call__(self, *args: Any, **options: Any) -> Any: ...

    def modules(self) -> Iterator[nn.Module]: ...

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: Mapping[str, Any], /) -> Any: ...

    def to(self: Same, device: str, /) -> Same: ...

    def train(self: Same) -> Same: ...

    def eval(self: Same) -> Same: ...


SomeModule = TypeVar("SomeModule", bound=Module)  # of whatever class, and what comes back is of the same


class SharedEmbedding(Protocol):
    """One matrix (v m) that turns ids into vectors, and vectors into logits."""

    @property
    def weight(self) -> Tensor: ...

    def logits(self, x: Tensor, /) -> Tensor: ...


@runtime_checkable
class Configured(Module, Protocol):
    """A model that carries its configuration: how many words there are, and which ids are special."""

    if TYPE_CHECKING:

        @property
        def config(self) -> TransformerConfig: ...


@runtime_checkable
class TrainableModel(Configured, Protocol):
    """What training asks for: a source (b s) is read, and each place of a target (b t) gets a vector."""

    if TYPE_CHECKING:

        @property
        def embedding(self) -> SharedEmbedding: ...

    def encode(self, source: Tensor, /) -> Tensor:
        """Return what was read, (b s m) or whatever ``states`` understands; sentences are rows."""
        ...

    def states(self, target_in: Tensor, memory: Tensor, source: Tensor, /) -> Tensor:
        """Return the decoder's vectors (b t m), before they become logits."""
        ...


@runtime_checkable
class TranslationModel(TrainableModel, Protocol):
    """What decoding asks for, too: logits of every word of the target."""

    def decode(self, target_in: Tensor, memory: Tensor, source: Tensor, /) -> Tensor:
        """Return the logits (b t v)."""
        ...


@runtime_checkable
class Cache(Protocol):
    """What a model keeps between words, for each sentence."""

    @property
    def length(self) -> int:
        """Words decoded so far."""
        ...

    def keep(self, rows: Tensor, /) -> None:
        """Keep these sentences, in this order."""
        ...


@runtime_checkable
class CachingModel(TrainableModel, Protocol):
    """A model with a cache of its own: ``states`` takes it, and then reads the new words alone."""

    def new_cache(self) -> Cache: ...

    def states(self, target_in: Tensor, memory: Tensor, source: Tensor, /, *, cache: Any = None) -> Tensor: ...
