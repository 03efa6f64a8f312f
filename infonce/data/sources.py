"""Where downloaded data sets come from: official addresses, sizes, digests, and what archives must hold.

The SHA-256 digests and sizes of the archives are those that TensorFlow Datasets publishes for the same
addresses; the MD5 digests of the STL-10 members are those of torchvision. Where no digest of a member is
published, its size is fixed by the format and its content by the digest of the archive.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Member:
    """A file that is unpacked; whatever else an archive holds is left in it."""

    path: str
    size: int
    """Bytes, fixed by the format and the number of images."""
    digest: str | None = None
    """`sha256:…` or `md5:…`, where one is published."""


@dataclass(frozen=True)
class SourceFile:
    """A file to fetch, from the first of its addresses that gives the right bytes, and what is unpacked of it."""

    name: str
    """Ends in `.tar.gz`, or in `.gz` for a single packed file."""
    addresses: tuple[str, ...]
    size: int
    digest: str
    members: tuple[Member, ...]


_CIFAR_RECORDS = 10_000
_CIFAR10_RECORD = 1 + 3 * 32 * 32
_CIFAR100_RECORD = 2 + 3 * 32 * 32

CIFAR10_FILES = (
    SourceFile(
        name="cifar-10-binary.tar.gz",
        addresses=("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
        size=170_052_171,
        digest="sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        members=(
            *(
                Member(f"cifar-10-batches-bin/data_batch_{batch}.bin", _CIFAR_RECORDS * _CIFAR10_RECORD)
                for batch in range(1, 6)
            ),
            Member("cifar-10-batches-bin/test_batch.bin", _CIFAR_RECORDS * _CIFAR10_RECORD),
        ),
    ),
)

CIFAR100_FILES = (
    SourceFile(
        name="cifar-100-binary.tar.gz",
        addresses=("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",),
        size=168_513_733,
        digest="sha256:58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
        members=(
            Member("cifar-100-binary/train.bin", 5 * _CIFAR_RECORDS * _CIFAR100_RECORD),
            Member("cifar-100-binary/test.bin", _CIFAR_RECORDS * _CIFAR100_RECORD),
        ),
    ),
)

_STL_IMAGE = 3 * 96 * 96

STL10_FILES = (
    SourceFile(
        name="stl10_binary.tar.gz",
        addresses=(
            "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
            "https://cs.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
        ),
        size=2_640_397_119,
        digest="sha256:f31fd99273a1acb8609c8db427cebb1de3f71de77758cdc0e22956e1289b9866",
        members=(
            Member("stl10_binary/train_X.bin", 5_000 * _STL_IMAGE, "md5:918c2871b30a85fa023e0c44e0bee87f"),
            Member("stl10_binary/train_y.bin", 5_000, "md5:5a34089d4802c674881badbb80307741"),
            Member("stl10_binary/unlabeled_X.bin", 100_000 * _STL_IMAGE, "md5:5242ba1fed5e4be9e1e742405eb56ca4"),
            Member("stl10_binary/test_X.bin", 8_000 * _STL_IMAGE, "md5:7f263ba9f9e0b06b93213547f721ac82"),
            Member("stl10_binary/test_y.bin", 8_000, "md5:36f9794fa4beb8a2c72628de14fa638e"),
        ),
    ),
)

_FASHION = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"


def _fashion(name: str, size: int, digest: str, content_size: int, content_digest: str) -> SourceFile:
    member = Member(name.removesuffix(".gz"), content_size, f"sha256:{content_digest}")
    return SourceFile(name, (_FASHION + name,), size, f"sha256:{digest}", (member,))


FASHION_MNIST_FILES = (
    _fashion(
        "train-images-idx3-ubyte.gz",
        26_421_880,
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        16 + 60_000 * 28 * 28,
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    ),
    _fashion(
        "train-labels-idx1-ubyte.gz",
        29_515,
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        8 + 60_000,
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    ),
    _fashion(
        "t10k-images-idx3-ubyte.gz",
        4_422_102,
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        16 + 10_000 * 28 * 28,
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    ),
    _fashion(
        "t10k-labels-idx1-ubyte.gz",
        5_148,
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        8 + 10_000,
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
)

CIFAR10_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip

STL10_CLASSES = (
    "airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck",
)  # fmt: skip

FASHION_MNIST_CLASSES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip

CIFAR100_COARSE_CLASSES = (
    "aquatic_mammals", "fish", "flowers", "food_containers", "fruit_and_vegetables",
    "household_electrical_devices", "household_furniture", "insects", "large_carnivores",
    "large_man-made_outdoor_things", "large_natural_outdoor_scenes", "large_omnivores_and_herbivores",
    "medium_mammals", "non-insect_invertebrates", "people", "reptiles", "small_mammals", "trees",
    "vehicles_1", "vehicles_2",
)  # fmt: skip

CIFAR100_FINE_CLASSES = (
    "apple", "aquarium_fish", "baby", "bear", "beaver", "bed", "bee", "beetle", "bicycle", "bottle", "bowl",
    "boy", "bridge", "bus", "butterfly", "camel", "can", "castle", "caterpillar", "cattle", "chair",
    "chimpanzee", "clock", "cloud", "cockroach", "couch", "crab", "crocodile", "cup", "dinosaur", "dolphin",
    "elephant", "flatfish", "forest", "fox", "girl", "hamster", "house", "kangaroo", "keyboard", "lamp",
    "lawn_mower", "leopard", "lion", "lizard", "lobster", "man", "maple_tree", "motorcycle", "mountain",
    "mouse", "mushroom", "oak_tree", "orange", "orchid", "otter", "palm_tree", "pear", "pickup_truck",
    "pine_tree", "plain", "plate", "poppy", "porcupine", "possum", "rabbit", "raccoon", "ray", "road",
    "rocket", "rose", "sea", "seal", "shark", "shrew", "skunk", "skyscraper", "snail", "snake", "spider",
    "squirrel", "streetcar", "sunflower", "sweet_pepper", "table", "tank", "telephone", "television",
    "tiger", "tractor", "train", "trout", "tulip", "turtle", "wardrobe", "whale", "willow_tree", "wolf",
    "woman", "worm",
)  # fmt: skip
