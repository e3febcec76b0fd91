"""Models of mesoforge in PyTorch. Needs torch 2.0 or newer, and nothing else.

    import mesoforge_torch
    model = mesoforge_torch.load("run/model.safetensors")
    print(model.names, model(images))

The answers are those of `mesoforge infer`, to 1e-5. docs/PYTORCH.md has all that such a network does.
"""
import json
import math

import torch
from torch import nn
from torch.nn import functional


def load(path):
    """The model of a file that mesoforge has trained, ready to predict."""
    card, weights = read(path)
    model = Asker(card) if "questions" in card else Model(card)
    model.net.load_state_dict(weights)
    return model.eval()


def read(path):
    """What a file says of its model, and its weights by name."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    begin = 8 + int.from_bytes(data[:8], "little")
    if data[8:9] != b"{" or begin > len(data):
        raise ValueError(f"{path} is no .safetensors file; give the model.safetensors that a training wrote")
    head = json.loads(data[8:begin].decode())
    metadata = head.pop("__metadata__", {})
    if "mesoforge" not in metadata:
        raise ValueError(f"{path} is no model of mesoforge: its metadata have no 'mesoforge'")
    weights = {}
    for name, entry in head.items():
        if entry["dtype"] != "F32":
            raise ValueError(f"{path}: '{name}' is {entry['dtype']}, not F32")
        values = torch.frombuffer(data, dtype=torch.float32, count=math.prod(entry["shape"]), offset=begin + entry["data_offsets"][0])
        if not values.isfinite().all():
            raise ValueError(f"{path}: '{name}' holds NaN or an infinity, so the model predicts nothing")
        weights[name] = values.reshape(entry["shape"])
    return json.loads(metadata["mesoforge"]), weights


class Asker(nn.Module):
    """A network that answers questions about images. heads: its heads, and the answers that each has; findings: their names."""

    def __init__(self, card):
        super().__init__()
        self.card, asked = card, card["questions"]
        _, *extents, channels = card["input"]["extents"]
        arch, sizes = network(card)
        self.heads = {head["name"]: head["answers"] for head in asked["heads"]}
        self.findings = asked["findings"]
        self.words = asked["vocabulary"].removesuffix("\n").split("\n")
        outputs = [len(answers) for answers in self.heads.values()] + [len(self.findings)]
        self.net = make(arch, extents, channels, outputs, words=len(self.words), objects=asked["objects"], **sizes)

    def forward(self, x, tokens, seen, word_share, object, object_share, region):
        """Probabilities of the answers of each head, and of findings if it has any. docs/PYTORCH.md has the inputs."""
        said = self.net(x, tokens, seen, word_share, object, object_share, region)
        answers = {name: y.softmax(-1) for name, y in zip(self.heads, said)}
        return {**answers, "findings": said[-1].sigmoid()} if self.findings else answers


class Model(nn.Module):
    """A network with the scales of its input and of its output. names: the classes, or the columns that it predicts."""

    def __init__(self, card):
        super().__init__()
        *extents, channels = card["input"]["extents"]
        arch, sizes = network(card)
        self.card, self.classify = card, "classes" in card
        self.names = card["classes"] if self.classify else card["columns"]
        self.extents = extents if extents[0] > 1 else extents[1:]
        self.channels, self.phases = channels, card["input"]["phases"]
        self.net = make(arch, self.extents, channels, len(self.names), **sizes)
        scales = [] if self.phases else [("input", card["input"]["mean"], card["input"]["deviation"])]
        scales += [] if self.classify else [("output", card["column_mean"], card["column_deviation"])]
        for name, mean, deviation in scales:
            self.register_buffer(f"{name}_mean", torch.tensor(mean), persistent=False)
            self.register_buffer(f"{name}_deviation", torch.tensor(deviation), persistent=False)

    def input(self, x):
        """Samples [n][(z)][y][x], of several channels [n][(z)][y][x][channel], as the network reads them: [n][(z)][y][x][channel]."""
        x = torch.as_tensor(x, device=next(self.net.parameters()).device)
        axes, plain = len(self.extents) + 1, self.phases or self.channels == 1
        if not (x.ndim == axes and plain or not self.phases and x.ndim == axes + 1 and x.shape[-1] == self.channels):
            places = "[z][y][x]"[9 - 3 * len(self.extents):]
            raise ValueError(f"samples are {list(x.shape)}; the model reads [n]{places}{'' if plain else f'[{self.channels}]'}: channels come last, and one sample is x[None]")
        if self.phases:
            x = functional.one_hot(x.long(), self.phases).float()
            return x[..., 1:] if self.phases == 2 else x
        x = x.float()
        if x.ndim == len(self.extents) + 1:
            x = x[..., None]
        return (x - self.input_mean) / self.input_deviation

    def tiles(self, x):
        """[n][tiles][(z)][y][x][channel]: tiles of the network's extents, the last ones of which end with the sample."""
        x = x[:, None]
        for axis, edge in enumerate(self.extents, 2):
            length = x.shape[axis]
            if length < edge:
                raise ValueError(f"samples of {list(x.shape[2:-1])} are smaller than {list(self.extents)}")
            begins = [min(k, length - edge) for k in range(0, length, edge)]
            x = torch.cat([x.narrow(axis, k, edge) for k in begins], 1)
        return x

    def forward(self, x):
        """Probabilities of classes, or values of columns: [n][names]. Of a larger sample the mean over its tiles."""
        x = self.tiles(self.input(x))
        y = self.net(x.flatten(0, 1))
        y = y.softmax(-1) if self.classify else y * self.output_deviation + self.output_mean
        return y.unflatten(0, x.shape[:2]).mean(1)


