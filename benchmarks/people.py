"""Simulated people who each solve exercise3 alone, to measure the comparison of submissions.

Each person draws names, idioms, order and comments by popularity; a style ties some choices
together. They vary less than real people do: a hard case, in which honest files are close to one
another.
"""

from __future__ import annotations

import random
from pathlib import Path

from grader.kit import load_kit
from tests.support.disguises import in_stub

EXERCISE = load_kit(Path(__file__).parent.parent).find("exercise3")
STUB = EXERCISE.stub.read_text(encoding="utf-8")

# Options of each choice, each with its weight; a word in braces is a choice of its own.
CHOICES = {
    "qkv": "q,k,v 10;Q,K,V 4;query,key,value 4;queries,keys,values 3;xq,xk,xv .3;qs,ks,vs .3",
    "s": "scores 12;attn_scores 4;attention_scores 3;attn 3;att 2;logits 2;s 1;qk 1;energy .7;"
    "sim .6;dots .5;similarity .5;raw_scores .3;alpha .2",
    "w": "weights 8;attn_weights 6;attn 5;attention_weights 3;attention 2;probs 1.5;w 1;p .6;"
    "attn_probs .8;A .4;a .3;alphas .2",
    "o": "out 8;output 6;context 4;attn_output 1.5;y 1.5;result .8;mixed .8;ctx .6;z .4",
    "drop": "dropout 10;drop 3;attn_dropout 3;attn_drop 1;attention_dropout .8;dp .2",
    "width": "hidden_dim 8;dim 1;d_model 1;d_k .8;embed_dim .5;C .4",
    "rate": "dropout_rate 6;p 2;rate 1;dropout_p 1",
    "m": "mask 8;bool_mask .8;hidden .6;m .6;keep .4;allowed .4;visible .3",
    "z": "qkv 10;projected 1;h .5;fused .4;p .3",
    "linear": "hidden_dim, 3 * hidden_dim 8;hidden_dim, hidden_dim * 3 4;"
    "hidden_dim, 3 * hidden_dim, bias=True .8;"
    "in_features=hidden_dim, out_features=3 * hidden_dim .5",
    "square": "hidden_dim, hidden_dim 12;hidden_dim, hidden_dim, bias=True .8",
    "given": "dropout_rate 10;p=dropout_rate 3",
    "shape": " 4;B, T, C = x.shape 6;B, T, C = x.size() 1.5;b, t, c = x.shape 1.2;"
    "batch_size, seq_len, _ = x.shape .6;B, T, _ = x.shape .6;C = x.shape[-1] .8;C = x.size(-1) .6",
    "project": "{q}, {k}, {v} = self.proj(x).chunk(3, dim=-1) 7;"
    "{q}, {k}, {v} = self.proj(x).chunk(3, -1) 2;"
    "{q}, {k}, {v} = self.proj(x).split(x.size(-1), dim=-1) 2;"
    "{q}, {k}, {v} = torch.chunk(self.proj(x), 3, dim=-1) 1;"
    "{z} = self.proj(x)|{q}, {k}, {v} = {z}.chunk(3, dim=-1) 3;"
    "{z} = self.proj(x)|{q}, {k}, {v} = torch.split({z}, x.shape[-1], dim=-1) 1;"
    "{z} = self.proj(x)|{q} = {z}[..., :x.shape[-1]]|"
    "{k} = {z}[..., x.shape[-1]:2 * x.shape[-1]]|{v} = {z}[..., 2 * x.shape[-1]:] .7;"
    "{q}, {k}, {v} = self.proj(x).unflatten(-1, (3, -1)).unbind(-2) .3",
    "turned": "{k}.transpose(-2, -1) 8;{k}.transpose(1, 2) 4;{k}.transpose(-1, -2) 2.5;{k}.mT 1.2;"
    "{k}.permute(0, 2, 1) .8",
    "root": "self.{width} ** 0.5 6;{q}.size(-1) ** 0.5 1.5;{k}.shape[-1] ** 0.5 1.2;"
    "x.shape[-1] ** 0.5 2;math.sqrt(self.{width}) 4;math.sqrt({q}.size(-1)) 1.5;"
    "math.sqrt(x.size(-1)) 1;(self.{width} ** 0.5) 1",
    "where": "attention_mask == 0 9;~attention_mask.bool() 2.5;attention_mask.logical_not() .5;"
    "attention_mask.eq(0) .5;~(attention_mask != 0) .5",
    "inf": 'float("-inf") 12;-torch.inf 1.5;-math.inf 1;torch.finfo({s}.dtype).min 1.5;'
    '-float("inf") .6',
    "masked": "{s} = {s}.masked_fill({where}, {inf}) 12;"
    "{m} = attention_mask.bool()|{s} = {s}.masked_fill(~{m}, {inf}) 2;"
    "{s} = torch.where({where}, {inf}, {s}) 1;"
    "{m} = torch.zeros_like({s}).masked_fill({where}, {inf})|{s} = {s} + {m} 1",
}
STYLES = {  # product of queries and keys, softmax, weighted sum of values; then the popularity
    ("{q} @ {turned}", "{s}.softmax(dim=-1)", "{w} @ {v}"): 6,
    ("{q} @ {turned}", "torch.softmax({s}, dim=-1)", "{w} @ {v}"): 5,
    ("torch.matmul({q}, {turned})", "F.softmax({s}, dim=-1)", "torch.matmul({w}, {v})"): 4,
    ("({q} @ {turned})", "{s}.softmax(-1)", "{w} @ {v}"): 2,
    ("torch.bmm({q}, {turned})", "torch.softmax({s}, dim=-1)", "torch.bmm({w}, {v})"): 1,
    (
        'torch.einsum("bqc,bkc->bqk", {q}, {k})',
        "{s}.softmax(dim=-1)",
        'torch.einsum("bqk,bkc->bqc", {w}, {v})',
    ): 0.8,
}
COMMENTS = (
    "project to q, k, v;fused projection;(B, T, C) -> 3 x (B, T, C);split into q k v",
    "scaled dot product;attention scores;(B, T, T);scale by sqrt(d);similarity of query and key",
    "apply mask;mask out hidden positions;0 means hidden;masked positions get -inf",
    "softmax over keys;normalize;rows sum to 1;attention weights;scores to probabilities",
    "dropout on the weights;apply dropout;drop some attention weights;only in training",
    "weighted sum of values;(B, T, C);mix the values;aggregate;output projection",
)
COMMENT_ENDINGS = (
    "",
    " here",
    " now",
    ", eq. 1",
    " (see paper)",
    " as in the lecture",
    " - the usual way",
)


