# SPDX-License-Identifier: MIT
"""Networks of torchvision, timm and transformers with random weights, as PyTorch modules: what make_exports.py exports.

NETWORKS: name -> Network. Constructors only, nothing is downloaded; small variants and small inputs. `dynamic` leaves the first
dimension of the inputs open, `dynamo` takes PyTorch's newer exporter, `external` then puts weights into NAME.onnx.data.
"""
import collections

Network = collections.namedtuple("Network", "build shape dynamic dynamo opset tokens external", defaults=(False, False, 17, None, False))


def torchvision_model(name, **options):
    def build():
        import torchvision
        return torchvision.models.get_model(name, weights=None, **options)
    return build


def timm_model(name, **options):
    def build():
        import timm
        return timm.create_model(name, pretrained=False, exportable=True, **options)
    return build


def class_of(module, kind, **options):
    """A class with parameters that the named models do not take."""
    def build():
        import importlib
        return getattr(importlib.import_module(module), kind)(num_classes=10, **options)
    return build


def transformers_model(model, config, wrap=lambda output: output[0], decodes=False, **options):
    """`wrap` picks the output that is exported. `decodes`: encoder and decoder read the same tokens."""
    def build():
        import torch
        import transformers
        settings = getattr(transformers, config)(**options)
        settings._attn_implementation = "eager"

        class Wrapped(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = getattr(transformers, model)(settings)

            def forward(self, *inputs):
                decoded = {"decoder_input_ids": inputs[0], "use_cache": False} if decodes else {}
                return wrap(self.inner(*inputs, return_dict=False, **decoded))
        return Wrapped()
    return build


def mlp_network(block=None, norm=None, **options):
    """An MLP-Mixer, or what becomes of it with other blocks and norms of timm's module."""
    def build():
        from timm.models import mlp_mixer
        parts = {name: getattr(mlp_mixer, kind) for name, kind in (("block_layer", block), ("norm_layer", norm)) if kind}
        return mlp_mixer.MlpMixer(img_size=64, patch_size=16, embed_dim=64, num_blocks=2, num_classes=10, **parts, **options)
    return build


def small_densenet():
    import torchvision
    return torchvision.models.DenseNet(growth_rate=12, block_config=(2, 3, 2), num_init_features=16, num_classes=10)


def small_vgg():
    """VGG's layers before and after its pool of a fixed size, which does not export at this size of the image."""
    import torch
    import torchvision
    module = torchvision.models.vgg11_bn(weights=None, init_weights=False)
    return torch.nn.Sequential(module.features, torch.nn.Flatten(), torch.nn.Linear(512, 64), torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.Linear(64, 10))


def focus_detector(in_order):
    """The stem of YOLOv5 (in_order) or YOLOX: four strided slices and a Concat, then a small head."""
    def build():
        import torch
        from torch import nn

        class Focus(nn.Module):
            def __init__(self):
                super().__init__()
                self.stem = nn.Sequential(nn.Conv2d(12, 16, 3, padding=1), nn.BatchNorm2d(16), nn.SiLU())
                self.body = nn.Sequential(nn.Conv2d(16, 24, 3, 2, 1), nn.BatchNorm2d(24), nn.SiLU(), nn.Conv2d(24, 18, 1))

            def forward(self, x):
                a, b, c, d = x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]
                parts = (a, b, c, d) if in_order else (a, c, b, d)
                return self.body(self.stem(torch.cat(parts, 1)))
        return Focus()
    return build


_VIT = {"img_size": 32, "patch_size": 8, "embed_dim": 48, "depth": 2, "num_heads": 3, "num_classes": 10}
_SWIN = {"img_size": 56, "patch_size": 4, "window_size": 7, "embed_dim": 24, "depths": (2, 2), "num_heads": (2, 4), "num_classes": 10}
_SEGFORMER = {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [4, 2], "hidden_sizes": [16, 32], "patch_sizes": [7, 3],
              "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2], "decoder_hidden_size": 32, "num_labels": 5}
_CLIP = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 32, "patch_size": 8}
_BERT = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 96, "vocab_size": 100,
         "max_position_embeddings": 64}