def network(card):
    """The architecture, and its sizes: "cnn:width=64,depth=4". Version 1 had an object of sizes."""
    if card["version"] == 1:
        return card["arch"], {k: v for k, v in card["arguments"].items() if k not in ("router_noise", "capacity_factor")}
    if card["version"] != 2:
        raise ValueError(f"the model is of version {card['version']}, which is not known here")
    arch, _, words = card["arch"].partition(":")
    pairs = (word.split("=") for word in words.split(",") if word)
    sizes = {k.replace("-", "_"): v if k in ("features", "image") else float(v) if "." in v or "e" in v else int(v) for k, v in pairs}
    for training in ("router_noise", "capacity_factor"):
        sizes.pop(training, None)
    return arch, {"features": "none", **sizes, "expert_ids": card.get("expert_ids")}


def make(arch, extents, channels, outputs, experts=0, expert_ids=None, **sizes):
    """A new network of --arch, which reads [n][(z)][y][x][channel]. Its parameters have the names that mesoforge writes."""
    ids = expert_ids or list(range(experts))
    if arch == "mlp":
        return Mlp(math.prod(extents) * channels, outputs, **chosen(sizes, "width depth dropout"))
    if arch == "cnn":
        return Cnn(channels, outputs, **chosen(sizes, "width depth dropout"))
    if arch == "convnext":
        return Convnext(channels, outputs, **chosen(sizes, "width depth blocks deep patch dropout"))
    if arch == "moe":
        return Moe(math.prod(extents) * channels, channels, outputs, ids, **chosen(sizes, "width depth dropout top_k temperature balance features"))
    if arch == "vqa":
        return Vqa(extents, channels, outputs, **chosen(sizes, "words objects width depth blocks deep patch image text_width text_depth heads dropout"))
    if arch == "vit":
        return Vit(extents, channels, outputs, ids, **chosen(sizes, "width depth heads patch dropout top_k temperature balance"))
    raise ValueError(f"there is no --arch {arch} here")


def chosen(sizes, names):
    return {k: v for k, v in sizes.items() if k in names.split()}