class Person:
    """A simulated person who solves exercise3 alone."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.chosen: dict[str, str] = {}
        self.talk = self.rng.choice((0, 0, 0.2, 0.5, 0.9))

    def file(self) -> str:
        """Return the text of the file that the person hands in."""
        stub = STUB if self.rng.random() < 0.75 else "".join(STUB.split('"""')[::2])
        imports = "import math\n\nimport torch\nimport torch.nn.functional as F\n"
        text = stub.replace("from torch import Tensor", imports + "from torch import Tensor")
        return in_stub(text, self._init(), self._forward())

    def _init(self) -> str:
        lines = ["self.proj = nn.Linear({linear})", "self.output_proj = nn.Linear({square})"]
        by_layer = self.rng.random() < 0.75
        lines.append(
            "self.{drop} = nn.Dropout({given})" if by_layer else "self.{rate} = dropout_rate"
        )
        self.chosen["dropped"] = (
            "self.{drop}({w})" if by_layer else "F.dropout({w}, self.{rate}, self.training)"
        )
        lines.append("self.{width} = hidden_dim")
        if self.rng.random() < 0.4:
            self.rng.shuffle(lines)
        return "".join(f"        {self.fill(line)}\n" for line in lines)

    def _forward(self) -> str:
        weights = list(STYLES.values())
        product, softmax, mixed = self.rng.choices(list(STYLES), weights)[0]
        steps = ["{project}", "{s} = " + product + " / {root}", "{masked}", "{w} = " + softmax]
        if self.rng.random() < 0.2:
            steps[1] = "{s} = " + product + "|{s} = {s} / {root}"
        if self.rng.random() < 0.6:
            steps += ["{w} = {dropped}", ""]
        else:
            steps += ["", ""]
            mixed = mixed.replace("{w}", self.fill("{dropped}"))
        steps[5] = "{o} = " + mixed + "|return self.output_proj({o})"
        if self.rng.random() < 0.5:
            steps[5] = "return self.output_proj(" + mixed + ")"
        lines = [f"        {self.fill('{shape}')}"]
        for number, step in enumerate(steps):
            lines += self._step(number, self.fill(step))
        return "\n".join(line for line in lines if line.strip())

    def _step(self, number: int, text: str) -> list[str]:
        indent = " " * (12 if number == 2 else 8)
        lines = [indent + line for line in text.split("|")]
        if self.rng.random() < self.talk:
            comment = self.rng.choice(COMMENTS[number].split(";")) + self.rng.choice(
                COMMENT_ENDINGS
            )
            lines.insert(0, f"{indent}# {comment}")
        return ["        if attention_mask is not None:", *lines] if number == 2 else lines

    def fill(self, text: str) -> str:
        """Replace every choice in a text by what the person takes."""
        while "{" in text:
            name = text.split("{", 1)[1].split("}", 1)[0]
            text = text.replace(f"{{{name}}}", self.choose(name))
        return text

    def choose(self, name: str) -> str:
        """Return the option that this person takes of a choice; the same each time."""
        if name in ("q", "k", "v"):
            return self.choose("qkv").split(",")["qkv".index(name)]
        if name not in self.chosen:
            options = [option.rsplit(" ", 1) for option in CHOICES[name].split(";")]
            weights = [float(weight) for _, weight in options]
            self.chosen[name] = self.rng.choices([text for text, _ in options], weights)[0]
            if name in ("s", "w", "o", "m", "z") and self.rng.random() < 0.04:
                self.chosen[name] += self.rng.choice(("_raw", "2", "_t", "_final", "_mat", "_new"))
        return self.chosen[name]