_DISTIL = {"dim": 48, "n_layers": 2, "n_heads": 3, "hidden_dim": 96, "vocab_size": 100, "max_position_embeddings": 64}
_CAIT = {"img_size": 32, "patch_size": 8, "embed_dim": 48, "depth": 2, "num_heads": 4}
_BEIT = {"img_size": 32, "patch_size": 8, "embed_dim": 48, "depth": 2, "num_heads": 3}
_TWINS = {"img_size": 64, "embed_dims": [16, 32, 48, 64], "num_heads": [1, 2, 3, 4], "depths": [1, 2, 2, 1], "wss": [4, 4, 2, 2]}
_COAT = {"img_size": 64, "embed_dims": [32, 32, 48, 64], "serial_depths": [1, 1, 1, 1], "mlp_ratios": [2, 2, 2, 2]}
_EFFICIENTFORMER = {"depths": (1, 1, 2, 2), "embed_dims": (16, 32, 48, 64)}
_GPT2 = {"n_embd": 48, "n_layer": 2, "n_head": 3, "vocab_size": 100, "n_positions": 64, "use_cache": False}
_T5 = {"d_model": 48, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 3, "vocab_size": 100}
_WHISPER = {"d_model": 48, "encoder_layers": 2, "encoder_attention_heads": 3, "encoder_ffn_dim": 96, "num_mel_bins": 20, "max_source_positions": 32,
            "decoder_layers": 1, "decoder_attention_heads": 3, "decoder_ffn_dim": 96, "vocab_size": 100, "pad_token_id": 0, "bos_token_id": 1,
            "eos_token_id": 2, "decoder_start_token_id": 1}
_WAV2VEC2 = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 96, "conv_dim": (16, 16, 24),
             "conv_stride": (5, 4, 2), "conv_kernel": (10, 8, 4), "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16,
             "num_conv_pos_embedding_groups": 4, "vocab_size": 20}
_YOLOS = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 96, "image_size": [64, 64], "patch_size": 16,
          "num_detection_tokens": 8, "num_labels": 4, "use_mid_position_embeddings": False}
_MT5 = {**_T5, "feed_forward_proj": "gated-gelu"}
_ALBERT = {"embedding_size": 24, "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 96, "vocab_size": 100,
           "max_position_embeddings": 64}
_SQUEEZEBERT = {**_BERT, "embedding_size": 48, "num_attention_heads": 4}
_TORCH_VIT = {"image_size": 32, "patch_size": 8, "num_layers": 2, "num_heads": 3, "hidden_dim": 48, "mlp_dim": 96}
_SWIN_V2 = {"patch_size": [4, 4], "embed_dim": 24, "depths": [2, 2], "num_heads": [2, 4], "window_size": [4, 4]}
_DAVIT = {"depths": (1, 1, 1, 1), "embed_dims": (16, 32, 48, 64), "num_heads": (1, 2, 3, 4)}
_CROSSVIT = {"img_size": 64, "img_scale": (1.0, 1.0), "patch_size": [8, 16], "embed_dim": [32, 48], "depth": [[1, 2, 0]], "num_heads": [2, 3],
             "mlp_ratio": [2, 2, 1]}
_IMAGE = (3, 64, 64)
_TEN = {"num_classes": 10}