class Mlp(nn.Module):
    def __init__(self, numbers, outputs, width=256, depth=2, dropout=0):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width if i else numbers, width) for i in range(depth))
        self.head = nn.Linear(width, outputs)
        self.dropout = dropout

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers:
            x = functional.dropout(functional.gelu(layer(x)), self.dropout, self.training)
        return self.head(x)


def group_norm(channels):
    return nn.GroupNorm(next(g for g in range(8, 0, -1) if channels % g == 0), channels)


class Stage(nn.Module):
    def __init__(self, before, channels, stride, dropout):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1)
        self.norm1 = group_norm(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1)
        self.norm2 = group_norm(channels)
        if stride != 1 or before != channels:
            self.skip = nn.Conv2d(before, channels, 1, stride)
        self.dropout = dropout

    def forward(self, x):
        y = functional.silu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(functional.dropout(y, self.dropout, self.training)))
        return functional.silu(y + (self.skip(x) if hasattr(self, "skip") else x))


class Features(nn.Module):
    """What cnn, and moe with --features cnn, find in an image."""

    def __init__(self, channels, width=32, depth=3, dropout=0):
        super().__init__()
        self.stem = nn.ModuleDict({"conv": nn.Conv2d(channels, width, 3, 2, 1), "norm": group_norm(width)})
        self.stages = nn.ModuleList(Stage(width << max(s - 1, 0), width << s, 2 if s else 1, dropout) for s in range(depth))
        self.columns = width << (depth - 1)

    def map(self, x):
        x = functional.silu(self.stem["norm"](self.stem["conv"](x.permute(0, 3, 1, 2))))
        for stage in self.stages:
            x = stage(x)
        return x

    def features(self, x):
        return self.map(x).mean((2, 3))


class Cnn(Features):
    def __init__(self, channels, outputs, width=32, depth=3, dropout=0):
        super().__init__(channels, width, depth, dropout)
        self.head = nn.Linear(self.columns, outputs)

    def forward(self, x):
        return self.head(self.features(x))


class ConvnextBlock(nn.Module):
    def __init__(self, width, gamma):
        super().__init__()
        self.conv_dw = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, 1e-6)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(width, 4 * width), "fc2": nn.Linear(4 * width, width)})
        self.gamma = nn.Parameter(torch.full((width,), gamma))

    def forward(self, x):
        y = self.norm(self.conv_dw(x).permute(0, 2, 3, 1))
        y = self.gamma * self.mlp["fc2"](functional.gelu(self.mlp["fc1"](y)))
        return x + y.permute(0, 3, 1, 2)


