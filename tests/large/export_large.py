#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports networks of 80 MB to 3 GB with PyTorch: export_large.py DIR [--only REGEX].

DIR/<network>.onnx and 8 random samples in DIR/inputs/<network>/; what is there already is kept. Weights are random with fixed seeds, nothing is downloaded. Needs
torch, torchvision, timm, transformers and onnxscript, in an environment of its own. compare_large.py measures on them.
"""
import argparse
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "reference", "exports"))
from make_exports import export_network  # noqa: E402
from networks import Network, timm_model, torchvision_model, transformers_model  # noqa: E402

SAMPLES = 8
_IMAGE = (3, 224, 224)
_LLAMA = {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 12, "num_attention_heads": 32, "num_key_value_heads": 4,
          "vocab_size": 32000, "max_position_embeddings": 2048, "tie_word_embeddings": False, "use_cache": False}  # of TinyLlama, which has 22 layers
_WHISPER_BASE = {"d_model": 512, "encoder_layers": 6, "encoder_attention_heads": 8, "encoder_ffn_dim": 2048, "num_mel_bins": 80,
                 "max_source_positions": 1500, "decoder_layers": 1, "decoder_attention_heads": 8}


def unet(width=64, levels=4, classes=2):
    """The network of the U-Net paper with padded convolutions and batch normalization: 31 million weights."""
    def build():
        import torch
        from torch import nn

        def block(channels_in, channels):
            parts = []
            for first in (channels_in, channels):
                parts += [nn.Conv2d(first, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()]
            return nn.Sequential(*parts)

        class UNet(nn.Module):
            def __init__(self):
                super().__init__()
                widths = [width << level for level in range(levels + 1)]
                self.down = nn.ModuleList(block(a, b) for a, b in zip([3, *widths], widths))
                self.rise = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in reversed(widths[:-1]))
                self.up = nn.ModuleList(block(2 * w, w) for w in reversed(widths[:-1]))
                self.head = nn.Conv2d(width, classes, 1)

            def forward(self, x):
                skips = []
                for part in self.down[:-1]:
                    skips.append(part(x))
                    x = nn.functional.max_pool2d(skips[-1], 2)
                x = self.down[-1](x)
                for rise, part, skip in zip(self.rise, self.up, reversed(skips)):
                    x = part(torch.cat([rise(x), skip], 1))
                return self.head(x)
        return UNet()
    return build


def whisper_encoder():
    from torch import nn
    inner = transformers_model("WhisperForAudioClassification", "WhisperConfig", **_WHISPER_BASE)().inner.encoder

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, features):
            return self.inner(features, return_dict=False)[0]
    return Encoder()


NETWORKS = {
    "resnet50": Network(torchvision_model("resnet50"), _IMAGE),
    "convnext_t": Network(timm_model("convnext_tiny"), _IMAGE),
    "vit_b16": Network(timm_model("vit_base_patch16_224"), _IMAGE),
    "swin_t": Network(timm_model("swin_tiny_patch4_window7_224"), _IMAGE),
    "unet": Network(unet(), (3, 256, 256)),
    "bert_base": Network(transformers_model("BertModel", "BertConfig"), (128,), dynamic=True, tokens=30522),
    "whisper_base_encoder": Network(whisper_encoder, (80, 3000)),
    "llama_12x2048": Network(transformers_model("LlamaForCausalLM", "LlamaConfig", **_LLAMA), (64,), dynamo=True, opset=18, tokens=32000, external=True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    for name in NETWORKS:
        path = os.path.join(options.folder, name + ".onnx")
        if re.search(options.only, name) and not os.path.exists(path):
            export_network(NETWORKS[name], name, options.folder, SAMPLES)
            print(name, sum(os.path.getsize(file) for file in (path, path + ".data") if os.path.exists(file)), "bytes", flush=True)


if __name__ == "__main__":
    main()