NETWORKS = {
    "shufflenet_v2": Network(torchvision_model("shufflenet_v2_x0_5", **_TEN), _IMAGE),
    "mobilenet_v3": Network(torchvision_model("mobilenet_v3_small", **_TEN), _IMAGE),
    "mobilenet_v2_dynamo": Network(torchvision_model("mobilenet_v2", width_mult=0.35, **_TEN), _IMAGE, dynamo=True, opset=18),
    "regnet_y": Network(torchvision_model("regnet_y_400mf", **_TEN), _IMAGE),
    "resnet18": Network(torchvision_model("resnet18", **_TEN), _IMAGE, dynamic=True),
    "densenet": Network(small_densenet, _IMAGE),
    "efficientnet_b0": Network(torchvision_model("efficientnet_b0", **_TEN), _IMAGE),
    "googlenet": Network(torchvision_model("googlenet", aux_logits=False, init_weights=False, **_TEN), _IMAGE),
    "mnasnet": Network(torchvision_model("mnasnet0_5", **_TEN), _IMAGE),
    "lraspp": Network(torchvision_model("lraspp_mobilenet_v3_large", weights_backbone=None, num_classes=5), _IMAGE),
    "convnext": Network(timm_model("convnext_atto", depths=(1, 1, 2, 1), **_TEN), _IMAGE),
    "convnext_dynamic": Network(timm_model("convnext_atto", depths=(1, 1, 2, 1), **_TEN), _IMAGE, dynamic=True),
    "swin": Network(timm_model("swin_tiny_patch4_window7_224", **_SWIN), (3, 56, 56), dynamic=True),
    "swin_fixed": Network(timm_model("swin_tiny_patch4_window7_224", **_SWIN), (3, 56, 56)),
    "swin_dynamo": Network(timm_model("swin_tiny_patch4_window7_224", **_SWIN), (3, 56, 56), dynamo=True, opset=18),
    "deit": Network(timm_model("deit_tiny_patch16_224", **_VIT), (3, 32, 32)),
    "deit_dynamic": Network(timm_model("deit_tiny_patch16_224", **_VIT), (3, 32, 32), dynamic=True),
    "xcit": Network(timm_model("xcit_nano_12_p16_224", depth=2, img_size=64, **_TEN), _IMAGE, dynamic=True),
    "mobilevit": Network(timm_model("mobilevit_xxs", **_TEN), _IMAGE, dynamic=True),
    "mixer": Network(mlp_network(), _IMAGE),
    "pvt_v2": Network(timm_model("pvt_v2_b0", **_TEN), _IMAGE, dynamic=True),
    "edgenext": Network(timm_model("edgenext_xx_small", **_TEN), _IMAGE),
    "levit": Network(timm_model("levit_128s", **_TEN), (3, 224, 224), dynamic=True),
    "ghostnet": Network(timm_model("ghostnet_050", **_TEN), _IMAGE),
    "repvgg": Network(timm_model("repvgg_a0", **_TEN), _IMAGE),
    "segformer": Network(transformers_model("SegformerForSemanticSegmentation", "SegformerConfig", **_SEGFORMER), _IMAGE, dynamic=True),
    "clip_vision": Network(transformers_model("CLIPVisionModel", "CLIPVisionConfig", wrap=lambda output: output[1], **_CLIP), (3, 32, 32),
                           dynamic=True),
    "bert": Network(transformers_model("BertModel", "BertConfig", **_BERT), (16,), tokens=100),
    "bert_dynamic": Network(transformers_model("BertModel", "BertConfig", **_BERT), (16,), dynamic=True, tokens=100),
    "distilbert": Network(transformers_model("DistilBertModel", "DistilBertConfig", **_DISTIL), (16,), dynamic=True, tokens=100),
    "inception_v3": Network(torchvision_model("inception_v3", aux_logits=False, init_weights=False, **_TEN), (3, 96, 96)),
    "deeplabv3": Network(torchvision_model("deeplabv3_mobilenet_v3_large", weights_backbone=None, num_classes=5), _IMAGE),
    "resmlp": Network(mlp_network("ResBlock", "Affine", mlp_ratio=4), _IMAGE, dynamic=True),
    "cait": Network(timm_model("cait_xxs24_224", **_CAIT, **_TEN), (3, 32, 32), dynamic=True),
    "beit": Network(timm_model("beit_base_patch16_224", **_BEIT, **_TEN), (3, 32, 32), dynamic=True),
    "twins": Network(timm_model("twins_svt_small", **_TWINS, **_TEN), _IMAGE, dynamic=True),
    "dla": Network(timm_model("dla46_c", **_TEN), _IMAGE),
    "res2net": Network(timm_model("res2net50_14w_8s", layers=[1, 1, 1, 1], **_TEN), _IMAGE),
    "nf_regnet": Network(timm_model("nf_regnet_b0", **_TEN), _IMAGE),
    "hrnet": Network(timm_model("hrnet_w18_small", **_TEN), _IMAGE),
    "maxvit": Network(timm_model("maxvit_pico_rw_256", img_size=64, **_TEN), _IMAGE),
    "efficientformer": Network(timm_model("efficientformer_l1", **_EFFICIENTFORMER, **_TEN), (3, 224, 224), dynamic=True),
    "fastvit": Network(timm_model("fastvit_t8", layers=(1, 1, 2, 1), **_TEN), _IMAGE),
    "coat": Network(timm_model("coat_lite_tiny", **_COAT, **_TEN), _IMAGE, dynamic=True),
    "gpt2": Network(transformers_model("GPT2Model", "GPT2Config", **_GPT2), (16,), dynamo=True, opset=18, tokens=100),
    "t5_encoder": Network(transformers_model("T5EncoderModel", "T5Config", **_T5), (16,), dynamic=True, tokens=100),
    "roberta": Network(transformers_model("RobertaModel", "RobertaConfig", **_BERT), (16,), dynamic=True, tokens=100),
    "whisper_encoder": Network(transformers_model("WhisperForAudioClassification", "WhisperConfig", classifier_proj_size=24, **_WHISPER), (20, 64),
                               dynamic=True),
    "wav2vec2": Network(transformers_model("Wav2Vec2ForCTC", "Wav2Vec2Config", **_WAV2VEC2), (2000,), dynamic=True),
    "yolos": Network(transformers_model("YolosForObjectDetection", "YolosConfig", **_YOLOS), _IMAGE),
    "xcit_p8": Network(timm_model("xcit_tiny_12_p8_224", depth=2, img_size=64, **_TEN), _IMAGE, dynamic=True),
    "xcit_fixed": Network(timm_model("xcit_nano_12_p16_224", depth=2, img_size=64, **_TEN), _IMAGE),
    "mt5_encoder": Network(transformers_model("MT5EncoderModel", "MT5Config", **_MT5), (16,), dynamic=True, tokens=100),
    "t5": Network(transformers_model("T5Model", "T5Config", decodes=True, num_decoder_layers=2, **_T5), (16,), dynamic=True, tokens=100),
    "squeezenet": Network(torchvision_model("squeezenet1_1", **_TEN), _IMAGE),
    "vgg": Network(small_vgg, (3, 32, 32)),
    "torch_vit": Network(class_of("torchvision.models", "VisionTransformer", **_TORCH_VIT), (3, 32, 32)),
    "swin_v2": Network(torchvision_model("swin_v2_t", **_TEN), _IMAGE),
    "poolformer": Network(class_of("timm.models.metaformer", "MetaFormer", depths=(1, 1, 1, 1), dims=(16, 32, 48, 64)), _IMAGE),
    "convmixer": Network(class_of("timm.models.convmixer", "ConvMixer", dim=48, depth=3, kernel_size=5), _IMAGE),
    "focalnet": Network(class_of("timm.models.focalnet", "FocalNet", depths=(1, 1, 1, 1), embed_dim=24), _IMAGE),
    "davit": Network(timm_model("davit_tiny", **_DAVIT, **_TEN), _IMAGE),
    "repvit": Network(timm_model("repvit_m0_9", depth=(1, 1, 2, 1), **_TEN), _IMAGE),
    "mobilenet_v4": Network(timm_model("mobilenetv4_conv_small", **_TEN), _IMAGE),
    "starnet": Network(timm_model("starnet_s050", **_TEN), _IMAGE),
    "hgnet_v2": Network(timm_model("hgnetv2_b0", **_TEN), _IMAGE),
    "efficientvit": Network(timm_model("efficientvit_b0", **_TEN), _IMAGE),
    "mobileone": Network(timm_model("mobileone_s0", **_TEN), _IMAGE),
    "resnest": Network(timm_model("resnest14d", **_TEN), _IMAGE),
    "sequencer": Network(timm_model("sequencer2d_s", layers=[1, 1, 1, 1], embed_dims=[24, 48, 48, 48], hidden_sizes=[8, 16, 16, 16], **_TEN), _IMAGE),
    "crossvit": Network(timm_model("crossvit_9_240", **_CROSSVIT, **_TEN), _IMAGE),
    "pit": Network(timm_model("pit_ti_224", img_size=64, depth=[1, 1, 1], **_TEN), _IMAGE),
    "rexnet": Network(timm_model("rexnet_100", **_TEN), _IMAGE),
    "albert": Network(transformers_model("AlbertModel", "AlbertConfig", **_ALBERT), (16,), dynamic=True, tokens=100),
    "squeezebert": Network(transformers_model("SqueezeBertModel", "SqueezeBertConfig", **_SQUEEZEBERT), (16,), dynamic=True, tokens=100),
    "yolo_focus": Network(focus_detector(in_order=True), _IMAGE),
    "yolox_focus": Network(focus_detector(in_order=False), _IMAGE),
}