class PixelNorm(nn.LayerNorm):
    """Over the channels of each pixel."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvnextFeatures(nn.Module):
    """What convnext, and vqa with --image convnext, find in an image. The names are those of timm."""

    def __init__(self, channels, width=32, depth=3, blocks=2, deep=0, patch=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(channels, width, patch, patch), PixelNorm(width, 1e-6))
        self.stages = nn.ModuleList()
        counts = [deep if deep and s + 2 == depth else blocks for s in range(depth)]
        for s, count in enumerate(counts):
            stage = {"blocks": nn.Sequential(*(ConvnextBlock(width << s, sum(counts) ** -0.5) for _ in range(count)))}
            if s:
                stage["downsample"] = nn.Sequential(PixelNorm(width << s - 1, 1e-6), nn.Conv2d(width << s - 1, width << s, 2, 2))
            self.stages.append(nn.ModuleDict(stage))
        self.columns = width << depth - 1

    def map(self, x):
        x = self.stem(x.permute(0, 3, 1, 2))
        for stage in self.stages:
            x = stage["blocks"](stage["downsample"](x) if "downsample" in stage else x)
        return x


class Convnext(ConvnextFeatures):
    def __init__(self, channels, outputs, dropout=0, **sizes):
        super().__init__(channels, **sizes)
        self.head = nn.ModuleDict({"norm": nn.LayerNorm(self.columns, 1e-6), "fc": nn.Linear(self.columns, outputs)})
        self.dropout = dropout

    def forward(self, x):
        x = self.head["norm"](self.map(x).mean((2, 3)))
        return self.head["fc"](functional.dropout(x, self.dropout, self.training))


class Gate(nn.Module):
    """A router. The balance bias belongs to the raw scores, before the temperature, and to the choice alone."""

    def __init__(self, experts, top_k, temperature, balance):
        super().__init__()
        self.top, self.temperature = top_k or min(experts, 2), temperature
        if balance > 0:
            self.register_buffer("balance_bias", torch.zeros(experts))

    def mix(self, x, scores, experts):
        """Rows of x go to the experts with the largest scores; weights are the softmax of these, of one alone that of all."""
        rows, scores = x.flatten(0, -2), scores.flatten(0, -2)
        choice = (scores + self.balance_bias if hasattr(self, "balance_bias") else scores).topk(self.top).indices
        if self.top > 1:
            weight = torch.softmax(scores.gather(1, choice) / self.temperature, -1)
        else:
            weight = torch.softmax(scores / self.temperature, -1).gather(1, choice)
        y = None
        for e, expert in enumerate(experts.values()):
            row, slot = (choice == e).nonzero(as_tuple=True)
            part = expert(rows[row]) * weight[row, slot, None]
            y = part.new_zeros(len(rows), part.shape[1]) if y is None else y
            y = y.index_add(0, row, part)
        return y.unflatten(0, x.shape[:-1])


class Expert(nn.Module):
    def __init__(self, numbers, outputs, width, depth):
        super().__init__()
        for i in range(1, depth + 2):
            self.add_module(f"fc{i}", nn.Linear(numbers if i == 1 else width, outputs if i == depth + 1 else width))

    def forward(self, x):
        *hidden, last = self.children()
        for layer in hidden:
            x = functional.relu(layer(x))
        return last(x)


class DeepGate(Gate):
    """That of moe, with half as many hidden columns as there are inputs."""

    def __init__(self, numbers, experts, *more):
        super().__init__(experts, *more)
        self.fc1 = nn.Linear(numbers, (numbers + 1) // 2)
        self.fc2 = nn.Linear((numbers + 1) // 2, experts)

    def forward(self, x, experts):
        return self.mix(x, self.fc2(functional.relu(self.fc1(x))), experts)


class Moe(Features):
    def __init__(self, numbers, channels, outputs, ids, width=256, depth=2, top_k=0, temperature=0.8, balance=0, features="cnn", dropout=0):
        super().__init__(channels, dropout=dropout) if features == "cnn" else nn.Module.__init__(self)
        self.has_features = features == "cnn"
        numbers = self.columns if self.has_features else numbers
        self.gate = DeepGate(numbers, len(ids), top_k, temperature, balance)
        self.experts = nn.ModuleDict({str(i): Expert(numbers, outputs, width, depth) for i in ids})

    def forward(self, x):
        x = self.features(x) if self.has_features else x.flatten(1)
        return self.gate(x, self.experts)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(n, length, width))


class FlatGate(Gate):
    """That of a block of vit: one layer."""

    def __init__(self, numbers, experts, *more):
        super().__init__(experts, *more)
        self.weight = nn.Parameter(torch.empty(experts, numbers))
        self.bias = nn.Parameter(torch.empty(experts))
        for p in (self.weight, self.bias):
            nn.init.uniform_(p, -numbers**-0.5, numbers**-0.5)

    def forward(self, x, experts):
        return self.mix(x, functional.linear(x, self.weight, self.bias), experts)


class Block(nn.Module):
    def __init__(self, width, heads, dropout, ids, *router):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.dropout = dropout
        if ids:
            self.gate = FlatGate(width, len(ids), *router)
            self.experts = nn.ModuleDict({str(i): Expert(width, width, 4 * width, 1) for i in ids})
        else:
            self.mlp = nn.ModuleDict({"fc1": nn.Linear(width, 4 * width), "fc2": nn.Linear(4 * width, width)})

    def hidden(self, x):
        if hasattr(self, "gate"):
            return self.gate(x, self.experts)
        return self.mlp["fc2"](functional.gelu(self.mlp["fc1"](x)))

    def forward(self, x):
        x = x + functional.dropout(self.attn(self.norm1(x)), self.dropout, self.training)
        return x + functional.dropout(self.hidden(self.norm2(x)), self.dropout, self.training)


class Vit(nn.Module):
    def __init__(self, extents, channels, outputs, ids=(), width=128, depth=4, heads=4, patch=8, dropout=0, top_k=0, temperature=0.8, balance=0):
        super().__init__()
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(channels, width, patch, patch)})
        self.pos_embed = nn.Parameter(0.02 * torch.randn((extents[0] // patch) * (extents[1] // patch), width))
        self.blocks = nn.ModuleList(Block(width, heads, dropout, ids, top_k, temperature, balance) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, outputs)

    def forward(self, x):
        x = self.patch_embed["proj"](x.permute(0, 3, 1, 2)).flatten(2).transpose(1, 2) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


def linears(*names_and_sizes):
    return nn.ModuleDict({name: nn.Linear(before, after) for name, before, after in names_and_sizes})


class ReadRows(nn.Module):
    """Rows read other rows by attention, which are left out where they are not seen."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        for name in ("query", "key", "value", "output"):
            self.add_module(name, nn.Linear(width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x, rows, seen=None):
        q, k, v = (f(y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f, y in ((self.query, x), (self.key, rows), (self.value, rows)))
        mask = None if seen is None else seen[:, None, None, :]
        y = functional.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)
        return self.norm(x + functional.dropout(self.output(y), self.dropout, self.training))


class TextLayer(nn.Module):
    """A layer of BertModel of transformers, with its names."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        norm = dict(normalized_shape=width, eps=1e-12)
        self.attention = nn.ModuleDict({"self": linears(*((name, width, width) for name in ("query", "key", "value"))),
                                        "output": nn.ModuleDict({"dense": nn.Linear(width, width), "LayerNorm": nn.LayerNorm(**norm)})})
        self.intermediate = linears(("dense", width, 4 * width))
        self.output = nn.ModuleDict({"dense": nn.Linear(4 * width, width), "LayerNorm": nn.LayerNorm(**norm)})

    def forward(self, x, seen):
        q, k, v = (self.attention["self"][name](x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for name in ("query", "key", "value"))
        y = functional.scaled_dot_product_attention(q, k, v, seen[:, None, None, :]).transpose(1, 2).flatten(2)
        out = self.attention["output"]
        x = out["LayerNorm"](x + functional.dropout(out["dense"](y), self.dropout, self.training))
        y = self.output["dense"](functional.gelu(self.intermediate["dense"](x)))
        return self.output["LayerNorm"](x + functional.dropout(y, self.dropout, self.training))


class Text(nn.Module):
    def __init__(self, words, width, depth, heads, dropout):
        super().__init__()
        tables = ("word_embeddings", words), ("position_embeddings", 512), ("token_type_embeddings", 2)
        self.embeddings = nn.ModuleDict({name: nn.Embedding(rows, width) for name, rows in tables})
        for table in list(self.embeddings.values()):
            nn.init.normal_(table.weight, std=0.02)
        self.embeddings["LayerNorm"] = nn.LayerNorm(width, eps=1e-12)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(TextLayer(width, heads, dropout) for _ in range(depth))})
        self.dropout = dropout

    def forward(self, tokens, seen):
        e = self.embeddings
        x = e["word_embeddings"](tokens) + (e["position_embeddings"].weight[:tokens.shape[1]] + e["token_type_embeddings"].weight[0])
        x = functional.dropout(e["LayerNorm"](x), self.dropout, self.training)
        for layer in self.encoder["layer"]:
            x = layer(x, seen)
        return x


class Vqa(nn.Module):
    """Answers questions. forward() has the inputs of docs/PYTORCH.md and gives the outputs of each head. The last of outputs is the number of
    findings. objects: of an image, at most; 0: the network reads none."""

    def __init__(self, extents, channels, outputs, words, objects=8, width=32, depth=3, text_width=128, text_depth=2, heads=4, dropout=0, image="cnn", patch=4, **sizes):
        super().__init__()
        wide = text_width
        if image == "convnext":
            cells = [extent // patch >> depth - 1 for extent in extents]
            self.image = ConvnextFeatures(channels, width, depth, patch=patch, **sizes)
        else:
            cells = [math.ceil(extent / 2**depth) for extent in extents]
            self.image = Features(channels, width, depth, dropout)
        self.text = Text(words, wide, text_depth, heads, dropout)
        self.visual = nn.ModuleDict({"proj": nn.Linear(self.image.columns, wide), "norm": nn.LayerNorm(wide)})
        self.visual["level"] = nn.Linear(channels, wide)
        self.visual["pool"] = nn.Linear(self.image.columns, wide)
        self.visual.register_parameter("position", nn.Parameter(0.02 * torch.randn(math.prod(cells), wide)))
        if objects:
            self.objects = linears(("box", 6, wide), ("see", 6 * objects, 4 * wide), ("ask", wide, 4 * wide), ("read", 4 * wide, wide))
            self.objects.update({name: nn.LayerNorm(wide) for name in ("norm", "words")})
            self.objects.register_parameter("position", nn.Parameter(0.02 * torch.randn(objects, wide)))
        streams = ("visual", "text", "objects") if objects else ("visual", "text")
        self.cross = nn.ModuleList(nn.ModuleDict({name: ReadRows(wide, heads, dropout) for name in streams}) for _ in range(2))
        self.joint = nn.ModuleDict({"fc1": nn.Linear(wide, 4 * wide), "fc2": nn.Linear(4 * wide, wide), "norm": nn.LayerNorm(wide)})
        self.heads = nn.ModuleList(linears(("fc1", wide, wide), ("fc2", wide, n)) for n in outputs if n)
        self.has_objects, self.questions, self.dropout = bool(objects), len(outputs) - 1, dropout

    def forward(self, x, tokens, seen, word_share, object, object_share, region):
        v = self.image.map(x).flatten(2).transpose(1, 2)
        level = self.visual["level"](x.mean((1, 2))) + self.visual["pool"](v.mean(1))
        v = self.visual["norm"](self.visual["proj"](v)) + self.visual.position
        t, before = self.text(tokens, seen), v.mean(1) + level
        if self.has_objects:
            words = self.objects["words"]((word_share @ self.text.embeddings["word_embeddings"](tokens)).squeeze(1))
            level = level + self.objects["read"](functional.gelu(self.objects["see"](object.flatten(1))) * self.objects["ask"](words))
        o = self.objects["norm"](region @ v + self.objects["box"](object)) + self.objects.position if self.has_objects else None
        for layer in self.cross:
            scene = torch.cat((v, o), 1) if self.has_objects else v
            v, t, o = layer["visual"](v, t, seen), layer["text"](t, scene), layer["objects"](o, t, seen) if self.has_objects else None
        y = v.mean(1) + (word_share @ t).squeeze(1)
        if self.has_objects:
            y = y + (object_share @ o).squeeze(1)
        y = y + level
        z = self.joint["fc2"](functional.gelu(self.joint["fc1"](y)))
        y = self.joint["norm"](y + functional.dropout(z, self.dropout, self.training))
        both = [y] * self.questions + [before]
        return [h["fc2"](functional.dropout(functional.relu(h["fc1"](r)), self.dropout, self.training)) for h, r in zip(self.heads, both)]
